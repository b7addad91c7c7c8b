/* `spec --sandbox`: from options to the bundle of a strict sandbox. Nothing here looks at the host. */
#include "unit.h"

#include <errno.h>
#include <unistd.h>

#include "base/str.h"
#include "cmd/passwd.h"
#include "cmd/sandbox_cache.h"
#include "cmd/sandbox_env.h"
#include "cmd/spec_sandbox.h"
#include "libocispec/spec.h"
#include "spec/host-policy.h"

static const struct option_row rows[] = { SANDBOX_OPTION_ROWS };

/* What the command would have found: a workspace of uid 1001. */
static struct sandbox_found found_workspace(void) {
        return (struct sandbox_found){ .workspace = "/srv/w", .workspace_dev = 5, .workspace_ino = 7, .uid = 1001, .gid = 1002 };
}

static struct sandbox_options parse(struct arena *arena, const char *line, char ***ret_command) {
        char *copy = arena_printf(arena, "sandbox %s", line), **argv = arena_array(arena, char *, 64);
        struct sandbox_options o = { 0 };
        struct error err;
        int argc = 0, n;

        for (char *word = strtok(copy, " "); word; word = strtok(NULL, " "))
                argv[argc++] = word;
        assert_int_equal(options_parse(arena, rows, ELEMENTSOF(rows), OPTIONS_BEFORE_OPERAND, argc, argv, &o, ret_command, &n, &err), 0);
        return o;
}

/* "KEY=VALUE" for each annotation, and the environment, a line each: what the rows below look for. */
static const char *text_of(struct arena *arena, const struct oci_config *config) {
        const char *text = "\n";

        for (size_t i = 0; i < config->n_annotations; i++)
                text = arena_printf(arena, "%s%s=%s\n", text, config->annotations[i].key, config->annotations[i].value);
        for (size_t i = 0; config->process && i < config->process->n_env; i++)
                text = arena_printf(arena, "%senv %s\n", text, config->process->env[i]);
        return text;
}

static struct oci_config *make(struct arena *arena, const char *line, const struct sandbox_found *found) {
        struct sandbox_options o;
        struct oci_config *config;
        struct error err = { 0 };
        char **command;

        o = parse(arena, line, &command);
        if (spec_sandbox(arena, &o, found, command, &config, &err) < 0)
                FAIL("%s: %s: %s", line, err.where, err.text);
        return config;
}

static void refuse(const char *line, const struct sandbox_found *found, enum code code, const char *where, const char *text) {
        _cleanup_arena_ struct arena arena = { 0 };
        struct sandbox_options o;
        struct oci_config *config;
        struct error err = { 0 };
        char **command;

        o = parse(&arena, line, &command);
        if (spec_sandbox(&arena, &o, found, command, &config, &err) == 0 || err.code != code || !streq(err.where, where) ||
                !strstr(err.text, text))
                FAIL("%s: code %d, %s: %s", line, err.code, err.where, err.text);
        assert_int_equal(err.line, 0);
}

static void without_options_it_is_as_bare_as_can_be(void **state) {
        _cleanup_arena_ struct arena arena = { 0 };
        const struct sandbox_found found = found_workspace();
        struct oci_config *config = make(&arena, "", &found);
        (void)state;

        assert_null(config->process->args);
        assert_string_equal(config->process->cwd, "/srv/w");
        assert_null(config->linux);
        assert_int_equal(config->n_mounts, 0);
        assert_string_equal(config->root->path, "rootfs");
        assert_true(config->root->readonly);
        config->process->n_env = 0;
        assert_string_equal(text_of(&arena, config),
                "\nsage.sandbox.filesystem={\"workspace\":\"/srv/w\",\"workspace_st_dev\":5,\"workspace_st_ino\":7,\"workspace_root\":\"/srv/w\","
                "\"allow_symlinks\":true}\n"
                "sage.sandbox.host={\"linux_execution_uid\":1001,\"linux_execution_gid\":1002}\n"
                "sage.sandbox.process={\"allow_shell\":true}\n"
                "sage.sandbox.profile=strict\n"
                "sage.sandbox.resources={\"require_hard_limits\":false}\n");
}

