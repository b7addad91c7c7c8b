/* Why a connection is refused: one number inside, one stable code for logs, answers and tests, one status for HTTP clients. */
#pragma once

#include <stdint.h>

enum refusal {
        REFUSAL_NONE = 0,

        /* authority.h */
        REFUSAL_USERINFO,
        REFUSAL_HOST_EMPTY,
        REFUSAL_HOST_ENCODING,
        REFUSAL_HOST_BRACKETS,
        REFUSAL_HOST_ZONE,
        REFUSAL_HOST_NUMBER,
        REFUSAL_HOST_NAME,
        REFUSAL_PORT,

        /* http_head.h */
        REFUSAL_LINE_END,
        REFUSAL_CONTROL,
        REFUSAL_LINE_LIMIT,
        REFUSAL_HEAD_LIMIT,
        REFUSAL_REQUEST_LINE,
        REFUSAL_METHOD,
        REFUSAL_VERSION,
        REFUSAL_TARGET,
        REFUSAL_TARGET_FORM,
        REFUSAL_TARGET_SCHEME,
        REFUSAL_USE_CONNECT,
        REFUSAL_FIELD,
        REFUSAL_HOST_FIELD,
        REFUSAL_HOST_DIFFERS,
        REFUSAL_FRAMING,
        REFUSAL_CHUNKED,
        REFUSAL_CONNECTION,
        REFUSAL_UPGRADE,
        REFUSAL_EXPECT,

        /* tls_hello.h */
        REFUSAL_NOT_TLS,
        REFUSAL_TLS_RECORD,
        REFUSAL_TLS_MESSAGE,
        REFUSAL_TLS_SIZE,
        REFUSAL_TLS_HELLO,
        REFUSAL_TLS_NAME,
        REFUSAL_TLS_NO_NAME,
        REFUSAL_TLS_NAME_DIFFERS,
        REFUSAL_TLS_ECH,

        /* policy.h */
        REFUSAL_POLICY_MODE,
        REFUSAL_POLICY_HOST,
        REFUSAL_POLICY_PORT,
        REFUSAL_POLICY_SCHEME,
        REFUSAL_POLICY_ADDRESS,
        REFUSAL_POLICY_ADDRESS_NEVER,
        REFUSAL_NON_GLOBAL,
        REFUSAL_NON_GLOBAL_NEVER,
        REFUSAL_FAKE_IP,
        REFUSAL_BODY_LIMIT,
        REFUSAL_POLICY_UPSTREAM,

        /* dialer.h */
        REFUSAL_DNS_NXDOMAIN,
        REFUSAL_DNS_NO_ADDRESS,
        REFUSAL_DNS_FAILED,
        REFUSAL_DNS_TIMEOUT,
        REFUSAL_DNS_LIMIT,
        REFUSAL_CONNECT_REFUSED,
        REFUSAL_CONNECT_UNREACHABLE,
        REFUSAL_CONNECT_TIMEOUT,
        REFUSAL_CONNECT_FAILED,
        REFUSAL_DIALER_BUSY,
        REFUSAL_DIALER_HELPER,

        /* upstream.h, and what else stands between us and an upstream */
        REFUSAL_PROXY_DNS,
        REFUSAL_PROXY_CONNECT,
        REFUSAL_PROXY_CERTIFICATE,
        REFUSAL_PROXY_TLS,
        REFUSAL_PROXY_ANSWER,
        REFUSAL_PROXY_AUTHENTICATION,
        REFUSAL_PROXY_REFUSED,
        REFUSAL_PROXY_CLOSED,
        REFUSAL_PROXY_TIMEOUT,

        /* http_answer.h, http_body.h, and the origin's side otherwise */
        REFUSAL_ORIGIN_HEAD,
        REFUSAL_ORIGIN_FRAMING,
        REFUSAL_ORIGIN_UPGRADE,
        REFUSAL_ORIGIN_CHUNKS,
        REFUSAL_ORIGIN_TRUNCATED,
        REFUSAL_ORIGIN_RESET,
        REFUSAL_ORIGIN_TLS,

        /* connection.h */
        REFUSAL_HEAD_INCOMPLETE,
        REFUSAL_BODY_INCOMPLETE,
        REFUSAL_HEAD_TIME,
        REFUSAL_WALL_TIME,
        REFUSAL_REQUEST_BYTES,
        REFUSAL_RESPONSE_BYTES,
        REFUSAL_CONNECTIONS,
        REFUSAL_URGENT,
        REFUSAL_CLIENT_RESET,
        REFUSAL_STOPPED,

        REFUSAL_COUNT
};

struct refusal_row {
        const char *code; /* "parse.port": stable */
        uint16_t status;  /* of the answer to an HTTP client */
        const char *text; /* for a person; a constant, so nothing a client sent comes back to it */
};

/* What became of a connection, in one word of schemas/audit.json: policy or a rule of ours stood against it, a limit ended it, or others
 * failed, where the same again may go well. */
enum refusal_kind { REFUSAL_KIND_ALLOWED = 1, REFUSAL_KIND_REFUSED, REFUSAL_KIND_LIMITED, REFUSAL_KIND_FAILED };
enum refusal_kind refusal_kind(enum refusal refusal);

/* The member of sage.sandbox.network that decided, for whoever may change it; NULL where another policy would decide the same. */
const char *refusal_member(enum refusal refusal);

/* What CODE means, for a person; of several texts for one code the first. NULL for a code that is none of ours. */
const char *refusal_text_of(const char *code);

/* The row of REFUSAL; that of REFUSAL_NONE has an empty code. */
const struct refusal_row *refusal_row(enum refusal refusal);
