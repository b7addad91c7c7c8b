/* libFuzzer: whatever config.json says, compile() makes a plan that can be written down and read again, or an error that names a field.
 * The first byte chooses who asks and how, the rest is the config. */
#include "plan/compile.h"

#include "base/str.h"
#include "cmd/plan_view.h"

#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect(bool ok, const char *what, const struct error *err) {
        if (ok)
                return;
        fprintf(stderr, "%s: %s: %s\n", what, err->where, err->text);
        abort();
}

static struct facts_kernel kernel = { .release = "6.1.0", .major = 6, .minor = 1, .machine = "x86_64", .last_capability = 40 };
static struct facts_identity identities[] = {
        { .capabilities = (UINT64_C(1) << 41) - 1, .initial_userns = true },
        { .capabilities = UINT64_C(0xa80425fb), .initial_userns = true },
        { .euid = 1000, .egid = 1000, .initial_userns = true },
        { .capabilities = (UINT64_C(1) << 41) - 1 },
};
static struct facts_cgroup cgroups[] = {
        { .version = FACTS_CGROUP_VERSION_V2, .own = "/", .writable = true },
        { .version = FACTS_CGROUP_VERSION_V2, .own = "/user.slice/a.scope" },
};

/* No absolute path, and no name in it is "..": "a..b" is a name like another (net.ipv4.conf.a//b.forwarding: the device's). */
static bool stays_below(const char *path) {
        for (const char *dots = path; (dots = strstr(dots, "..")); dots++)
                if ((dots == path || dots[-1] == '/') && (!dots[2] || dots[2] == '/'))
                        return false;
        return path[0] != '/';
}

/* What every plan must keep, whatever was asked. */
static void check_plan(const struct plan_plan *plan, const struct error *err) {
        const struct plan_capabilities *sets = plan->process->capabilities;

        expect((sets->effective & ~sets->permitted) == 0, "effective is permitted", err);
        expect((sets->inheritable & ~sets->bounding) == 0, "inheritable is bounded", err);
        expect((sets->ambient & ~(sets->permitted & sets->inheritable)) == 0, "ambient is permitted and inheritable", err);
        expect(plan->process->uid != UINT32_MAX && plan->process->gid != UINT32_MAX, "an identity is one", err);
        expect(plan->process->cwd[0] == '/' && plan->rootfs->path[0] == '/', "paths are absolute", err);
        expect((plan->cgroup->path != NULL) == (plan->cgroup->manager != PLAN_CGROUP_MANAGER_DISABLED), "a cgroup has a path", err);
        expect(!plan->cgroup->path || (plan->cgroup->path[0] == '/' && plan->cgroup->path[1] && !strstr(plan->cgroup->path, "/../")),
               "the cgroup is below the mount", err);
        for (size_t i = 0; i < plan->n_mounts; i++) {
                const struct plan_mount *m = &plan->mounts[i];

                expect(m->destination[0] == '/', "a destination is absolute", err);
                expect(m->kind != PLAN_MOUNT_KIND_BIND || (m->source[0] == '/' && !m->data), "a bind has a source and no data", err);
                expect(m->kind == PLAN_MOUNT_KIND_BIND || m->type, "a file system has a type", err);
        }
        for (size_t i = 0; i < plan->n_sysctls; i++)
                expect(stays_below(plan->sysctls[i].key), "a sysctl stays below /proc/sys", err);
        for (size_t i = 0; i < plan->cgroup->n_writes; i++)
                expect(!strchr(plan->cgroup->writes[i].file, '/') && !strchr(plan->cgroup->writes[i].value, '\n'),
                       "a write is one line of one file", err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        _cleanup_str_ struct str first = { 0 }, second = { 0 }, view = { 0 };
        _cleanup_arena_ struct arena arena = { 0 };
        struct oci_config config;
        struct plan_plan *plan, again;
        struct facts_facts facts = { .kernel = &kernel };
        struct request request = { .bundle = "/bundle", .config = &config };
        struct error err = { 0 };
        int r;

        if (size == 0 || spec_decode(&arena, &oci_config_type, "fuzz", (const char *)data + 1, size - 1, &config, &err) < 0)
                return 0;
        facts.identity = &identities[data[0] & 3];
        facts.cgroup = &cgroups[data[0] >> 2 & 1];
        request.manager = data[0] & 8 ? PLAN_CGROUP_MANAGER_DISABLED : PLAN_CGROUP_MANAGER_CGROUPFS;
        request.id = data[0] & 16 ? "id" : NULL;

        r = compile(&arena, &request, &facts, &plan, &err);
        if (r < 0) {
                expect(((err.code >= CODE_CONFIG_INVALID && err.code <= CODE_IDENTITY_INVALID) || err.code == CODE_CAPABILITY_UNSUPPORTED) && err.where[0] && err.text[0] &&
                       err.errnum == -r, "an error says what is wrong where", &err);
                return 0;
        }
        check_plan(plan, &err);
        expect(spec_encode(&plan_plan_type, plan, &first, 0, &err) == 0, "a plan can be written down", &err);
        expect(spec_decode(&arena, &plan_plan_type, "again", first.text, first.size, &again, &err) == 0, "and read again", &err);
        expect(spec_encode(&plan_plan_type, &again, &second, 0, &err) == 0, "and written again", &err);
        expect(first.size == second.size && memcmp(first.text, second.text, first.size) == 0, "and is the same", &err);
        plan_view(plan, &view);
        expect(view.size > 0, "a plan can be seen", &err);
        return 0;
}
