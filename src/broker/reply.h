/* Our own last words to a client. */
#pragma once

#include "broker/connection.h"

/* Appends the HTTP answer that says why: a JSON body (schemas/refusal.json), nothing of what the client sent but the canonical host. */
void reply_refusal(const struct connection *c, enum refusal refusal, struct str *out);

/* Appends the TLS alert. */
void reply_alert(enum refusal refusal, struct str *out);

/* OPTIONS with Max-Forwards: 0 is answered here (RFC 9110, 7.6.2). */
enum step reply_options(struct connection *c);

/* For a socket that there is no room for: answers as far as it takes that now, and closes it. Adds the audit's line. */
void reply_at_once(struct broker *broker, int fd, enum refusal refusal);
