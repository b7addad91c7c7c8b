/* The strict sandbox: what its bundle may say, whom its commands run as, and what config.json becomes. */
#include "compile.h"

#include "plan/compilation.h"
#include "plan/cgroup.h"
#include "plan/ids.h"
#include "plan/namespaces.h"
#include "plan/process.h"
#include "plan/sage.h"
#include "plan/sandbox.h"

#define HOST ",\"sage.sandbox.host\":\"{'linux_execution_uid':1001,'linux_execution_gid':1001}\""
#define STRICT(host, more) \
        "{\"ociVersion\":\"1.3.0\",\"root\":{\"path\":\"rootfs\"},\"annotations\":{\"sage.sandbox.profile\":\"strict\"," \
        "\"sage.sandbox.filesystem\":\"{'workspace':'/w'}\"" host "}" more "}"
#define BARE ",\"process\":{\"cwd\":\"/\",\"args\":[\"true\"]}"
#define USER(text) ",\"process\":{\"cwd\":\"/\",\"args\":[\"true\"],\"user\":{" text "}}"

/* An annotation's JSON is written with ' above. */
static const char *spelt(const char *text) {
        char *copy = arena_alloc(&arena, 2 * strlen(text) + 1), *to = copy;

        for (const char *p = text; *p; p++) {
                if (*p == '\'') {
                        *to++ = '\\';
                        *to++ = '"';
                } else
                        *to++ = *p;
        }
        *to = '\0';
        return copy;
}

/* As far as sandbox_compile() goes. */
static int begin(const char *text, const struct facts_facts *facts, struct compilation *c) {
        struct oci_config *config = arena_new(&arena, struct oci_config);
        struct request *request = arena_new(&arena, struct request);
        static const struct sage_sources none;
        struct sage_asked asked;
        int r;

        decode(&oci_config_type, spelt(text), config);
        *request = (struct request){ .id = "s1", .bundle = "/bundle", .config = config, .manager = PLAN_CGROUP_MANAGER_CGROUPFS };
        *c = (struct compilation){
                .arena = &arena, .request = request, .facts = facts, .err = &err, .plan = arena_new(&arena, struct plan_plan)
        };
        r = sage_compile(&arena, config, &none, &asked, &err);
        if (r < 0)
                return r;
        c->plan->id = request->id;
        c->plan->sage = (struct sage_request *)asked.request;
        c->plan->sage_fingerprint = asked.fingerprint;
        c->sage_field = asked.field;
        return sandbox_compile(c);
}

static const struct {
        const char *text, *where, *said;
        enum code code;
        const struct facts_facts *facts;
} refused[] = {
        { STRICT(HOST, BARE ",\"mounts\":[{\"destination\":\"/x\",\"type\":\"tmpfs\"}]"), "mounts", "read_paths", CODE_CONFIG_INVALID },
        { STRICT(HOST, BARE ",\"linux\":{\"devices\":[{\"path\":\"/dev/x\",\"type\":\"p\"}]}"), "linux.devices", "devices",
                CODE_CONFIG_INVALID },
        { STRICT(HOST, BARE ",\"linux\":{\"namespaces\":[{\"type\":\"pid\"},{\"type\":\"ipc\",\"path\":\"/i\"}]}"),
                "linux.namespaces[1].path", "joins no namespace", CODE_CONFIG_INVALID },
        { STRICT(HOST, BARE ",\"linux\":{\"namespaces\":[{\"type\":\"time\"}]}"), "linux.namespaces[0].type", "clocks",
                CODE_CONFIG_INVALID },
        { STRICT(HOST, BARE ",\"linux\":{\"uidMappings\":[{\"containerID\":0,\"hostID\":1001,\"size\":1}]}"), "linux.uidMappings", "1001",
                CODE_CONFIG_INVALID },
        { STRICT(HOST, BARE ",\"linux\":{\"gidMappings\":[{\"containerID\":1001,\"hostID\":1001,\"size\":2}]}"), "linux.gidMappings",
                "1001", CODE_CONFIG_INVALID },
        { STRICT(HOST, BARE ",\"linux\":{\"sysctl\":{\"net.ipv4.ip_forward\":\"1\"}}"), "linux.sysctl", "settings", CODE_CONFIG_INVALID },
        { STRICT(HOST, BARE ",\"linux\":{\"rootfsPropagation\":\"rshared\"}"), "linux.rootfsPropagation", "private", CODE_CONFIG_INVALID },
        { STRICT(HOST, ",\"process\":{\"cwd\":\"/\",\"args\":[\"a\"],\"capabilities\":{\"ambient\":[\"CAP_KILL\"]}}"),
                "process.capabilities", "none", CODE_CONFIG_INVALID },
        { STRICT(HOST, USER("\"uid\":0,\"gid\":1001")), "process.user.uid", "uid 1001's, and this is 0", CODE_CONFIG_INVALID },
        { STRICT(HOST, USER("\"uid\":1001,\"gid\":5")), "process.user.gid", "gid 1001's, and this is 5", CODE_CONFIG_INVALID },
        { STRICT(HOST, USER("\"uid\":1001,\"gid\":1001,\"additionalGids\":[5]")), "process.user.additionalGids", "no other group",
                CODE_CONFIG_INVALID },
        { STRICT(HOST ",\"run.oci.keep_original_groups\":\"1\"", BARE), "annotations[\"run.oci.keep_original_groups\"]", "no other group",
                CODE_CONFIG_INVALID },
        { STRICT("", BARE), "sage.sandbox.host.linux_execution_uid", "never run as uid 0", CODE_IDENTITY_INVALID },
        { STRICT("", USER("\"uid\":0,\"gid\":0")), "sage.sandbox.host.linux_execution_uid", "never run as uid 0", CODE_IDENTITY_INVALID },
        { STRICT("", USER("\"uid\":7,\"gid\":0")), "sage.sandbox.host.linux_execution_uid", "never run as gid 0", CODE_IDENTITY_INVALID },
        { STRICT(HOST, BARE), "sage.sandbox.host.linux_execution_uid", "only root", CODE_IDENTITY_INVALID, &user_host },
};

