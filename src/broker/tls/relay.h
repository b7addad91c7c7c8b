/* Plain bytes on one side, TLS on the other. */
#pragma once

#include <openssl/types.h>

/* Until both directions have ended, each by its own end: that of the plain side goes on as close_notify, and close_notify as the end of what
 * the plain side reads. Nothing is read that cannot be passed on. Both sockets are non-blocking. Returns 0, or a negative errno when the
 * TLS side ended in another way; the plain side, a Unix socket, can only be told of an end (unix(7) knows no reset), so who needs to know that
 * a body is whole must look at its length or its last chunk. */
int tls_relay(SSL *ssl, int socket, int plain);
