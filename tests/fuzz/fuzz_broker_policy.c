/* libFuzzer: [destination]\n[sage.sandbox.network as JSON]. What a policy allows, it allows for a reason that can be pointed at. */
#include "fuzz.h"

#include "broker/policy.h"

static bool is_listed(const struct policy *policy, const struct authority *a) {
        for (size_t i = 0; i < policy->n_hosts; i++) {
                const char *host = policy->hosts[i].host.host;
                size_t n = strlen(a->host), tail = strlen(host) + 1;

                if (policy->hosts[i].subdomains ? n > tail && a->host[n - tail] == '.' && streq(a->host + n - tail + 1, host) :
                                                  streq(a->host, host))
                        return true;
        }
        return false;
}

static void check_policy(const struct policy *policy) {
        expect(policy->n_ports > 0 && policy->wall_time_ms > 0 && policy->max_response_bytes > 0 && policy->max_connections > 0,
               "every limit is one");
        expect(policy->http || policy->https, "some scheme is allowed");
        expect(policy->mode != SAGE_NETWORK_MODE_ALLOWLIST || policy->n_hosts > 0, "an allowlist lists");
        expect((policy->mode == SAGE_NETWORK_MODE_PROXY) == (policy->proxy.port > 0), "a proxy is where it belongs");
        expect(policy->mode != SAGE_NETWORK_MODE_UNRESTRICTED || !policy->deny_private, "and private networks are allowed aloud");
}

static void check_decision(const struct policy *policy, const struct authority *a, enum policy_scheme scheme) {
        enum refusal refusal = policy_decide(policy, a, scheme);
        bool port = false;

        for (size_t i = 0; i < policy->n_ports; i++)
                port = port || policy->ports[i] == a->port;
        expect(refusal < REFUSAL_COUNT, "a refusal is one of the list");
        if (policy->mode == SAGE_NETWORK_MODE_NONE)
                expect(refusal == REFUSAL_POLICY_MODE, "no network is no network");
        if (refusal || policy->mode == SAGE_NETWORK_MODE_UNRESTRICTED)
                return;
        expect(port && (scheme == POLICY_HTTP ? policy->http : policy->https), "port and scheme are allowed");
        expect(is_listed(policy, a) || (policy->mode == SAGE_NETWORK_MODE_PROXY && policy->n_hosts == 0), "and so is the host");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        _cleanup_arena_ struct arena arena = { 0 };
        const char *text = (const char *)data, *end = size ? memchr(text, '\n', size) : NULL;
        struct policy policy;
        struct authority a;
        struct error err = { 0 };
        size_t head;

        if (!end)
                return 0;
        head = (size_t)(end - text);
        if (policy_load(&arena, "f", end + 1, size - head - 1, &policy, &err) < 0) {
                expect(err.code == CODE_NETWORK_POLICY_INVALID && err.text[0], "a refusal has a code and says why");
                return 0;
        }
        check_policy(&policy);
        if (authority_parse(text, head, 443, &a) == REFUSAL_NONE) {
                check_decision(&policy, &a, POLICY_HTTP);
                check_decision(&policy, &a, POLICY_HTTPS);
        }
        return 0;
}
