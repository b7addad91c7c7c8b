#include "broker/refusal.h"

/* Codes of one spelling are told apart by their text only. */
static const struct refusal_row rows[REFUSAL_COUNT] = {
        [REFUSAL_NONE] = { "", 200, "" },
        [REFUSAL_USERINFO] = { "parse.userinfo", 400, "a destination carries no user name or password" },
        [REFUSAL_HOST_EMPTY] = { "parse.host", 400, "the host is missing" },
        [REFUSAL_HOST_ENCODING] = { "parse.host", 400, "a host is written in plain ASCII: no % escapes, and xn-- for other scripts" },
        [REFUSAL_HOST_BRACKETS] = { "parse.host", 400, "brackets stand around an IPv6 address, and around nothing else" },
        [REFUSAL_HOST_ZONE] = { "parse.host", 400, "an address with a zone means something on one machine only" },
        [REFUSAL_HOST_NUMBER] = { "parse.host", 400, "an IPv4 address is four decimal numbers without leading zeros" },
        [REFUSAL_HOST_NAME] = { "parse.host", 400,
                "a name is labels of 1 to 63 letters, digits and inner hyphens, at most 253 characters in all" },
        [REFUSAL_PORT] = { "parse.port", 400, "a port is a decimal number from 1 to 65535" },
};

const struct refusal_row *refusal_row(enum refusal refusal) {
        return &rows[refusal < REFUSAL_COUNT ? refusal : REFUSAL_NONE];
}
