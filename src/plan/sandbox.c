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

void sandbox_looks(struct arena *arena, const struct oci_config *config, const struct sage_asked *asked,
        const struct facts_identity *caller, struct facts_look **ret, size_t *ret_n, uint32_t *ret_uid, uint32_t *ret_gid) {
        const struct sage_request *request = asked->request;
        const struct sage_filesystem *filesystem;
        struct facts_look *looks;
        size_t n = 0;

        *ret_n = 0;
        if (!request || !(request->has & SAGE_REQUEST_HAS_PROFILE))
                return;
        filesystem = request->filesystem;
        looks = arena_array(arena, struct facts_look, sandbox_n_places + filesystem->n_read_paths + filesystem->n_write_paths + 1);
        looks[n++] = (struct facts_look){ .path = filesystem->workspace, .whole = true, .as_identity = true };
        for (size_t i = 0; i < filesystem->n_read_paths; i++)
                looks[n++] = (struct facts_look){ .path = filesystem->read_paths[i], .whole = true };
        for (size_t i = 0; i < filesystem->n_write_paths; i++)
                looks[n++] = (struct facts_look){ .path = filesystem->write_paths[i], .whole = true };
        for (size_t i = 0; i < sandbox_n_places; i++)
                looks[n++] = (struct facts_look){ .path = sandbox_places[i] };
        sandbox_identity_of(request, config, caller, ret_uid, ret_gid);
        *ret = looks;
        *ret_n = n;
}

int sandbox_compile(struct compilation *c) {
        struct plan_sandbox *sandbox;
        int r;

        if (!(c->plan->sage->has & SAGE_REQUEST_HAS_PROFILE))
                return 0;
        sandbox = arena_new(c->arena, struct plan_sandbox);
        sandbox->limits = limits_of(c);
        c->plan->sandbox = sandbox;
        sandbox_identity_of(c->plan->sage, c->request->config, c->facts->identity, &sandbox->uid, &sandbox->gid);
        if ((r = sandbox_check_identity(c)) < 0 || (r = sandbox_check_bundle(c)) < 0)
                return r;
        sandbox_rewrite(c);
        return 0;
}
