#include "plan/seccomp.h"

#include "plan/annotations.h"
#include "plan/filter.h"
#include "plan/syscalls.h"

/* Names that this build does not know are passed over, as profiles are written for newer kernels, too; who asks for it hears of them. */
static int check_names(struct compilation *c, const struct oci_seccomp *rules) {
        const char *asked = annotation_find(c->plan->annotations, c->plan->n_annotations, "run.oci.seccomp_fail_unknown_syscall");

        if (!asked || streq(asked, "0") || streq(asked, "false"))
                return 0;
        for (size_t i = 0; i < rules->n_syscalls; i++)
                for (size_t j = 0; j < rules->syscalls[i].n_names; j++)
                        if (!syscall_find(rules->syscalls[i].names[j], NULL))
                                return INVALID(c->err, FIELD(c->arena, "linux.seccomp.syscalls[%zu].names[%zu]", i, j),
                                        "unknown system call \"%s\"", rules->syscalls[i].names[j]);
        return 0;
}

/* Where the listener goes: config.json's word counts before the annotation's, which is from before the spec had one. */
static const char *receiver(const struct compilation *c, const struct oci_seccomp *rules) {
        if (rules->listener_path && *rules->listener_path)
                return rules->listener_path;
        return annotation_find(c->plan->annotations, c->plan->n_annotations, "run.oci.seccomp.receiver");
}

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
                rules->listener_path = receiver(c, rules);
                filter->listener_path = rules->listener_path;
                if (!filter->listener_path)
                        return INVALID(c->err, "linux.seccomp.listenerPath", "SCMP_ACT_NOTIFY needs somebody to notify");
                if (filter->listener_path[0] != '/')
                        return INVALID(
                                c->err, "linux.seccomp.listenerPath", "expected an absolute path, found \"%s\"", filter->listener_path);
                filter->listener_metadata = rules->listener_metadata;
        }
        if ((r = check_names(c, rules)) < 0)
                return r;
        filter->rules = rules;
        if ((r = filter_flags(rules, &filter->flags, c->err)) < 0)
                return r;
        filter->has |= PLAN_FILTER_HAS_FLAGS;
        c->plan->filter = filter;
        return 0;
}