static void a_command_is_the_process_and_its_environment_is_ours(void **state) {
        _cleanup_arena_ struct arena arena = { 0 };
        const struct sandbox_found found = found_workspace();
        const struct oci_config *config = make(&arena, "-- make -j2 --quiet", &found);
        static const char *const env[] = {
                "PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
                "HOME=/tmp",
                "TMPDIR=/tmp",
                "USER=sage",
                "LANG=C.UTF-8",
                "TERM=dumb",
        };
        (void)state;

        assert_int_equal(config->process->n_args, 3);
        assert_string_equal(config->process->args[2], "--quiet");
        assert_null(config->process->args[3]);
        assert_string_equal(config->process->cwd, "/srv/w");
        assert_int_equal(config->process->user->uid, 1001);
        assert_int_equal(config->process->user->gid, 1002);
        assert_false(config->process->terminal);
        assert_int_equal(config->process->n_env, ELEMENTSOF(env));
        for (size_t i = 0; i < ELEMENTSOF(env); i++)
                assert_string_equal(config->process->env[i], env[i]);
}

static void every_option_is_a_member(void **state) {
        static const struct {
                const char *line, *expected;
        } cases[] = {
                { "--workspace-root /work", "\"workspace_root\":\"/work\"" },
                { "--read-path /opt --read-path /nix/store", "\"read_paths\":[\"/opt\",\"/nix/store\"]" },
                { "--write-path /var/x", "\"write_paths\":[\"/var/x\"]" },
                { "--protected-path .git/hooks", "\"protected_paths\":[\".git/hooks\"]" },
                { "--read-only", "\"read_only\":true" },
                { "--command-path /opt/bin:/bin", "sage.sandbox.process={\"command_path\":\"/opt/bin:/bin\"" },
                { "--command-path /opt/bin:/bin x", "\nenv PATH=/opt/bin:/bin\n" },
                { "--cpu-percent 12.5", "\"cpu_percent\":12.5" },
                { "--memory-mb 64", "\"memory_mb\":64" },
                { "--disk-mb 8", "\"disk_mb\":8" },
                { "--max-processes 4", "\"max_processes\":4" },
                { "--require-hard-limits", "\"require_hard_limits\":true" },
                { "--require-hard-limits=true", "\"require_hard_limits\":true" },
                { "--cgroup-root /sys/fs/cgroup/s --quota-mount /q",
                        "\"linux_cgroup_root\":\"/sys/fs/cgroup/s\",\"linux_quota_mount\":\"/q\"" },
                { "--cgroup-root /sys/fs/cgroup/s --quota-mount /q", "\"require_hard_limits\":true" },
                { "--cgroup-root /sys/fs/cgroup/s --quota-mount /q --require-hard-limits=false", "\"require_hard_limits\":false" },
                { "--network-mode none", "sage.sandbox.network={\"mode\":\"none\"}" },
                { "--network-host pypi.org --network-host *.npmjs.org",
                        "{\"mode\":\"allowlist\",\"allowed_hosts\":[\"pypi.org\",\"*.npmjs.org\"],\"allowed_schemes\":[\"http\",\"https\"]}" },
                { "--network-host pypi.org --network-port 443 --network-port 8443", "\"allowed_ports\":[443,8443]" },
                { "--network-proxy http://p:8080",
                        "{\"mode\":\"proxy\",\"proxy_url\":\"http://p:8080\",\"allowed_schemes\":[\"http\",\"https\"]}" },
                { "--network-proxy http://p:8080 --network-host x.org", "{\"mode\":\"proxy\"" },
                { "--network-host x.org --network-allow-private", "\"deny_private_networks\":false" },
                { "--network-host x.org --network-max-download 100", "\"max_response_bytes\":100" },
                { "--network-host x.org --network-max-upload 0", "\"max_request_body_bytes\":0" },
                { "--network-host x.org --network-timeout 2.5",
                        "sage.sandbox.network={\"mode\":\"allowlist\",\"allowed_hosts\":[\"x.org\"],"
                        "\"allowed_schemes\":[\"http\",\"https\"],\"max_wall_time_seconds\":2.5}" },
                { "--network-mode unrestricted", "sage.sandbox.network={\"mode\":\"unrestricted\",\"deny_private_networks\":false}" },
                { "--timeout 0.5", "\"max_wall_time_seconds\":0.5" },
                { "--timeout 1m30s", "\"max_wall_time_seconds\":90" },
                { "--network-host x.org --network-timeout 250ms", "\"max_wall_time_seconds\":0.25" },
                { "--max-output-bytes 4096", "\"max_output_bytes\":4096" },
                { "--network-host x.org x", "\nenv HTTPS_PROXY=http://127.0.0.1:3128\n" },
                { "--network-host x.org x", "\nenv no_proxy=\n" },
                { "--network-proxy http://p x", "\nenv NODE_USE_ENV_PROXY=1\n" },
        };
        (void)state;

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                _cleanup_arena_ struct arena arena = { 0 };
                const struct sandbox_found found = found_workspace();
                const char *text = text_of(&arena, make(&arena, cases[i].line, &found));

                if (!strstr(text, cases[i].expected))
                        FAIL("%s: no %s in %s", cases[i].line, cases[i].expected, text);
        }
}

