#define _GNU_SOURCE
#include "broker/tls_hello.h"

enum { CLIENT_HELLO = 1, SERVER_HELLO = 2 };

/* IANA, "TLS ExtensionType Values". */
enum {
        EXT_SERVER_NAME = 0,
        EXT_EARLY_DATA = 0x002a,
        EXT_ECH_OUTER_EXTENSIONS = 0xfd00,
        EXT_ECH = 0xfe0d,
        EXT_ESNI = 0xffce, /* the drafts before ECH */
};

/* A part of the hello that is still to be read. The take_ functions return false, and take nothing, where it is too short. */
struct reader {
        const uint8_t *at;
        size_t left;
};

static bool take_number(struct reader *r, unsigned bytes, size_t *ret) {
        size_t value = 0;

        if (r->left < bytes)
                return false;
        for (unsigned i = 0; i < bytes; i++)
                value = value << 8 | r->at[i];
        r->at += bytes;
        r->left -= bytes;
        *ret = value;
        return true;
}

static bool take_bytes(struct reader *r, size_t n, struct reader *ret) {
        if (r->left < n)
                return false;
        *ret = (struct reader){ r->at, n };
        r->at += n;
        r->left -= n;
        return true;
}

/* A vector: its length in LENGTH_BYTES, then that many bytes (RFC 8446, 3.4). */
static bool take_vector(struct reader *r, unsigned length_bytes, struct reader *ret) {
        size_t n;

        return take_number(r, length_bytes, &n) && take_bytes(r, n, ret);
}

/* RFC 6066, 3: a list, but of one entry, because there is one type and one entry a type. The name has no trailing dot and is no address;
 * an address as destination may be repeated as it is by clients that know no better. */
static enum refusal check_server_name(const struct tls_hello *hello, struct reader extension) {
        const struct authority *a = hello->authority;
        struct authority named;
        struct reader list, name;
        const char *text;
        size_t type;

        if (!take_vector(&extension, 2, &list) || extension.left || !take_number(&list, 1, &type) || type != 0 ||
            !take_vector(&list, 2, &name) || list.left || name.left == 0)
                return REFUSAL_TLS_NAME;
        text = (const char *)name.at;
        if (a->kind == HOST_ADDRESS)
                return name.left == strlen(a->host) && memcmp(text, a->host, name.left) == 0 ? REFUSAL_NONE : REFUSAL_TLS_NAME_DIFFERS;
        if (text[name.left - 1] == '.' || authority_parse_host(text, name.left, &named) || named.kind != HOST_NAME)
                return REFUSAL_TLS_NAME;
        /* The very host, not any that policy allows: another name would reach its owner at an address that was checked for this one. */
        return authority_equal_host(a, &named) ? REFUSAL_NONE : REFUSAL_TLS_NAME_DIFFERS;
}

/* draft-ietf-tls-esni: type 0 is the outer hello's, 1 stands in the encrypted one only. A random "GREASE" extension looks the same as a
 * real one, on purpose; and an outer name that policy allows says nothing of the inner one. */
static enum refusal check_ech(const struct tls_hello *hello, struct reader extension) {
        size_t type;

        return hello->allow_ech && take_number(&extension, 1, &type) && type == 0 ? REFUSAL_NONE : REFUSAL_TLS_ECH;
}

static enum refusal check_extension(struct tls_hello *hello, size_t type, struct reader extension) {
        switch (type) {
        case EXT_SERVER_NAME:
                hello->has_name = true;
                return check_server_name(hello, extension);
        case EXT_EARLY_DATA:
                hello->early_data = true;
                return REFUSAL_NONE;
        case EXT_ECH:
                return check_ech(hello, extension);
        case EXT_ECH_OUTER_EXTENSIONS:
        case EXT_ESNI:
                return REFUSAL_TLS_ECH;
        default:
                return REFUSAL_NONE;
        }
}

/* RFC 8446, 4.2: one of a type. Two names, of which we read the one and the server the other, are what this is about. */
static enum refusal check_extensions(struct tls_hello *hello, struct reader list) {
        uint8_t seen[65536 / 8] = { 0 };

        while (list.left) {
                struct reader extension;
                enum refusal refusal;
                size_t type;

                if (!take_number(&list, 2, &type) || !take_vector(&list, 2, &extension) || seen[type / 8] & 1u << type % 8)
                        return REFUSAL_TLS_HELLO;
                seen[type / 8] |= (uint8_t)(1u << type % 8);
                if ((refusal = check_extension(hello, type, extension)))
                        return refusal;
        }
        return REFUSAL_NONE;
}

