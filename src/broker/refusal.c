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
        [REFUSAL_LINE_END] = { "parse.line_end", 400, "lines end with CR LF, and CR and LF stand nowhere else" },
        [REFUSAL_CONTROL] = { "parse.control", 400, "control characters, and bytes above 0x7f outside a field's value, have no place in a head" },
        [REFUSAL_LINE_LIMIT] = { "head.limit", 414, "the request line is longer than 8192 bytes" },
        [REFUSAL_HEAD_LIMIT] = { "head.limit", 431, "a field is longer than 8192 bytes, the head than 32768, or there are more than 100 fields" },
        [REFUSAL_REQUEST_LINE] = { "parse.request_line", 400, "a request line is METHOD, target and HTTP/1.1 with one space between" },
        [REFUSAL_METHOD] = { "parse.method", 501, "methods are CONNECT, DELETE, GET, HEAD, OPTIONS, PATCH, POST and PUT" },
        [REFUSAL_VERSION] = { "parse.version", 505, "versions are HTTP/1.1 and HTTP/1.0" },
        [REFUSAL_TARGET] = { "parse.target", 400, "the target holds a fragment or a character that must be escaped" },
        [REFUSAL_TARGET_FORM] = { "parse.target", 400, "a proxy is asked with the whole URI, http://host/path, or with CONNECT host:port" },
        [REFUSAL_TARGET_SCHEME] = { "parse.scheme", 400, "only http:// is forwarded, and CONNECT" },
        [REFUSAL_USE_CONNECT] = { "parse.scheme", 400, "https:// is for CONNECT: this proxy does not speak TLS in your place" },
        [REFUSAL_FIELD] = { "parse.field", 400, "a field is a name, a colon right behind it, and a value on the same line" },
        [REFUSAL_HOST_FIELD] = { "parse.host_field", 400, "a request has one Host field" },
        [REFUSAL_HOST_DIFFERS] = { "parse.host_mismatch", 400, "the Host field names another destination than the target" },
        [REFUSAL_FRAMING] = { "parse.framing", 400, "the body's length is said once, in plain decimal digits, and CONNECT has no body" },
        [REFUSAL_CHUNKED] = { "body.chunked", 411, "chunked uploads are not supported: send a Content-Length" },
        [REFUSAL_CONNECTION] = { "parse.connection", 400, "Connection is a list of names, and of none that the origin needs" },
        [REFUSAL_UPGRADE] = { "parse.upgrade", 501, "upgrades are not supported: use CONNECT" },
        [REFUSAL_EXPECT] = { "parse.expect", 417, "the only expectation is 100-continue" },
        [REFUSAL_NOT_TLS] = { "tls.not_clienthello", 403, "CONNECT carries TLS only, and this is something else" },
        [REFUSAL_TLS_RECORD] = { "tls.record", 403, "a TLS record is of a kind, version or length that has no place before the hello is complete" },
        [REFUSAL_TLS_MESSAGE] = { "tls.message", 403, "a record holds another handshake message than the one hello" },
        [REFUSAL_TLS_SIZE] = { "tls.hello_too_large", 403, "the hello is longer than 32 KiB or cut into more than 64 records" },
        [REFUSAL_TLS_HELLO] = { "tls.hello", 403, "lengths in the ClientHello do not add up, or an extension stands in it twice" },
        [REFUSAL_TLS_NAME] = { "tls.sni_invalid", 403, "the TLS server name is not one DNS name in plain spelling" },
        [REFUSAL_TLS_NO_NAME] = { "tls.sni_missing", 403, "the ClientHello names no server" },
        [REFUSAL_TLS_NAME_DIFFERS] = { "tls.sni_mismatch", 403, "the TLS server name is another than the host that CONNECT asked for" },
        [REFUSAL_TLS_ECH] = { "tls.ech", 403, "Encrypted Client Hello hides the server name: switch it off in the client" },
};

const struct refusal_row *refusal_row(enum refusal refusal) {
        return &rows[refusal < REFUSAL_COUNT ? refusal : REFUSAL_NONE];
}
