/* libFuzzer: any address, and a host that owns one and has a NAT64 prefix: [address 16][own 16][prefix 16][bits]. */
#include "fuzz.h"

#include "broker/address.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        uint8_t bytes[49] = { 0 };
        struct address a, v4, own;
        struct address_prefix prefix = { 0 };
        struct address_host host = { .own = &own, .n_own = 1, .nat64 = &prefix, .n_nat64 = 1 };
        struct address_class alone, here;

        memcpy(bytes, data, size < sizeof bytes ? size : sizeof bytes);
        a = address_from_bytes(true, bytes);
        v4 = address_from_bytes(false, bytes);
        own = address_from_bytes(true, bytes + 16);
        memcpy(prefix.base, bytes + 32, 16);
        prefix.bits = bytes[48];

        alone = address_classify(&a, NULL);
        here = address_classify(&a, &host);
        expect(here.verdict >= alone.verdict, "what is known of a host only takes away");
        expect(alone.verdict != ADDRESS_GLOBAL || !a.v6 || bytes[0] >> 5 == 1 || memcmp(bytes, "\0\x64\xff\x9b\0\0\0\0\0\0\0", 12) == 0,
               "outside 2000::/3 only NAT64 is global");
        expect(alone.verdict == ADDRESS_GLOBAL || alone.name, "a refusal has a reason");
        if (here.has_embedded)
                expect(address_classify(&here.embedded, NULL).verdict <= here.verdict, "no address is better than the one in it");
        expect(!address_equal(&a, &own) || here.verdict != ADDRESS_GLOBAL, "this host is never public");
        expect(strlen(address_print(&a).text) >= 2 && strlen(address_print(&v4).text) >= 7, "every address has a text");
        expect(!v4.v6 && address_classify(&v4, NULL).name, "IPv4 stays IPv4");
        return 0;
}
