/* Whole plans: what a config becomes on a host, compared with the file beside it, tests/unit/plans/CONFIG@HOST.json. A change of the
 * compiler that is meant shows there: SAGE_UPDATE_PLANS=1 writes the files anew, and the difference is for the reader. */
#include "compile.h"

#include "base/file.h"
#include "cmd/features_list.h"
#include "cmd/plan_view.h"
#include "cmd/spec_default.h"

#include <fcntl.h>

struct row {
        const char *config; /* plans/CONFIG.config.json */
        const char *host;   /* plans/HOST.facts.json, or hosts/HOST.json */
        enum plan_cgroup_manager manager;
};

static const struct row rows[] = {
        { "default", "root", PLAN_CGROUP_MANAGER_CGROUPFS },
        { "default", "restricted", PLAN_CGROUP_MANAGER_CGROUPFS },
        { "rootless", "user", PLAN_CGROUP_MANAGER_CGROUPFS },
        { "rootless", "root", PLAN_CGROUP_MANAGER_DISABLED },
        { "podman", "root", PLAN_CGROUP_MANAGER_CGROUPFS },
        { "docker", "root", PLAN_CGROUP_MANAGER_CGROUPFS },
        { "kubernetes", "root", PLAN_CGROUP_MANAGER_CGROUPFS },
        { "everything", "root", PLAN_CGROUP_MANAGER_CGROUPFS },
        { "everything", "restricted", PLAN_CGROUP_MANAGER_CGROUPFS },
        { "scheduling", "root", PLAN_CGROUP_MANAGER_CGROUPFS },
        /* Recorded hosts. */
        { "default", "outer-docker", PLAN_CGROUP_MANAGER_CGROUPFS },
        { "default", "build-machine", PLAN_CGROUP_MANAGER_CGROUPFS },
        { "podman", "rhel-root", PLAN_CGROUP_MANAGER_CGROUPFS },
        { "docker", "ubuntu-root", PLAN_CGROUP_MANAGER_CGROUPFS },
        { "rootless", "ubuntu-user", PLAN_CGROUP_MANAGER_CGROUPFS },
        { "rootless", "rootless-session", PLAN_CGROUP_MANAGER_CGROUPFS },
        { "rootless", "rootless-delegated", PLAN_CGROUP_MANAGER_CGROUPFS },
        { "rootless", "debian-hardened-user", PLAN_CGROUP_MANAGER_CGROUPFS },
};

static const char *directory(void) {
        const char *srcdir = getenv("srcdir");

        return arena_printf(&arena, "%s/tests/unit", srcdir ?: ".");
}

__attribute__((format(printf, 1, 2)))
static const char *path(const char *format, ...) {
        char name[256];
        va_list ap;

        va_start(ap, format);
        vsnprintf(name, sizeof name, format, ap);
        va_end(ap);
        return arena_printf(&arena, "%s/%s", directory(), name);
}

static void read_text(const char *from, struct str *ret) {
        ret->size = 0;
        if (file_read(AT_FDCWD, from, 1 << 20, ret) < 0) {
                print_error("cannot read %s\n", from);
                abort();
        }
}

/* TEXT is what FILE holds; or FILE becomes it. */
static void compare(const char *file, struct str *text) {
        _cleanup_str_ struct str wanted = { 0 };

        if (getenv("SAGE_UPDATE_PLANS")) {
                FILE *out = fopen(file, "we");

                assert_non_null(out);
                assert_int_equal(fwrite(text->text, 1, text->size, out), text->size);
                assert_int_equal(fclose(out), 0);
                return;
        }
        read_text(file, &wanted);
        if (!streq(wanted.text, text->text)) {
                size_t at = 0, line = 1;

                for (; wanted.text[at] && wanted.text[at] == text->text[at]; at++)
                        line += wanted.text[at] == '\n';
                print_error("%s:%zu differs:\n- %.60s\n+ %.60s\n", file, line, wanted.text + at, text->text + at);
                abort();
        }
}

static const struct facts_facts *host(const char *name) {
        struct facts_facts *facts = arena_new(&arena, struct facts_facts);
        _cleanup_str_ struct str text = { 0 };
        const char *own = path("plans/%s.facts.json", name);

        read_text(access(own, F_OK) == 0 ? own : path("hosts/%s.json", name), &text);
        decode(&facts_facts_type, text.text, facts);
        return facts;
}

static struct plan_plan *plan_of(const struct row *row) {
        _cleanup_str_ struct str text = { 0 };
        struct plan_plan *plan = NULL;

