/* sage-egress-tls: speaks TLS to an https:// upstream, one connection a process, for the dialer (helper.h). OpenSSL lives here and nowhere
 * else: it costs more to load than the whole broker to start, and it reads what a stranger may have sent. */
#define _GNU_SOURCE
#include "base/fd.h"
#include "broker/helper.h"
#include "broker/helper_lockdown.h"
#include "broker/passing.h"
#include "broker/tls/relay.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>

/* RFC 9112 is all that we speak to a proxy. */
static const unsigned char alpn[] = "\x08http/1.1";

/* Everything that OpenSSL loads, it loads in here, before the filter; the host's CA certificates are read when a chain is verified. */
static SSL_CTX *prepare(void) {
        SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());

        if (!ctx || !SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION) || !SSL_CTX_set_default_verify_paths(ctx) ||
                SSL_CTX_set_alpn_protos(ctx, alpn, sizeof alpn - 1) != 0)
                return NULL;
        SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, NULL);
        SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
        SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_NO_TICKET);
        SSL_CTX_set_mode(ctx, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
        return ctx;
}

static int receive_job(struct tls_job *ret_job, int ret_sockets[TLS_JOB_SOCKETS]) {
        ssize_t n = passing_receive(STDIN_FILENO, ret_job, sizeof *ret_job, ret_sockets, TLS_JOB_SOCKETS, 0);

        if (n == 0)
                return -ENODATA;
        return n != sizeof *ret_job || ret_job->host[HOST_MAX] != '\0' || ret_sockets[0] < 0 ? -EPROTO : 0;
}

/* The certificate is the host's: its name, or for an address an iPAddress of it, never its common name's wildcards. */
static SSL *begin(SSL_CTX *ctx, const struct tls_job *job, int socket) {
        SSL *ssl = SSL_new(ctx);
        X509_VERIFY_PARAM *param = ssl ? SSL_get0_param(ssl) : NULL;

        if (!ssl || !SSL_set_fd(ssl, socket))
                return NULL;
        X509_VERIFY_PARAM_set_hostflags(param, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
        if (job->is_address)
                return X509_VERIFY_PARAM_set1_ip_asc(param, job->host) ? ssl : NULL;
        /* RFC 6066, 3: addresses are no server names. */
        return X509_VERIFY_PARAM_set1_host(param, job->host, 0) && SSL_set_tlsext_host_name(ssl, job->host) ? ssl : NULL;
}

static struct tls_answer failed(SSL *ssl) {
        long verified = SSL_get_verify_result(ssl);
        const char *reason = ERR_reason_error_string(ERR_peek_last_error());
        struct tls_answer answer = { .refusal = verified == X509_V_OK ? REFUSAL_PROXY_TLS : REFUSAL_PROXY_CERTIFICATE };

        if (verified != X509_V_OK)
                reason = X509_verify_cert_error_string(verified);
        snprintf(answer.detail, sizeof answer.detail, "%s", reason ? reason : "the connection was closed");
        return answer;
}

/* No time-out of its own: the dialer ends this process at the deadline. */
static struct tls_answer shake_hands(SSL *ssl, int socket) {
        for (;;) {
                struct pollfd p = { .fd = socket };
                int r;

                ERR_clear_error();
                r = SSL_connect(ssl);
                if (r == 1)
                        return (struct tls_answer){ .refusal = REFUSAL_NONE };
                r = SSL_get_error(ssl, r);
                if (r != SSL_ERROR_WANT_READ && r != SSL_ERROR_WANT_WRITE)
                        return failed(ssl);
                p.events = r == SSL_ERROR_WANT_READ ? POLLIN : POLLOUT;
                poll(&p, 1, -1);
        }
}

static int answer(const struct tls_answer *answer) {
        return send(STDIN_FILENO, answer, sizeof *answer, MSG_NOSIGNAL) == sizeof *answer ? 0 : -errno;
}

int main(void) {
        SSL_CTX *ctx = prepare();
        struct tls_answer said = { .refusal = REFUSAL_PROXY_TLS, .detail = "OpenSSL could not be prepared" };
        struct tls_job job;
        struct error err;
        const struct linger reset = { .l_onoff = 1, .l_linger = 0 };
        int sockets[TLS_JOB_SOCKETS];
        SSL *ssl;

        prctl(PR_SET_NAME, "egress-tls");
        signal(SIGPIPE, SIG_IGN);
        if (lockdown_tls(&err) < 0 || receive_job(&job, sockets) < 0)
                return 1;
        ssl = ctx ? begin(ctx, &job, sockets[0]) : NULL;
        if (ssl)
                said = shake_hands(ssl, sockets[0]);
        if (answer(&said) < 0 || said.refusal)
                return 1;
        if (tls_relay(ssl, sockets[0], sockets[1], sockets[2]) == 0)
                return 0;
        (void)setsockopt(sockets[0], SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
        return 1;
}