static void what_is_wrong_has_the_name_of_its_option(void **state) {
        static const struct {
                const char *line;
                enum code code;
                const char *where, *text;
        } cases[] = {
                { "--workspace-root /usr/x", CODE_WORKSPACE_INVALID, "--workspace-root", "/usr" },
                { "--workspace-root /", CODE_WORKSPACE_INVALID, "--workspace-root", "below /" },
                { "--workspace-root work", CODE_WORKSPACE_INVALID, "--workspace-root", "absolute" },
                { "--read-path opt", CODE_CONFIG_INVALID, "--read-path", "absolute" },
                { "--read-path /opt --read-path /proc/1", CODE_CONFIG_INVALID, "--read-path", "/proc" },
                { "--read-path /opt/..", CODE_CONFIG_INVALID, "--read-path", ".." },
                { "--write-path /etc", CODE_CONFIG_INVALID, "--write-path", "/etc" },
                { "--write-path /srv", CODE_CONFIG_INVALID, "--write-path", "holds the workspace" },
                { "--read-path /x --write-path /x", CODE_CONFIG_INVALID, "--write-path", "read_paths" },
                { "--protected-path ../x", CODE_CONFIG_INVALID, "--protected-path", "below the workspace" },
                { "--command-path /bin:", CODE_CONFIG_INVALID, "--command-path", "absolute" },
                { "--cpu-percent 0", CODE_CONFIG_INVALID, "--cpu-percent", "from 1" },
                { "--cpu-percent nan", CODE_CONFIG_INVALID, "--cpu-percent", "number" },
                { "--cpu-percent 1e999", CODE_CONFIG_INVALID, "--cpu-percent", "number" },
                { "--memory-mb -1", CODE_CONFIG_INVALID, "--memory-mb", "from 1" },
                { "--memory-mb 1.5", CODE_CONFIG_INVALID, "--memory-mb", "integer" },
                { "--memory-mb true", CODE_CONFIG_INVALID, "--memory-mb", "integer" },
                { "--disk-mb 0", CODE_CONFIG_INVALID, "--disk-mb", "from 1" },
                { "--max-processes 3", CODE_CONFIG_INVALID, "--max-processes", "from 4" },
                { "--require-hard-limits=1", CODE_CONFIG_INVALID, "--require-hard-limits", "true or false" },
                { "--cgroup-root /c", CODE_CONFIG_INVALID, "--cgroup-root", "--quota-mount" },
                { "--quota-mount /q", CODE_CONFIG_INVALID, "--quota-mount", "--cgroup-root" },
                { "--network-mode any", CODE_NETWORK_POLICY_INVALID, "--network-mode", "none, allowlist, proxy, unrestricted" },
                { "--network-mode allowlist", CODE_NETWORK_POLICY_INVALID, "--network-host", "at least one" },
                { "--network-mode proxy", CODE_NETWORK_POLICY_INVALID, "--network-proxy", "URL" },
                { "--network-mode allowlist --network-host x.org --network-proxy http://p", CODE_NETWORK_POLICY_INVALID, "--network-proxy",
                        "allowlist" },
                { "--network-mode none --network-host x.org", CODE_NETWORK_POLICY_INVALID, "--network-host", "none" },
                { "--network-mode unrestricted --network-host x.org", CODE_NETWORK_POLICY_INVALID, "--network-host", "unrestricted" },
                { "--network-host http://x.org", CODE_NETWORK_POLICY_INVALID, "--network-host", "expected a host" },
                { "--network-host x.org --network-port 0", CODE_NETWORK_POLICY_INVALID, "--network-port", "65535" },
                { "--network-host x.org --network-port 65536", CODE_NETWORK_POLICY_INVALID, "--network-port", "65535" },
                { "--network-host x.org --network-port 22", CODE_NETWORK_POLICY_INVALID, "--network-port", "SSH" },
                { "--network-port 443", CODE_NETWORK_POLICY_INVALID, "--network-port", "no network" },
                { "--network-allow-private", CODE_NETWORK_POLICY_INVALID, "--network-allow-private", "no network" },
                { "--network-mode none --network-timeout 3", CODE_NETWORK_POLICY_INVALID, "--network-timeout", "no network" },
                { "--network-proxy socks://p", CODE_NETWORK_POLICY_INVALID, "--network-proxy", "origin" },
                { "--network-proxy http://u:p@p", CODE_NETWORK_POLICY_INVALID, "--network-proxy", "no user" },
                { "--network-host x.org --network-max-download 0", CODE_NETWORK_POLICY_INVALID, "--network-max-download", "from 1" },
                { "--network-host x.org --network-max-upload -1", CODE_NETWORK_POLICY_INVALID, "--network-max-upload", "integer" },
                { "--network-mode unrestricted --network-timeout 3", CODE_NETWORK_POLICY_INVALID, "--network-timeout", "unrestricted" },
                { "--timeout 0", CODE_CONFIG_INVALID, "--timeout", "above 0" },
                { "--timeout soon", CODE_CONFIG_INVALID, "--timeout", "number" },
                { "--max-output-bytes 0", CODE_CONFIG_INVALID, "--max-output-bytes", "from 1" },
                { "--tty=maybe", CODE_USAGE, "--tty", "auto, true or false" },
                { "--tty", CODE_USAGE, "--tty", "no command" },
        };
        (void)state;

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                const struct sandbox_found found = found_workspace();

                refuse(cases[i].line, &found, cases[i].code, cases[i].where, cases[i].text);
        }
}

