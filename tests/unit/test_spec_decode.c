/* What the decoder takes and refuses, beyond the documents that generate.py makes wrong (test_spec_corpus.c). */
#include "spec/config.h"
#include "spec/host-policy.h"

#include "arena.h"

#include <errno.h>

static struct oci_config config;

static int decode(const char *text) {
        return spec_decode(&arena, &oci_config_type, "config.json", text, strlen(text), &config, &err);
}

#define V "\"ociVersion\":\"1.3.0\""
#define PROCESS(members) "{" V ",\"process\":{\"cwd\":\"/\"," members "}}"
#define MEMORY(members) "{" V ",\"linux\":{\"resources\":{\"memory\":{" members "}}}}"

/* clang-format off */

/* What other runtimes were seen to take, a row each. */
struct row {
        const char *name, *document;
        size_t size; /* where it holds a NUL; else 0 */
        const char *where;
        unsigned line;
        const char *text; /* a part of the message */
};

static const struct row refused[] = {
        { "2^64", PROCESS("\"rlimits\":[{\"type\":\"RLIMIT_CPU\",\"soft\":18446744073709551616,\"hard\":1}]"),
          0, "process.rlimits[0].soft", 1,
          "config.json:1: expected an integer from 0 to 18446744073709551615, found the number 18446744073709551616" },
        { "-1 where a number has no sign", PROCESS("\"rlimits\":[{\"type\":\"RLIMIT_CPU\",\"soft\":0,\"hard\":-1}]"),
          0, "process.rlimits[0].hard", 1,
          "found the number -1" },
        { "below int64", MEMORY("\"limit\":-9223372036854775809"),
          0, "linux.resources.memory.limit", 1, "found the number -9223372036854775809" },
        { "above int64", MEMORY("\"limit\":9223372036854775808"), 0, "linux.resources.memory.limit", 1, "to 9223372036854775807" },
        { "a fraction", MEMORY("\"limit\":1.5"), 0, "linux.resources.memory.limit", 1, "found the number 1.5" },
        { "a fraction of nothing", MEMORY("\"limit\":1.0"), 0, "linux.resources.memory.limit", 1, "found the number 1.0" },
        { "an exponent", MEMORY("\"limit\":1e3"), 0, "linux.resources.memory.limit", 1, "found the number 1e3" },
        { "a string for a number", PROCESS("\n\"user\":{\n\"uid\":\"0\"}"), 0, "process.user.uid", 3,
          "config.json:3: expected an integer from 0 to 4294967294, found the string \"0\"" },
        { "the uid that means no change", PROCESS("\"user\":{\"uid\":4294967295}"),
          0, "process.user.uid", 1, "found the number 4294967295" },
        { "a leading zero", MEMORY("\"limit\":01"), 0, "linux.resources.memory", 1, "expected JSON" },
        { "a plus sign", MEMORY("\"limit\":+1"), 0, "linux.resources.memory.limit", 1, "expected JSON" },
        { "not a number", MEMORY("\"limit\":NaN"), 0, "linux.resources.memory.limit", 1, "expected JSON" },
        { "a duplicate member", "{" V ",\n" V "}", 0, "ociVersion", 2, "found it again" },
        { "a duplicate member that was null", "{" V ",\"root\":null,\n\"root\":{\"path\":\"/\"}}", 0, "root", 2, "found it again" },
        { "a duplicate member in an element", "{" V ",\"mounts\":[{\"destination\":\"/a\"},{\"destination\":\"/b\""
          ",\"destination\":\"/c\"}]}", 0,
          "mounts[1].destination", 1, "found it again" },
        { "a duplicate key", "{" V ",\"annotations\":{\n\"b\":\"1\",\n\"a\":\"2\",\n\"b\":\"3\"\n}}",
          0, "annotations[\"b\"]", 4, "found it again" },
        { "a duplicate key by an escape", "{" V ",\"annotations\":{\"a\":\"1\",\"\\u0061\":\"2\"}}",
          0, "annotations[\"a\"]", 1, "found it again" },
        { "a byte order mark", "\xef\xbb\xbf{" V "}", 0, "", 1, "byte order mark" },
        { "an empty file", "", 0, "", 1, "premature EOF" },
        { "blanks only", " \n\n ", 0, "", 3, "premature EOF" },
        { "an array", "[]", 0, "", 1, "expected an object, found an array" },
        { "null", "null", 0, "", 1, "expected an object, found null" },
        { "a number", "7", 0, "", 1, "expected an object, found the number 7" },
        { "a string", "\"x\"", 0, "", 1, "expected an object, found the string \"x\"" },
        { "trailing text", "{" V "}\nx", 0, "", 2, "expected JSON" },
        { "two values", "{" V "}\n{" V "}", 0, "", 2, "trailing garbage" },
        { "a cut text", "{" V ",\n\"root\":{\"path\":\"/", 0, "root.path", 2, "premature EOF" },
        { "a NUL behind the text", "{" V "}\0", sizeof "{" V "}\0" - 1, "", 1, "expected JSON" },
        { "a NUL in a string", "{" V ",\n\"hostname\":\"a\0b\"}", sizeof "{" V ",\n\"hostname\":\"a\0b\"}" - 1, "hostname", 2, "0x00" },
        { "an escaped NUL", PROCESS("\n\"args\":[\"a\",\"/bin/sh\\u0000x\"]"),
          0, "process.args[1]", 2, "expected strings without NUL, found \\u0000" },
        { "an escaped NUL in a key", "{" V ",\"annotations\":{\"a\\u0000b\":\"\"}}", 0, "annotations", 1, "\\u0000" },
        { "an escaped NUL in an unknown member", "{" V ",\"x\":[1,\n\"\\u0000\"]}", 0, "x", 2, "\\u0000" },
        { "a lone high surrogate", "{" V ",\"hostname\":\"\\ud800\"}", 0, "hostname", 1, "lone \\ud800" },
        { "a lone low surrogate", "{" V ",\"hostname\":\"\\udfff\"}", 0, "hostname", 1, "lone \\udfff" },
        { "two low surrogates", "{" V ",\"hostname\":\"\\udc00\\udc00\"}", 0, "hostname", 1, "lone \\udc00" },
        { "two high surrogates", "{" V ",\"hostname\":\"\\uD83D\\uD83D\"}", 0, "hostname", 1, "lone \\ud83d" },
        { "invalid UTF-8", "{" V ",\"hostname\":\"\xff\"}", 0, "hostname", 1, "expected UTF-8, found the byte 0xff" },
        { "UTF-8 in a longer form", "{" V ",\"hostname\":\"\xc0\xaf\"}", 0, "hostname", 1, "UTF-8" },
        { "UTF-8 in a longer form, three bytes", "{" V ",\"hostname\":\"\xe0\x80\xaf\"}", 0, "hostname", 1, "UTF-8" },
        { "UTF-8 of a surrogate", "{" V ",\"hostname\":\"\xed\xa0\x80\"}", 0, "hostname", 1, "UTF-8" },
        { "UTF-8 beyond Unicode", "{" V ",\"hostname\":\"\xf4\x90\x80\x80\"}", 0, "hostname", 1, "UTF-8" },
        { "UTF-8 that is cut", "{" V ",\"hostname\":\"\xe2\x82\"}", 0, "hostname", 1, "UTF-8" },
        { "UTF-8 outside of strings", "{" V ",\xc3\xa4:1}", 0, "", 1, "expected JSON" },
        { "a newline in a string", "{" V ",\"hostname\":\"a\nb\"}", 0, "hostname", 1, "0x0a" },
        { "an escape that is none", "{" V ",\"hostname\":\"\\x41\"}", 0, "hostname", 1, "expected JSON" },
        { "a comment", "{" V "\n/* \"c\" */}", 0, "", 2, "expected JSON" },
        { "a comment that would hide a fault", "{" V " // \"\xff\n}", 0, "", 1, "comment" },
        { "a trailing comma", "{" V ",}", 0, "", 1, "expected JSON" },
        { "text behind a map's value", "{" V ",\"annotations\":{\"a\":\"b\" \"c\"}}", 0, "annotations", 1, "expected JSON" },
        { "single quotes", "{'ociVersion':'1.0.0'}", 0, "", 1, "expected JSON" },
        { "a null element of options", "{" V ",\"mounts\":[{\"destination\":\"/\",\"options\":[\"nosuid\",null]}]}",
          0, "mounts[0].options[1]", 1, "found null" },
        { "a null element of env", PROCESS("\"env\":[null]"), 0, "process.env[0]", 1, "found null" },
        { "a null element of args", PROCESS("\"args\":[\"x\",null]"), 0, "process.args[1]", 1, "expected a string, found null" },
        { "a null name of a syscall", "{" V ",\"linux\":{\"seccomp\":{\"defaultAction\":\"SCMP_ACT_ALLOW\""
          ",\"syscalls\":[{\"names\":[null],\"action\":\"SCMP_ACT_ALLOW\"}]}}}", 0,
          "linux.seccomp.syscalls[0].names[0]", 1, "found null" },
        { "a null element of objects", "{" V ",\"mounts\":[null]}", 0, "mounts[0]", 1, "expected an object, found null" },
        { "a null value of a map", "{" V ",\"annotations\":{\"a\":null}}", 0, "annotations[\"a\"]", 1, "expected a string, found null" },
        { "an annotation that is no string", "{" V ",\"annotations\":{\"a\":7}}", 0, "annotations[\"a\"]", 1, "found the number 7" },
        { "an empty annotation key", "{" V ",\"annotations\":{\"\":\"x\"}}", 0, "annotations[\"\"]", 1, "not empty" },
        { "an object among numbers", PROCESS("\"user\":{\"additionalGids\":[0,{}]}"),
          0, "process.user.additionalGids[1]", 1, "found an object" },
        { "a null root member that is required", "{" V ",\"root\":{\"path\":null}}", 0, "root.path", 1, "the member is required" },
        { "no version", "\n{}", 0, "ociVersion", 2, "expected a string, found nothing: the member is required" },
        { "a version 2", "{\"ociVersion\":\"2.0.0\"}", 0, "ociVersion", 1, "found the string \"2.0.0\"" },
        { "a version that is none", "{\"ociVersion\":\"1.0\"}", 0, "ociVersion", 1, "a version 1.x.y" },
        { "no syscall names", "{" V ",\"linux\":{\"seccomp\":{\"defaultAction\":\"SCMP_ACT_ALLOW\",\"syscalls\":[{\"names\":[]"
          ",\"action\":\"SCMP_ACT_LOG\"}]}}}", 0,
          "linux.seccomp.syscalls[0].names", 1, "expected at least 1 element, found 0" },
        { "a misspelt action", "{" V ",\"linux\":{\"seccomp\":{\"defaultAction\":\"SCMP_ACT_EERNO\"}}}",
          0, "linux.seccomp.defaultAction", 1, "did you mean SCMP_ACT_ERRNO?" },
        { "an unknown namespace", "{" V ",\"linux\":{\"namespaces\":[{\"type\":\"net\"}]}}", 0, "linux.namespaces[0].type", 1,
          "expected one of pid, network, mount, ipc, uts, user, cgroup, time, found the string \"net\"" },
        { "a hook without time", "{" V ",\"hooks\":{\"prestart\":[{\"path\":\"/x\",\"timeout\":0}]}}",
          0, "hooks.prestart[0].timeout", 1, "from 1 to" },
        { "a relative masked path", "{" V ",\"linux\":{\"maskedPaths\":[\"proc/kcore\"]}}",
          0, "linux.maskedPaths[0]", 1, "an absolute path" },
        { "a relative working directory", "{" V ",\"process\":{\"cwd\":\"x\"}}", 0, "process.cwd", 1, "an absolute path" },
        { "no arguments", PROCESS("\"args\":[]"), 0, "process.args", 1, "at least 1 element" },
        { "a clock without offset", "{" V ",\"linux\":{\"timeOffsets\":{\"monotonc\":{}}}}",
          0, "linux.timeOffsets.monotonc", 1, "did you mean monotonic?" },
        { "a secret is not shown", PROCESS("\"env\":[\"=secret\"]"), 0, "process.env[0]", 1, "found the string \"=…\"" },
};

