/* The egress broker's audit as a table, and what it comes to. */
#include "unit.h"

#include "broker/refusal.h"
#include "cmd/egress_report.h"

#define LINE(rest) \
        "{\"time\":\"2026-01-31T23:59:59.123456789Z\",\"id\":1,\"sent_bytes\":3,\"received_bytes\":5,\"milliseconds\":7," rest "}\n"
#define REFUSED(code, rest) LINE("\"verdict\":\"refused\",\"code\":\"" code "\"," rest)

#define HOSTS "\"member\":\"allowed_hosts\""
#define PORTS "\"member\":\"allowed_ports\""

/* The rows alone, and the sum alone. */
struct shown {
        struct str rows, sum;
};

static void shown_free(struct shown *shown) {
        str_free(&shown->rows);
        str_free(&shown->sum);
}
#define _cleanup_shown_ __attribute__((cleanup(shown_free)))

/* TEXT in pieces of STEP bytes. */
static void report(const char *text, size_t step, bool json, struct shown *ret) {
        _cleanup_egress_report_ struct egress_report report = { .json = json };
        _cleanup_str_ struct str head = { 0 };
        size_t n = strlen(text);

        egress_report_begin(&report, &head);
        for (size_t at = 0; at < n; at += step)
                egress_report_feed(&report, text + at, n - at < step ? n - at : step, &ret->rows);
        egress_report_end_file(&report, &ret->rows);
        egress_report_sum(&report, &ret->sum);
}

static void assert_has(const struct str *text, const char *part) {
        if (!strstr(text->text ? text->text : "", part))
                fprintf(stderr, "# no `%s` in:\n%s\n", part, text->text ? text->text : "");
        assert_non_null(strstr(text->text ? text->text : "", part));
}

static void a_line_is_a_row_however_it_is_cut(void **state) {
        static const char text[] = LINE("\"verdict\":\"allowed\",\"host\":\"pypi.org\",\"port\":443") REFUSED("policy.port", "\"port\":22");
        static const char rows[] = "2026-01-31T23:59:59.123Z  pypi.org                           443  allowed  -                     "
                                   "          3          5        7\n"
                                   "2026-01-31T23:59:59.123Z  -                                   22  refused  policy.port           "
                                   "          3          5        7\n";

        (void)state;
        for (size_t step = 1; step < sizeof text; step++) {
                _cleanup_shown_ struct shown shown = { 0 };

                report(text, step, false, &shown);
                assert_string_equal(shown.rows.text, rows);
        }
}

static void the_sum_says_what_to_change(void **state) {
        static const struct {
                const char *line, *row;
        } rows[] = {
                { REFUSED("policy.host", "\"host\":\"a.test\",\"port\":443,\"member\":\"allowed_hosts\""),
                        "policy.host            a.test                           allowed_hosts: add \"a.test\"\n" },
                { REFUSED("policy.port", "\"host\":\"a.test\",\"port\":8443,\"member\":\"allowed_ports\""),
                        "policy.port            a.test                           allowed_ports: add 8443\n" },
                { REFUSED("body.limit", "\"host\":\"a.test\",\"member\":\"max_request_body_bytes\""), "max_request_body_bytes: more\n" },
                { REFUSED("body.limit", "\"host\":\"a.test\",\"member\":\"max_request_body_bytes\",\"announced_bytes\":77"),
                        "max_request_body_bytes: at least 77\n" },
                { REFUSED("dns.non_global_answer", "\"host\":\"a.test\""),
                        "a.test                           the name leads to an address that is not public\n" },
                { "{\"time\":\"t\",\"id\":1,\"sent_bytes\":0,\"received_bytes\":0,\"milliseconds\":30004,\"verdict\":\"limited\","
                  "\"code\":\"limit.wall_time\",\"member\":\"max_wall_time_seconds\"}\n",
                        "max_wall_time_seconds: more than 30\n" },
                { REFUSED("later.code", "\"member\":\"later_member\""),
                        "       1  later.code             -                                -\n" },
        };

        (void)state;
        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                _cleanup_shown_ struct shown shown = { 0 };

                report(rows[i].line, 4096, false, &shown);
                assert_has(&shown.sum, rows[i].row);
        }
}