static void the_workspace_is_where_it_is_outside_unless_that_is_the_sandboxs_own_place(void **state) {
        static const struct {
                const char *workspace, *line, *root;
        } cases[] = {
                { "/srv/w", "x", "/srv/w" },
                { "/home/u/p", "x", "/home/u/p" },
                { "/tmp/p", "x", "/workspace" },
                { "/usr/src/p", "x", "/workspace" },
                { "/srv/w", "--read-path /srv x", "/workspace" }, /* the two would lie on each other */
                { "/srv/w", "--read-path /srv/w/sub x", "/srv/w" },
                { "/srv/w", "--workspace-root /work x", "/work" },
        };
        (void)state;

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                _cleanup_arena_ struct arena arena = { 0 };
                struct sandbox_found found = found_workspace();

                found.workspace = cases[i].workspace;
                assert_string_equal(make(&arena, cases[i].line, &found)->process->cwd, cases[i].root);
        }
}

static void variables_replace_ours_and_each_other_and_are_allowed_by_name(void **state) {
        _cleanup_arena_ struct arena arena = { 0 };
        const char *env[] = { "A=1", "LANG=de_DE.UTF-8", "A=2", "EMPTY=", NULL };
        struct sandbox_found found = found_workspace();
        const char *text;
        (void)state;

        found.env = (struct text_list){ env, 4 };
        text = text_of(&arena, make(&arena, "x", &found));
        assert_non_null(strstr(text, "\"allowed_env_names\":[\"A\",\"LANG\",\"EMPTY\"]"));
        assert_non_null(strstr(text, "\nenv A=2\n"));
        assert_null(strstr(text, "A=1"));
        assert_non_null(strstr(text, "\nenv LANG=de_DE.UTF-8\n"));
        assert_null(strstr(text, "C.UTF-8"));
        assert_non_null(strstr(text, "\nenv EMPTY=\n"));
        env[0] = "PATH=/x";
        refuse("--command-path /bin x", &found, CODE_USAGE, "--command-path", "--env PATH");
}