/* clang-format on */

static void what_others_let_through_is_refused(void **state) {
        (void)state;
        for (size_t i = 0; i < ELEMENTSOF(refused); i++) {
                const struct row *row = &refused[i];
                struct oci_config before;
                int r;

                memset(&config, 0xa5, sizeof config);
                before = config;
                err = (struct error){ 0 };
                r = spec_decode(&arena, &oci_config_type, "config.json", row->document, row->size ? row->size : strlen(row->document),
                        &config, &err);
                if (r != -EINVAL || err.code != CODE_CONFIG_INVALID || err.line != row->line || !streq(err.where, row->where) ||
                        !strstr(err.text, row->text))
                        FAIL("%s: %d, line %u, at \"%s\": %s", row->name, r, err.line, err.where, err.text);
                assert_memory_equal(&before, &config, sizeof config); /* untouched on failure */
                arena_free(&arena);
        }
}

static void the_largest_numbers_are_exact(void **state) {
        (void)state;
        assert_int_equal(decode(PROCESS("\"rlimits\":[{\"type\":\"RLIMIT_NOFILE\",\"soft\":18446744073709551615,\"hard\":0}]")), 0);
        assert_true(config.process->rlimits[0].soft == UINT64_MAX);
        assert_int_equal(config.process->rlimits[0].type, OCI_RLIMIT_TYPE_RLIMIT_NOFILE);
        assert_int_equal(decode(MEMORY("\"limit\":-9223372036854775808,\"swap\":9223372036854775807,\"kernel\":-0")), 0);
        assert_true(config.linux->resources->memory->limit == INT64_MIN);
        assert_true(config.linux->resources->memory->swap == INT64_MAX);
        assert_true(config.linux->resources->memory->kernel == 0);
        assert_int_equal(config.linux->resources->memory->has, OCI_MEMORY_HAS_LIMIT | OCI_MEMORY_HAS_SWAP | OCI_MEMORY_HAS_KERNEL);
}

