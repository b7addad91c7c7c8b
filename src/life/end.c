#include "life/end.h"

#include <errno.h>

#include "base/log.h"
#include "life/hook_state.h"
#include "life/release.h"

int end(struct arena *arena, struct container *container, struct error *err) {
        struct plan_plan plan = { 0 };
        _cleanup_hook_context_ struct hook_context context = HOOK_CONTEXT_EMPTY;
        int r;

        /* A create that was killed before it wrote the plan has run no hooks either; a plan that is damaged must not keep the rest here. */
        if (container->status.poststop && (r = container_load_plan(arena, container, &plan, err)) < 0) {
                if (r != -ENOENT)
                        log_message(LOG_LEVEL_WARNING, "hooks.poststop: not run: %s", err->text);
                plan = (struct plan_plan){ 0 };
        }
        if ((r = release(container, err)) < 0 || !plan.hooks)
                return r;
        if ((r = hook_context_of(arena, container, OCI_STATUS_STOPPED, &context, err)) < 0)
                return r;
        container_unlock(container); /* who waits for it need not wait for hooks */
        hooks_run_all("poststop", plan.hooks->poststop, plan.hooks->n_poststop, &context);
        return 0;
}