static void a_terminal_is_the_commands_and_has_our_TERM(void **state) {
        _cleanup_arena_ struct arena arena = { 0 };
        struct sandbox_found found = found_workspace();
        const struct oci_config *config;
        (void)state;

        found.terminal = true;
        found.term = "xterm-256color";
        config = make(&arena, "bash", &found);
        assert_true(config->process->terminal);
        assert_non_null(strstr(text_of(&arena, config), "\nenv TERM=xterm-256color\n"));
}

static struct sage_request *decode_policy(struct arena *arena, const char *text) {
        struct sage_request *policy = arena_new(arena, struct sage_request);
        struct error err;

        assert_int_equal(spec_decode(arena, &sage_request_type, "policy", text, strlen(text), policy, &err), 0);
        return policy;
}

static void options_make_a_policy_tighter_and_nothing_wider(void **state) {
        static const char policy[] =
                "{\"resources\": {\"memory_mb\": 128, \"require_hard_limits\": false}, \"process\": {\"allow_shell\": false},"
                "\"network\": {\"mode\": \"allowlist\", \"allowed_hosts\": [\"x.org\", \"*.y.org\"]},"
                "\"filesystem\": {\"allow_symlinks\": false, \"protected_paths\": [\".git\"]}}";
        static const struct {
                const char *line, *expected;
        } right[] = {
                { "", "\"memory_mb\":128" },
                { "--memory-mb 64", "\"memory_mb\":64" },
                { "", "\"allow_shell\":false" },
                { "", "\"allow_symlinks\":false" },
                { "", "\"allowed_hosts\":[\"x.org\",\"*.y.org\"],\"allowed_schemes\":[\"http\",\"https\"]" },
                { "--network-host a.y.org", "\"mode\":\"allowlist\",\"allowed_hosts\":[\"a.y.org\"]" },
                { "--network-max-download 5", "\"max_response_bytes\":5" },
                { "--network-mode none", "sage.sandbox.network={\"mode\":\"none\"}" },
                { "--protected-path .git --protected-path .hg", "\"protected_paths\":[\".git\",\".hg\"]" },
        };
        static const struct {
                const char *line, *where;
                enum code code;
        } wrong[] = {
                { "--memory-mb 129", "--memory-mb", CODE_CONFIG_INVALID },
                { "--network-host z.org", "--network-host", CODE_NETWORK_POLICY_INVALID },
                { "--network-mode unrestricted", "--network-mode", CODE_NETWORK_POLICY_INVALID },
                { "--protected-path .hg", "--protected-path", CODE_CONFIG_INVALID },
        };
        _cleanup_arena_ struct arena arena = { 0 };
        struct sandbox_found found = found_workspace();
        (void)state;

        found.policy = decode_policy(&arena, policy);
        found.policy_path = "/etc/p.json";
        for (size_t i = 0; i < ELEMENTSOF(right); i++) {
                const char *text = text_of(&arena, make(&arena, right[i].line, &found));

                if (!strstr(text, right[i].expected))
                        FAIL("%s: no %s in %s", right[i].line, right[i].expected, text);
        }
        for (size_t i = 0; i < ELEMENTSOF(wrong); i++)
                refuse(wrong[i].line, &found, wrong[i].code, wrong[i].where, "/etc/p.json");
}

