#define _GNU_SOURCE
#include "broker/tls/relay.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <stdbool.h>
#include <sys/socket.h>

/* One record's worth (RFC 8446, 5.1). */
struct half {
        char data[16384];
        size_t start, end;
        bool ended; /* nothing more will come */
        bool told;  /* and the other side knows */
};

struct relay {
        SSL *ssl;
        int socket, plain, witness;
        struct half up, down; /* to and from the TLS side */
        short wants;          /* POLLIN, POLLOUT: what OpenSSL waits for */
        bool moved;           /* something happened in this round */
        bool closed;          /* the plain side, in order */
};

static bool is_empty(const struct half *half) {
        return half->start == half->end;
}

static void filled(struct relay *r, struct half *half, size_t n) {
        half->start = 0;
        half->end = n;
        r->moved = true;
}

/* SSL_get_error(3). 0: it will go on later or has ended; or a negative errno. */
static int after_failure(struct relay *r, int result) {
        switch (SSL_get_error(r->ssl, result)) {
        case SSL_ERROR_WANT_READ:
                r->wants |= POLLIN;
                return 0;
        case SSL_ERROR_WANT_WRITE:
                r->wants |= POLLOUT;
                return 0;
        case SSL_ERROR_ZERO_RETURN: /* close_notify */
                r->down.ended = r->moved = true;
                return 0;
        default: /* an alert, a bad record, or an end that anyone between here and there can make (RFC 8446, 6.1) */
                return -ECONNRESET;
        }
}

/* Nobody reads what still comes from the TLS side. */
static void forget_down(struct relay *r) {
        r->down.start = r->down.end;
        r->down.ended = r->down.told = r->moved = true;
}

static int read_plain(struct relay *r) {
        ssize_t n;

        if (r->up.ended || !is_empty(&r->up))
                return 0;
        n = recv(r->plain, r->up.data, sizeof r->up.data, 0);
        if (n > 0)
                filled(r, &r->up, (size_t)n);
        else if (n == 0)
                r->up.ended = r->moved = true;
        else if (errno == ECONNRESET) /* unix(7): it was closed over what we had sent; told once, before the end */
                r->moved = true;
        return n < 0 && errno != EAGAIN && errno != EINTR && errno != ECONNRESET ? -errno : 0;
}

/* Behind every read of the plain side, so that an end is not passed on before it is known to be one. */
static int hear_witness(struct relay *r) {
        char word;
        ssize_t n;

        if (r->closed)
                return 0;
        n = recv(r->witness, &word, 1, 0);
        if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
                return -ECONNRESET;
        if (n < 0)
                return 0;
        r->closed = true;
        forget_down(r);
        return 0;
}

static int write_tls(struct relay *r) {
        size_t n;
        int result;

        if (is_empty(&r->up) || r->up.told)
                return 0;
        ERR_clear_error();
        result = SSL_write_ex(r->ssl, r->up.data + r->up.start, r->up.end - r->up.start, &n);
        if (result != 1)
                return after_failure(r, result);
        r->up.start += n;
        r->moved = true;
        return 0;
}

/* SSL_shutdown(3): sends close_notify; what the other side still has to say may be read for as long as it likes. */
static int end_tls(struct relay *r) {
        int result;

        if (!r->up.ended || !is_empty(&r->up) || r->up.told)
                return 0;
        ERR_clear_error();
        result = SSL_shutdown(r->ssl);
        if (result < 0 && !(SSL_get_shutdown(r->ssl) & SSL_SENT_SHUTDOWN))
                return after_failure(r, result);
        r->up.told = r->moved = true;
        return 0;
}

static int read_tls(struct relay *r) {
        size_t n;
        int result;

        if (r->down.ended || !is_empty(&r->down))
                return 0;
        ERR_clear_error();
        result = SSL_read_ex(r->ssl, r->down.data, sizeof r->down.data, &n);
        if (result != 1)
                return after_failure(r, result);
        filled(r, &r->down, n);
        return 0;
}

static int write_plain(struct relay *r) {
        ssize_t n;

        if (is_empty(&r->down))
                return 0;
        n = send(r->plain, r->down.data + r->down.start, r->down.end - r->down.start, MSG_NOSIGNAL);
        if (n < 0 && errno == EPIPE) { /* closed; the witness says how */
                forget_down(r);
                return 0;
        }
        if (n < 0)
                return errno != EAGAIN && errno != EINTR ? -errno : 0;
        r->down.start += (size_t)n;
        r->moved = true;
        return 0;
}

static int end_plain(struct relay *r) {
        if (!r->down.ended || !is_empty(&r->down) || r->down.told)
                return 0;
        r->down.told = r->moved = true;
        (void)!send(r->witness, "", 1, MSG_NOSIGNAL);
        return shutdown(r->plain, SHUT_WR) < 0 ? -errno : 0;
}

/* Only what something is waited for of: poll(2) reports an end or an error of every descriptor, whether it was asked for or not, and would do
 * so at once, again and again. A TLS side that has ended, and has failed since, is one that nothing can be said to any more: -ECONNRESET. */
static int wait_for_more(const struct relay *r) {
        short plain = (short)((!r->up.ended && is_empty(&r->up) ? POLLIN : 0) | (!is_empty(&r->down) ? POLLOUT : 0));
        struct pollfd p[] = {
                { .fd = plain ? r->plain : -1, .events = plain },
                { .fd = r->wants || r->down.told ? r->socket : -1, .events = r->wants },
                { .fd = r->closed ? -1 : r->witness, .events = POLLIN },
        };

        poll(p, sizeof p / sizeof *p, -1);
        return r->wants == 0 && p[1].revents & (POLLERR | POLLHUP) ? -ECONNRESET : 0;
}

int tls_relay(SSL *ssl, int socket, int plain, int witness) {
        static int (*const steps[])(struct relay *) = { read_plain, hear_witness, write_tls, end_tls, read_tls, write_plain, end_plain };
        static struct relay r;

        r.ssl = ssl;
        r.socket = socket;
        r.plain = plain;
        r.witness = witness;
        while (!r.up.told || !r.down.told) {
                int result = 0;

                r.moved = false;
                r.wants = 0;
                for (size_t i = 0; i < sizeof steps / sizeof *steps && result == 0; i++)
                        result = steps[i](&r);
                if (result == 0 && !r.moved)
                        result = wait_for_more(&r);
                if (result < 0)
                        return result;
        }
        return 0;
}
