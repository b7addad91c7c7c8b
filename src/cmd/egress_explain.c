#define _GNU_SOURCE
#include "cmd/egress.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>

#include "base/fd.h"
#include "base/file.h"
#include "base/libexec.h"
#include "base/str.h"
#include "broker/lookup.h"
#include "broker/policy.h"
#include "broker/route.h"
#include "broker/vet.h"
#include "libocispec/spec.h"

#define LOOKUP_MS 10000

static int read_policy(struct invocation *invocation, const char *where, struct policy *ret, struct error *err) {
        const char *number = where ? str_after(where, "fd:") : NULL;
        _cleanup_str_ struct str text = { 0 };
        uint64_t fd;
        int r;

        if (!where)
                return fail(err, CODE_USAGE, EINVAL, "--policy", "expected a file: what the policy is to be");
        if (number && str_to_u64(number, INT_MAX, &fd) < 0)
                return fail(err, CODE_USAGE, EINVAL, "--policy", "expected a path or fd:N, found `%s`", where);
        r = number ? file_read_fd((int)fd, SPEC_SIZE_MAX, &text) : file_read(AT_FDCWD, where, SPEC_SIZE_MAX, &text);
        if (r < 0)
                return fail_errno(err, CODE_USAGE, -r, "--policy", "cannot read %s", where);
        return policy_load(invocation->arena, where, text.text ? text.text : "", text.size, ret, err);
}

/* What there is to say, gathered before it is printed. */
struct explanation {
        struct policy policy;
        enum refusal http, https;       /* of plain HTTP and of CONNECT */
        struct authority plain, tunnel; /* the same host, each with its port */
        struct addresses addresses;
        uint32_t own;
        struct addresses upstream;
};

static int parse_destination(const char *text, struct explanation *e, struct error *err) {
        enum refusal refusal = authority_parse(text, strlen(text), 443, &e->tunnel);

        if (!refusal)
                refusal = authority_parse(text, strlen(text), 80, &e->plain);
        return refusal ? fail(err, CODE_USAGE, EINVAL, text, "expected HOST or HOST:PORT, and %s: %s", refusal_row(refusal)->code,
                                 refusal_row(refusal)->text)
                       : 0;
}

static int find_addresses(const struct authority *authority, struct addresses *ret, enum refusal *ret_refusal, struct error *err) {
        if (authority->kind == HOST_ADDRESS) {
                *ret = (struct addresses){ .list = { authority->address }, .n = 1 };
                return 0;
        }
        return lookup(libexec_path("").path, authority->host, LOOKUP_MS, ret, ret_refusal, err);
}

/* What the name means holds for both ways that the policy itself allows. */
static void add_refusal(struct explanation *e, enum refusal refusal) {
        if (!e->http)
                e->http = refusal;
        if (!e->https)
                e->https = refusal;
}

/* In the dialer's order (dial.c): nothing is looked up for what the policy refuses, and the addresses are vetted with what is known here. */
static int follow(struct explanation *e, struct error *err) {
        bool proxy = e->policy.mode == SAGE_NETWORK_MODE_PROXY;
        enum refusal refusal = REFUSAL_NONE;
        _cleanup_close_ int route = -1;
        int r;

        if (proxy && ((r = find_addresses(&e->policy.proxy, &e->upstream, &refusal, err)) < 0 || refusal)) {
                add_refusal(e, REFUSAL_PROXY_DNS);
                return r;
        }
        if ((r = find_addresses(&e->tunnel, &e->addresses, &refusal, err)) < 0)
                return r;
        if (refusal) {
                add_refusal(e, refusal);
                return 0;
        }
        if ((r = route_open(&route)) < 0 || (r = route_own(route, &e->policy, &e->addresses, &e->own)) < 0)
                return fail_errno(err, CODE_INTERNAL, -r, "netlink", "cannot ask the routing table which addresses are this host's");
        add_refusal(e, vet(&e->policy, e->tunnel.kind, &e->addresses, e->own, proxy ? &e->upstream : NULL).refusal);
        return 0;
}

static int explain(const char *destination, struct explanation *e, struct error *err) {
        int r = parse_destination(destination, e, err);

        if (r < 0)
                return r;
        e->https = policy_decide(&e->policy, &e->tunnel, POLICY_HTTPS);
        e->http = policy_decide(&e->policy, &e->plain, POLICY_HTTP);
        return (e->https && e->http) || e->policy.mode == SAGE_NETWORK_MODE_UNRESTRICTED ? 0 : follow(e, err);
}

static void print_way(const char *way, const struct authority *authority, enum refusal refusal, struct str *out) {
        str_printf(out, "%s %s: ", way, authority_print(authority, 0).text);
        if (refusal)
                str_printf(out, "refused, %s: %s\n", refusal_row(refusal)->code, refusal_row(refusal)->text);
        else
                str_puts(out, "allowed\n");
}

static void print_address(const struct explanation *e, size_t i, struct str *out) {
        const struct address *a = &e->addresses.list[i];
        struct addresses alone = { .list = { *a }, .n = 1 };
        struct vetting vetting = vet(&e->policy, e->tunnel.kind, &alone, e->own >> i & 1, &e->upstream);
        const struct address_host host = {
                .own = a,
                .n_own = e->own >> i & 1,
                .nat64 = e->policy.nat64,
                .n_nat64 = e->policy.n_nat64,
        };
        const struct address_class class = vetting.refusal ? vetting.class : address_classify(a, &host);

        str_printf(out, "  %s: %s%s%s\n", address_print(a).text, address_explain(&class).text, vetting.refusal ? ", refused by " : "",
                refusal_row(vetting.refusal)->code);
}

static void print(const struct explanation *e, struct str *out) {
        print_way("CONNECT", &e->tunnel, e->https, out);
        print_way("http://", &e->plain, e->http, out);
        if (e->policy.mode == SAGE_NETWORK_MODE_UNRESTRICTED)
                str_puts(out, "  mode unrestricted has no broker: whatever the host's network reaches is reached\n");
        else if (e->addresses.n == 0)
                str_puts(out,
                        e->https && e->http && e->tunnel.kind == HOST_NAME && e->https < REFUSAL_DNS_NXDOMAIN
                                ? "  the name was not looked up\n"
                                : "");
        for (size_t i = 0; i < e->addresses.n; i++)
                print_address(e, i, out);
        if (e->policy.mode == SAGE_NETWORK_MODE_PROXY && e->addresses.n)
                str_printf(out, "  asked for at the upstream %s\n", authority_print(&e->policy.proxy, 0).text);
}

int egress_explain(struct invocation *invocation, const char *policy, const char *destination, int *ret_status, struct error *err) {
        struct explanation e = { 0 };
        _cleanup_str_ struct str text = { 0 };
        int r = read_policy(invocation, policy, &e.policy, err);

        if (r < 0 || (r = explain(destination, &e, err)) < 0)
                return r;
        print(&e, &text);
        *ret_status = e.https && e.http;
        return command_print(&text, "the decision", err);
}