        read_text(path("plans/%s.config.json", row->config), &text);
        if (compile_text(text.text, host(row->host), row->manager, &plan) < 0) {
                print_error("%s@%s: %s: %s\n", row->config, row->host, err.where, err.text);
                abort();
        }
        return plan;
}

static void each_config_becomes_this_plan_on_this_host(void **state) {
        (void)state;
        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                _cleanup_str_ struct str text = { 0 };
                const struct row *row = &rows[i];

                assert_int_equal(spec_encode(&plan_plan_type, plan_of(row), &text, SPEC_PRETTY, &err), 0);
                str_putc(&text, '\n');
                compare(path("plans/%s@%s.json", row->config, row->host), &text);
        }
}

static void each_plan_reads_so_for_a_person(void **state) {
        (void)state;
        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                _cleanup_str_ struct str text = { 0 };
                const struct row *row = &rows[i];

                plan_view(plan_of(row), &text);
                compare(path("plans/%s@%s.txt", row->config, row->host), &text);
        }
}

/* A plan that is kept and read again is the same plan. */
static void a_plan_survives_being_written_down(void **state) {
        (void)state;
        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                _cleanup_str_ struct str first = { 0 }, second = { 0 };
                struct plan_plan again;

                assert_int_equal(spec_encode(&plan_plan_type, plan_of(&rows[i]), &first, 0, &err), 0);
                decode(&plan_plan_type, first.text, &again);
                assert_int_equal(spec_encode(&plan_plan_type, &again, &second, 0, &err), 0);
                assert_string_equal(first.text, second.text);
        }
}

static void spec_writes_the_default_configs(void **state) {
        struct oci_config *config;

        (void)state;
        for (int rootless = 0; rootless < 2; rootless++) {
                _cleanup_str_ struct str text = { 0 };

                assert_int_equal(spec_default(&arena, rootless, &config, &err), 0);
                if (rootless) {
                        assert_int_equal(config->linux->uid_mappings[0].host_id, geteuid());
                        assert_int_equal(config->linux->gid_mappings[0].host_id, getegid());
                        config->linux->uid_mappings[0].host_id = config->linux->gid_mappings[0].host_id = 1000;
                }
                assert_int_equal(spec_encode(&oci_config_type, config, &text, SPEC_PRETTY, &err), 0);
                str_putc(&text, '\n');
                compare(path("plans/%s.config.json", rootless ? "rootless" : "default"), &text);
        }
}

/* What engines read of it: the versions, "rro" among the options, idmap (CRI-O); and that nothing is claimed which compile() refuses. */
static void features_are_what_the_tables_say(void **state) {
        _cleanup_str_ struct str text = { 0 };
        struct oci_features *f;
        bool rro = false;

        (void)state;
        assert_int_equal(features_list(&arena, &f, &err), 0);
        assert_int_equal(spec_encode(&oci_features_type, f, &text, 0, &err), 0);
        for (size_t i = 0; i < f->n_mount_options; i++)
                rro |= streq(f->mount_options[i], "rro");
        assert_true(rro);
        assert_true(f->linux->mount_extensions->idmap->enabled && f->linux->cgroup->v2 && f->linux->seccomp->enabled);
        assert_false(f->linux->cgroup->v1 || f->linux->cgroup->systemd || f->linux->cgroup->systemd_user);
        assert_true(f->linux->net_devices->enabled);
        assert_true(f->linux->intel_rdt->enabled && f->linux->intel_rdt->schemata && f->linux->intel_rdt->monitoring);
        assert_true(f->linux->memory_policy->n_modes == 7 && f->linux->memory_policy->n_flags == 3);
        assert_int_equal(f->linux->n_namespaces, 8);
        assert_int_equal(f->linux->n_capabilities, 41);
        assert_string_equal(f->linux->capabilities[40], "CAP_CHECKPOINT_RESTORE");
        assert_int_equal(f->n_hooks, 6);
        assert_non_null(strstr(text.text, "\"ociVersionMin\":\"1.0.0\",\"ociVersionMax\":\"1.3.0\""));
        assert_true(f->linux->seccomp->n_archs > 0 && f->linux->seccomp->n_actions == 9 && f->linux->seccomp->n_operators == 7);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(each_config_becomes_this_plan_on_this_host),
                TEST(each_plan_reads_so_for_a_person),
                TEST(a_plan_survives_being_written_down),
                TEST(spec_writes_the_default_configs),
                TEST(features_are_what_the_tables_say),
        };

        return RUN_TESTS(tests);
}
