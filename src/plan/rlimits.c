#include "plan/rlimits.h"

#include <sys/resource.h>

/* getrlimit(2) numbers, by the words of the schema. */
static const uint32_t resources[] = {
        [OCI_RLIMIT_TYPE_RLIMIT_AS] = RLIMIT_AS,
        [OCI_RLIMIT_TYPE_RLIMIT_CORE] = RLIMIT_CORE,
        [OCI_RLIMIT_TYPE_RLIMIT_CPU] = RLIMIT_CPU,
        [OCI_RLIMIT_TYPE_RLIMIT_DATA] = RLIMIT_DATA,
        [OCI_RLIMIT_TYPE_RLIMIT_FSIZE] = RLIMIT_FSIZE,
        [OCI_RLIMIT_TYPE_RLIMIT_LOCKS] = RLIMIT_LOCKS,
        [OCI_RLIMIT_TYPE_RLIMIT_MEMLOCK] = RLIMIT_MEMLOCK,
        [OCI_RLIMIT_TYPE_RLIMIT_MSGQUEUE] = RLIMIT_MSGQUEUE,
        [OCI_RLIMIT_TYPE_RLIMIT_NICE] = RLIMIT_NICE,
        [OCI_RLIMIT_TYPE_RLIMIT_NOFILE] = RLIMIT_NOFILE,
        [OCI_RLIMIT_TYPE_RLIMIT_NPROC] = RLIMIT_NPROC,
        [OCI_RLIMIT_TYPE_RLIMIT_RSS] = RLIMIT_RSS,
        [OCI_RLIMIT_TYPE_RLIMIT_RTPRIO] = RLIMIT_RTPRIO,
        [OCI_RLIMIT_TYPE_RLIMIT_RTTIME] = RLIMIT_RTTIME,
        [OCI_RLIMIT_TYPE_RLIMIT_SIGPENDING] = RLIMIT_SIGPENDING,
        [OCI_RLIMIT_TYPE_RLIMIT_STACK] = RLIMIT_STACK,
};

const char *rlimit_name(uint32_t resource) {
        for (size_t i = 1; i < ELEMENTSOF(resources); i++)
                if (resources[i] == resource)
                        return spec_enum_name(&oci_rlimit_type_enum, (int)i);
        return NULL;
}

int rlimits_compile(
        struct arena *arena, const struct oci_process *process, const char *field, struct plan_process *ret, struct error *err) {
        struct plan_rlimit *limits;
        uint32_t seen = 0; /* by number: there are 16 */

        if (process->n_rlimits == 0)
                return 0;
        limits = arena_array(arena, struct plan_rlimit, process->n_rlimits);
        for (size_t i = 0; i < process->n_rlimits; i++) {
                const struct oci_rlimit *asked = &process->rlimits[i];
                const char *where = FIELD(arena, "%s.rlimits[%zu]", field, i);
                const char *name = spec_enum_name(&oci_rlimit_type_enum, (int)asked->type);

                if (!name)
                        return INVALID(err, where, "expected a resource of getrlimit(2)");
                if (asked->soft > asked->hard)
                        return INVALID(err, where, "the soft limit of %s, %llu, is above the hard one, %llu", name,
                                (unsigned long long)asked->soft, (unsigned long long)asked->hard);
                if (seen & 1u << resources[asked->type])
                        return INVALID(err, where, "%s is given twice", name);
                seen |= 1u << resources[asked->type];
                limits[i] = (struct plan_rlimit){
                        .field = where, .resource = resources[asked->type], .soft = asked->soft, .hard = asked->hard
                };
        }
        ret->rlimits = limits;
        ret->n_rlimits = process->n_rlimits;
        return 0;
}