static void the_host_policy_has_hard_limits_to_require_and_bounds_to_keep(void **state) {
        static const char text[] =
                "{\"linux_cgroup_root\": \"/sys/fs/cgroup/s\", \"linux_quota_mount\": \"/q\", \"ceilings\": {\"memory_mb\": 256},"
                "\"workspace_roots\": [\"/srv\"]}";
        _cleanup_arena_ struct arena arena = { 0 };
        struct sandbox_found found = found_workspace();
        struct sage_host_policy policy;
        struct error err;
        (void)state;

        assert_int_equal(spec_decode(&arena, &sage_host_policy_type, "host", text, strlen(text), &policy, &err), 0);
        found.sources = (struct sage_sources){ .host = &policy, .host_path = "/etc/host.json" };
        assert_non_null(strstr(text_of(&arena, make(&arena, "", &found)), "\"require_hard_limits\":true"));
        refuse("--memory-mb 257", &found, CODE_CONFIG_INVALID, "--memory-mb", "/etc/host.json");
        refuse("--cgroup-root /elsewhere", &found, CODE_CONFIG_INVALID, "--cgroup-root", "/etc/host.json");
        found.workspace = "/home/w";
        refuse("", &found, CODE_WORKSPACE_INVALID, "--workspace", "workspace_roots");
}

static void a_policy_over_all_bundles_is_not_widened_by_a_default(void **state) {
        _cleanup_arena_ struct arena arena = { 0 };
        struct sandbox_found found = found_workspace();
        const char *text;
        (void)state;

        found.sources.command_line = decode_policy(&arena,
                "{\"process\": {\"allow_shell\": false}, \"resources\": {\"require_hard_limits\": true}, \"network\": {\"mode\": \"allowlist\","
                "\"allowed_hosts\": [\"x.org\"]}}");
        found.sources.command_line_path = "/etc/all.json";
        text = text_of(&arena, make(&arena, "x", &found));
        assert_null(strstr(text, "allow_shell"));
        assert_null(strstr(text, "require_hard_limits"));
        assert_non_null(strstr(text, "\nenv http_proxy="));
}

static void caches_are_directories_that_programs_are_told_of(void **state) {
        static const char *names[] = { "pip", "go", "my-own", NULL }, *bad[] = { "", ".", "..", "a/b", "-x", ".x", "a b" };
        struct text_list paths = { 0 }, env = { 0 };
        _cleanup_arena_ struct arena arena = { 0 };
        struct sandbox_found found = found_workspace();
        struct error err;
        const char *text;
        (void)state;

        assert_int_equal(sandbox_caches(&arena, &(struct text_list){ names, 3 }, NULL, 1001, &paths, &env, &err), 0);
        found.caches = paths;
        found.cache_env = env;
        text = text_of(&arena, make(&arena, "--write-path /var/x x", &found));
        assert_non_null(strstr(text,
                "\"write_paths\":[\"/var/x\",\"/var/cache/sage-runtime/1001/pip\",\"/var/cache/sage-runtime/1001/go\","
                "\"/var/cache/sage-runtime/1001/my-own\"]"));
        assert_non_null(strstr(text, "\nenv PIP_CACHE_DIR=/var/cache/sage-runtime/1001/pip\n"));
        assert_non_null(strstr(text, "\nenv GOMODCACHE=/var/cache/sage-runtime/1001/go/mod\n"));
        paths = (struct text_list){ 0 };
        assert_int_equal(sandbox_caches(&arena, &(struct text_list){ names, 1 }, "/home/u", 1001, &paths, &env, &err), 0);
        assert_string_equal(paths.items[0], "/home/u/.cache/sage-runtime/pip");
        for (size_t i = 0; i < ELEMENTSOF(bad); i++) {
                assert_true(sandbox_caches(&arena, &(struct text_list){ &bad[i], 1 }, NULL, 1001, &paths, &env, &err) < 0);
                assert_string_equal(err.where, "--cache");
        }
}