/* What is said of each refusal of the broker, as its own line has it: the verdict, and what would change it; NULL: nothing in the policy
 * would, and the text of the code says why. None may be missing here. */
static const struct advice {
        enum refusal refusal;
        const char *verdict, *change;
} advices[] = {
        { REFUSAL_USERINFO, "refused", NULL },
        { REFUSAL_HOST_EMPTY, "refused", NULL },
        { REFUSAL_HOST_ENCODING, "refused", NULL },
        { REFUSAL_HOST_BRACKETS, "refused", NULL },
        { REFUSAL_HOST_ZONE, "refused", NULL },
        { REFUSAL_HOST_NUMBER, "refused", NULL },
        { REFUSAL_HOST_NAME, "refused", NULL },
        { REFUSAL_PORT, "refused", NULL },
        { REFUSAL_LINE_END, "refused", NULL },
        { REFUSAL_CONTROL, "refused", NULL },
        { REFUSAL_LINE_LIMIT, "refused", NULL },
        { REFUSAL_HEAD_LIMIT, "refused", NULL },
        { REFUSAL_REQUEST_LINE, "refused", NULL },
        { REFUSAL_METHOD, "refused", NULL },
        { REFUSAL_VERSION, "refused", NULL },
        { REFUSAL_TARGET, "refused", NULL },
        { REFUSAL_TARGET_FORM, "refused", NULL },
        { REFUSAL_TARGET_SCHEME, "refused", NULL },
        { REFUSAL_USE_CONNECT, "refused", NULL },
        { REFUSAL_FIELD, "refused", NULL },
        { REFUSAL_HOST_FIELD, "refused", NULL },
        { REFUSAL_HOST_DIFFERS, "refused", NULL },
        { REFUSAL_FRAMING, "refused", NULL },
        { REFUSAL_CHUNKED, "refused", NULL },
        { REFUSAL_CONNECTION, "refused", NULL },
        { REFUSAL_UPGRADE, "refused", NULL },
        { REFUSAL_EXPECT, "refused", NULL },
        { REFUSAL_NOT_TLS, "refused", NULL },
        { REFUSAL_TLS_RECORD, "refused", NULL },
        { REFUSAL_TLS_MESSAGE, "refused", NULL },
        { REFUSAL_TLS_SIZE, "refused", NULL },
        { REFUSAL_TLS_HELLO, "refused", NULL },
        { REFUSAL_TLS_NAME, "refused", NULL },
        { REFUSAL_TLS_NO_NAME, "refused", NULL },
        { REFUSAL_TLS_NAME_DIFFERS, "refused", NULL },
        { REFUSAL_TLS_ECH, "refused", "allow_ech: true" },
        { REFUSAL_POLICY_MODE, "refused", NULL },
        { REFUSAL_POLICY_HOST, "refused", "allowed_hosts: add \"a.test\"" },
        { REFUSAL_POLICY_PORT, "refused", "allowed_ports: add 81" },
        { REFUSAL_POLICY_SCHEME, "refused", "allowed_schemes: add \"http\" for plain requests, \"https\" for CONNECT" },
        { REFUSAL_POLICY_ADDRESS, "refused", "deny_private_networks: false, for a private address; opens all of those to allowed hosts" },
        { REFUSAL_NON_GLOBAL, "refused", "deny_private_networks: false, for a private address; opens all of those to allowed hosts" },
        { REFUSAL_FAKE_IP, "refused", "deny_private_networks: false, for a private address; opens all of those to allowed hosts" },
        { REFUSAL_POLICY_ADDRESS_NEVER, "refused", NULL },
        { REFUSAL_NON_GLOBAL_NEVER, "refused", NULL },
        { REFUSAL_BODY_LIMIT, "limited", "max_request_body_bytes: at least 9" },
        { REFUSAL_POLICY_UPSTREAM, "refused", NULL },
        { REFUSAL_DNS_NXDOMAIN, "failed", NULL },
        { REFUSAL_DNS_NO_ADDRESS, "failed", NULL },
        { REFUSAL_DNS_FAILED, "failed", NULL },
        { REFUSAL_DNS_TIMEOUT, "failed", NULL },
        { REFUSAL_DNS_LIMIT, "failed", NULL },
        { REFUSAL_CONNECT_REFUSED, "failed", NULL },
        { REFUSAL_CONNECT_UNREACHABLE, "failed", NULL },
        { REFUSAL_CONNECT_TIMEOUT, "failed", NULL },
        { REFUSAL_CONNECT_FAILED, "failed", NULL },
        { REFUSAL_DIALER_BUSY, "failed", NULL },
        { REFUSAL_DIALER_HELPER, "failed", NULL },
        { REFUSAL_PROXY_DNS, "failed", NULL },
        { REFUSAL_PROXY_CONNECT, "failed", NULL },
        { REFUSAL_PROXY_CERTIFICATE, "failed", NULL },
        { REFUSAL_PROXY_TLS, "failed", NULL },
        { REFUSAL_PROXY_ANSWER, "failed", NULL },
        { REFUSAL_PROXY_AUTHENTICATION, "failed", NULL },
        { REFUSAL_PROXY_REFUSED, "failed", NULL },
        { REFUSAL_PROXY_CLOSED, "failed", NULL },
        { REFUSAL_PROXY_TIMEOUT, "failed", NULL },
        { REFUSAL_ORIGIN_HEAD, "failed", NULL },
        { REFUSAL_ORIGIN_FRAMING, "failed", NULL },
        { REFUSAL_ORIGIN_UPGRADE, "failed", NULL },
        { REFUSAL_ORIGIN_CHUNKS, "failed", NULL },
        { REFUSAL_ORIGIN_TRUNCATED, "failed", NULL },
        { REFUSAL_ORIGIN_RESET, "failed", NULL },
        { REFUSAL_ORIGIN_TLS, "failed", NULL },
        { REFUSAL_HEAD_INCOMPLETE, "refused", NULL },
        { REFUSAL_BODY_INCOMPLETE, "refused", NULL },
        { REFUSAL_HEAD_TIME, "limited", NULL },
        { REFUSAL_WALL_TIME, "limited", "max_wall_time_seconds: more than 7" },
        { REFUSAL_REQUEST_BYTES, "limited", "max_request_body_bytes: more than 3" },
        { REFUSAL_RESPONSE_BYTES, "limited", "max_response_bytes: more than 5" },
        { REFUSAL_CONNECTIONS, "limited", "max_connections: more" },
        { REFUSAL_URGENT, "refused", NULL },
        { REFUSAL_CLIENT_RESET, "allowed", NULL },
        { REFUSAL_STOPPED, "allowed", NULL },
};

