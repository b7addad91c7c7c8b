/* What the two sides of a tunnel say in the clear: the client's hello, which names the server, and whether the server wants another one.
 *
 * An OpenSSL server acts on the name of the second hello (after HelloRetryRequest), so a check of the first alone is none. */
#pragma once

#include "broker/authority.h"
#include "broker/tls_stream.h"

enum tls_status { TLS_MORE, TLS_DONE, TLS_REFUSED };

struct tls_hello {
        enum tls_status status;
        enum refusal refusal; /* of TLS_REFUSED */

        /* Of TLS_DONE. */
        bool has_name;   /* server_name (RFC 6066, 3) is there; always for a destination that is a name */
        bool early_data; /* encrypted data may follow before the server's answer */

        /* Inside. */
        struct tls_stream stream;
        const struct authority *authority;
        bool allow_ech;
        bool second, first_had_name;
};

/* authority: what CONNECT asked for; must live as long. allow_ech: the outer hello of Encrypted Client Hello is let through, and with it
 * whatever name the inner one holds. */
void tls_hello_begin(struct tls_hello *hello, const struct authority *authority, bool allow_ech);
/* For the hello that answers HelloRetryRequest; FIRST is done. In between a client may send change_cipher_spec and early data. */
void tls_hello_begin_second(struct tls_hello *hello, const struct tls_hello *first);
void tls_hello_free(struct tls_hello *hello);
#define _cleanup_tls_hello_ __attribute__((cleanup(tls_hello_free)))

/* Reads on. The N bytes are what the client sent next; however they are cut, the result is the same. ret_used: how many of them were looked
 * at; when done, the rest comes after the hello. */
enum tls_status tls_hello_feed(struct tls_hello *hello, const uint8_t *data, size_t n, size_t *ret_used);

/* The server's first message. */
enum tls_answer {
        TLS_ANSWER_MORE,
        TLS_ANSWER_HELLO, /* from here on all is the peers' own business */
        TLS_ANSWER_RETRY, /* another ClientHello will come */
        TLS_ANSWER_ALERT, /* no handshake; to be passed on */
        TLS_ANSWER_REFUSED,
};

struct tls_answer_state {
        enum tls_answer answer;
        enum refusal refusal;
        struct tls_stream stream;
};

void tls_answer_free(struct tls_answer_state *state);
#define _cleanup_tls_answer_ __attribute__((cleanup(tls_answer_free)))
/* Reads on, in a STATE that began zeroed. All that came from the server goes to the client, also what lies behind the message. */
enum tls_answer tls_answer_feed(struct tls_answer_state *state, const uint8_t *data, size_t n, size_t *ret_used);
