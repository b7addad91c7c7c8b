#include "apply/oom.h"

#include <fcntl.h>
#include <stdio.h>

#include "base/file.h"

int oom_score_adjust(const struct plan_process *process, struct error *err) {
        char text[16];
        int n, r;

        if (!(process->has & PLAN_PROCESS_HAS_OOM_SCORE_ADJ))
                return 0;
        n = snprintf(text, sizeof text, "%d", process->oom_score_adj);
        r = file_write(AT_FDCWD, "/proc/self/oom_score_adj", text, (size_t)n);
        return r < 0 ? fail_errno(err, CODE_LAUNCH_FAILED, -r, "process.oomScoreAdj", "cannot set oom_score_adj to %d", process->oom_score_adj) : 0;
}