static void what_a_sandbox_has_for_itself_is_refused_by_its_field(void **state) {
        (void)state;
        for (size_t i = 0; i < ELEMENTSOF(refused); i++) {
                struct compilation c;
                int r = begin(refused[i].text, refused[i].facts ?: &root_host, &c);

                if (r >= 0 || err.code != refused[i].code || strcmp(err.where, refused[i].where) != 0 ||
                        !strstr(err.text, refused[i].said)) {
                        print_error("row %zu: expected %s: … %s …\nfound %s: %s\n", i, refused[i].where, refused[i].said,
                                r < 0 ? err.where : "", r < 0 ? err.text : "success");
                        assert_true(false);
                }
        }
}

static void check_identity(const char *text, const struct facts_facts *facts, uint32_t uid) {
        struct compilation c;

        assert_int_equal(begin(text, facts, &c), 0);
        assert_int_equal(c.plan->sandbox->uid, uid);
        assert_int_equal(c.plan->sandbox->gid, uid);
        assert_int_equal(c.request->config->process->user->uid, uid);
}

static void the_identity_is_the_hosts_the_bundles_or_the_callers_own(void **state) {
        (void)state;
        check_identity(STRICT(HOST, BARE), &root_host, 1001);
        check_identity(STRICT(HOST, USER("\"uid\":1001,\"gid\":1001,\"umask\":7")), &root_host, 1001);
        check_identity(STRICT("", USER("\"uid\":1002,\"gid\":1002")), &root_host, 1002);
        check_identity(STRICT("", BARE), &user_host, 1000);
}

static void nothing_is_left_to_the_bundle(void **state) {
        struct compilation c;
        const struct oci_config *config;

        (void)state;
        assert_int_equal(
                begin(STRICT(HOST, USER("\"uid\":1001,\"gid\":1001,\"umask\":7") ",\"linux\":{\"cgroupsPath\":\"/x\"}"), &root_host, &c),
                0);
        config = c.request->config;
        assert_true(config->root->readonly);
        assert_int_equal(config->linux->n_namespaces, 7);
        assert_string_equal(config->linux->cgroups_path, "/x");
        assert_int_equal(config->linux->uid_mappings[0].host_id, 1001);
        assert_string_equal(config->linux->sysctl[2].key, "user.max_user_namespaces");
        assert_string_equal(config->linux->sysctl[2].value, "0");
        assert_true(config->process->no_new_privileges);
        assert_null(config->process->capabilities);
        assert_int_equal(config->process->user->umask, 7);
        assert_int_equal(c.plan->sandbox->limits->cpu, SAGE_LIMIT_STATE_SAMPLED);
}

static void without_a_process_there_is_its_identity_and_no_program(void **state) {
        struct compilation c;

        (void)state;
        assert_int_equal(begin(STRICT(HOST, ""), &root_host, &c), 0);
        assert_int_equal(namespaces_compile(&c), 0);
        assert_int_equal(ids_compile(&c), 0);
        assert_int_equal(process_compile(&c), 0);
        assert_null(c.plan->process->args);
        assert_int_equal(c.plan->process->uid, 1001);
        assert_string_equal(c.plan->process->cwd, "/");
        assert_true(c.plan->process->no_new_privileges);
        assert_int_equal(c.plan->process->capabilities->bounding, 0);
}

