#include "life/start.h"

#include "base/fd.h"
#include "base/log.h"
#include "base/process.h"
#include "life/dialogue.h"
#include "life/end.h"
#include "life/gate.h"
#include "life/hook_state.h"
#include "life/notify.h"

/* The gate is open. What the program says from its first instruction on waits in its socket, which comes from the gate, too. */
static int pass_gate(struct arena *arena, struct container *container, const struct plan_plan *plan, const char *notified,
                     struct notify *notify, struct error *err) {
        const struct status_status *status = &container->status;
        struct dialogue dialogue = { .socket = -1, .container = container, .filter = plan->filter, .arena = arena, .pid = status->init->pid,
                                     .console = -1, .notify = -1 };
        int r;

        if (notified && status->notify && (r = notify_connect(notified, notify, err)) < 0)
                return r;
        if ((r = gate_connect(container->dir, &dialogue.socket, err)) < 0)
                return r;
        log_debug("%s: the gate is open", container->id);
        container_unlock(container); /* hooks may take long, and kill must get through */
        r = dialogue_until(&dialogue, REPORT_GONE, err);
        close_fd(&dialogue.socket);
        if (r == 0)
                log_debug("%s: the program runs", container->id);
        if (r == 0)
                r = notify_begin(notify, &dialogue.notify, err);
        close_fd(&dialogue.notify);
        return r;
}

int container_start(struct arena *arena, struct container *container, const char *notified, struct error *err) {
        const struct status_status *status = &container->status;
        _cleanup_notify_ struct notify notify = NOTIFY_NONE;
        _cleanup_close_ int init = -1;
        struct plan_plan plan = { 0 };
        struct error second;
        int r;

        if (((status->poststart || status->listener) && (r = container_load_plan(arena, container, &plan, err)) < 0) ||
            (r = pass_gate(arena, container, &plan, notified, &notify, err)) < 0)
                return r;
        if (notify.inside >= 0 && process_open(status->init->pid, status->init->start_time, &init) == 0) {
                notify.main_pid = status->init->pid;
                notify_wait(&notify, init);
        }
        r = hooks_run_poststart(arena, container, &plan, NULL, err);
        if (r < 0 && container_lock(container, &second) == 0)
                (void)end(arena, container, &second);
        return r;
}
