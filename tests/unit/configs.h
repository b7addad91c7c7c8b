/* Configs as text, each fine but for what a test puts into one place of it; and what compile() makes of them. */
#pragma once

#include "compile.h"

#include <errno.h>

/* ALL has room for more in four places: of the process, at the top, of linux, and of its namespaces besides the mount namespace. */
#define HEAD "{\"ociVersion\":\"1.3.0\",\"root\":{\"path\":\"rootfs\"},"
/* clang-format off */
#define ALL(process, top, linux, namespaces) \
        HEAD "\"process\":{\"cwd\":\"/\",\"args\":[\"sh\"]" process "}" top \
        ",\"linux\":{\"namespaces\":[{\"type\":\"mount\"}" namespaces "]" linux "}}"
/* clang-format on */

#define PROCESS(members) ALL("," members, "", "", "")
#define TOP(members) ALL("", "," members, "", "")
#define LINUX(members) ALL("", "", "," members, "")
#define RESOURCES(members) LINUX("\"resources\":{" members "}")
#define USERNS(linux) ALL("", "", "," linux, ",{\"type\":\"user\"}")

#define MAP "[{\"containerID\":0,\"hostID\":100000,\"size\":65536}]"
#define MAPS "\"uidMappings\":" MAP ",\"gidMappings\":" MAP
#define RANGE(inside, outside, size) "{\"containerID\":" #inside ",\"hostID\":" #outside ",\"size\":" #size "}"

#define AS_INVALID .code = CODE_CONFIG_INVALID
#define AS_UNSUPPORTED .code = CODE_CAPABILITY_UNSUPPORTED

/* A config that is refused: by which field, and with which words. */
struct refusal {
        const char *name, *config, *where, *text;
        enum code code;
        const struct facts_facts *facts;  /* NULL: root_host */
        enum plan_cgroup_manager manager; /* 0: cgroupfs */
};

static inline void must_refuse(const struct refusal *row) {
        struct plan_plan *plan = NULL;
        int r = compile_text(row->config, row->facts ?: &root_host, row->manager ?: PLAN_CGROUP_MANAGER_CGROUPFS, &plan);

        if (r >= 0 || plan || err.code != row->code || !streq(err.where, row->where) || !strstr(err.text, row->text)) {
                print_error("%s: %d %s: %s: %s\n", row->name, r, error_code(err.code)->name, err.where, err.text);
                abort();
        }
        assert_int_equal(r, row->code == CODE_CONFIG_INVALID ? -EINVAL : -EOPNOTSUPP);
        arena_free(&arena);
}

static inline struct plan_plan *must_compile(const char *text, const struct facts_facts *facts) {
        struct plan_plan *plan = NULL;

        if (compile_text(text, facts, PLAN_CGROUP_MANAGER_CGROUPFS, &plan) < 0) {
                print_error("%s: %s\n%s\n", err.where, err.text, text);
                abort();
        }
        return plan;
}

/* What the decoder refuses must be refused for a config that was not decoded, too. */
static inline int compile_config(const struct oci_config *config) {
        const struct request request = { .id = "c1", .bundle = "/bundle", .config = config, .manager = PLAN_CGROUP_MANAGER_CGROUPFS };
        struct plan_plan *plan;

        return compile(&arena, &request, &root_host, &plan, &err);
}
