/* The file system of a strict sandbox: every mount in its order, and what cannot be a workspace. */
#include "compile.h"

#include <sys/mount.h>

#include "plan/compilation.h"
#include "plan/sage.h"
#include "plan/sandbox.h"

static struct facts_place places[] = {
        { .path = "/usr/bin", .kind = FACTS_PLACE_KIND_DIRECTORY },
        { .path = "/bin", .kind = FACTS_PLACE_KIND_SYMLINK, .target = "usr/bin" },
        { .path = "/lib64", .kind = FACTS_PLACE_KIND_ABSENT },
        { .path = "/etc/localtime", .kind = FACTS_PLACE_KIND_FILE },
        { .path = "/home/w", .kind = FACTS_PLACE_KIND_DIRECTORY, .dev = 7, .ino = 70, .uid = 1001 },
        { .path = "/home/other", .kind = FACTS_PLACE_KIND_DIRECTORY, .dev = 7, .ino = 71, .uid = 1002 },
        { .path = "/home/link", .kind = FACTS_PLACE_KIND_SYMLINK },
        { .path = "/home/closed", .kind = FACTS_PLACE_KIND_UNREACHABLE },
        { .path = "/home/file", .kind = FACTS_PLACE_KIND_FILE, .uid = 1001 },
        { .path = "/home/none", .kind = FACTS_PLACE_KIND_ABSENT },
        { .path = "/opt/sdk", .kind = FACTS_PLACE_KIND_DIRECTORY, .dev = 7, .ino = 80 },
        { .path = "/opt/sdk/cache", .kind = FACTS_PLACE_KIND_DIRECTORY, .dev = 7, .ino = 81 },
        { .path = "/usr", .kind = FACTS_PLACE_KIND_DIRECTORY, .uid = 1001 },
        { .path = "/usr/bin/below", .kind = FACTS_PLACE_KIND_DIRECTORY, .uid = 1001 },
        { .path = "/srv/bin", .kind = FACTS_PLACE_KIND_DIRECTORY, .uid = 1001 },
};
static struct facts_tree tree = { .program = "/srv/bin/sage-runtime", .places = places, .n_places = ELEMENTSOF(places) };

/* MEMBERS of sage.sandbox.filesystem, with ' for ". */
static int furnish(const char *members, struct compilation *c) {
        static struct facts_facts facts;
        static const struct sage_sources none;
        struct oci_config *config = arena_new(&arena, struct oci_config);
        struct request *request = arena_new(&arena, struct request);
        char *filesystem = arena_alloc(&arena, 2 * strlen(members) + 1), *to = filesystem;
        struct sage_asked asked;
        int r;

        for (const char *p = members; *p; p++) {
                if (*p == '\'') {
                        *to++ = '\\';
                        *to++ = '"';
                } else
                        *to++ = *p;
        }
        *to = '\0';
        decode(&oci_config_type,
                arena_printf(&arena,
                        "{\"ociVersion\":\"1.3.0\",\"root\":{\"path\":\"rootfs\"},\"annotations\":{\"sage.sandbox.profile\":\"strict\","
                        "\"sage.sandbox.resources\":\"{\\\"disk_mb\\\":8}\",\"sage.sandbox.filesystem\":\"{%s}\"},"
                        "\"process\":{\"cwd\":\"/\",\"user\":{\"uid\":1001,\"gid\":1002}}}",
                        filesystem),
                config);
        facts = root_host;
        facts.tree = &tree;
        *request = (struct request){ .id = "s1", .bundle = "/bundle", .config = config, .manager = PLAN_CGROUP_MANAGER_CGROUPFS };
        *c = (struct compilation){
                .arena = &arena, .request = request, .facts = &facts, .err = &err, .plan = arena_new(&arena, struct plan_plan)
        };
        c->plan->rootfs = arena_new(&arena, struct plan_rootfs);
        if ((r = sage_compile(&arena, config, &none, &asked, &err)) < 0)
                return r;
        c->plan->sage = (struct sage_request *)asked.request;
        c->sage_field = asked.field;
        r = sandbox_compile(c);
        return r < 0 ? r : sandbox_mounts(c);
}