static void say(const struct advice *advice, struct str *line) {
        const char *member = refusal_member(advice->refusal);

        str_printf(line,
                "{\"time\":\"t\",\"id\":1,\"host\":\"a.test\",\"port\":81,\"sent_bytes\":3,\"received_bytes\":5,\"milliseconds\":7004,"
                "\"verdict\":\"%s\",\"code\":\"%s\"",
                advice->verdict, refusal_row(advice->refusal)->code);
        if (member)
                str_printf(line, ",\"member\":\"%s\"", member);
        if (advice->refusal == REFUSAL_BODY_LIMIT)
                str_puts(line, ",\"announced_bytes\":9");
        str_puts(line, "}\n");
}

static void every_refusal_has_its_advice(void **state) {
        static const enum refusal_kind kinds[] = { REFUSAL_KIND_ALLOWED, REFUSAL_KIND_REFUSED, REFUSAL_KIND_LIMITED, REFUSAL_KIND_FAILED };
        static const char *const verdicts[] = { "allowed", "refused", "limited", "failed" };
        bool seen[REFUSAL_COUNT] = { true };

        (void)state;
        for (size_t i = 0; i < ELEMENTSOF(advices); i++) {
                const struct advice *advice = &advices[i];
                _cleanup_str_ struct str line = { 0 }, expected = { 0 };
                _cleanup_shown_ struct shown shown = { 0 };

                seen[advice->refusal] = true;
                for (size_t k = 0; k < ELEMENTSOF(kinds); k++)
                        assert_int_equal(streq(advice->verdict, verdicts[k]), refusal_kind(advice->refusal) == kinds[k]);
                say(advice, &line);
                report(line.text, 4096, false, &shown);
                if (streq(advice->verdict, "allowed")) {
                        assert_null(strstr(shown.sum.text, "WHAT WOULD CHANGE IT"));
                        continue;
                }
                str_printf(&expected, "       1  %-22s %-32s %s\n", refusal_row(advice->refusal)->code, "a.test",
                        advice->change ? advice->change : refusal_text_of(refusal_row(advice->refusal)->code));
                assert_has(&shown.sum, expected.text);
        }
        for (enum refusal r = 0; r < REFUSAL_COUNT; r++)
                assert_true(seen[r]);
}

