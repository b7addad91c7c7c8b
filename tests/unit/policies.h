/* Network policies as text, and what the broker makes of them. */
#pragma once

#include "arena.h"

#include "broker/policy.h"

#define ALLOW(more) "{\"mode\":\"allowlist\",\"allowed_hosts\":[\"a.example\"]," more "}"
#define HOSTS(list) "{\"mode\":\"allowlist\",\"allowed_hosts\":" list "}"
#define PROXY(url) "{\"mode\":\"proxy\",\"proxy_url\":\"" url "\"}"
#define OPEN(more) "{\"mode\":\"unrestricted\",\"deny_private_networks\":false," more "}"

static inline int load(const char *text, struct policy *ret) {
        return policy_load(&arena, "test", text, strlen(text), ret, &err);
}

static inline struct policy loaded(const char *text) {
        struct policy policy;

        if (load(text, &policy) < 0) {
                print_error("%s\n%s: %s\n", text, err.where, err.text);
                abort();
        }
        return policy;
}
