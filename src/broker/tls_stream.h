/* One side of a TLS connection as a stream of handshake bytes: records (RFC 8446, 5.1) taken off, however they and the segments are cut. */
#pragma once

#include "base/str.h"
#include "broker/refusal.h"

#include <stdbool.h>
#include <stdint.h>

enum {
        TLS_CHANGE_CIPHER_SPEC = 20,
        TLS_ALERT = 21,
        TLS_HANDSHAKE = 22,
        TLS_APPLICATION_DATA = 23,
};

#define TLS_RECORD_MAX 16384u    /* RFC 8446, 5.1: 2^14 bytes of plaintext */
#define TLS_CIPHERTEXT_MAX 16640u /* RFC 8446, 5.2: 256 more where a record is encrypted */
#define TLS_MESSAGE_MAX 32768u   /* a hello with post-quantum keys and ECH has about 4 KiB */
#define TLS_RAW_MAX 65536u
#define TLS_RECORDS_MAX 64u      /* cutting a hello into many records is a known way around filters */

struct tls_stream {
        struct str message; /* the first handshake message, with its header of four bytes */
        uint32_t raw;       /* bytes read so far, records' headers included */
        uint16_t left;      /* of the record's body */
        uint8_t header[5], n_header;
        uint8_t records;
        bool skips_change_cipher_spec, skips_application_data; /* allowed before the message: what a client sends in between */
        bool complete;      /* the message is, and the record ends with it unless more_follows */
        bool alert;         /* a fatal alert came instead: nothing follows */
        bool takes_alert, more_follows;
};

/* Reads on until the first message, of TYPE, is complete. ret_used: how many of the N bytes were read. */
enum refusal tls_stream_feed(struct tls_stream *s, uint8_t type, const uint8_t *data, size_t n, size_t *ret_used);
