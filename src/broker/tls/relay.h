/* Plain bytes on one side, TLS on the other. */
#pragma once

#include <openssl/types.h>

/* Until both directions have ended, each by its own end: that of the plain side goes on as close_notify, and close_notify as the end of what
 * the plain side reads. Nothing is read that cannot be passed on. Both sockets are non-blocking. Returns 0, or a negative errno when the
 * TLS side ended in another way. A Unix socket cannot be told of a reset (unix(7)), so the plain side sees that by its peer being gone, where an
 * end in order leaves it there (side_ended_in_order()). */
int tls_relay(SSL *ssl, int socket, int plain);
