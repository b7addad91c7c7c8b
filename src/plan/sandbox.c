#include "plan/sandbox.h"

#include "plan/sandbox_parts.h"

/* Both host settings or neither (sage_host.c), so what is hard is all or nothing; whether the host keeps what they promise is admit()'s
 * question. */
static struct sage_limits *limits_of(struct compilation *c) {
        const struct sage_host *host = c->plan->sage->host;
        enum sage_limit_state state = host && host->linux_cgroup_root ? SAGE_LIMIT_STATE_HARD : SAGE_LIMIT_STATE_SAMPLED;
        struct sage_limits *limits = arena_new(c->arena, struct sage_limits);

        *limits = (struct sage_limits){
                .has = SAGE_LIMITS_HAS_CPU | SAGE_LIMITS_HAS_MEMORY | SAGE_LIMITS_HAS_DISK | SAGE_LIMITS_HAS_PROCESS_COUNT,
                .cpu = state,
                .memory = state,
                .disk = state,
                .process_count = state,
        };
        return limits;
}

int sandbox_compile(struct compilation *c) {
        struct plan_sandbox *sandbox;
        int r;

        if (!(c->plan->sage->has & SAGE_REQUEST_HAS_PROFILE))
                return 0;
        sandbox = arena_new(c->arena, struct plan_sandbox);
        sandbox->limits = limits_of(c);
        c->plan->sandbox = sandbox;
        if ((r = sandbox_identity(c, &sandbox->uid, &sandbox->gid)) < 0 || (r = sandbox_check_bundle(c)) < 0)
                return r;
        sandbox_rewrite(c);
        return 0;
}
