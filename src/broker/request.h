/* What a connection keeps until the relaying is plain: what was read of the client and the origin, and what came behind it. */
#pragma once

#include "broker/connection.h"
#include "broker/http_body.h"
#include "broker/tls_hello.h"

struct request {
        struct http_head head;
        struct str rest; /* was read from the client, and is not looked at yet */

        /* Of a tunnel. */
        struct tls_hello hello;
        struct tls_answer_state server;
        struct str raw; /* the hello as it came, to go out when it has been checked */

        /* Of a plain request. */
        struct http_answer answer;
        struct http_body body;
        uint8_t interim;    /* 1xx answers so far */
        bool answered;      /* the client has the head of the final answer */
        bool whole;         /* and what belongs to it has been read */
        bool upload_failed; /* the origin reads no more */
};

struct request *request_new(void);
void request_free(struct connection *c);
