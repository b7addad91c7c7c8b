#include "plan/memory_policy.h"

#include <linux/mempolicy.h>

#include "plan/cpu_list.h"

/* enum of linux/mempolicy.h since 6.9; its headers may be older than the kernel. */
#define WEIGHTED_INTERLEAVE 6u

/* What mpol_new() and sanitize_mpol_flags() (mm/mempolicy.c) demand of each mode. */
enum nodes { NO_NODES, SOME_NODES, ANY_NODES };

static const struct mode {
        uint32_t number;
        enum nodes nodes;
        bool balancing;        /* MPOL_F_NUMA_BALANCING */
        unsigned major, minor; /* the first kernel; 0: all */
} modes[] = {
        [OCI_MEMORY_POLICY_MODE_MPOL_DEFAULT] = { MPOL_DEFAULT, NO_NODES, false, 0, 0 },
        [OCI_MEMORY_POLICY_MODE_MPOL_BIND] = { MPOL_BIND, SOME_NODES, true, 0, 0 },
        [OCI_MEMORY_POLICY_MODE_MPOL_INTERLEAVE] = { MPOL_INTERLEAVE, SOME_NODES, false, 0, 0 },
        [OCI_MEMORY_POLICY_MODE_MPOL_WEIGHTED_INTERLEAVE] = { WEIGHTED_INTERLEAVE, SOME_NODES, false, 6, 9 },
        [OCI_MEMORY_POLICY_MODE_MPOL_PREFERRED] = { MPOL_PREFERRED, ANY_NODES, false, 0, 0 },
        [OCI_MEMORY_POLICY_MODE_MPOL_PREFERRED_MANY] = { MPOL_PREFERRED_MANY, SOME_NODES, true, 5, 15 },
        [OCI_MEMORY_POLICY_MODE_MPOL_LOCAL] = { MPOL_LOCAL, NO_NODES, false, 0, 0 },
};

static const uint32_t flags[] = {
        [OCI_MEMORY_POLICY_FLAG_MPOL_F_NUMA_BALANCING] = MPOL_F_NUMA_BALANCING,
        [OCI_MEMORY_POLICY_FLAG_MPOL_F_RELATIVE_NODES] = MPOL_F_RELATIVE_NODES,
        [OCI_MEMORY_POLICY_FLAG_MPOL_F_STATIC_NODES] = MPOL_F_STATIC_NODES,
};

#define NODE_FLAGS ((uint32_t)(MPOL_F_RELATIVE_NODES | MPOL_F_STATIC_NODES))

/* The place of a mode in both tables, or 0. */
static size_t find_mode(uint32_t mode) {
        for (size_t i = 1; i < ELEMENTSOF(modes); i++)
                if (modes[i].number == (mode & ~(uint32_t)MPOL_MODE_FLAGS))
                        return i;
        return 0;
}

const char *memory_policy_name(uint32_t mode) {
        return spec_enum_name(&oci_memory_policy_mode_enum, (int)find_mode(mode));
}

const char *memory_policy_flag_name(uint32_t flag) {
        for (size_t i = 1; i < ELEMENTSOF(flags); i++)
                if (flags[i] == flag)
                        return spec_enum_name(&oci_memory_policy_flag_enum, (int)i);
        return NULL;
}

void memory_policy_since(uint32_t mode, unsigned *ret_major, unsigned *ret_minor) {
        const struct mode *m = &modes[find_mode(mode)];
        bool balanced = m->number == MPOL_PREFERRED_MANY && mode & MPOL_F_NUMA_BALANCING; /* mm/mempolicy.c of 6.9 */

        *ret_major = balanced ? 6 : m->major;
        *ret_minor = balanced ? 9 : m->minor;
}

static int compile_flags(struct compilation *c, const struct oci_memory_policy *asked, uint32_t *ret) {
        for (size_t i = 0; i < asked->n_flags; i++) {
                if (!spec_enum_name(&oci_memory_policy_flag_enum, (int)asked->flags[i]))
                        return INVALID(c->err, FIELD(c->arena, "linux.memoryPolicy.flags[%zu]", i), "expected a flag of set_mempolicy(2)");
                *ret |= flags[asked->flags[i]];
        }
        return 0;
}

static int check_nodes(struct compilation *c, const struct mode *mode, const char *name, size_t n) {
        if (mode->nodes == NO_NODES && n)
                return INVALID(c->err, "linux.memoryPolicy.nodes", "%s has no nodes (set_mempolicy(2))", name);
        if (mode->nodes == SOME_NODES && n == 0)
                return INVALID(c->err, "linux.memoryPolicy.nodes", "%s needs at least one node (set_mempolicy(2))", name);
        return 0;
}

static int check_flags(struct compilation *c, const struct mode *mode, const char *name, size_t n, uint32_t given) {
        static const char field[] = "linux.memoryPolicy.flags";

        if ((given & NODE_FLAGS) == NODE_FLAGS)
                return INVALID(c->err, field, "MPOL_F_RELATIVE_NODES and MPOL_F_STATIC_NODES exclude each other (set_mempolicy(2))");
        if (given & MPOL_F_NUMA_BALANCING && !mode->balancing)
                return INVALID(c->err, field, "MPOL_F_NUMA_BALANCING is for MPOL_BIND and MPOL_PREFERRED_MANY, and the mode is %s", name);
        if (given & NODE_FLAGS && mode->number == MPOL_DEFAULT)
                warn(c->arena, &c->warnings, "%s: MPOL_DEFAULT has no nodes that could be static or relative", field);
        else if (given & NODE_FLAGS && n == 0)
                return INVALID(c->err, field, "without nodes there are none that could be static or relative");
        return 0;
}

int memory_policy_compile(struct compilation *c) {
        const struct oci_memory_policy *asked = c->request->config->linux->memory_policy;
        struct plan_memory_policy *policy;
        const struct mode *mode;
        const char *name;
        uint32_t given = 0;
        int r;

        name = spec_enum_name(&oci_memory_policy_mode_enum, (int)asked->mode);
        if (!name)
                return INVALID(c->err, "linux.memoryPolicy.mode", "expected a mode of set_mempolicy(2)");
        mode = &modes[asked->mode];
        policy = arena_new(c->arena, struct plan_memory_policy);
        if ((r = compile_flags(c, asked, &given)) < 0 ||
                (r = cpu_list_parse(c->arena, asked->nodes, MEMORY_NODE_MAX, "linux.memoryPolicy.nodes", &policy->nodes, &policy->n_nodes,
                         c->err)) < 0 ||
                (r = check_nodes(c, mode, name, policy->n_nodes)) < 0 || (r = check_flags(c, mode, name, policy->n_nodes, given)) < 0)
                return r;
        policy->mode = mode->number | given;
        c->plan->memory_policy = policy;
        return 0;
}