static const char *mode(const struct plan_mount *m) {
        if (m->kind == PLAN_MOUNT_KIND_FILE || m->kind == PLAN_MOUNT_KIND_SYMLINK)
                return "";
        return (m->flags & MS_RDONLY) || ((m->attributes_set | m->recursive_set) & MOUNT_ATTR_RDONLY) ? " ro" : " rw";
}

static const char *listing(const struct plan_plan *plan) {
        struct str text = { 0 };
        const char *copy;

        for (size_t i = 0; i < plan->n_mounts; i++) {
                const struct plan_mount *m = &plan->mounts[i];

                str_printf(&text, "%s %s%s%s%s%s", spec_enum_name(&plan_mount_kind_enum, (int)m->kind), m->destination, mode(m),
                        m->recursive ? " r" : "", m->source ? " " : "", m->source ?: "");
                if (m->only)
                        str_printf(&text, " %u:%u", (unsigned)m->only->dev, (unsigned)m->only->ino);
                str_putc(&text, '\n');
        }
        copy = arena_strndup(&arena, text.text, text.size);
        str_free(&text);
        return copy;
}

static void all_mounts_are_there_in_an_order_in_which_none_covers_another(void **state) {
        struct compilation c;

        (void)state;
        assert_int_equal(
                furnish("'workspace':'/home/w','read_paths':['/opt/sdk','/home/none','/usr/bin/below'],'write_paths':['/opt/sdk/cache'],"
                        "'protected_paths':['.git/hooks','.git/config','a/b/c','a/b']",
                        &c),
                0);
        assert_string_equal(listing(c.plan),
                "bind /usr/bin ro r /usr/bin\n"
                "symlink /bin usr/bin\n"
                "bind /etc/localtime ro r /etc/localtime\n"
                "file /etc/passwd\n"
                "file /etc/group\n"
                "filesystem /proc ro proc\n"
                "filesystem /dev ro tmpfs\n"
                "filesystem /dev/pts rw devpts\n"
                "cgroup /sys/fs/cgroup ro\n"
                "filesystem /dev/shm rw tmpfs\n"
                "filesystem /tmp rw tmpfs\n"
                "bind /opt/sdk ro r /opt/sdk 7:80\n"
                "bind /opt/sdk/cache rw /opt/sdk/cache 7:81\n"
                "bind /workspace rw /home/w 7:70\n"
                "pin /workspace/.git rw\n"
                "pin /workspace/.git/config ro\n"
                "pin /workspace/.git/hooks ro\n"
                "pin /workspace/a rw\n"
                "pin /workspace/a/b ro\n");
        assert_true(c.plan->rootfs->empty);
        assert_int_equal(c.warnings.n, 1);
        assert_non_null(strstr(c.warnings.list[0], "read_paths[1]: /home/none does not exist"));
        assert_int_equal(c.plan->sandbox->workspace->ino, 70);
        assert_false(c.plan->sandbox->workspace->read_only);
}

static void nothing_writable_of_the_hosts_keeps_its_devices_or_set_user_id_programs(void **state) {
        struct compilation c;

        (void)state;
        assert_int_equal(furnish("'workspace':'/home/w','write_paths':['/opt/sdk/cache']", &c), 0);
        for (size_t i = 0; i < c.plan->n_mounts; i++) {
                const struct plan_mount *m = &c.plan->mounts[i];
                const uint64_t set = m->attributes_set | m->recursive_set, wanted = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;

                if (m->kind == PLAN_MOUNT_KIND_BIND)
                        assert_int_equal(set & wanted, wanted);
                if (m->kind == PLAN_MOUNT_KIND_FILESYSTEM)
                        assert_true(m->flags & MS_NOSUID);
        }
        assert_string_equal(c.plan->mounts[8].destination, "/sys/fs/cgroup");
        assert_string_equal(c.plan->mounts[10].data, "mode=1777,size=8388608,nr_inodes=2048");
}

