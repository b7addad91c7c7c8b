#include "broker/refusal.h"

#include "base/str.h"

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
                "a name is labels of 1 to 63 letters, digits, underscores and inner hyphens, at most 253 characters in all" },
        [REFUSAL_PORT] = { "parse.port", 400, "a port is a decimal number from 1 to 65535" },
        [REFUSAL_LINE_END] = { "parse.line_end", 400, "lines end with CR LF, and CR and LF stand nowhere else" },
        [REFUSAL_CONTROL] = { "parse.control", 400,
                "control characters, and bytes above 0x7f outside a field's value, have no place in a head" },
        [REFUSAL_LINE_LIMIT] = { "head.limit", 414, "the request line is longer than 8192 bytes" },
        [REFUSAL_HEAD_LIMIT] = { "head.limit", 431,
                "a field is longer than 8192 bytes, the head than 32768, or there are more than 100 fields" },
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
        [REFUSAL_TLS_RECORD] = { "tls.record", 403,
                "a TLS record is of a kind, version or length that has no place before the hello is complete" },
        [REFUSAL_TLS_MESSAGE] = { "tls.message", 403, "a record holds another handshake message than the one hello" },
        [REFUSAL_TLS_SIZE] = { "tls.hello_too_large", 403, "the hello is longer than 32 KiB or cut into more than 64 records" },
        [REFUSAL_TLS_HELLO] = { "tls.hello", 403, "lengths in the ClientHello do not add up, or an extension stands in it twice" },
        [REFUSAL_TLS_NAME] = { "tls.sni_invalid", 403, "the TLS server name is not one DNS name in plain spelling" },
        [REFUSAL_TLS_NO_NAME] = { "tls.sni_missing", 403, "the ClientHello names no server" },
        [REFUSAL_TLS_NAME_DIFFERS] = { "tls.sni_mismatch", 403, "the TLS server name is another than the host that CONNECT asked for" },
        [REFUSAL_TLS_ECH] = { "tls.ech", 403, "Encrypted Client Hello hides the server name: switch it off in the client" },
        [REFUSAL_POLICY_MODE] = { "policy.mode", 403, "this sandbox has no network" },
        [REFUSAL_POLICY_HOST] = { "policy.host", 403, "the host is not among allowed_hosts" },
        [REFUSAL_POLICY_PORT] = { "policy.port", 403, "the port is not among allowed_ports" },
        [REFUSAL_POLICY_SCHEME] = { "policy.scheme", 403, "plain http needs \"http\" among allowed_schemes, CONNECT needs \"https\"" },
        [REFUSAL_POLICY_ADDRESS] = { "policy.address", 403, "the address is not public" },
        [REFUSAL_POLICY_ADDRESS_NEVER] = { "policy.address", 403,
                "the address is none that a connection may go to, whatever a policy says" },
        [REFUSAL_NON_GLOBAL] = { "dns.non_global_answer", 403, "the name leads to an address that is not public" },
        [REFUSAL_NON_GLOBAL_NEVER] = { "dns.non_global_answer", 403,
                "the name leads to an address that no connection may go to, whatever a policy says" },
        [REFUSAL_FAKE_IP] = { "dns.fake_ip", 403, "the name leads to an address that a local proxy program made up (fake-IP DNS)" },
        [REFUSAL_BODY_LIMIT] = { "body.limit", 413, "the body is longer than max_request_body_bytes" },
        [REFUSAL_POLICY_UPSTREAM] = { "policy.upstream", 403, "the upstream proxy itself is no destination" },
        [REFUSAL_DNS_NXDOMAIN] = { "dns.nxdomain", 502, "there is no such name" },
        [REFUSAL_DNS_NO_ADDRESS] = { "dns.no_address", 502, "the name has no address" },
        [REFUSAL_DNS_FAILED] = { "dns.failed", 502, "the name could not be looked up" },
        [REFUSAL_DNS_TIMEOUT] = { "dns.timeout", 504, "the name could not be looked up in time" },
        [REFUSAL_DNS_LIMIT] = { "dns.limit", 502, "the name has more than 32 addresses" },
        [REFUSAL_CONNECT_REFUSED] = { "connect.refused", 502, "the destination refused the connection" },
        [REFUSAL_CONNECT_UNREACHABLE] = { "connect.unreachable", 502, "there is no way to the destination" },
        [REFUSAL_CONNECT_TIMEOUT] = { "connect.timeout", 504, "the destination did not answer in time" },
        [REFUSAL_CONNECT_FAILED] = { "connect.failed", 502, "the destination could not be connected to" },
        [REFUSAL_DIALER_BUSY] = { "dialer.busy", 503, "too many connections are being made" },
        [REFUSAL_DIALER_HELPER] = { "dialer.helper", 502, "a helper program of the broker could not be started, or died" },
        [REFUSAL_PROXY_DNS] = { "proxy.dns", 502, "the upstream proxy's name could not be looked up" },
        [REFUSAL_PROXY_CONNECT] = { "proxy.connect", 502, "the upstream proxy could not be connected to" },
        [REFUSAL_PROXY_CERTIFICATE] = { "proxy.certificate", 502, "the upstream proxy's certificate was not accepted" },
        [REFUSAL_PROXY_TLS] = { "proxy.tls", 502, "the TLS handshake with the upstream proxy failed" },
        [REFUSAL_PROXY_ANSWER] = { "proxy.answer", 502, "the upstream proxy answered something that is no answer to CONNECT" },
        [REFUSAL_PROXY_AUTHENTICATION] = { "proxy.authentication", 502,
                "the upstream proxy wants a password, which a policy cannot carry" },
        [REFUSAL_PROXY_REFUSED] = { "proxy.refused", 502, "the upstream proxy refused the destination" },
        [REFUSAL_PROXY_CLOSED] = { "proxy.closed", 502, "the upstream proxy closed the connection instead of an answer" },
        [REFUSAL_PROXY_TIMEOUT] = { "proxy.timeout", 504, "the upstream proxy did not answer in time" },
        [REFUSAL_ORIGIN_HEAD] = { "origin.head", 502, "the destination answered something that is no HTTP/1.1" },
        [REFUSAL_ORIGIN_FRAMING] = { "origin.framing", 502,
                "the destination's answer says its length in more than one way, or in none we know" },
        [REFUSAL_ORIGIN_UPGRADE] = { "origin.upgrade", 502, "the destination changes to another protocol" },
        [REFUSAL_ORIGIN_CHUNKS] = { "origin.chunks", 502, "the destination's answer is no sequence of chunks" },
        [REFUSAL_ORIGIN_TRUNCATED] = { "origin.truncated", 502, "the destination ended its answer before it was whole" },
        [REFUSAL_ORIGIN_RESET] = { "origin.reset", 502, "the destination reset the connection" },
        [REFUSAL_ORIGIN_TLS] = { "origin.tls", 502, "the destination does not answer in TLS" },
        [REFUSAL_HEAD_INCOMPLETE] = { "parse.incomplete", 400, "the connection ended inside the request's head" },
        [REFUSAL_BODY_INCOMPLETE] = { "body.incomplete", 400, "the connection ended inside the request's body" },
        [REFUSAL_HEAD_TIME] = { "timeout.head", 408, "the request's head was not complete in time" },
        [REFUSAL_WALL_TIME] = { "limit.wall_time", 504, "the connection lasted longer than max_wall_time_seconds" },
        [REFUSAL_REQUEST_BYTES] = { "limit.request_bytes", 413, "more bytes to the destination than max_request_body_bytes" },
        [REFUSAL_RESPONSE_BYTES] = { "limit.response_bytes", 502, "more bytes from the destination than max_response_bytes" },
        [REFUSAL_CONNECTIONS] = { "limit.connections", 503, "more connections at a time than max_connections" },
        [REFUSAL_URGENT] = { "relay.urgent", 400, "TCP urgent data, which no relay carries" },
        [REFUSAL_CLIENT_RESET] = { "relay.client_reset", 400, "the client reset the connection" },
        [REFUSAL_STOPPED] = { "broker.stopped", 503, "the broker was told to stop" },
};