static void equal_reasons_are_counted_together_and_the_most_frequent_stands_first(void **state) {
        static const char text[] = REFUSED("policy.host", "\"host\":\"a.test\",\"port\":443," HOSTS)
                REFUSED("policy.port", "\"host\":\"b.test\",\"port\":81," PORTS)
                        REFUSED("policy.port", "\"host\":\"c.test\",\"port\":81," PORTS)
                                REFUSED("policy.host", "\"host\":\"b.test\",\"port\":443," HOSTS)
                                        REFUSED("policy.port", "\"host\":\"b.test\",\"port\":82," PORTS) LINE("\"verdict\":\"allowed\"")
                                                LINE("\"verdict\":\"allowed\",\"code\":\"relay.client_reset\"");
        _cleanup_shown_ struct shown shown = { 0 };
        char *at;

        (void)state;
        report(text, 4096, false, &shown);
        assert_has(&shown.sum, "7 connections: 2 allowed, 5 refused, 0 limited, 0 failed; 21 bytes sent, 35 received\n");
        at = strstr(shown.sum.text, "WHAT WOULD CHANGE IT\n");
        assert_non_null(at);
        assert_string_equal(strchr(at, '\n') + 1,
                "       2  policy.port            b.test                           allowed_ports: add 81\n"
                "       1  policy.host            a.test                           allowed_hosts: add \"a.test\"\n"
                "       1  policy.host            b.test                           allowed_hosts: add \"b.test\"\n"
                "       1  policy.port            b.test                           allowed_ports: add 82\n");
}

static void what_is_no_line_of_this_version_is_counted(void **state) {
        static const char text[] = LINE("\"verdict\":\"allowed\",\"later\":{\"a\":[1]}")
                LINE("\"verdict\":\"queued\"") "no JSON\n\n" LINE("\"verdict\":\"allowed\",\"lost\":4") "{\"time\":\"2026-01";
        _cleanup_shown_ struct shown shown = { 0 };

        (void)state;
        report(text, 10, false, &shown);
        assert_has(&shown.sum, "2 connections: 2 allowed");
        assert_has(&shown.sum, "of 4 more the line could not be written\n");
        assert_has(&shown.sum, "3 lines are cut off, or of a kind that this version does not know\n");
}

static void a_line_without_end_takes_no_memory_without_end(void **state) {
        _cleanup_egress_report_ struct egress_report report = { 0 };
        _cleanup_str_ struct str out = { 0 };
        char blanks[4096];

        (void)state;
        memset(blanks, ' ', sizeof blanks);
        egress_report_begin(&report, &out);
        str_free(&out);
        for (int i = 0; i < 1000; i++) {
                egress_report_feed(&report, blanks, sizeof blanks, &out);
                assert_true(report.partial.room <= 2 * EGRESS_LINE_MAX);
        }
        egress_report_feed(&report, "\n" LINE("\"verdict\":\"allowed\""), strlen("\n" LINE("\"verdict\":\"allowed\"")), &out);
        assert_int_equal(report.sum.unreadable, 1);
        assert_int_equal(report.sum.connections, 1);
        assert_non_null(out.text);
}

