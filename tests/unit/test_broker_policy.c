/* sage.sandbox.network: what it may say. */
#include "policies.h"

/* The text of each refusal holds TELLS. */
struct refused {
        const char *text, *where, *tells;
};

static void check_refused(const struct refused *rows, size_t n) {
        for (size_t i = 0; i < n; i++) {
                struct policy policy = { .n_hosts = 77 };

                err = (struct error){ 0 };
                if (load(rows[i].text, &policy) < 0 && err.code == CODE_NETWORK_POLICY_INVALID && streq(err.where, rows[i].where) &&
                        strstr(err.text, rows[i].tells) && policy.n_hosts == 77)
                        continue;
                print_error("%s\ncode %d, %s: %s\n", rows[i].text, err.code, err.where, err.text);
                abort();
        }
}

static void a_mode_takes_only_what_it_enforces(void **state) {
        static const struct refused rows[] = {
                { "{\"allowed_hosts\":[\"a\"]}", "allowed_hosts", "mode none" },
                { "{\"mode\":\"none\",\"allowed_hosts\":[\"a\"]}", "allowed_hosts", "mode none" },
                { "{\"mode\":\"none\",\"allowed_ports\":[443]}", "allowed_ports", "mode none" },
                { "{\"mode\":\"none\",\"proxy_url\":\"http://p:1\"}", "proxy_url", "mode none" },
                { "{\"mode\":\"none\",\"allow_listen\":true}", "allow_listen", "false" },
                { "{\"mode\":\"none\",\"allow_ech\":true}", "allow_ech", "mode none" },
                { "{\"nat64_prefixes\":[\"2001:db8::/96\"]}", "nat64_prefixes", "mode none" },
                { "{\"mode\":\"unrestricted\"}", "deny_private_networks", "say so" },
                { "{\"mode\":\"unrestricted\",\"deny_private_networks\":true}", "deny_private_networks", "say so" },
                { OPEN("\"allowed_hosts\":[\"a\"]"), "allowed_hosts", "mode unrestricted" },
                { OPEN("\"allowed_ports\":[80,443]"), "allowed_ports", "mode unrestricted" },
                { OPEN("\"proxy_url\":\"http://p:1\""), "proxy_url", "mode unrestricted" },
                { OPEN("\"allow_listen\":true"), "allow_listen", "false" },
                { OPEN("\"allow_ech\":true"), "allow_ech", "unrestricted" },
                { OPEN("\"allowed_schemes\":[\"http\",\"https\"]"), "allowed_schemes", "unrestricted" },
                { OPEN("\"max_wall_time_seconds\":31"), "max_wall_time_seconds", "unrestricted" },
                { OPEN("\"max_request_body_bytes\":1"), "max_request_body_bytes", "unrestricted" },
                { OPEN("\"max_response_bytes\":1"), "max_response_bytes", "unrestricted" },
                { OPEN("\"max_connections\":1"), "max_connections", "unrestricted" },
                { OPEN("\"max_redirects\":0"), "max_redirects", "default" },
                { "{\"mode\":\"allowlist\"}", "allowed_hosts", "at least one" },
                { HOSTS("[]"), "allowed_hosts", "at least one" },
                { ALLOW("\"proxy_url\":\"http://p:1\""), "proxy_url", "mode allowlist" },
                { ALLOW("\"allow_listen\":true"), "allow_listen", "false" },
                { "{\"mode\":\"proxy\"}", "proxy_url", "needs" },
                { "{\"mode\":\"open\"}", "mode", "" },
                { ALLOW("\"allowed_methods\":[\"GET\"]"), "allowed_methods", "default" },
                { ALLOW("\"allowed_methods\":[\"GET\",\"HEAD\",\"POST\"]"), "allowed_methods", "default" },
                { ALLOW("\"allowed_methods\":[\"GET\",\"POST\"]"), "allowed_methods", "default" },
                { ALLOW("\"allowed_methods\":[]"), "allowed_methods", "default" },
                { ALLOW("\"allowed_request_headers\":[\"accept\",\"cookie\",\"user-agent\"]"), "allowed_request_headers", "default" },
                { ALLOW("\"max_redirects\":6"), "max_redirects", "default (5)" },
                { ALLOW("\"deniedDomains\":[\"*\"]"), "deniedDomains", "" },
        };

        (void)state;
        check_refused(rows, ELEMENTSOF(rows));
}

