#define _GNU_SOURCE
#include "apply/memory_policy.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

/* As many nodes as the plan can name (plan/memory_policy.h), and as the largest kernels have. Bits of nodes beyond its own are no fault to
 * a kernel that has fewer, as long as they are clear (mm/mempolicy.c, get_nodes()). */
enum { NODES = 1024, WORD = 8 * sizeof(unsigned long) };

static int explain(const struct plan_memory_policy *policy, int errnum, struct error *err) {
        switch (errnum) {
        case EINVAL:
                return fail(err, CODE_CAPABILITY_UNSUPPORTED, EINVAL, policy->n_nodes ? "linux.memoryPolicy.nodes" : "linux.memoryPolicy",
                        "this kernel does not know the mode with these flags, or the container may use none of the nodes (cpuset.mems)");
        case ENOSYS:
                return fail(err, CODE_CAPABILITY_UNSUPPORTED, ENOSYS, "linux.memoryPolicy", "this kernel has no memory policies");
        case EPERM:
                return fail(err, CODE_CAPABILITY_UNSUPPORTED, EPERM, "linux.memoryPolicy",
                        "an outer container does not allow set_mempolicy(2)");
        default:
                return fail_errno(err, CODE_LAUNCH_FAILED, errnum, "linux.memoryPolicy", "cannot set the memory policy");
        }
}

int memory_policy_set(const struct plan_plan *plan, struct error *err) {
        const struct plan_memory_policy *policy = plan->memory_policy;
        unsigned long mask[NODES / WORD] = { 0 };

        if (!policy)
                return 0;
        for (size_t i = 0; i < policy->n_nodes; i++)
                for (uint32_t node = policy->nodes[i].first; node <= policy->nodes[i].last && node < NODES; node++)
                        mask[node / WORD] |= 1ul << node % WORD;
        /* "maxnode" is one more than the number of bits. */
        if (syscall(SYS_set_mempolicy, (int)policy->mode, policy->n_nodes ? mask : NULL, policy->n_nodes ? NODES + 1 : 0) < 0)
                return explain(policy, errno, err);
        return 0;
}