static void members_land_in_the_struct(void **state) {
        (void)state;
        assert_int_equal(
                decode(" {" V
                       ",\"process\":{\"terminal\":true,\"user\":{\"uid\":4294967294,\"gid\":7,\"umask\":18,\"additionalGids\":[1,2,3]},"
                       "\"args\":[\"sh\",\"-c\",\"a \\\"b\\\" \\u00e4 \\ud83d\\ude00\"],\"env\":[],\"cwd\":\"/w\"},"
                       "\"annotations\":{\"b\":\"2\",\"c\":\"\",\"a\":\"1\"},"
                       "\"linux\":{\"namespaces\":[{\"type\":\"pid\"},{\"type\":\"time\",\"path\":\"/p\"}]"
                       ",\"netDevices\":{\"eth1\":{},\"eth0\":{\"name\":\"e\"}}}}\n"),
                0);
        assert_string_equal(config.oci_version, "1.3.0");
        assert_null(config.hostname);
        assert_null(config.mounts);
        assert_true(config.process->terminal);
        assert_int_equal(config.process->has, OCI_PROCESS_HAS_TERMINAL);
        assert_int_equal(config.process->user->uid, 4294967294u);
        assert_int_equal(config.process->user->umask, 18);
        assert_int_equal(config.process->user->n_additional_gids, 3);
        assert_int_equal(config.process->user->additional_gids[2], 3);
        assert_int_equal(config.process->n_args, 3);
        assert_string_equal(config.process->args[2], "a \"b\" \xc3\xa4 \xf0\x9f\x98\x80");
        assert_null(config.process->args[3]); /* goes to execve(2) as it is */
        assert_non_null(config.process->env); /* empty is not absent */
        assert_int_equal(config.process->n_env, 0);
        assert_null(config.process->env[0]);
        assert_int_equal(config.n_annotations, 3);
        assert_string_equal(config.annotations[0].key, "a");
        assert_string_equal(config.annotations[2].value, "");
        assert_int_equal(config.linux->namespaces[0].type, OCI_NAMESPACE_TYPE_PID);
        assert_string_equal(config.linux->namespaces[1].path, "/p");
        assert_string_equal(config.linux->net_devices[0].key, "eth0");
        assert_string_equal(config.linux->net_devices[0].value.name, "e");
        assert_null(config.linux->net_devices[1].value.name);
}

