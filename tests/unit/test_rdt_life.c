/* The whole runtime with a directory in place of the resctrl file system: this program is the runtime too, when FAKE_RESCTRL names one. */
#define _GNU_SOURCE
#include "in_child.h"

#include <spawn.h>
#include <sys/prctl.h>

#include "facts/probe.h"
#include "fake_resctrl.h"

#undef main /* here it is the runtime's that got another name */

int sage_main(int argc, char **argv);

int __wrap_probe_rdt(struct arena *arena, struct facts_rdt **ret, struct error *err);
int __wrap_probe_rdt(struct arena *arena, struct facts_rdt **ret, struct error *err) {
        (void)err;
        *ret = arena_new(arena, struct facts_rdt);
        probe_rdt_at(arena, fake_root, *ret);
        return 0;
}

extern char **environ;

static char program[512]; /* by its path: through /proc/self/exe it would be a file of the mount namespace that we left */

/* Exit status of the runtime with these arguments; it lives in the scratch directory. */
static int runtime(const char *first, ...) {
        char *argv[20] = { (char *)"sage-runtime", (char *)"--root", (char *)"state", (char *)"--cgroup-manager", (char *)"disabled" };
        posix_spawn_file_actions_t actions;
        int n = 5, status;
        va_list ap;
        pid_t pid, ended;

        va_start(ap, first);
        for (const char *argument = first; argument && n < 19; argument = va_arg(ap, const char *))
                argv[n++] = (char *)(uintptr_t)argument;
        va_end(ap);
        posix_spawn_file_actions_init(&actions);
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
        posix_spawn_file_actions_addopen(&actions, 1, "output", O_WRONLY | O_CREAT | O_TRUNC, 0600);
        posix_spawn_file_actions_adddup2(&actions, 1, 2);
        CHECK(posix_spawn(&pid, program, &actions, NULL, argv, environ) == 0);
        posix_spawn_file_actions_destroy(&actions);
        while ((ended = waitpid(-1, &status, 0)) != pid)
                CHECK(ended > 0); /* one of a container's, whose runtime has left it to us: its namespace waits for us to ask */
        CHECK(WIFEXITED(status));
        if (WEXITSTATUS(status)) {
                char output[2048];

                read_text("output", output, sizeof output);
                fprintf(stderr, "# %s: %s", first, output);
        }
        return WEXITSTATUS(status);
}

static bool said(const char *text) {
        char output[2048];

        read_text("output", output, sizeof output);
        if (!strstr(output, text))
                fprintf(stderr, "# expected %s, found %s\n", text, output);
        return strstr(output, text);
}

static bool there(const char *below) {
        char path[512];

        return access(fake_path(path, sizeof path, fake_root, below), F_OK) == 0;
}

static bool holds(const char *directory, const char *name, const char *text) {
        char path[512], content[1024];

        fake_get(fake_path(path, sizeof path, fake_root, directory), name, content, sizeof content);
        return strstr(content, text);
}

static unsigned lines(const char *directory, const char *name) {
        char path[512], content[1024];
        unsigned n = 0;

        fake_get(fake_path(path, sizeof path, fake_root, directory), name, content, sizeof content);
        for (const char *at = content; *at; at++)
                n += *at == '\n';
        return n;
}

/* The host's programs, as the container's: whatever sleep needs is in one of these. */
static const char *const host[] = { "bin", "lib", "lib64", "usr" };

static void bundle(const char *payload, const char *rdt) {
        char config[2048], mounts[1024] = "", path[64];
        struct stat st;

        for (size_t i = 0; i < ELEMENTSOF(host); i++) {
                snprintf(path, sizeof path, "/%s", host[i]);
                if (lstat(path, &st) == 0 && S_ISDIR(st.st_mode))
                        snprintf(mounts + strlen(mounts), sizeof mounts - strlen(mounts),
                                "%s{\"destination\":\"%s\",\"source\":\"%s\",\"options\":[\"rbind\",\"ro\"]}", *mounts ? "," : "", path,
                                path);
        }
        snprintf(config, sizeof config,
                "{\"ociVersion\":\"1.3.0\",\"root\":{\"path\":\"rootfs\"},\"mounts\":[%s],"
                "\"process\":{\"cwd\":\"/\",\"args\":[\"%s\",\"100\"]},"
                "\"linux\":{\"namespaces\":[{\"type\":\"mount\"},{\"type\":\"pid\"}],\"intelRdt\":%s}}",
                mounts, payload, rdt);
        write_text("bundle/config.json", config);
}

