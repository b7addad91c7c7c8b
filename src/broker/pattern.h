/* An entry of allowed_hosts: a name, *.name for its subdomains without itself, or an address. */
#pragma once

#include "base/error.h"
#include "broker/authority.h"

struct host_pattern {
        bool subdomains;
        struct authority host;
};

/* Names may be written in any script: they become A-labels once, here (IDNA2008 with the mapping of UTS 46, non-transitional), and all else
 * is compared in ASCII. Requests must come in A-labels, as every client sends them; others are refused (parse.host).
 * Failures are CODE_NETWORK_POLICY_INVALID with WHERE ("allowed_hosts[2]"); *ret is untouched then. */
int host_pattern_parse(const char *text, const char *where, struct host_pattern *ret, struct error *err);

/* At the boundary of a label: notexample.com is no subdomain of example.com. */
bool host_pattern_matches(const struct host_pattern *pattern, const struct authority *authority);