static void null_means_absent(void **state) {
        (void)state;
        assert_int_equal(
                decode("{" V
                       ",\"root\":null,\"hostname\":null,\"mounts\":null,\"annotations\":null,\"process\":{\"cwd\":\"/\""
                       ",\"terminal\":null}}"),
                0);
        assert_null(config.root);
        assert_null(config.hostname);
        assert_null(config.mounts);
        assert_null(config.annotations);
        assert_int_equal(config.process->has, 0);
}

static void newer_versions_and_unknown_members_are_taken(void **state) {
        static const char *const versions[] = { "1.0.0", "1.0.0-rc5", "1.0.2-dev", "1.3.0+dev", "1.99.1" };

        (void)state;
        for (size_t i = 0; i < ELEMENTSOF(versions); i++) {
                char text[64];

                snprintf(text, sizeof text, "{\"ociVersion\":\"%s\"}", versions[i]);
                assert_int_equal(decode(text), 0);
        }
        assert_int_equal(decode("{\"x\":{\"a\":[1,{\"b\":null}],\"a\":2}," V
                                ",\"windows\":{},\"vm\":[[[]]],\"y\":1.5e3,\"root\":{\"path\":\"r\",\"z\":[]}}"),
                0);
        assert_string_equal(config.root->path, "r");
}

static void nesting(struct str *text, size_t depth) {
        str_puts(text, "{" V ",\n\"x\":");
        for (size_t i = 0; i < depth; i++)
                str_putc(text, i % 2 ? '[' : '[');
        for (size_t i = 0; i < depth; i++)
                str_putc(text, ']');
        str_puts(text, "}");
}