static void members_have_their_ranges(void **state) {
        static const struct refused rows[] = {
                { ALLOW("\"allowed_schemes\":[]"), "allowed_schemes", "http" },
                { ALLOW("\"allowed_schemes\":[\"https\",\"ftp\"]"), "allowed_schemes[1]", "ftp" },
                { ALLOW("\"allowed_schemes\":[\"HTTP\"]"), "allowed_schemes[0]", "HTTP" },
                { ALLOW("\"allowed_ports\":[0]"), "allowed_ports[0]", "" },
                { ALLOW("\"allowed_ports\":[443,65536]"), "allowed_ports[1]", "" },
                { ALLOW("\"allowed_ports\":[-1]"), "allowed_ports[0]", "" },
                { ALLOW("\"allowed_ports\":[443,22]"), "allowed_ports[1]", "port 22 is SSH" },
                { ALLOW("\"max_wall_time_seconds\":0"), "max_wall_time_seconds", "more than 0" },
                { ALLOW("\"max_wall_time_seconds\":-1"), "max_wall_time_seconds", "" },
                { ALLOW("\"max_request_body_bytes\":-1"), "max_request_body_bytes", "" },
                { ALLOW("\"max_response_bytes\":0"), "max_response_bytes", "" },
                { ALLOW("\"max_connections\":0"), "max_connections", "" },
                { ALLOW("\"allow_ech\":1"), "allow_ech", "" },
                { "{\"mode\":\"none\",\"allowed_schemes\":[\"ftp\"]}", "allowed_schemes[0]", "ftp" },
                { "{\"mode\":\"none\",\"max_wall_time_seconds\":0}", "max_wall_time_seconds", "more than 0" },
        };

        (void)state;
        check_refused(rows, ELEMENTSOF(rows));
}

static void ports_that_never_speak_tls_first_are_told(void **state) {
        static const unsigned ports[] = { 21, 22, 23, 25, 53, 110, 111, 119, 135, 139, 143, 389, 445, 587, 3306, 3389, 5900, 9418 };
        static const unsigned good[] = { 1, 80, 443, 465, 636, 853, 993, 995, 3128, 5432, 6443, 8080, 8443, 65535 };
        char text[160];
        struct policy policy;

        (void)state;
        for (size_t i = 0; i < ELEMENTSOF(ports); i++) {
                snprintf(text, sizeof text, ALLOW("\"allowed_ports\":[%u]"), ports[i]);
                check_refused(&(struct refused){ text, "allowed_ports[0]", "TLS" }, 1);
        }
        for (size_t i = 0; i < ELEMENTSOF(good); i++) {
                snprintf(text, sizeof text, ALLOW("\"allowed_ports\":[%u]"), good[i]);
                policy = loaded(text);
                assert_int_equal(policy.n_ports, 1);
                assert_int_equal(policy.ports[0], good[i]);
        }
}

