/* The encoder writes canonical JSON. */
#include "spec/config.h"
#include "spec/host-policy.h"
#include "spec/result.h"
#include "spec/state.h"

#include "arena.h"

#include <errno.h>

static struct oci_config config;

static int decode(const char *text) {
        return spec_decode(&arena, &oci_config_type, "config.json", text, strlen(text), &config, &err);
}

#define V "\"ociVersion\":\"1.3.0\""

static void canonical_form_does_not_depend_on_the_source(void **state) {
        static const char *const sources[] = {
                "{\"annotations\":{\"b\":\"<&>/\\/\",\"a\":\"\\u00e4\\n\\u0001\\u007f\\\"\\\\\"}"
                ",\"linux\":{\"resources\":{\"memory\":{\"swap\":-1}}},\n"
                " \"process\":{\"env\":[],\"cwd\":\"/\",\"terminal\":false},\"hostname\":null, \"unknown\":[1], \"ociVersion\":\"1.0.0\"}",
                "{\"ociVersion\":\"1.0.0\",\"process\":{\"terminal\":false,\"env\":[],\"cwd\":\"\\/\"}"
                ",\"annotations\":{\"a\":\"\xc3\xa4\\n\\u0001\x7f\\\"\\\\\","
                "\"b\":\"<&>//\"},\"linux\":{\"resources\":{\"memory\":{\"swap\":-1}}}}",
        };
        static const char expected[] =
                "{\"ociVersion\":\"1.0.0\",\"process\":{\"terminal\":false,\"env\":[],\"cwd\":\"/\"}"
                ",\"annotations\":{\"a\":\"\xc3\xa4\\n\\u0001\x7f\\\"\\\\\","
                "\"b\":\"<&>//\"},\"linux\":{\"resources\":{\"memory\":{\"swap\":-1}}}}";

        (void)state;
        for (size_t i = 0; i < ELEMENTSOF(sources); i++) {
                _cleanup_str_ struct str out = { 0 };

                assert_int_equal(decode(sources[i]), 0);
                assert_int_equal(spec_encode(&oci_config_type, &config, &out, 0, &err), 0);
                assert_string_equal(out.text, expected);
        }
}

static void pretty_form_has_two_spaces_a_level(void **state) {
        _cleanup_str_ struct str out = { 0 };

        (void)state;
        assert_int_equal(
                decode("{" V ",\"process\":{\"args\":[\"a\",\"b\"],\"env\":[],\"cwd\":\"/\"},\"annotations\":{},\"linux\":{}}"), 0);
        assert_int_equal(spec_encode(&oci_config_type, &config, &out, SPEC_PRETTY, &err), 0);
        assert_string_equal(out.text,
                "{\n  \"ociVersion\": \"1.3.0\",\n  \"process\": {\n    \"args\": [\n      \"a\",\n      \"b\"\n    ],\n    \"env\": [],\n"
                "    \"cwd\": \"/\"\n  },\n  \"annotations\": {},\n  \"linux\": {}\n}");
}

static void maps_are_written_sorted(void **state) {
        struct string_pair pairs[] = { { "c", "3" }, { "a", "1" }, { "b", "2" } };
        struct oci_state value = { .oci_version = "1.3.0",
                .id = "x",
                .status = OCI_STATUS_RUNNING,
                .has = OCI_STATE_HAS_PID,
                .pid = 7,
                .bundle = "/b",
                .annotations = pairs,
                .n_annotations = 3 };
        _cleanup_str_ struct str out = { 0 };

        (void)state;
        assert_int_equal(spec_encode(&oci_state_type, &value, &out, 0, &err), 0);
        assert_string_equal(out.text,
                "{\"ociVersion\":\"1.3.0\",\"id\":\"x\",\"status\":\"running\",\"pid\":7,\"bundle\":\"/b\","
                "\"annotations\":{\"a\":\"1\",\"b\":\"2\",\"c\":\"3\"}}");
        pairs[0].key = "b";
        assert_int_equal(spec_encode(&oci_state_type, &value, &out, 0, &err), -EINVAL);
        assert_string_equal(err.where, "annotations.b");
}

static void what_the_kernel_cannot_say_is_null(void **state) {
        struct sage_disk disk = { .has = SAGE_DISK_HAS_USED_BYTES, .used_bytes = UINT64_MAX };
        struct sage_result value = { .id = "x", .outcome = SAGE_OUTCOME_EXITED, .has = SAGE_RESULT_HAS_EXIT_CODE, .disk = &disk };
        struct sage_result again;
        _cleanup_str_ struct str out = { 0 };

        (void)state;
        assert_int_equal(spec_encode(&sage_result_type, &value, &out, 0, &err), 0);
        assert_non_null(strstr(out.text, "{\"id\":\"x\",\"outcome\":\"exited\",\"exit_code\":0,\"signal\":null,"));
        assert_non_null(strstr(out.text, "\"disk\":{\"used_bytes\":18446744073709551615,\"limit_bytes\":null,"));
        assert_non_null(strstr(out.text, "\"error\":null}"));
        assert_int_equal(spec_decode(&arena, &sage_result_type, "result", out.text, out.size, &again, &err), 0);
        assert_int_equal(again.has, value.has);
        assert_int_equal(again.disk->has, disk.has);
        assert_null(again.egress);
}

static void what_cannot_be_written_leaves_the_output_alone(void **state) {
        struct oci_state value = { .oci_version = "1.3.0", .id = "x", .status = OCI_STATUS_RUNNING };
        _cleanup_str_ struct str out = { 0 };

        (void)state;
        str_puts(&out, "before");
        assert_int_equal(spec_encode(&oci_state_type, &value, &out, 0, &err), -EINVAL);
        assert_string_equal(err.where, "bundle");
        value.bundle = "/\xff";
        assert_int_equal(spec_encode(&oci_state_type, &value, &out, 0, &err), -EINVAL);
        assert_string_equal(err.where, "bundle");
        value.bundle = "/b";
        value.status = 0;
        assert_int_equal(spec_encode(&oci_state_type, &value, &out, 0, &err), -EINVAL);
        assert_string_equal(err.where, "status");
        assert_string_equal(out.text, "before");
        assert_int_equal(out.size, 6);
}

static void numbers_keep_their_value(void **state) {
        static const struct {
                const char *in, *out;
        } rows[] = { { "100", "100" }, { "1.5", "1.5" }, { "1e2", "100" }, { "33.333333333333336", "33.333333333333336" },
                { "100.10", "100.1" }, { "5E-1", NULL }, { "1e999", NULL } };

        (void)state;
        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                _cleanup_str_ struct str out = { 0 };
                struct sage_host_policy policy;
                char text[80];
                int r;

                snprintf(text, sizeof text, "{\"ceilings\":{\"cpu_percent\":%s}}", rows[i].in);
                r = spec_decode(&arena, &sage_host_policy_type, "host.json", text, strlen(text), &policy, &err);
                assert_int_equal(r, rows[i].out ? 0 : -EINVAL);
                if (r < 0)
                        continue;
                assert_int_equal(spec_encode(&sage_host_policy_type, &policy, &out, 0, &err), 0);
                snprintf(text, sizeof text, "{\"ceilings\":{\"cpu_percent\":%s}}", rows[i].out);
                assert_string_equal(out.text, text);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(canonical_form_does_not_depend_on_the_source),
                TEST(pretty_form_has_two_spaces_a_level),
                TEST(maps_are_written_sorted),
                TEST(what_the_kernel_cannot_say_is_null),
                TEST(what_cannot_be_written_leaves_the_output_alone),
                TEST(numbers_keep_their_value),
        };

        return RUN_TESTS(tests);
}
