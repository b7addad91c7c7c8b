#include "plan/seccomp.h"

#include "plan/filter.h"

int seccomp_compile(struct compilation *c) {
        struct oci_seccomp *rules = c->request->config->linux->seccomp;
        struct plan_filter *filter;
        int r;

        if (!rules)
                return 0;
        filter = arena_new(c->arena, struct plan_filter);
        if (rules->listener_metadata && *rules->listener_metadata && !(rules->listener_path && *rules->listener_path))
                return INVALID(c->err, "linux.seccomp.listenerMetadata", "needs linux.seccomp.listenerPath");
        if (filter_notifies(rules)) {
                if (!rules->listener_path || !*rules->listener_path)
                        return INVALID(c->err, "linux.seccomp.listenerPath", "SCMP_ACT_NOTIFY needs somebody to notify");
                filter->listener_path = rules->listener_path;
                filter->listener_metadata = rules->listener_metadata;
        }
        filter->rules = rules;
        if ((r = filter_flags(rules, &filter->flags, c->err)) < 0)
                return r;
        filter->has |= PLAN_FILTER_HAS_FLAGS;
        c->plan->filter = filter;
        return 0;
}
