/* What a bundle can ask a filter for, by the names that `escape` and `filtered` take. */
#pragma once

#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "plan/payload_filter.h"

/* Bits, for sets of them. */
enum request {
        STRICT_NONE = 1 << 0,
        STRICT_NETWORK = 1 << 1,
        SOCKETS_NONE = 1 << 2,
        SOCKETS_NETWORK = 1 << 3,
        PROJECT = 1 << 4,

        STRICT = STRICT_NONE | STRICT_NETWORK,
        OFFLINE = STRICT_NONE | SOCKETS_NONE,
        SOCKETS = STRICT | SOCKETS_NONE | SOCKETS_NETWORK,
        FILES = STRICT | PROJECT,
};

static const struct {
        const char *name;
        unsigned parts;
} requests[] = {
        { "strict-none", PAYLOAD_FILTER_ISOLATION | PAYLOAD_FILTER_PROJECT | PAYLOAD_FILTER_NO_NETWORK },
        { "strict-network", PAYLOAD_FILTER_ISOLATION | PAYLOAD_FILTER_PROJECT | PAYLOAD_FILTER_NETWORK },
        { "sockets-none", PAYLOAD_FILTER_NO_NETWORK },
        { "sockets-network", PAYLOAD_FILTER_NETWORK },
        { "project", PAYLOAD_FILTER_PROJECT },
};

/* Its index, or -1 with a list on standard error. */
static inline int request_find(const char *name) {
        for (size_t i = 0; i < ELEMENTSOF(requests); i++)
                if (streq(requests[i].name, name))
                        return (int)i;
        fprintf(stderr, "no filter \"%s\"; there are", name);
        for (size_t i = 0; i < ELEMENTSOF(requests); i++)
                fprintf(stderr, " %s", requests[i].name);
        fputc('\n', stderr);
        return -1;
}