static void hosts_are_names_or_addresses(void **state) {
        static const struct refused rows[] = {
                { HOSTS("[\"a\",\"\"]"), "allowed_hosts[1]", "missing" },
                { HOSTS("[\"*\"]"), "allowed_hosts[0]", "labels" },
                { HOSTS("[\"*.\"]"), "allowed_hosts[0]", "missing" },
                { HOSTS("[\"*.*.a\"]"), "allowed_hosts[0]", "labels" },
                { HOSTS("[\"a.*.b\"]"), "allowed_hosts[0]", "labels" },
                { HOSTS("[\"**.a\"]"), "allowed_hosts[0]", "labels" },
                { HOSTS("[\"*a\"]"), "allowed_hosts[0]", "labels" },
                { HOSTS("[\"*.10.0.0.1\"]"), "allowed_hosts[0]", "no subdomains" },
                { HOSTS("[\"*.::1\"]"), "allowed_hosts[0]", "no subdomains" },
                { HOSTS("[\"10.0.0.0/8\"]"), "allowed_hosts[0]", "" },
                { HOSTS("[\"a:443\"]"), "allowed_hosts[0]", "allowed_ports" },
                { HOSTS("[\"http://a\"]"), "allowed_hosts[0]", "" },
                { HOSTS("[\"a/b\"]"), "allowed_hosts[0]", "labels" },
                { HOSTS("[\"a\\\\b\"]"), "allowed_hosts[0]", "labels" },
                { HOSTS("[\"u@a\"]"), "allowed_hosts[0]", "user" },
                { HOSTS("[\"%61\"]"), "allowed_hosts[0]", "ASCII" },
                { HOSTS("[\"-a.example\"]"), "allowed_hosts[0]", "labels" },
                { HOSTS("[\"a..b\"]"), "allowed_hosts[0]", "labels" },
                { HOSTS("[\"127.1\"]"), "allowed_hosts[0]", "IPv4" },
                { HOSTS("[\"0x7f.1\"]"), "allowed_hosts[0]", "IPv4" },
                { HOSTS("[\"[a]\"]"), "allowed_hosts[0]", "brackets" },
                { HOSTS("[\"fe80::1%eth0\"]"), "allowed_hosts[0]", "" },
                { HOSTS("[\"\xe2\x84\x80.example\"]"), "allowed_hosts[0]", "" }, /* U+2100, which maps to a/c */
                { HOSTS("[\"\xef\xbc\x91.2.3.4\"]"), "allowed_hosts[0]", "" },   /* fullwidth 1 */
                { HOSTS("[\"\xc2\xad\"]"), "allowed_hosts[0]", "" },             /* soft hyphen: nothing is left */
                { HOSTS("[\"*\xe3\x80\x82"
                        "example\"]"),
                        "allowed_hosts[0]", "" },                            /* an ideographic dot behind * */
                { HOSTS("[\"\xcd\xb8.example\"]"), "allowed_hosts[0]", "" }, /* U+0378, unassigned */
                { HOSTS("[\"a\\u0000.example\"]"), "allowed_hosts[0]", "" },
                { HOSTS("[1]"), "allowed_hosts[0]", "" },
        };

        (void)state;
        check_refused(rows, ELEMENTSOF(rows));
}

static void names_of_other_scripts_become_ascii_once(void **state) {
        static const struct {
                const char *text, *host;
                bool subdomains;
        } rows[] = {
                { "b\xc3\xbc"
                  "cher.example",
                        "xn--bcher-kva.example", false },
                { "*.B\xc3\x9c"
                  "CHER.Example.",
                        "xn--bcher-kva.example", true },
                { "bu\xcc\x88"
                  "cher.example",
                        "xn--bcher-kva.example", false },              /* u and U+0308 */
                { "fa\xc3\x9f.example", "xn--fa-hia.example", false }, /* IDNA2008 keeps the sharp s */
                { "a\xe3\x80\x82"
                  "b\xc3\xbc.example",
                        "a.xn--b-eha.example", false }, /* U+3002, a dot to UTS 46 */
                { "XN--BCHER-KVA.example", "xn--bcher-kva.example", false },
                { "a_b.b\xc3\xbc"
                  "cher.example",
                        "a_b.xn--bcher-kva.example", false },
                { "*._Tcp.example", "_tcp.example", true },
        };

        (void)state;
        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                char text[160];
                struct policy policy;

                snprintf(text, sizeof text, HOSTS("[\"%s\"]"), rows[i].text);
                policy = loaded(text);
                assert_string_equal(policy.hosts[0].host.host, rows[i].host);
                assert_int_equal(policy.hosts[0].subdomains, rows[i].subdomains);
        }
}