static void make_root(void) {
        char from[64], to[64], target[64];

        CHECK(__real_mkdir("bundle", 0755) == 0 && __real_mkdir("bundle/rootfs", 0755) == 0);
        for (size_t i = 0; i < ELEMENTSOF(host); i++) {
                ssize_t n;

                snprintf(from, sizeof from, "/%s", host[i]);
                snprintf(to, sizeof to, "bundle/rootfs/%s", host[i]);
                n = readlink(from, target, sizeof target - 1);
                if (n < 0)
                        continue;
                target[n] = '\0';
                CHECK(symlink(target, to) == 0);
        }
}

static void begin(const char *scratch) {
        char directory[128];

        CHECK(prctl(PR_SET_CHILD_SUBREAPER, 1) == 0);
        make_root();
        CHECK(__real_mkdir("resctrl", 0755) == 0);
        snprintf(directory, sizeof directory, "%s/resctrl", scratch);
        fake_resctrl(directory);
        CHECK(setenv("FAKE_RESCTRL", directory, 1) == 0);
        CHECK(setenv("ASAN_OPTIONS", "detect_leaks=0", 1) == 0); /* LeakSanitizer never ends after setns(CLONE_NEWPID) */
}

CHILD_TEST(a_container_has_a_class_of_its_own_until_it_is_deleted, 0) {
        begin(scratch);
        bundle("/bin/sleep", "{\"l3CacheSchema\":\"L3:0=f\",\"enableMonitoring\":true}");
        CHECK(runtime("create", "--bundle", "bundle", "box", NULL) == 0);
        CHECK(holds("box", "schemata", "L3:0=f\n"));
        CHECK(lines("box", "tasks") == 1 && lines("box/mon_groups/box", "tasks") == 1);
        CHECK(runtime("start", "box", NULL) == 0);
        CHECK(runtime("exec", "--detach", "box", "/bin/sleep", "100", NULL) == 0);
        CHECK(lines("box", "tasks") == 2 && lines("box/mon_groups/box", "tasks") == 2);

        CHECK(runtime("update", "--l3-cache-schema", "L3:0=1", "--mem-bw-schema", "MB:0=30", "box", NULL) == 0);
        CHECK(holds("box", "schemata", "L3:0=1\n") && holds("box", "schemata", "MB:0=30\n"));
        CHECK(runtime("update", "--l3-cache-schema", "L3:0=3", "--mem-bw-schema", "MB:0=g", "box", NULL) == 1 && said("--mem-bw-schema"));
        CHECK(holds("box", "schemata", "L3:0=1\n"));
        CHECK(runtime("update", "--mem-bw-schema", "L3:0=3", "box", NULL) == 1 && said("--mem-bw-schema"));

        CHECK(runtime("delete", "--force", "box", NULL) == 0);
        CHECK(!there("box"));
}

CHILD_TEST(a_class_with_a_name_outlives_the_container_that_made_it, 0) {
        begin(scratch);
        bundle("/bin/sleep", "{\"closID\":\"gold\",\"memBwSchema\":\"MB:0=20\"}");
        CHECK(runtime("run", "--detach", "--bundle", "bundle", "one", NULL) == 0);
        CHECK(runtime("run", "--detach", "--bundle", "bundle", "two", NULL) == 0);
        CHECK(lines("gold", "tasks") == 2);
        bundle("/bin/sleep", "{\"closID\":\"gold\",\"memBwSchema\":\"MB:0=50\"}");
        CHECK(runtime("create", "--bundle", "bundle", "three", NULL) == 1 && said("gold"));
        CHECK(runtime("state", "three", NULL) == 1);
        write_text("resctrl/gold/tasks", ""); /* nobody in it is what would let a launch that failed remove it */
        CHECK(runtime("delete", "--force", "one", NULL) == 0 && runtime("delete", "--force", "two", NULL) == 0);
        CHECK(there("gold"));
        bundle("/bin/sleep", "{\"closID\":\"silver\"}");
        CHECK(runtime("create", "--bundle", "bundle", "four", NULL) == 1 && said("silver"));
        CHECK(!there("silver"));
}

