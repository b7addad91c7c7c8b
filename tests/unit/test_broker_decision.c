/* sage.sandbox.network: what it decides. */
#include "policies.h"

#include "broker/vet.h"

/* What a destination is refused for; "" where it is allowed. */
struct decision {
        const char *destination, *refusal;
};

static const struct decision by_list[] = {
        { "https example.com", "" },
        { "https EXAMPLE.com.:443", "" },
        { "http example.com", "" },
        { "https example.com:80", "" },
        { "https www.example.com", "policy.host" },
        { "https notexample.com", "policy.host" },
        { "https npmjs.org", "policy.host" },
        { "https registry.npmjs.org", "" },
        { "https a.b.NPMJS.org.", "" },
        { "https notnpmjs.org", "policy.host" },
        { "https xnpmjs.org", "policy.host" },
        { "https npmjs.org.evil.example", "policy.host" },
        { "https x.npmjs.orgs", "policy.host" },
        { "https example.com:8443", "policy.port" },
        { "https evil.example:22", "policy.host" },
        { "https 192.0.2.1", "" },
        { "https 192.0.2.2", "policy.host" },
        { "https [::ffff:192.0.2.1]", "" },
        { "https [2001:DB8:0::1]", "" },
        { "https [2001:db8::2]", "policy.host" },
        { "https 93.184.216.34", "policy.host" },
        { "https localhost", "policy.host" },
        { "https com", "policy.host" },
        { "https My_Bucket.s3.example.", "" },
        { "https my-bucket.s3.example", "policy.host" },
        { "https _a.npmjs.org", "" },
        { "https _npmjs.org", "policy.host" },
        { "https 198.51.100.9", "" },
        { "https [::FFFF:c633:6409]", "" },
        { "https [64:ff9b::c633:6409]", "policy.host" },
        { "https xn--bcher-kva.example", "" },
        { "https XN--BCHER-KVA.Example.", "" },
};

static const struct decision tls_only[] = {
        { "https a", "" },
        { "http a", "policy.scheme" },
        { "http a:443", "policy.scheme" },
        { "http b", "policy.host" },
        { "http a:81", "policy.port" },
};

static const struct decision plain_only[] = {
        { "http a:8080", "" },
        { "https a:8080", "policy.scheme" },
        { "http a", "policy.port" },
};

static const struct decision by_proxy[] = {
        { "https whatever.example", "" },
        { "https 192.0.2.7", "" },
        { "https a:8443", "policy.port" },
        { "http a", "policy.scheme" },
        { "https p", "policy.upstream" },
        { "https P.:1", "policy.upstream" },
        { "https p.example", "" },
};

static const struct decision by_proxy_and_list[] = {
        { "https a", "" },
        { "https b", "policy.host" },
};

static const struct decision by_none[] = {
        { "https a", "policy.mode" },
        { "http 127.0.0.1", "policy.mode" },
};

static const struct decision unrestricted[] = {
        { "https a:22", "" },
        { "http 127.0.0.1:1", "" },
};

static void check_decision(const struct policy *policy, const struct decision *row) {
        enum policy_scheme scheme = str_after(row->destination, "http ") ? POLICY_HTTP : POLICY_HTTPS;
        const char *text = strchr(row->destination, ' ') + 1;
        struct authority a;
        enum refusal refusal = authority_parse(text, strlen(text), scheme == POLICY_HTTP ? 80 : 443, &a);

        if (refusal == REFUSAL_NONE && streq(refusal_row(policy_decide(policy, &a, scheme))->code, row->refusal))
                return;
        print_error("%s: %s %s\n", row->destination, refusal_row(refusal)->code, refusal_row(policy_decide(policy, &a, scheme))->code);
        abort();
}

static void check_decisions(const char *text, const struct decision *rows, size_t n) {
        struct policy policy = loaded(text);

        for (size_t i = 0; i < n; i++)
                check_decision(&policy, &rows[i]);
}

#define CHECK_DECISIONS(text, rows) check_decisions(text, rows, ELEMENTSOF(rows))

static void a_destination_is_allowed_or_told_why_not(void **state) {
        (void)state;
        CHECK_DECISIONS("{\"mode\":\"allowlist\",\"allowed_schemes\":[\"http\",\"https\"],\"allowed_hosts\":[\"Example.COM.\","
                        "\"*.npmjs.org\",\"192.0.2.1\",\"2001:db8::1\",\"MY_bucket.S3.example\",\"::ffff:198.51.100.9\",\"B\xc3\x9c"
                        "CHER.example.\"]}",
                by_list);
        CHECK_DECISIONS(HOSTS("[\"a\"]"), tls_only);
        CHECK_DECISIONS(
                "{\"mode\":\"allowlist\",\"allowed_schemes\":[\"http\"],\"allowed_hosts\":[\"a\"],\"allowed_ports\":[8080]}", plain_only);
        CHECK_DECISIONS(PROXY("http://p:1"), by_proxy);
        CHECK_DECISIONS("{\"mode\":\"proxy\",\"proxy_url\":\"http://p:1\",\"allowed_hosts\":[\"a\"]}", by_proxy_and_list);
        CHECK_DECISIONS("{}", by_none);
        CHECK_DECISIONS("{\"mode\":\"unrestricted\",\"deny_private_networks\":false}", unrestricted);
}

