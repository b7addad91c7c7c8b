/* sage.sandbox.network as the broker uses it: validated once, then asked for every destination. A policy does not change while in force. */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "broker/authority.h"
#include "broker/pattern.h"
#include "spec/sage-network.h"

struct policy {
        enum sage_network_mode mode;
        const struct host_pattern *hosts; /* none in mode proxy: every host */
        size_t n_hosts;
        const uint16_t *ports;
        size_t n_ports;
        bool http, https;
        bool deny_private;
        bool allow_ech;
        bool proxy_tls;                     /* mode proxy: the upstream is spoken to in TLS */
        struct authority proxy;             /* mode proxy */
        const struct address_prefix *nat64; /* the operator's NAT64 beside the well-known one (address.h) */
        size_t n_nat64;
        uint64_t wall_time_ms; /* of one connection, as the next three */
        uint64_t max_request_body_bytes;
        uint64_t max_response_bytes;
        uint32_t max_connections; /* at a time */
};

/* What goes together and what does not. Every failure is CODE_NETWORK_POLICY_INVALID with the member in err->where ("allowed_hosts[2]").
 * What the policy points to lives in ARENA; *ret is untouched on failure. */
int policy_compile(struct arena *arena, const struct sage_network *network, struct policy *ret, struct error *err);

/* The same from JSON text. what: how it is called in messages (spec_decode()). */
int policy_load(struct arena *arena, const char *what, const char *text, size_t size, struct policy *ret, struct error *err);

enum policy_scheme { POLICY_HTTP, POLICY_HTTPS /* CONNECT */ };

/* The one decision about a destination, before any name is looked up. Requests, tunnels, and whoever explains them ask here. */
enum refusal policy_decide(const struct policy *policy, const struct authority *authority, enum policy_scheme scheme);

/* And the ones that follow: about each address that the name turned out to have (of the literal itself, for an address), and about the size
 * of a plain request's body. */
enum refusal policy_decide_address(const struct policy *policy, enum host_kind kind, const struct address_class *class);
enum refusal policy_decide_body(const struct policy *policy, uint64_t length);