static void a_file_of_variables_is_a_line_each_as_it_is(void **state) {
        static const char good[] = "# no\n\nA=1\nB= two words # all of it\nC='q'\nD=\nE=x=y";
        static const struct {
                const char *text;
                size_t size;
                const char *where;
        } bad[] = {
                { "A=1\nB\n", 6, "f:2: expected NAME=VALUE" },
                { "1A=1\n", 5, "f:1: expected" },
                { " A=1\n", 5, "f:1: expected" },
                { "=1\n", 3, "f:1: expected" },
                { "A=1\0B", 5, "NUL" },
        };
        static const char *const expected[] = { "A=1", "B= two words # all of it", "C='q'", "D=", "E=x=y" };
        _cleanup_arena_ struct arena arena = { 0 };
        struct text_list list = { 0 };
        struct error err;
        (void)state;

        assert_int_equal(sandbox_environment_parse(&arena, "f", good, strlen(good), &list, &err), 0);
        assert_int_equal(list.n, ELEMENTSOF(expected));
        for (size_t i = 0; i < list.n; i++)
                assert_string_equal(list.items[i], expected[i]);
        for (size_t i = 0; i < ELEMENTSOF(bad); i++) {
                assert_true(sandbox_environment_parse(&arena, "f", bad[i].text, bad[i].size, &list, &err) < 0);
                assert_string_equal(err.where, "--env-file");
                assert_non_null(strstr(err.text, bad[i].where));
        }
}

static void users_are_found_by_name_and_by_number(void **state) {
        static const char text[] =
                "root:x:0:0:root:/root:/bin/sh\nbroken\nbad:x:no:1::/:/\nu:x:1001:1002:A B,,:/home/u:/bin/bash\n+::::::\n"
                "sage-sandbox:x:990:991::/nonexistent:/usr/sbin/nologin";
        _cleanup_arena_ struct arena arena = { 0 };
        struct passwd_entry user;
        (void)state;

        assert_true(passwd_find_in(&arena, text, NULL, 1001, &user));
        assert_int_equal(user.gid, 1002);
        assert_string_equal(user.home, "/home/u");
        assert_true(passwd_find_in(&arena, text, "sage-sandbox", 0, &user));
        assert_int_equal(user.uid, 990);
        assert_false(passwd_find_in(&arena, text, NULL, 1, &user));
        assert_false(passwd_find_in(&arena, text, "bad", 0, &user));
        assert_false(passwd_find_in(&arena, "", "u", 0, &user));
}

static void places_of_errors_are_options(void **state) {
        (void)state;

        assert_string_equal(spec_sandbox_option("annotations[\"sage.sandbox.resources\"].memory_mb"), "--memory-mb");
        assert_string_equal(spec_sandbox_option("annotations[\"sage.sandbox.filesystem\"].read_paths[3]"), "--read-path");
        assert_string_equal(spec_sandbox_option("sage.sandbox.process.max_wall_time_seconds"), "--timeout");
        assert_string_equal(spec_sandbox_option("sage.sandbox.network.max_wall_time_seconds"), "--network-timeout");
        assert_string_equal(spec_sandbox_option("sage.sandbox.host.linux_execution_uid"), "--uid");
        assert_null(spec_sandbox_option("sage.sandbox.resourcesX.memory_mb"));
        assert_null(spec_sandbox_option("annotations[\"sage.sandbox.process\"].allow_shell"));
        assert_null(spec_sandbox_option("annotations[\"sage.sandbox.resources\"]"));
        assert_null(spec_sandbox_option("mounts[1].destination"));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(without_options_it_is_as_bare_as_can_be),
                cmocka_unit_test(a_command_is_the_process_and_its_environment_is_ours),
                cmocka_unit_test(every_option_is_a_member),
                cmocka_unit_test(what_is_wrong_has_the_name_of_its_option),
                cmocka_unit_test(the_workspace_is_where_it_is_outside_unless_that_is_the_sandboxs_own_place),
                cmocka_unit_test(variables_replace_ours_and_each_other_and_are_allowed_by_name),
                cmocka_unit_test(a_terminal_is_the_commands_and_has_our_TERM),
                cmocka_unit_test(options_make_a_policy_tighter_and_nothing_wider),
                cmocka_unit_test(the_host_policy_has_hard_limits_to_require_and_bounds_to_keep),
                cmocka_unit_test(a_policy_over_all_bundles_is_not_widened_by_a_default),
                cmocka_unit_test(caches_are_directories_that_programs_are_told_of),
                cmocka_unit_test(a_file_of_variables_is_a_line_each_as_it_is),
                cmocka_unit_test(users_are_found_by_name_and_by_number),
                cmocka_unit_test(places_of_errors_are_options),
        };

        return RUN_TESTS(tests);
}