static void prefixes_of_nat64_are_prefixes(void **state) {
        static const struct refused rows[] = {
                { ALLOW("\"nat64_prefixes\":[\"2001:db8::\"]"), "nat64_prefixes[0]", "expected an IPv6 prefix" },
                { ALLOW("\"nat64_prefixes\":[\"2001:db8::/96\",\"2001:db8::/95\"]"), "nat64_prefixes[1]", "expected an IPv6 prefix" },
                { ALLOW("\"nat64_prefixes\":[\"2001:db8::/72\"]"), "nat64_prefixes[0]", "expected an IPv6 prefix" },
                { ALLOW("\"nat64_prefixes\":[\"2001:db8::/24\"]"), "nat64_prefixes[0]", "expected an IPv6 prefix" },
                { ALLOW("\"nat64_prefixes\":[\"2001:db8::/128\"]"), "nat64_prefixes[0]", "expected an IPv6 prefix" },
                { ALLOW("\"nat64_prefixes\":[\"10.0.0.0/32\"]"), "nat64_prefixes[0]", "expected an IPv6 prefix" },
                { ALLOW("\"nat64_prefixes\":[\"::ffff:10.0.0.0/96\"]"), "nat64_prefixes[0]", "expected an IPv6 prefix" },
                { ALLOW("\"nat64_prefixes\":[\"\"]"), "nat64_prefixes[0]", "expected an IPv6 prefix" },
                { ALLOW("\"nat64_prefixes\":[\"2001:db8:0:0:0:0:0:1/96\"]"), "nat64_prefixes[0]", "behind the prefix" },
                { ALLOW("\"nat64_prefixes\":[\"2001:db8:0:0:100::/96\"]"), "nat64_prefixes[0]", "64 to 71" },
                { OPEN("\"nat64_prefixes\":[\"2001:db8::/96\"]"), "nat64_prefixes", "unrestricted" },
        };
        struct policy policy;

        (void)state;
        check_refused(rows, ELEMENTSOF(rows));
        policy = loaded(ALLOW("\"nat64_prefixes\":[\"2001:db8:64::/96\",\"2001:DB8::/32\"]"));
        assert_int_equal(policy.n_nat64, 2);
        assert_int_equal(policy.nat64[0].bits, 96);
        assert_int_equal(policy.nat64[0].base[5], 0x64);
        assert_int_equal(policy.nat64[1].bits, 32);
}

static void an_upstream_is_an_origin(void **state) {
        static const struct refused rows[] = {
                { PROXY("socks5://p:1"), "proxy_url", "" },
                { PROXY("http://user:pw@p:1"), "proxy_url", "" },
                { PROXY("http://p:1/path"), "proxy_url", "" },
                { PROXY("http://p:1?q"), "proxy_url", "" },
                { PROXY("http://p:1#f"), "proxy_url", "" },
                { PROXY("http://"), "proxy_url", "" },
                { PROXY("http://:80"), "proxy_url", "" },
                { PROXY("p:80"), "proxy_url", "" },
                { PROXY("http://p:0"), "proxy_url", "port" },
                { PROXY("http://p:65536"), "proxy_url", "port" },
                { PROXY("http://p:"), "proxy_url", "port" },
                { PROXY("http://127.1:80"), "proxy_url", "IPv4" },
                { PROXY("http://p-:80"), "proxy_url", "labels" },
        };
        static const struct {
                const char *text, *host;
                unsigned port;
                bool tls;
        } good[] = {
                { PROXY("http://127.0.0.1:8080"), "127.0.0.1", 8080, false },
                { PROXY("http://Proxy.corp./"), "proxy.corp", 80, false },
                { PROXY("https://proxy.corp"), "proxy.corp", 443, true },
                { PROXY("https://[::1]:1"), "::1", 1, true },
        };

        (void)state;
        check_refused(rows, ELEMENTSOF(rows));
        for (size_t i = 0; i < ELEMENTSOF(good); i++) {
                struct policy policy = loaded(good[i].text);

                assert_string_equal(policy.proxy.host, good[i].host);
                assert_int_equal(policy.proxy.port, good[i].port);
                assert_int_equal(policy.proxy_tls, good[i].tls);
        }
}

