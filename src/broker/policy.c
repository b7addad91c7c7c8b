#define _GNU_SOURCE
#include "broker/policy.h"

#include <stdio.h>

#define INVALID(where, ...) fail(err, CODE_NETWORK_POLICY_INVALID, 0, (where), __VA_ARGS__)

/* Sage's defaults. */
static const uint16_t default_ports[] = { 80, 443 };
static const char *const default_schemes[] = { "https" };
static const char *const default_methods[] = { "GET", "HEAD" };
static const char *const default_headers[] = { "accept", "content-type", "user-agent" };

enum {
        DEFAULT_REDIRECTS = 5,
        DEFAULT_WALL_TIME = 30,
        DEFAULT_REQUEST_BODY = 1 << 20,
        DEFAULT_RESPONSE = 10 << 20,
        DEFAULT_CONNECTIONS = 64,
};

/* IANA, "Service Name and Transport Protocol Port Number Registry": where clients do not begin with TLS, so that a tunnel, which begins
 * with TLS or ends, can never work. Better told when the policy is written than by a reset. Sorted, for reading. */
static const struct {
        uint16_t port;
        const char *service;
} plain_ports[] = {
        { 21, "FTP" },
        { 22, "SSH" },
        { 23, "Telnet" },
        { 25, "SMTP" },
        { 53, "DNS" },
        { 110, "POP3" },
        { 111, "RPC" },
        { 119, "NNTP" },
        { 135, "RPC" },
        { 139, "NetBIOS" },
        { 143, "IMAP" },
        { 389, "LDAP" },
        { 445, "SMB" },
        { 587, "SMTP" },
        { 3306, "MySQL" },
        { 3389, "RDP" },
        { 5900, "VNC" },
        { 9418, "git://" },
};

