#include "life/end.h"

#include "apply/hooks.h"
#include "life/launch.h"
#include "life/release.h"

int end(struct arena *arena, struct container *container, struct error *err) {
        struct plan_plan plan = { 0 };
        struct hook_context context;
        int r;

        if (container->status.poststop && (r = container_load_plan(arena, container, &plan, err)) < 0)
                return r;
        if ((r = release(container, err)) < 0 || !plan.hooks)
                return r;
        if ((r = launch_hook_context(arena, container, OCI_STATUS_STOPPED, &context, err)) < 0)
                return r;
        hooks_run_all("poststop", plan.hooks->poststop, plan.hooks->n_poststop, &context);
        return 0;
}
