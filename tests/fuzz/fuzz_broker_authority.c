/* libFuzzer: any bytes as a destination. What is accepted must be canonical: parsed again, it is the same. */
#include "fuzz.h"

#include "broker/authority.h"

#include <string.h>

static void check(const struct authority *a, uint16_t default_port) {
        struct authority_text text = authority_print(a, default_port);
        struct authority again;
        size_t n = strlen(a->host);

        expect(n > 0 && n <= HOST_MAX && a->port > 0, "there is a host and a port");
        expect(strspn(a->host, a->kind == HOST_NAME ? "abcdefghijklmnopqrstuvwxyz0123456789.-_" : "abcdef0123456789.:") == n,
               "the host is made of what hosts are made of");
        expect(a->host[n - 1] != '.' && !strstr(a->host, ".."), "no label is empty");
        expect(authority_parse(text.text, strlen(text.text), default_port, &again) == REFUSAL_NONE, "the canonical text is a destination");
        expect(authority_equal_host(a, &again) && again.port == a->port && again.kind == a->kind, "and the same one");
        expect(a->kind == HOST_NAME || address_equal(&a->address, &again.address), "at the same address");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        const char *text = (const char *)data;
        struct authority a;

        if (authority_parse(text, size, 0, &a) == REFUSAL_NONE)
                check(&a, 0);
        if (authority_parse(text, size, 80, &a) == REFUSAL_NONE)
                check(&a, 80);
        if (authority_parse_host(text, size, &a) == REFUSAL_NONE) {
                a.port = 443;
                check(&a, 443);
        }
        return 0;
}
