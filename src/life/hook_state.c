#include "life/hook_state.h"

#include "base/str.h"
#include "libocispec/spec.h"
#include "plan/annotations.h"

int hook_output_of(const struct container *container, struct hook_output *ret, struct error *err) {
        const struct status_status *s = &container->status;

        return hook_output_open(annotation_find(s->annotations, s->n_annotations, "run.oci.hooks.stdout"),
                                annotation_find(s->annotations, s->n_annotations, "run.oci.hooks.stderr"), ret, err);
}

int hook_context_of(struct arena *arena, const struct container *container, enum oci_status status, struct hook_context *ret, struct error *err) {
        struct oci_state state = container_describe(arena, container, status);
        struct hook_context context = HOOK_CONTEXT_EMPTY;
        _cleanup_str_ struct str text = { 0 };
        int r;

        if ((r = spec_encode(&oci_state_type, &state, &text, 0, err)) < 0 || (r = hook_output_of(container, &context.output, err)) < 0)
                return r;
        context.state = arena_strndup(arena, text.text, text.size);
        context.state_size = text.size;
        context.directory = state.bundle;
        *ret = context;
        return 0;
}

int hooks_run_poststart(struct arena *arena, const struct container *container, const struct plan_plan *plan, struct interruption *interruption,
                        struct error *err) {
        _cleanup_hook_context_ struct hook_context context = HOOK_CONTEXT_EMPTY;
        int r;

        if (!plan->hooks || plan->hooks->n_poststart == 0)
                return 0;
        if ((r = hook_context_of(arena, container, OCI_STATUS_RUNNING, &context, err)) < 0)
                return r;
        context.interruption = interruption;
        return hooks_run("poststart", plan->hooks->poststart, plan->hooks->n_poststart, &context, err);
}
