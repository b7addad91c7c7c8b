#include "apply/oom.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"

int oom_score_lend(const struct plan_process *process, struct oom_loan *ret, struct error *err) {
        _cleanup_str_ struct str own = { 0 };
        char text[16];
        int n, r;

        if (!(process->has & PLAN_PROCESS_HAS_OOM_SCORE_ADJ))
                return 0;
        n = snprintf(text, sizeof text, "%d", process->oom_score_adj);
        if ((r = file_read(AT_FDCWD, "/proc/self/oom_score_adj", sizeof ret->own, &own)) < 0 ||
            (r = file_write(AT_FDCWD, "/proc/self/oom_score_adj", text, (size_t)n)) < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, -r, "process.oomScoreAdj", "cannot set oom_score_adj to %d", process->oom_score_adj);
        memcpy(ret->own, own.text, own.size);
        ret->n = own.size;
        return 0;
}

int oom_score_return(const struct oom_loan *loan, struct error *err) {
        int r = loan->n ? file_write(AT_FDCWD, "/proc/self/oom_score_adj", loan->own, loan->n) : 0;

        return r < 0 ? fail_errno(err, CODE_LAUNCH_FAILED, -r, "process.oomScoreAdj", "cannot set the runtime's own oom_score_adj back") : 0;
}
