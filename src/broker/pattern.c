#define _GNU_SOURCE
#include "broker/pattern.h"

#include "base/str.h"

#include <idn2.h>
#include <stdio.h>

#define INVALID(where, ...) fail(err, CODE_NETWORK_POLICY_INVALID, 0, (where), __VA_ARGS__)

static bool is_ascii(const char *text) {
        while (*text && (unsigned char)*text < 0x80)
                text++;
        return *text == '\0';
}

/* ret: HOST_MAX characters at most; what is longer is no name. */
static int to_ascii(const char *host, const char *where, char ret[HOST_MAX + 1], struct error *err) {
        char *ascii = NULL;
        int r = idn2_to_ascii_8z(host, &ascii, IDN2_NONTRANSITIONAL);

        if (r != IDN2_OK)
                return INVALID(where, "expected a host name, found \"%s\": %s", host, idn2_strerror(r));
        r = snprintf(ret, HOST_MAX + 1, "%s", ascii);
        idn2_free(ascii);
        return r <= HOST_MAX ? 0 : INVALID(where, "expected a host name of at most %d characters in ASCII", HOST_MAX);
}

int host_pattern_parse(const char *text, const char *where, struct host_pattern *ret, struct error *err) {
        const char *rest = str_after(text, "*."), *host = rest ? rest : text;
        struct host_pattern pattern = { .subdomains = rest };
        char ascii[HOST_MAX + 1], literal[64];
        bool other_script = !is_ascii(host);
        enum refusal refusal;
        int r;

        if (other_script) {
                if ((r = to_ascii(host, where, ascii, err)) < 0)
                        return r;
                host = ascii;
        } else if (host[0] != '[' && strchr(host, ':')) { /* Sage writes IPv6 addresses bare */
                snprintf(literal, sizeof literal, "[%.60s]", host);
                host = literal;
        }
        refusal = authority_parse_host(host, strlen(host), &pattern.host);
        if (host == literal && refusal)
                return INVALID(where, "expected a host without a port (ports go to allowed_ports), found \"%s\"", text);
        if (refusal)
                return INVALID(where, "expected a host name, *.name or an IP address, found \"%s\": %s", text, refusal_row(refusal)->text);
        /* Digits of another script would become an address here and nowhere else. */
        if (other_script && pattern.host.kind != HOST_NAME)
                return INVALID(where, "an address is written in ASCII; found \"%s\"", text);
        if (pattern.subdomains && pattern.host.kind != HOST_NAME)
                return INVALID(where, "expected a name behind *., found \"%s\": addresses have no subdomains", text);
        *ret = pattern;
        return 0;
}

bool host_pattern_matches(const struct host_pattern *pattern, const struct authority *authority) {
        size_t n = strlen(authority->host), suffix = strlen(pattern->host.host);

        if (!pattern->subdomains)
                return authority_equal_host(&pattern->host, authority);
        return authority->kind == HOST_NAME && n > suffix + 1 && authority->host[n - suffix - 1] == '.' &&
                streq(authority->host + n - suffix, pattern->host.host);
}