/* RFC 8446, 4.1.2; before TLS 1.3 extensions may be absent altogether (RFC 5246, 7.4.1.2). */
static enum refusal check_hello(struct tls_hello *hello) {
        struct reader r = { (const uint8_t *)hello->stream.message.text + 4, hello->stream.message.size - 4 };
        struct reader fixed, session, ciphers, compressions, extensions = { 0 };
        enum refusal refusal;
        size_t version;

        if (!take_number(&r, 2, &version) || version >> 8 != 3 || !take_bytes(&r, 32, &fixed) || !take_vector(&r, 1, &session) ||
            session.left > 32 || !take_vector(&r, 2, &ciphers) || ciphers.left == 0 || ciphers.left % 2 ||
            !take_vector(&r, 1, &compressions) || compressions.left == 0)
                return REFUSAL_TLS_HELLO;
        if (r.left && (!take_vector(&r, 2, &extensions) || r.left))
                return REFUSAL_TLS_HELLO;
        if ((refusal = check_extensions(hello, extensions)))
                return refusal;
        if (!hello->has_name && hello->authority->kind == HOST_NAME)
                return REFUSAL_TLS_NO_NAME;
        return hello->second && hello->has_name != hello->first_had_name ? REFUSAL_TLS_NAME_DIFFERS : REFUSAL_NONE;
}

void tls_hello_begin(struct tls_hello *hello, const struct authority *authority, bool allow_ech) {
        *hello = (struct tls_hello){ .authority = authority, .allow_ech = allow_ech };
}

void tls_hello_begin_second(struct tls_hello *hello, const struct tls_hello *first) {
        *hello = (struct tls_hello){
                .authority = first->authority, .allow_ech = first->allow_ech, .second = true, .first_had_name = first->has_name,
                .stream = { .skips_change_cipher_spec = true, .skips_application_data = first->early_data },
        };
}

void tls_hello_free(struct tls_hello *hello) {
        str_free(&hello->stream.message);
}

enum tls_status tls_hello_feed(struct tls_hello *hello, const uint8_t *data, size_t n, size_t *ret_used) {
        *ret_used = 0;
        if (hello->status != TLS_MORE)
                return hello->status;
        hello->refusal = tls_stream_feed(&hello->stream, CLIENT_HELLO, data, n, ret_used);
        if (!hello->refusal && hello->stream.complete)
                hello->refusal = check_hello(hello);
        if (hello->refusal)
                hello->status = TLS_REFUSED;
        else if (hello->stream.complete)
                hello->status = TLS_DONE;
        return hello->status;
}

/* RFC 8446, 4.1.3: SHA-256 of "HelloRetryRequest", where a ServerHello has its random. */
static const uint8_t retry_random[32] = {
        0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a, 0x61, 0x11, 0xbe, 0x1d, 0x8c, 0x02, 0x1e, 0x65, 0xb8, 0x91,
        0xc2, 0xa2, 0x11, 0x16, 0x7a, 0xbb, 0x8c, 0x5e, 0x07, 0x9e, 0x09, 0xe2, 0xc8, 0xa8, 0x33, 0x9c,
};

void tls_answer_free(struct tls_answer_state *state) {
        str_free(&state->stream.message);
}

enum tls_answer tls_answer_feed(struct tls_answer_state *state, const uint8_t *data, size_t n, size_t *ret_used) {
        struct tls_stream *s = &state->stream;

        *ret_used = 0;
        if (state->answer != TLS_ANSWER_MORE)
                return state->answer;
        s->takes_alert = s->more_follows = true; /* TLS 1.2 puts the certificate into the same record */
        state->refusal = tls_stream_feed(s, SERVER_HELLO, data, n, ret_used);
        if (state->refusal)
                return state->answer = TLS_ANSWER_REFUSED;
        if (s->alert)
                return state->answer = TLS_ANSWER_ALERT;
        if (!s->complete)
                return TLS_ANSWER_MORE;
        if (s->message.size < 4 + 2 + sizeof retry_random) {
                state->refusal = REFUSAL_TLS_MESSAGE;
                return state->answer = TLS_ANSWER_REFUSED;
        }
        return state->answer = memcmp(s->message.text + 6, retry_random, sizeof retry_random) ? TLS_ANSWER_HELLO : TLS_ANSWER_RETRY;
}