static void a_read_only_workspace_needs_no_pins(void **state) {
        struct compilation c;

        (void)state;
        assert_int_equal(furnish("'workspace':'/home/w','read_only':true,'protected_paths':['.git']", &c), 0);
        assert_non_null(strstr(listing(c.plan), "bind /workspace ro /home/w 7:70\n"));
        assert_null(strstr(listing(c.plan), "pin"));
        assert_true(c.plan->sandbox->workspace->read_only);
}

static const struct {
        const char *members, *where, *text;
        enum code code;
} refused[] = {
        { "'workspace':'/home/none'", "workspace", "does not exist", CODE_WORKSPACE_INVALID },
        { "'workspace':'/home/file'", "workspace", "no directory", CODE_WORKSPACE_INVALID },
        { "'workspace':'/home/link'", "workspace", "symlink", CODE_WORKSPACE_INVALID },
        { "'workspace':'/home/closed'", "workspace", "may not enter", CODE_WORKSPACE_INVALID },
        { "'workspace':'/home/other'", "workspace", "belongs to uid 1002, and commands run as uid 1001", CODE_WORKSPACE_INVALID },
        { "'workspace':'/home/w','workspace_st_dev':7,'workspace_st_ino':71", "workspace", "another directory", CODE_WORKSPACE_INVALID },
        { "'workspace':'/home/w','workspace_st_dev':8,'workspace_st_ino':70", "workspace", "another directory", CODE_WORKSPACE_INVALID },
        { "'workspace':'/usr'", "workspace", "/usr and /usr/bin are not apart", CODE_WORKSPACE_INVALID },
        { "'workspace':'/usr/bin/below'", "workspace", "not apart", CODE_WORKSPACE_INVALID },
        { "'workspace':'/srv/bin'", "workspace", "/srv/bin/sage-runtime are not apart", CODE_WORKSPACE_INVALID },
        { "'workspace':'/home/w','read_paths':['/home/link']", "read_paths[0]", "symlink", CODE_CONFIG_INVALID },
        { "'workspace':'/home/w','read_paths':['/home/file']", "read_paths[0]", "expected a directory", CODE_CONFIG_INVALID },
        { "'workspace':'/home/w','write_paths':['/opt/sdk/cache','/home/closed']", "write_paths[1]", "expected a directory",
                CODE_CONFIG_INVALID },
        { "'workspace':'/home/w','write_paths':['/srv/bin']", "write_paths[0]", "holds this runtime", CODE_CONFIG_INVALID },
        { "'workspace':'/not/looked/at'", "workspace", "needs what sandbox_looks() names", CODE_INTERNAL },
};

static void what_cannot_be_had_is_refused_by_its_member(void **state) {
        (void)state;
        for (size_t i = 0; i < ELEMENTSOF(refused); i++) {
                struct compilation c;
                int r = furnish(refused[i].members, &c);

                if (r >= 0 || err.code != refused[i].code || !strstr(err.where, refused[i].where) || !strstr(err.text, refused[i].text)) {
                        print_error("row %zu: expected %s: … %s …\nfound %s: %s\n", i, refused[i].where, refused[i].text,
                                r < 0 ? err.where : "", r < 0 ? err.text : "success");
                        assert_true(false);
                }
        }
}

static void an_identity_that_owns_the_runtime_is_refused(void **state) {
        struct compilation c;

        (void)state;
        tree.program_uid = 1001;
        assert_true(furnish("'workspace':'/home/w'", &c) < 0);
        tree.program_uid = 0;
        assert_int_equal(err.code, CODE_IDENTITY_INVALID);
        assert_int_equal(furnish("'workspace':'/home/w'", &c), 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(all_mounts_are_there_in_an_order_in_which_none_covers_another),
                TEST(nothing_writable_of_the_hosts_keeps_its_devices_or_set_user_id_programs),
                TEST(a_read_only_workspace_needs_no_pins),
                TEST(what_cannot_be_had_is_refused_by_its_member),
                TEST(an_identity_that_owns_the_runtime_is_refused),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