/* ABSENT, or the very list DEFAULTS. */
static bool is_default(const char *const *words, size_t n, const char *const *defaults, size_t n_defaults) {
        if (!words)
                return true;
        for (size_t i = 0; n == n_defaults && i < n; i++)
                if (!streq(words[i], defaults[i]))
                        return false;
        return n == n_defaults;
}
#define IS_DEFAULT(network, member, defaults) \
        is_default((const char *const *)(network)->member, (network)->n_##member, (defaults), ELEMENTSOF(defaults))

/* TLS hides methods, header fields and redirects; a rule about them that holds for plain requests only would be a trap. */
static int refuse_unenforceable(const struct sage_network *network, struct error *err) {
        if (!IS_DEFAULT(network, allowed_methods, default_methods))
                return INVALID("allowed_methods", "expected the default (GET, HEAD): methods cannot be told inside TLS");
        if (!IS_DEFAULT(network, allowed_request_headers, default_headers))
                return INVALID("allowed_request_headers",
                        "expected the default (accept, content-type, user-agent): header fields cannot be told inside TLS");
        if (network->has & SAGE_NETWORK_HAS_MAX_REDIRECTS && network->max_redirects != DEFAULT_REDIRECTS)
                return INVALID("max_redirects",
                        "expected the default (%d): clients follow redirects themselves, and each is checked as a new request",
                        DEFAULT_REDIRECTS);
        if (network->allow_listen)
                return INVALID("allow_listen", "expected false: a sandbox does not accept connections");
        return 0;
}

static int refuse_without_broker(const struct sage_network *network, const char *mode, struct error *err) {
        if (network->n_allowed_hosts)
                return INVALID("allowed_hosts", "mode %s has no hosts to allow: set mode to allowlist, or leave this out", mode);
        if (network->n_allowed_ports)
                return INVALID("allowed_ports", "mode %s has no ports to allow: set mode to allowlist, or leave this out", mode);
        if (network->proxy_url)
                return INVALID("proxy_url", "mode %s uses no proxy: set mode to proxy, or leave this out", mode);
        if (network->allow_ech)
                return INVALID("allow_ech", "mode %s looks into no TLS: set mode to allowlist or proxy, or leave this out", mode);
        if (network->n_nat64_prefixes)
                return INVALID("nat64_prefixes", "mode %s checks no addresses: set mode to allowlist or proxy, or leave this out", mode);
        return 0;
}

/* The whole policy must be the default but for deny_private_networks, which must say aloud what the mode does. */
static int check_unrestricted(const struct sage_network *network, struct error *err) {
        static const char text[] = "mode unrestricted cannot enforce this: leave it out";
        int r = refuse_without_broker(network, "unrestricted", err);

        if (r < 0)
                return r;
        if (!(network->has & SAGE_NETWORK_HAS_DENY_PRIVATE_NETWORKS) || network->deny_private_networks)
                return INVALID(
                        "deny_private_networks", "mode unrestricted reaches private networks: say so with deny_private_networks false");
        if (!IS_DEFAULT(network, allowed_schemes, default_schemes))
                return INVALID("allowed_schemes", text);
        if (network->has & SAGE_NETWORK_HAS_MAX_WALL_TIME_SECONDS && network->max_wall_time_seconds != DEFAULT_WALL_TIME)
                return INVALID("max_wall_time_seconds", text);
        if (network->has & SAGE_NETWORK_HAS_MAX_REQUEST_BODY_BYTES && network->max_request_body_bytes != DEFAULT_REQUEST_BODY)
                return INVALID("max_request_body_bytes", text);
        if (network->has & SAGE_NETWORK_HAS_MAX_RESPONSE_BYTES && network->max_response_bytes != DEFAULT_RESPONSE)
                return INVALID("max_response_bytes", text);
        if (network->has & SAGE_NETWORK_HAS_MAX_CONNECTIONS && network->max_connections != DEFAULT_CONNECTIONS)
                return INVALID("max_connections", text);
        return 0;
}

static int compile_schemes(const struct sage_network *network, struct policy *policy, struct error *err) {
        char where[64];

        policy->https = !network->allowed_schemes;
        if (network->allowed_schemes && network->n_allowed_schemes == 0)
                return INVALID("allowed_schemes", "expected http, https or both");
        for (size_t i = 0; i < network->n_allowed_schemes; i++) {
                bool http = streq(network->allowed_schemes[i], "http");

                snprintf(where, sizeof where, "allowed_schemes[%zu]", i);
                if (!http && !streq(network->allowed_schemes[i], "https"))
                        return INVALID(where, "expected http or https, found \"%s\"", network->allowed_schemes[i]);
                *(http ? &policy->http : &policy->https) = true;
        }
        return 0;
}

static int compile_ports(struct arena *arena, const struct sage_network *network, struct policy *policy, struct error *err) {
        bool given = network->n_allowed_ports;
        uint16_t *ports;
        char where[64];

        policy->n_ports = given ? network->n_allowed_ports : ELEMENTSOF(default_ports);
        policy->ports = ports = arena_array(arena, uint16_t, policy->n_ports);
        memcpy(ports, given ? network->allowed_ports : default_ports, policy->n_ports * sizeof *ports);
        for (size_t i = 0; i < policy->n_ports; i++)
                for (size_t k = 0; k < ELEMENTSOF(plain_ports); k++) {
                        snprintf(where, sizeof where, "allowed_ports[%zu]", i);
                        if (ports[i] == plain_ports[k].port)
                                return INVALID(where,
                                        "port %u is %s, which does not begin with TLS, and tunnels carry TLS only: use https "
                                        "instead, or leave the port out",
                                        ports[i], plain_ports[k].service);
                }
        return 0;
}

static int compile_hosts(struct arena *arena, const struct sage_network *network, struct policy *policy, struct error *err) {
        struct host_pattern *hosts = arena_array(arena, struct host_pattern, network->n_allowed_hosts);
        char where[64];
        int r;

        for (size_t i = 0; i < network->n_allowed_hosts; i++) {
                snprintf(where, sizeof where, "allowed_hosts[%zu]", i);
                if ((r = host_pattern_parse(network->allowed_hosts[i], where, &hosts[i], err)) < 0)
                        return r;
        }
        policy->hosts = hosts;
        policy->n_hosts = network->n_allowed_hosts;
        if (policy->mode == SAGE_NETWORK_MODE_ALLOWLIST && policy->n_hosts == 0)
                return INVALID("allowed_hosts", "mode allowlist needs at least one host");
        return 0;
}

/* The schema's rule has seen to it that there is an origin and no user, path, query or fragment. */
static int compile_proxy(const struct sage_network *network, struct policy *policy, struct error *err) {
        const char *https, *host;
        enum refusal refusal;
        size_t n;

        if (policy->mode == SAGE_NETWORK_MODE_ALLOWLIST)
                return !network->proxy_url ? 0
                                           : INVALID("proxy_url", "mode allowlist connects directly: set mode to proxy, or leave this out");
        if (!network->proxy_url)
                return INVALID("proxy_url", "mode proxy needs the URL of an HTTP or HTTPS proxy, such as http://127.0.0.1:8080");
        https = str_after(network->proxy_url, "https://");
        host = https ? https : str_after(network->proxy_url, "http://");
        if (!host)
                return INVALID("proxy_url", "expected http:// or https://, found \"%s\"", network->proxy_url);
        n = strlen(host);
        if (n && host[n - 1] == '/')
                n--;
        refusal = authority_parse(host, n, https ? 443 : 80, &policy->proxy);
        if (refusal)
                return INVALID("proxy_url", "expected an origin such as http://127.0.0.1:8080, found \"%s\": %s", network->proxy_url,
                        refusal_row(refusal)->text);
        policy->proxy_tls = https;
        return 0;
}

/* RFC 6052, 2.2: the lengths of a prefix; bits 64 to 71 are zero, and so is what lies behind the prefix. */
static int compile_nat64_prefix(const char *text, const char *where, struct address_prefix *ret, struct error *err) {
        static const char expected[] = "expected an IPv6 prefix of 32, 40, 48, 56, 64 or 96 bits, such as 2001:db8:64::/96, found \"%s\"";
        const char *slash = strchr(text, '/');
        struct address_prefix prefix = { 0 };
        struct authority a;
        char literal[64];
        uint64_t bits;

        if (!slash || snprintf(literal, sizeof literal, "[%.*s]", (int)(slash - text), text) >= (int)sizeof literal ||
                authority_parse_host(literal, strlen(literal), &a) != REFUSAL_NONE || !a.address.v6 ||
                str_to_u64(slash + 1, 96, &bits) < 0 || bits < 32 || bits % 8 != 0 || (bits > 64 && bits != 96))
                return INVALID(where, expected, text);
        memcpy(prefix.base, a.address.bytes, sizeof prefix.base);
        prefix.bits = (uint8_t)bits;
        for (size_t i = bits / 8; i < sizeof prefix.base; i++)
                if (prefix.base[i])
                        return INVALID(where, "bits behind the prefix are not zero in \"%s\"", text);
        if (prefix.base[8])
                return INVALID(where, "bits 64 to 71 are not zero in \"%s\" (RFC 6052)", text);
        *ret = prefix;
        return 0;
}

static int compile_nat64(struct arena *arena, const struct sage_network *network, struct policy *policy, struct error *err) {
        struct address_prefix *prefixes = arena_array(arena, struct address_prefix, network->n_nat64_prefixes);
        char where[64];
        int r;

        for (size_t i = 0; i < network->n_nat64_prefixes; i++) {
                snprintf(where, sizeof where, "nat64_prefixes[%zu]", i);
                if ((r = compile_nat64_prefix(network->nat64_prefixes[i], where, &prefixes[i], err)) < 0)
                        return r;
        }
        policy->nat64 = prefixes;
        policy->n_nat64 = network->n_nat64_prefixes;
        return 0;
}

static int compile_limits(const struct sage_network *network, struct policy *policy, struct error *err) {
        double seconds = network->has & SAGE_NETWORK_HAS_MAX_WALL_TIME_SECONDS ? network->max_wall_time_seconds : DEFAULT_WALL_TIME;

        if (!(seconds > 0))
                return INVALID("max_wall_time_seconds", "expected more than 0");
        policy->wall_time_ms = seconds < 0.001 ? 1 : (uint64_t)(seconds * 1000);
        policy->max_request_body_bytes = network->has & SAGE_NETWORK_HAS_MAX_REQUEST_BODY_BYTES ? network->max_request_body_bytes
                                                                                                : DEFAULT_REQUEST_BODY;
        policy->max_response_bytes = network->has & SAGE_NETWORK_HAS_MAX_RESPONSE_BYTES ? network->max_response_bytes : DEFAULT_RESPONSE;
        policy->max_connections = network->has & SAGE_NETWORK_HAS_MAX_CONNECTIONS ? network->max_connections : DEFAULT_CONNECTIONS;
        return 0;
}

int policy_compile(struct arena *arena, const struct sage_network *network, struct policy *ret, struct error *err) {
        struct policy policy = {
                .mode = network->has & SAGE_NETWORK_HAS_MODE ? network->mode : SAGE_NETWORK_MODE_NONE,
                .deny_private = !(network->has & SAGE_NETWORK_HAS_DENY_PRIVATE_NETWORKS) || network->deny_private_networks,
                .allow_ech = network->allow_ech,
        };
        int r = refuse_unenforceable(network, err);

        if (r == 0 && policy.mode == SAGE_NETWORK_MODE_NONE)
                r = refuse_without_broker(network, "none", err);
        else if (r == 0 && policy.mode == SAGE_NETWORK_MODE_UNRESTRICTED)
                r = check_unrestricted(network, err);
        else if (r == 0 && (r = compile_proxy(network, &policy, err)) == 0)
                r = compile_hosts(arena, network, &policy, err);
        if (r < 0 || (r = compile_schemes(network, &policy, err)) < 0 || (r = compile_ports(arena, network, &policy, err)) < 0 ||
                (r = compile_nat64(arena, network, &policy, err)) < 0 || (r = compile_limits(network, &policy, err)) < 0)
                return r;
        *ret = policy;
        return 0;
}

int policy_load(struct arena *arena, const char *what, const char *text, size_t size, struct policy *ret, struct error *err) {
        struct sage_network network;
        int r = spec_decode(arena, &sage_network_type, what, text, size, &network, err);

        if (r < 0) {
                err->code = CODE_NETWORK_POLICY_INVALID;
                return r;
        }
        return policy_compile(arena, &network, ret, err);
}

static bool allows_host(const struct policy *policy, const struct authority *authority) {
        for (size_t i = 0; i < policy->n_hosts; i++)
                if (host_pattern_matches(&policy->hosts[i], authority))
                        return true;
        return policy->n_hosts == 0 && policy->mode == SAGE_NETWORK_MODE_PROXY;
}

static bool allows_port(const struct policy *policy, uint16_t port) {
        for (size_t i = 0; i < policy->n_ports; i++)
                if (policy->ports[i] == port)
                        return true;
        return false;
}

enum refusal policy_decide(const struct policy *policy, const struct authority *authority, enum policy_scheme scheme) {
        if (policy->mode == SAGE_NETWORK_MODE_UNRESTRICTED)
                return REFUSAL_NONE;
        if (policy->mode != SAGE_NETWORK_MODE_ALLOWLIST && policy->mode != SAGE_NETWORK_MODE_PROXY)
                return REFUSAL_POLICY_MODE;
        /* On whatever port: what else listens there would be asked by the proxy itself. */
        if (policy->mode == SAGE_NETWORK_MODE_PROXY && authority_equal_host(&policy->proxy, authority))
                return REFUSAL_POLICY_UPSTREAM;
        if (!allows_host(policy, authority))
                return REFUSAL_POLICY_HOST;
        if (!allows_port(policy, authority->port))
                return REFUSAL_POLICY_PORT;
        return (scheme == POLICY_HTTP ? policy->http : policy->https) ? REFUSAL_NONE : REFUSAL_POLICY_SCHEME;
}

enum refusal policy_decide_address(const struct policy *policy, enum host_kind kind, const struct address_class *class) {
        if (class->verdict == ADDRESS_GLOBAL || (class->verdict == ADDRESS_PRIVATE && !policy->deny_private))
                return REFUSAL_NONE;
        if (class->verdict == ADDRESS_NEVER)
                return kind == HOST_ADDRESS ? REFUSAL_POLICY_ADDRESS_NEVER : REFUSAL_NON_GLOBAL_NEVER;
        if (kind == HOST_ADDRESS)
                return REFUSAL_POLICY_ADDRESS;
        return class->fake_ip ? REFUSAL_FAKE_IP : REFUSAL_NON_GLOBAL;
}

enum refusal policy_decide_body(const struct policy *policy, uint64_t length) {
        return length <= policy->max_request_body_bytes ? REFUSAL_NONE : REFUSAL_BODY_LIMIT;
}
