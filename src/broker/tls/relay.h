/* Plain bytes on one side, TLS on the other. */
#pragma once

#include <openssl/types.h>

/* Until both directions have ended, each by its own end: that of the plain side goes on as close_notify, and close_notify as the end of what
 * the plain side reads. Nothing is read that cannot be passed on. All sockets are non-blocking.
 *
 * witness: unix(7) knows no reset, so a byte here, written first, says of the end of what the plain side reads, and of its being closed,
 * that it is one in order (helper.h).
 *
 * Returns 0, or a negative errno when one side ended in another way: then the other one must not see an end in order either. */
int tls_relay(SSL *ssl, int socket, int plain, int witness);