static void a_client_that_asks_for_a_thousand_hosts_does_not_make_a_thousand_rows(void **state) {
        _cleanup_egress_report_ struct egress_report report = { 0 };
        _cleanup_str_ struct str out = { 0 };

        (void)state;
        egress_report_begin(&report, &out);
        for (int i = 0; i < 1000; i++) {
                char line[512];
                int n = snprintf(line, sizeof line, REFUSED("policy.host", "\"host\":\"h%d.test\""), i);

                egress_report_feed(&report, line, (size_t)n, &out);
        }
        str_free(&out);
        egress_report_sum(&report, &out);
        assert_int_equal(report.sum.n_reasons, EGRESS_REASONS_MAX);
        assert_has(&out, "744  more, for other reasons or hosts\n");
}

/* ESC [ and the CSI of eight bits (U+009B, a control in UTF-8 too) are what a terminal would obey. */
static void nothing_that_a_terminal_obeys_comes_out(void **state) {
        static const char text[] = REFUSED("policy.host\\u001b[2J",
                "\"host\":\"a\\u0007\\u009b31m\x7f\xc2\x9b"
                "1m\\\\\",\"member\":\"\\u001b[0m\"");

        (void)state;
        for (int json = 0; json < 2; json++) {
                _cleanup_shown_ struct shown shown = { 0 };
                const struct str *texts[] = { &shown.rows, &shown.sum };

                report(text, 4096, json, &shown);
                assert_non_null(shown.rows.text);
                for (size_t t = 0; t < ELEMENTSOF(texts); t++)
                        for (size_t i = 0; i < texts[t]->size; i++) {
                                unsigned char c = (unsigned char)texts[t]->text[i];

                                assert_true(c == '\n' || (c >= ' ' && c < 0x7f));
                        }
                assert_has(&shown.rows, json ? "\\u007f\\u009b1m" : "a\\x07\\xc2\\x9b31m\\x7f\\xc2\\x9b1m\\x5c");
        }
}

static void as_json_the_lines_are_as_they_were_and_the_sum_is_the_last(void **state) {
        static const char text[] = LINE("\"verdict\":\"allowed\",\"later\":[1]")
                REFUSED("policy.host", "\"host\":\"a.test\",\"port\":443," HOSTS);
        _cleanup_shown_ struct shown shown = { 0 };

        (void)state;
        report(text, 4096, true, &shown);
        assert_string_equal(shown.rows.text, text);
        assert_string_equal(shown.sum.text,
                "{\"summary\":{\"connections\":2,\"allowed\":1,\"refused\":1,\"limited\":0,\"failed\":0,\"sentBytes\":6,\"receivedBytes\":10,"
                "\"lost\":0,\"unreadable\":0,\"reasons\":[{\"code\":\"policy.host\",\"count\":1,\"host\":\"a.test\",\"port\":443,"
                "\"member\":\"allowed_hosts\",\"change\":\"add \\\"a.test\\\"\"}],\"otherReasons\":0}}\n");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_line_is_a_row_however_it_is_cut),
                cmocka_unit_test(the_sum_says_what_to_change),
                cmocka_unit_test(every_refusal_has_its_advice),
                cmocka_unit_test(equal_reasons_are_counted_together_and_the_most_frequent_stands_first),
                cmocka_unit_test(what_is_no_line_of_this_version_is_counted),
                cmocka_unit_test(a_line_without_end_takes_no_memory_without_end),
                cmocka_unit_test(a_client_that_asks_for_a_thousand_hosts_does_not_make_a_thousand_rows),
                cmocka_unit_test(nothing_that_a_terminal_obeys_comes_out),
                cmocka_unit_test(as_json_the_lines_are_as_they_were_and_the_sum_is_the_last),
        };

        return RUN_TESTS(tests);
}
