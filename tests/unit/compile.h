/* What the tests of plan/ share: a config as text, a host, a compilation. */
#pragma once

#include "arena.h"

#include "plan/compile.h"

static struct facts_kernel kernel_facts = { .release = "6.1.0", .major = 6, .minor = 1, .machine = "x86_64", .last_capability = 40,
                                            .seccomp = true };
static struct facts_identity root_identity = { .capabilities = (UINT64_C(1) << 41) - 1, .initial_userns = true };
static struct facts_identity user_identity = { .euid = 1000, .egid = 1000, .initial_userns = true };
static struct facts_cgroup cgroup_facts = { .version = FACTS_CGROUP_VERSION_V2, .own = "/user.slice/a.scope", .writable = true };
__attribute__((unused)) static const struct facts_facts root_host = { .kernel = &kernel_facts, .identity = &root_identity,
                                                                      .cgroup = &cgroup_facts };
__attribute__((unused)) static const struct facts_facts user_host = { .kernel = &kernel_facts, .identity = &user_identity,
                                                                      .cgroup = &cgroup_facts };

static inline void decode(const struct spec_type *type, const char *text, void *ret) {
        if (spec_decode(&arena, type, "test", text, strlen(text), ret, &err) < 0) {
                print_error("%s: %s\n%s\n", err.where, err.text, text);
                abort();
        }
}

static inline int compile_text(const char *text, const struct facts_facts *facts, enum plan_cgroup_manager manager,
                               struct plan_plan **ret) {
        struct oci_config *config = arena_new(&arena, struct oci_config);
        struct request *request = arena_new(&arena, struct request);

        decode(&oci_config_type, text, config);
        *request = (struct request){ .id = "c1", .bundle = "/bundle", .config = config, .manager = manager };
        return compile(&arena, request, facts, ret, &err);
}