#define HARD ",\"sage.sandbox.host\":\"{'linux_execution_uid':1001,'linux_execution_gid':1001," \
        "'linux_cgroup_root':'/sys/fs/cgroup/sage','linux_quota_mount':'/srv'}\""
#define RESOURCES ",\"sage.sandbox.resources\":\"{'cpu_percent':1.5,'memory_mb':512,'max_processes':7}\""

static void compile_cgroup(const char *text, struct compilation *c) {
        assert_int_equal(begin(text, &root_host, c), 0);
        assert_int_equal(namespaces_compile(c), 0);
        assert_int_equal(ids_compile(c), 0);
        assert_int_equal(process_compile(c), 0);
}

static const char *written(const struct plan_cgroup *cgroup, const char *file) {
        const char *found = NULL;

        for (size_t i = 0; i < cgroup->n_writes; i++)
                if (streq(cgroup->writes[i].file, file)) {
                        assert_null(found);
                        found = cgroup->writes[i].value;
                }
        return found;
}

static void hard_limits_are_written_in_the_hosts_cgroup(void **state) {
        const struct plan_cgroup *cgroup;
        struct compilation c;

        (void)state;
        compile_cgroup(STRICT(HARD RESOURCES, BARE ",\"linux\":{\"resources\":{\"memory\":{\"limit\":536870912},\"cpu\":{\"shares\":512}}}"), &c);
        assert_int_equal(cgroup_compile(&c), 0);
        cgroup = c.plan->cgroup;
        assert_string_equal(cgroup->path, "/sage/s1");
        assert_string_equal(written(cgroup, "cpu.max"), "1500 100000");
        assert_string_equal(written(cgroup, "memory.max"), "536870912");
        assert_string_equal(written(cgroup, "memory.swap.max"), "0");
        assert_string_equal(written(cgroup, "pids.max"), "7");
        assert_non_null(written(cgroup, "cpu.weight"));
        assert_int_equal(cgroup->n_controllers, 3);
}

static void what_is_sampled_is_not_written(void **state) {
        struct compilation c;

        (void)state;
        compile_cgroup(STRICT(HOST RESOURCES, BARE), &c);
        assert_int_equal(cgroup_compile(&c), 0);
        assert_int_equal(c.plan->cgroup->n_writes, 0);
        assert_string_equal(c.plan->cgroup->path, "/s1");
}

static void another_cgroup_than_the_hosts_is_refused(void **state) {
        struct compilation c;

        (void)state;
        compile_cgroup(STRICT(HARD, BARE ",\"linux\":{\"cgroupsPath\":\"/sage/s2\"}"), &c);
        assert_int_equal(cgroup_compile(&c), -EINVAL);
        assert_string_equal(err.where, "linux.cgroupsPath");
        compile_cgroup(STRICT(HARD, BARE ",\"linux\":{\"cgroupsPath\":\"/sage/s1\"}"), &c);
        assert_int_equal(cgroup_compile(&c), 0);
        compile_cgroup(STRICT(",\"sage.sandbox.host\":\"{'linux_execution_uid':1,'linux_execution_gid':1,"
                              "'linux_cgroup_root':'/srv/sage','linux_quota_mount':'/srv'}\"", BARE), &c);
        assert_int_equal(cgroup_compile(&c), -EINVAL);
        assert_string_equal(err.where, "sage.sandbox.host.linux_cgroup_root");
}

static void host_settings_make_limits_hard(void **state) {
        struct compilation c;

        (void)state;
        assert_int_equal(begin(STRICT(",\"sage.sandbox.host\":\"{'linux_execution_uid':1001,'linux_execution_gid':1001,"
                                      "'linux_cgroup_root':'/sys/fs/cgroup/sage','linux_quota_mount':'/srv'}\"",
                                       BARE),
                                 &root_host, &c),
                0);
        assert_int_equal(c.plan->sandbox->limits->cpu, SAGE_LIMIT_STATE_HARD);
        assert_int_equal(c.plan->sandbox->limits->disk, SAGE_LIMIT_STATE_HARD);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(what_a_sandbox_has_for_itself_is_refused_by_its_field),
                TEST(the_identity_is_the_hosts_the_bundles_or_the_callers_own),
                TEST(nothing_is_left_to_the_bundle),
                TEST(without_a_process_there_is_its_identity_and_no_program),
                TEST(hard_limits_are_written_in_the_hosts_cgroup),
                TEST(what_is_sampled_is_not_written),
                TEST(another_cgroup_than_the_hosts_is_refused),
                TEST(host_settings_make_limits_hard),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
