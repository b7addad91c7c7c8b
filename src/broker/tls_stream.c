#define _GNU_SOURCE
#include "broker/tls_stream.h"

static unsigned type_of(const struct tls_stream *s) { return s->header[0]; }

static enum refusal check_type(const struct tls_stream *s) {
        bool before = s->message.size == 0;

        switch (type_of(s)) {
        case TLS_HANDSHAKE:
                return REFUSAL_NONE;
        case TLS_CHANGE_CIPHER_SPEC: /* RFC 8446, D.4: one, for middleboxes that know TLS 1.2 only */
                return s->skips_change_cipher_spec && before ? REFUSAL_NONE : REFUSAL_TLS_RECORD;
        case TLS_APPLICATION_DATA: /* RFC 8446, 4.2.10: early data that the server will not read */
                return s->skips_application_data && before ? REFUSAL_NONE : REFUSAL_TLS_RECORD;
        case TLS_ALERT:
                return s->takes_alert && before ? REFUSAL_NONE : REFUSAL_TLS_RECORD;
        default:
                return s->raw == 1 ? REFUSAL_NOT_TLS : REFUSAL_TLS_RECORD;
        }
}

static enum refusal check_length(struct tls_stream *s) {
        unsigned length = (unsigned)s->header[3] << 8 | s->header[4];

        if (type_of(s) == TLS_ALERT && length != 2)
                return REFUSAL_TLS_RECORD;
        if (length == 0 || length > (type_of(s) == TLS_APPLICATION_DATA ? TLS_CIPHERTEXT_MAX : TLS_RECORD_MAX))
                return REFUSAL_TLS_RECORD;
        if (type_of(s) == TLS_CHANGE_CIPHER_SPEC) {
                if (length != 1)
                        return REFUSAL_TLS_RECORD;
                s->skips_change_cipher_spec = false;
        }
        s->left = (uint16_t)length;
        return ++s->records > TLS_RECORDS_MAX ? REFUSAL_TLS_SIZE : REFUSAL_NONE;
}

/* Every byte is judged when it comes, the first one too: whoever does not speak TLS shall not get past it. */
static enum refusal header_byte(struct tls_stream *s, uint8_t byte) {
        s->header[s->n_header++] = byte;
        switch (s->n_header) {
        case 1:
                return check_type(s);
        case 2:
                return byte == 3 ? REFUSAL_NONE : s->raw == 2 ? REFUSAL_NOT_TLS : REFUSAL_TLS_RECORD;
        case 3: /* RFC 8446, 5.1 and D.5: 0x0301 to 0x0303; 0x0300 is SSL 3 */
                return byte >= 1 && byte <= 3 ? REFUSAL_NONE : REFUSAL_TLS_RECORD;
        case 5:
                s->n_header = 0;
                return check_length(s);
        default:
                return REFUSAL_NONE;
        }
}

static uint32_t message_size(const struct tls_stream *s) {
        const uint8_t *m = (const uint8_t *)s->message.text;

        return 4 + ((uint32_t)m[1] << 16 | (uint32_t)m[2] << 8 | m[3]);
}

static enum refusal body_byte(struct tls_stream *s, uint8_t type, uint8_t byte) {
        enum { WARNING = 1 };

        s->left--;
        /* RFC 5246, 7.2: a server may warn before its hello (unrecognized_name), and that hello is still to be looked at. */
        if (type_of(s) == TLS_ALERT) {
                s->alert = s->left == 1 && byte != WARNING;
                return REFUSAL_NONE;
        }
        if (type_of(s) == TLS_CHANGE_CIPHER_SPEC)
                return byte == 1 ? REFUSAL_NONE : REFUSAL_TLS_RECORD;
        if (type_of(s) == TLS_APPLICATION_DATA)
                return REFUSAL_NONE;
        if (s->message.size == 0 && byte != type)
                return REFUSAL_TLS_MESSAGE;
        str_putc(&s->message, (char)byte);
        if (s->message.size < 4)
                return REFUSAL_NONE;
        if (message_size(s) > TLS_MESSAGE_MAX)
                return REFUSAL_TLS_SIZE;
        s->complete = s->message.size == message_size(s);
        /* A second message in the record could be a second hello, which nobody would look at. */
        return s->complete && s->left && !s->more_follows ? REFUSAL_TLS_MESSAGE : REFUSAL_NONE;
}

static size_t least(size_t a, size_t b) {
        return a < b ? a : b;
}

/* Up to the last byte of the message or the record there is nothing to judge by. Returns how many of the N bytes were taken. */
static size_t middle(struct tls_stream *s, const uint8_t *data, size_t n) {
        if (s->left == 0 || type_of(s) != TLS_HANDSHAKE || s->message.size < 4)
                return 0;
        n = least(least(n, s->left - 1u), least(message_size(s) - s->message.size - 1, TLS_RAW_MAX - s->raw));
        str_add(&s->message, (const char *)data, n);
        s->left -= (uint16_t)n;
        s->raw += (uint32_t)n;
        return n;
}

enum refusal tls_stream_feed(struct tls_stream *s, uint8_t type, const uint8_t *data, size_t n, size_t *ret_used) {
        enum refusal refusal = REFUSAL_NONE;
        size_t used = 0;

        while (used < n && !refusal && !s->complete && !s->alert) {
                uint8_t byte;

                used += middle(s, data + used, n - used);
                if (used == n)
                        break;
                byte = data[used++];
                if (++s->raw > TLS_RAW_MAX) {
                        refusal = REFUSAL_TLS_SIZE;
                } else if (s->left == 0) {
                        refusal = header_byte(s, byte);
                } else {
                        refusal = body_byte(s, type, byte);
                }
        }
        *ret_used = used;
        return refusal;
}