static void nesting_is_ignored_up_to_a_limit(void **state) {
        _cleanup_str_ struct str fits = { 0 }, deep = { 0 };

        (void)state;
        nesting(&fits, SPEC_DEPTH_MAX - 1);
        assert_int_equal(decode(fits.text), 0);
        nesting(&deep, 20000);
        assert_int_equal(decode(deep.text), -EINVAL);
        assert_string_equal(err.where, "x");
        assert_int_equal(err.line, 2);
        assert_non_null(strstr(err.text, "at most 1000 levels of nesting"));
}

static void a_document_has_a_largest_size(void **state) {
        size_t size = SPEC_SIZE_MAX;
        char *text = malloc(size + 1);

        (void)state;
        memset(text, ' ', size + 1);
        memcpy(text, "{" V "}", strlen("{" V "}"));
        assert_int_equal(spec_decode(&arena, &oci_config_type, "config.json", text, size, &config, &err), 0);
        assert_int_equal(spec_decode(&arena, &oci_config_type, "config.json", text, size + 1, &config, &err), -E2BIG);
        free(text);
}

static void a_long_variable_is_named(void **state) {
        _cleanup_str_ struct str text = { 0 };

        (void)state;
        str_puts(&text, "{" V ",\"process\":{\"cwd\":\"/\",\"env\":[\"A=b\",\"LONG=");
        for (size_t i = 0; i < 32 * 65536; i++)
                str_putc(&text, 's');
        str_puts(&text, "\"]}}");
        assert_int_equal(decode(text.text), -E2BIG);
        assert_string_equal(err.where, "process.env[1]");
        assert_non_null(strstr(err.text, "found the string \"LONG=…\" of 2097157 bytes"));
}

static void large_bundles_are_taken(void **state) {
        _cleanup_str_ struct str text = { 0 };

        (void)state;
        str_puts(&text, "{" V ",\"mounts\":[");
        for (int i = 0; i < 600; i++)
                str_printf(&text, "%s{\"destination\":\"/m%d\",\"options\":[\"ro\",\"o%d\"]}", i ? "," : "", i, i);
        str_puts(&text, "],\"process\":{\"cwd\":\"/\",\"env\":[");
        for (int i = 0; i < 1500; i++)
                str_printf(&text, "%s\"V%d=%01000d\"", i ? "," : "", i, i);
        str_puts(&text, "]},\"annotations\":{");
        for (int i = 0; i < 3000; i++)
                str_printf(&text, "%s\"k%d\":\"%d\"", i ? "," : "", 7919 * i % 3000, i);
        str_puts(&text, "}}");
        assert_int_equal(decode(text.text), 0);
        assert_int_equal(config.n_mounts, 600);
        for (size_t i = 0; i < 600; i++) {
                char name[16];

                snprintf(name, sizeof name, "/m%zu", i);
                assert_string_equal(config.mounts[i].destination, name);
                assert_string_equal(config.mounts[i].options[1] + 1, name + 2);
        }
        assert_int_equal(strlen(config.process->env[1499]), 1006);
        assert_int_equal(config.n_annotations, 3000);
        for (size_t i = 1; i < 3000; i++)
                assert_true(strcmp(config.annotations[i - 1].key, config.annotations[i].key) < 0);
}

static void sage_objects_refuse_what_they_do_not_know(void **state) {
        static const char text[] = "{\"linux_cgroup_root\":\"/c\",\n\"ceilings\":{\"memory-mb\":1}}";
        struct sage_host_policy policy;

        (void)state;
        assert_int_equal(spec_decode(&arena, &sage_host_policy_type, "host.json", text, strlen(text), &policy, &err), -EINVAL);
        assert_string_equal(err.where, "ceilings.memory-mb");
        assert_string_equal(err.text, "host.json:2: expected a member this object may have, found \"memory-mb\"; did you mean memory_mb?");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(what_others_let_through_is_refused),
                TEST(the_largest_numbers_are_exact),
                TEST(members_land_in_the_struct),
                TEST(null_means_absent),
                TEST(newer_versions_and_unknown_members_are_taken),
                TEST(nesting_is_ignored_up_to_a_limit),
                TEST(a_document_has_a_largest_size),
                TEST(a_long_variable_is_named),
                TEST(large_bundles_are_taken),
                TEST(sage_objects_refuse_what_they_do_not_know),
        };

        return RUN_TESTS(tests);
}