static void defaults_are_sages(void **state) {
        static const char whole[] =
                "{\"mode\":\"allowlist\",\"proxy_url\":null,\"allowed_hosts\":[\"a\"],\"allowed_ports\":[],"
                "\"allowed_schemes\":[\"https\"],\"allowed_methods\":[\"GET\",\"HEAD\"],"
                "\"allowed_request_headers\":[\"accept\",\"content-type\",\"user-agent\"],"
                "\"allow_listen\":false,\"deny_private_networks\":true,\"max_redirects\":5,\"max_request_body_bytes\":1048576,"
                "\"max_response_bytes\":10485760,\"max_wall_time_seconds\":30.0}";
        static const char *const texts[] = { HOSTS("[\"a\"]"), whole };
        struct policy policy;

        (void)state;
        for (size_t i = 0; i < ELEMENTSOF(texts); i++) {
                policy = loaded(texts[i]);
                assert_int_equal(policy.n_ports, 2);
                assert_int_equal(policy.ports[0], 80);
                assert_int_equal(policy.ports[1], 443);
                assert_true(policy.https && !policy.http && policy.deny_private && !policy.allow_ech);
                assert_int_equal(policy.wall_time_ms, 30000);
                assert_int_equal(policy.max_request_body_bytes, 1 << 20);
                assert_int_equal(policy.max_response_bytes, 10 << 20);
                assert_int_equal(policy.max_connections, 64);
        }
        policy = loaded(ALLOW("\"max_wall_time_seconds\":0.0001,\"max_request_body_bytes\":0,\"max_response_bytes\":9223372036854775807,"
                              "\"max_connections\":7,\"allow_ech\":true,\"deny_private_networks\":false,"
                              "\"allowed_schemes\":[\"http\",\"https\",\"http\"]"));
        assert_int_equal(policy.wall_time_ms, 1);
        assert_int_equal(policy.max_request_body_bytes, 0);
        assert_int_equal(policy.max_response_bytes, INT64_MAX);
        assert_int_equal(policy.max_connections, 7);
        assert_true(policy.allow_ech && !policy.deny_private && policy.http && policy.https);
        assert_int_equal(loaded(ALLOW("\"max_wall_time_seconds\":1.5")).wall_time_ms, 1500);
        assert_int_equal(loaded("{}").mode, SAGE_NETWORK_MODE_NONE);
        assert_int_equal(loaded("{\"mode\":\"none\",\"allowed_hosts\":[],\"allowed_ports\":[]}").mode, SAGE_NETWORK_MODE_NONE);
        policy = loaded(OPEN("\"max_redirects\":5,\"max_wall_time_seconds\":30,\"max_request_body_bytes\":1048576,"
                             "\"max_response_bytes\":10485760,\"max_connections\":64,\"allowed_schemes\":[\"https\"]"));
        assert_int_equal(policy.mode, SAGE_NETWORK_MODE_UNRESTRICTED);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(a_mode_takes_only_what_it_enforces),
                TEST(members_have_their_ranges),
                TEST(ports_that_never_speak_tls_first_are_told),
                TEST(hosts_are_names_or_addresses),
                TEST(names_of_other_scripts_become_ascii_once),
                TEST(prefixes_of_nat64_are_prefixes),
                TEST(an_upstream_is_an_origin),
                TEST(defaults_are_sages),
        };

        return RUN_TESTS(tests);
}