static struct addresses addresses(const char *const *texts) {
        struct addresses list = { 0 };

        for (; *texts; texts++) {
                struct authority a;

                assert_int_equal(authority_parse_host(*texts, strlen(*texts), &a), REFUSAL_NONE);
                list.list[list.n++] = a.address;
        }
        return list;
}

static void one_bad_address_refuses_them_all(void **state) {
        static const char public[] = "93.184.216.34", other[] = "[2606:2800::1]";
        static const struct {
                const char *texts[4];
                uint32_t own;
                const char *code, *refused;
        } rows[] = {
                { { public, other }, 0, "", "" },
                { { NULL }, 0, "dns.no_address", "" },
                { { public, other, "10.0.0.1" }, 0, "dns.non_global_answer", "10.0.0.1" },
                { { "[::ffff:127.0.0.1]", public }, 0, "dns.non_global_answer", "127.0.0.1" },
                { { public, "198.18.0.1" }, 0, "dns.fake_ip", "198.18.0.1" },
                { { public, other }, 2, "dns.non_global_answer", "2606:2800::1" },
                { { public, "[2606:64::a00:1]" }, 0, "dns.non_global_answer", "2606:64::a00:1" },
                { { public, "[2606:64::808:808]" }, 0, "", "" },
                { { public, "192.0.32.8" }, 0, "policy.upstream", "192.0.32.8" },
                { { "[64:ff9b::c000:2008]" }, 0, "policy.upstream", "64:ff9b::c000:2008" },
                { { "[2606:64::c000:2008]" }, 0, "policy.upstream", "2606:64::c000:2008" },
        };
        struct addresses upstream = addresses((const char *[]){ "192.0.32.8", NULL });
        struct policy policy = loaded(ALLOW("\"nat64_prefixes\":[\"2606:64::/96\"]")),
                      lax = loaded(ALLOW("\"deny_private_networks\":false"));

        (void)state;
        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                struct addresses list = addresses(rows[i].texts);
                struct vetting vetting = vet(&policy, HOST_NAME, &list, rows[i].own, &upstream);

                if (!streq(refusal_row(vetting.refusal)->code, rows[i].code) ||
                        (rows[i].refused[0] && !streq(address_print(&vetting.address).text, rows[i].refused))) {
                        print_error("row %zu: %s %s\n", i, refusal_row(vetting.refusal)->code, address_print(&vetting.address).text);
                        abort();
                }
        }
        upstream = addresses((const char *[]){ "127.0.0.1", NULL });
        assert_string_equal(refusal_row(vet(&lax, HOST_ADDRESS, &upstream, 0, &upstream).refusal)->code, "policy.upstream");
        assert_int_equal(vet(&lax, HOST_ADDRESS, &upstream, 1, NULL).refusal, REFUSAL_NONE);
}

static void addresses_and_bodies_are_decided_by_it_too(void **state) {
        static const struct {
                const char *address, *name, *literal, *name_private;
        } rows[] = {
                { "93.184.216.34", "", "", "" },
                { "10.0.0.1", "dns.non_global_answer", "policy.address", "" },
                { "127.0.0.1", "dns.non_global_answer", "policy.address", "" },
                { "198.18.0.7", "dns.fake_ip", "policy.address", "" },
                { "[::ffff:10.0.0.1]", "dns.non_global_answer", "policy.address", "" },
                { "[64:ff9b::a9fe:a9fe]", "dns.non_global_answer", "policy.address", "" },
                { "0.0.0.0", "dns.non_global_answer", "policy.address", "dns.non_global_answer" },
                { "[ff02::1]", "dns.non_global_answer", "policy.address", "dns.non_global_answer" },
                { "[fe80::1]", "dns.non_global_answer", "policy.address", "dns.non_global_answer" },
        };
        struct policy strict = loaded(HOSTS("[\"a\"]")), lax = loaded(ALLOW("\"deny_private_networks\":false"));

        (void)state;
        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                struct authority a;
                struct address_class class;

                assert_int_equal(authority_parse_host(rows[i].address, strlen(rows[i].address), &a), REFUSAL_NONE);
                class = address_classify(&a.address, NULL);
                assert_string_equal(refusal_row(policy_decide_address(&strict, HOST_NAME, &class))->code, rows[i].name);
                assert_string_equal(refusal_row(policy_decide_address(&strict, HOST_ADDRESS, &class))->code, rows[i].literal);
                assert_string_equal(refusal_row(policy_decide_address(&lax, HOST_NAME, &class))->code, rows[i].name_private);
        }
        assert_int_equal(policy_decide_body(&strict, 1 << 20), REFUSAL_NONE);
        assert_string_equal(refusal_row(policy_decide_body(&strict, (1 << 20) + 1))->code, "body.limit");
        assert_int_equal(refusal_row(REFUSAL_BODY_LIMIT)->status, 413);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(a_destination_is_allowed_or_told_why_not),
                TEST(one_bad_address_refuses_them_all),
                TEST(addresses_and_bodies_are_decided_by_it_too),
        };

        return RUN_TESTS(tests);
}