CHILD_TEST(a_class_is_found_again_where_the_status_is_lost, 0) {
        static const char *const rdt[] = { "{\"enableMonitoring\":true}",
                "{\"closID\":\"gold\",\"l3CacheSchema\":\"L3:0=f\",\"enableMonitoring\":true}" };
        begin(scratch);
        for (int i = 0; i < 2; i++) {
                char output[2048];
                const char *at;
                int pid;

                bundle("/bin/sleep", rdt[i]);
                CHECK(runtime("run", "--detach", "--bundle", "bundle", "box", NULL) == 0);
                CHECK(runtime("state", "box", NULL) == 0);
                read_text("output", output, sizeof output);
                at = strstr(output, "\"pid\":");
                CHECK(at && (pid = atoi(at + strlen("\"pid\":"))) > 1);
                write_text("state/box/status.json", "{");
                CHECK(kill(pid, SIGKILL) == 0);
                CHECK(runtime("delete", "--force", "box", NULL) == 0);
                CHECK(!there("box") && !there("gold/mon_groups/box"));
        }
        CHECK(there("gold"));
}

CHILD_TEST(a_launch_that_fails_leaves_no_class, 0) {
        begin(scratch);
        bundle("/nothing", "{\"l3CacheSchema\":\"L3:0=f\",\"enableMonitoring\":true}");
        CHECK(runtime("create", "--bundle", "bundle", "box", NULL) == 1 && said("/nothing"));
        CHECK(!there("box"));
        bundle("/bin/sleep", "{\"closID\":\"gold\",\"l3CacheSchema\":\"L3:0=g\"}");
        CHECK(runtime("create", "--bundle", "bundle", "box", NULL) == 1 && said("linux.intelRdt.l3CacheSchema") && said("Non-hex"));
        CHECK(!there("gold"));
        CHECK(runtime("state", "box", NULL) == 1);
}

/* A cgroup is what events wants first; any directory does, in which nothing is counted. */
static void pretend_cgroup(const char *scratch, const char *status) {
        const char *at = strstr(status, "\"rdt\":");
        char changed[8192];

        CHECK(at);
        snprintf(changed, sizeof changed, "%.*s\"cgroup\":{\"path\":\"%s\",\"ours\":0},%s", (int)(at - status), status, scratch, at);
        write_text("state/box/status.json", changed);
}

CHILD_TEST(events_tells_of_the_class_and_of_what_is_monitored, 0) {
        char status[4096];

        begin(scratch);
        bundle("/bin/sleep", "{\"closID\":\"gold\",\"l3CacheSchema\":\"L3:0=f\",\"enableMonitoring\":true}");
        CHECK(runtime("run", "--detach", "--bundle", "bundle", "box", NULL) == 0);
        read_text("state/box/status.json", status, sizeof status);
        pretend_cgroup(scratch, status);
        CHECK(__real_mkdir("resctrl/gold/mon_groups/box/mon_data", 0755) == 0);
        CHECK(__real_mkdir("resctrl/gold/mon_groups/box/mon_data/mon_L3_01", 0755) == 0);
        CHECK(__real_mkdir("resctrl/gold/mon_groups/box/mon_data/mon_L3_00", 0755) == 0);
        write_text("resctrl/gold/mon_groups/box/mon_data/mon_L3_00/llc_occupancy", "5\n");
        write_text("resctrl/gold/mon_groups/box/mon_data/mon_L3_01/llc_occupancy", "6\n");
        CHECK(runtime("events", "--stats", "box", NULL) == 0);
        CHECK(said("\"intel_rdt\":{") && said("\"l3_cache_schema\":\"L3:0=f\"") && said("\"mem_bw_info\":{\"bandwidth_gran\":10}"));
        CHECK(said("\"cmt_stats\":[{\"llc_occupancy\":5},{\"llc_occupancy\":6}]"));
        write_text("state/box/status.json", status);
        CHECK(runtime("kill", "box", "KILL", NULL) == 0);
        while (waitpid(-1, NULL, 0) > 0)
                ;
}

int main(int argc, char **argv) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_container_has_a_class_of_its_own_until_it_is_deleted),
                cmocka_unit_test(a_class_with_a_name_outlives_the_container_that_made_it),
                cmocka_unit_test(a_class_is_found_again_where_the_status_is_lost),
                cmocka_unit_test(a_launch_that_fails_leaves_no_class),
                cmocka_unit_test(events_tells_of_the_class_and_of_what_is_monitored),
        };
        const char *root = getenv("FAKE_RESCTRL");

        if (root) {
                snprintf(fake_root, sizeof fake_root, "%s", root);
                return sage_main(argc, argv);
        }
        if (readlink("/proc/self/exe", program, sizeof program - 1) < 0)
                return 1;
        return RUN_TESTS(tests);
}