/* By the first part of the code; the first row that fits. */
static const struct {
        const char *prefix;
        enum refusal_kind kind;
} kinds[] = {
        { "dns.non_global_answer", REFUSAL_KIND_REFUSED },
        { "dns.fake_ip", REFUSAL_KIND_REFUSED },
        { "parse.", REFUSAL_KIND_REFUSED },
        { "head.", REFUSAL_KIND_REFUSED },
        { "body.limit", REFUSAL_KIND_LIMITED },
        { "body.", REFUSAL_KIND_REFUSED },
        { "policy.", REFUSAL_KIND_REFUSED },
        { "tls.", REFUSAL_KIND_REFUSED },
        { "relay.urgent", REFUSAL_KIND_REFUSED },
        { "relay.client_reset", REFUSAL_KIND_ALLOWED },
        { "broker.stopped", REFUSAL_KIND_ALLOWED },
        { "limit.", REFUSAL_KIND_LIMITED },
        { "timeout.", REFUSAL_KIND_LIMITED },
};

enum refusal_kind refusal_kind(enum refusal refusal) {
        const char *code = refusal_row(refusal)->code;

        if (refusal == REFUSAL_NONE)
                return REFUSAL_KIND_ALLOWED;
        for (size_t i = 0; i < ELEMENTSOF(kinds); i++)
                if (str_after(code, kinds[i].prefix))
                        return kinds[i].kind;
        return REFUSAL_KIND_FAILED;
}

static const char *const members[REFUSAL_COUNT] = {
        [REFUSAL_TLS_ECH] = "allow_ech",
        [REFUSAL_POLICY_MODE] = "mode",
        [REFUSAL_POLICY_HOST] = "allowed_hosts",
        [REFUSAL_POLICY_PORT] = "allowed_ports",
        [REFUSAL_POLICY_SCHEME] = "allowed_schemes",
        [REFUSAL_POLICY_ADDRESS] = "deny_private_networks",
        [REFUSAL_NON_GLOBAL] = "deny_private_networks",
        [REFUSAL_FAKE_IP] = "deny_private_networks",
        [REFUSAL_BODY_LIMIT] = "max_request_body_bytes",
        [REFUSAL_WALL_TIME] = "max_wall_time_seconds",
        [REFUSAL_REQUEST_BYTES] = "max_request_body_bytes",
        [REFUSAL_RESPONSE_BYTES] = "max_response_bytes",
        [REFUSAL_CONNECTIONS] = "max_connections",
};

const char *refusal_member(enum refusal refusal) {
        return refusal < REFUSAL_COUNT ? members[refusal] : NULL;
}

const char *refusal_text_of(const char *code) {
        for (enum refusal r = REFUSAL_NONE + 1; r < REFUSAL_COUNT; r++)
                if (streq(rows[r].code, code))
                        return rows[r].text;
        return NULL;
}

const struct refusal_row *refusal_row(enum refusal refusal) {
        return &rows[refusal < REFUSAL_COUNT ? refusal : REFUSAL_NONE];
}
