#define _GNU_SOURCE
#include "broker/dial.h"

#include "base/fd.h"
#include "broker/passing.h"
#include "broker/route.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#define GRACE_NS 500000000ull

static bool through_proxy(const struct dialing *dialing) {
        return dialing->policy->mode == SAGE_NETWORK_MODE_PROXY;
}

void dial_end(struct dialing *dialing, struct dial *d) {
        /* A TLS program lives as long as the tunnel that it is one end of; a resolver's answer would reach the next one. */
        if (d->helper >= 0)
                helpers_kill(&dialing->helpers, (size_t)d->helper);
        d->helper = -1;
        connector_end(&d->connector);
        close_fd(&d->tunnel);
        close_fd(&d->witness);
}

__attribute__((format(printf, 4, 5))) static void refuse(
        struct dialing *dialing, struct dial *d, enum refusal refusal, const char *detail, ...) {
        va_list ap;

        dial_end(dialing, d);
        d->state = DIAL_DONE;
        d->answer.refusal = refusal;
        d->answer.fd = d->answer.witness = -1;
        va_start(ap, detail);
        vsnprintf(d->answer.detail, sizeof d->answer.detail, detail, ap);
        va_end(ap);
        for (char *p = d->answer.detail; *p; p++)
                if (*p < ' ' || *p > '~')
                        *p = '?';
}

static void refuse_late(struct dialing *dialing, struct dial *d) {
        static const enum refusal late[] = {
                [DIAL_LOOKUP_UPSTREAM] = REFUSAL_PROXY_DNS,
                [DIAL_LOOKUP] = REFUSAL_DNS_TIMEOUT,
                [DIAL_CONNECT] = REFUSAL_CONNECT_TIMEOUT,
                [DIAL_TLS] = REFUSAL_PROXY_TIMEOUT,
                [DIAL_ASK] = REFUSAL_PROXY_TIMEOUT,
        };

        if (d->state == DIAL_TLS && d->helper < 0)
                refuse(dialing, d, REFUSAL_DIALER_BUSY, "no TLS program became free");
        else
                refuse(dialing, d, d->state == DIAL_CONNECT && through_proxy(dialing) ? REFUSAL_PROXY_TIMEOUT : late[d->state], "too late");
}

/* ---- looking up ------------------------------------------------------------------------------------------------------ */

/* Takes a resolver when there is one; else D waits for one, and dial_step() tries again. */
static void look_up(struct dialing *dialing, struct dial *d, const char *host) {
        struct lookup_question question = { 0 };
        int number = helpers_take(&dialing->helpers, HELPER_RESOLVER, d->number, d->deadline_ns);

        if (number == -EAGAIN)
                return;
        if (number < 0) {
                refuse(dialing, d, REFUSAL_DIALER_HELPER, "%s", strerror(-number));
                return;
        }
        d->helper = number;
        snprintf(question.name, sizeof question.name, "%s", host);
        if (send(dialing->helpers.list[number].socket, &question, sizeof question, MSG_NOSIGNAL | MSG_DONTWAIT) != sizeof question)
                refuse(dialing, d, REFUSAL_DIALER_HELPER, "%s", strerror(errno));
}

static void literal(const struct authority *authority, struct addresses *ret) {
        ret->list[0] = authority->address;
        ret->n = 1;
}

/* ---- connecting ------------------------------------------------------------------------------------------------------ */

static void begin_connect(struct dialing *dialing, struct dial *d, uint64_t now_ns) {
        bool proxy = through_proxy(dialing);

        d->state = DIAL_CONNECT;
        d->targets = proxy ? dialing->upstream : d->addresses;
        connector_begin(&d->connector, &d->targets, proxy ? dialing->policy->proxy.port : d->authority.port);
        dial_step(dialing, d, now_ns);
}

static void vet_and_connect(struct dialing *dialing, struct dial *d, uint64_t now_ns) {
        uint32_t own = 0;
        struct vetting vetting;
        /* This host's own are private ones, so where those are allowed it makes no difference. */
        int r = dialing->policy->deny_private ? route_own(dialing->route, dialing->policy, &d->addresses, &own) : 0;

        if (r < 0) {
                refuse(dialing, d, REFUSAL_DIALER_HELPER, "routes: %s", strerror(-r));
                return;
        }
        vetting = vet(dialing->policy, d->authority.kind, &d->addresses, own, through_proxy(dialing) ? &dialing->upstream : NULL);
        d->answer.n_addresses = d->addresses.n;
        d->answer.has_address = d->addresses.n > 0;
        d->answer.address = vetting.refusal ? vetting.address : d->addresses.list[0];
        if (vetting.refusal)
                refuse(dialing, d, vetting.refusal, "%s", address_explain(&vetting.class).text);
        else
                begin_connect(dialing, d, now_ns);
}

static void finish(struct dialing *dialing, struct dial *d) {
        d->answer.fd = take_fd(&d->tunnel);
        d->answer.witness = take_fd(&d->witness);
        /* The TLS program lives on with the tunnel. At the deadline the front resets its client; were the program gone before, that would look
         * like an end in order. */
        if (d->helper >= 0)
                dialing->helpers.list[d->helper].deadline_ns += GRACE_NS;
        d->helper = -1;
        d->state = DIAL_DONE;
}

static enum refusal refusal_of(int errnum) {
        switch (errnum) {
        case ECONNREFUSED:
                return REFUSAL_CONNECT_REFUSED;
        case ENETUNREACH:
        case EHOSTUNREACH:
        case EADDRNOTAVAIL:
        case EAFNOSUPPORT:
                return REFUSAL_CONNECT_UNREACHABLE;
        case ETIMEDOUT:
                return REFUSAL_CONNECT_TIMEOUT;
        default:
                return REFUSAL_CONNECT_FAILED;
        }
}

/* ---- asking the upstream --------------------------------------------------------------------------------------------- */

/* A CONNECT fits into an empty socket's buffer whole, or something is wrong. */
static void ask(struct dialing *dialing, struct dial *d) {
        _cleanup_str_ struct str text = { 0 };
        struct epoll_event event = { .events = EPOLLIN | EPOLLRDHUP, .data.u64 = d->id };

        d->state = DIAL_ASK;
        d->upstream = (struct upstream_answer){ 0 };
        d->answer.address = d->addresses.list[d->next];
        upstream_request(&d->answer.address, d->authority.port, &text);
        if (send(d->tunnel, text.text, text.size, MSG_NOSIGNAL) != (ssize_t)text.size ||
                epoll_ctl(dialing->epoll, EPOLL_CTL_ADD, d->tunnel, &event) < 0)
                refuse(dialing, d, REFUSAL_PROXY_CLOSED, "%s", strerror(errno));
}

/* The upstream could not reach this address (RFC 9110, 15.6.3 to 15.6.5): there may be another one. */
static bool try_next_address(struct dialing *dialing, struct dial *d, uint64_t now_ns) {
        if (d->upstream.code < 502 || d->upstream.code > 504 || d->next + 1 >= d->addresses.n)
                return false;
        dial_end(dialing, d);
        d->next++;
        begin_connect(dialing, d, now_ns);
        return true;
}

static void end_of_answer(struct dialing *dialing, struct dial *d, bool more, uint64_t now_ns) {
        if (d->upstream.status == UPSTREAM_REFUSED && d->upstream.refusal == REFUSAL_PROXY_REFUSED && try_next_address(dialing, d, now_ns))
                return;
        if (d->upstream.status == UPSTREAM_REFUSED && d->upstream.code)
                refuse(dialing, d, d->upstream.refusal, "the upstream answered %u", d->upstream.code);
        else if (d->upstream.status == UPSTREAM_REFUSED)
                refuse(dialing, d, d->upstream.refusal, "no HTTP answer");
        /* In every protocol that we let through the client speaks first: this is a body, or an answer to nothing. */
        else if (more)
                refuse(dialing, d, REFUSAL_PROXY_ANSWER, "bytes behind the head");
        else {
                epoll_ctl(dialing->epoll, EPOLL_CTL_DEL, d->tunnel, NULL);
                finish(dialing, d);
        }
}

static void hear_upstream(struct dialing *dialing, struct dial *d, uint64_t now_ns) {
        char data[4096];

        while (d->state == DIAL_ASK) {
                ssize_t n = recv(d->tunnel, data, sizeof data, MSG_DONTWAIT);
                size_t used;

                if (n < 0 && (errno == EAGAIN || errno == EINTR))
                        return;
                if (n <= 0) {
                        refuse(dialing, d, REFUSAL_PROXY_CLOSED, "%s", n < 0 ? strerror(errno) : "end of stream");
                        return;
                }
                if (upstream_feed(&d->upstream, data, (size_t)n, &used) != UPSTREAM_MORE)
                        end_of_answer(dialing, d, used < (size_t)n, now_ns);
        }
}

/* The TLS program's ends of what is between it and the front go to it, together with the socket to the upstream; ours take that one's place. */
static int hand_over(struct dial *d, int program, const struct tls_job *job) {
        int plain[2], witness[2], r;

        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, plain) < 0)
                return -errno;
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, witness) < 0) {
                r = -errno;
                close(plain[0]);
                close(plain[1]);
                return r;
        }
        r = passing_send(program, job, sizeof *job, (const int[TLS_JOB_SOCKETS]){ d->tunnel, plain[1], witness[1] }, TLS_JOB_SOCKETS);
        close(plain[1]);
        close(witness[1]);
        close_fd(&d->tunnel);
        d->tunnel = plain[0];
        d->witness = witness[0];
        return r;
}

/* Hands the socket to the upstream over to a TLS program, and keeps the plain side. While as many as may be are alive D waits, and dial_step()
 * tries again. */
static void begin_tls(struct dialing *dialing, struct dial *d) {
        const struct authority *proxy = &dialing->policy->proxy;
        struct tls_job job = { .is_address = proxy->kind == HOST_ADDRESS };
        const int on = 1;
        int number = helpers_take(&dialing->helpers, HELPER_TLS, d->number, d->deadline_ns), r;

        d->state = DIAL_TLS;
        if (number == -EAGAIN)
                return;
        if (number < 0) {
                refuse(dialing, d, REFUSAL_DIALER_HELPER, "%s", strerror(-number));
                return;
        }
        d->helper = number;
        (void)setsockopt(d->tunnel, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on); /* a relay sends what it has */
        snprintf(job.host, sizeof job.host, "%s", proxy->host);
        r = hand_over(d, dialing->helpers.list[number].socket, &job);
        if (r < 0)
                refuse(dialing, d, REFUSAL_DIALER_HELPER, "%s", strerror(-r));
}

/* ---- steps ----------------------------------------------------------------------------------------------------------- */

static void step_connect(struct dialing *dialing, struct dial *d, uint64_t now_ns) {
        bool proxy = through_proxy(dialing);
        struct address address;
        int r = connector_step(&d->connector, dialing->epoll, d->id, now_ns, &d->tunnel, &address);

        if (r == -EAGAIN)
                return;
        connector_end(&d->connector);
        if (r < 0 && proxy)
                dialing->upstream.n = dialing->policy->proxy.kind == HOST_ADDRESS; /* its name may lead elsewhere by now */
        if (r < 0) {
                refuse(dialing, d, proxy ? REFUSAL_PROXY_CONNECT : refusal_of(-r), "%s", strerror(-r));
        } else if (proxy && dialing->policy->proxy_tls) {
                begin_tls(dialing, d);
        } else if (proxy) {
                ask(dialing, d);
        } else {
                d->answer.address = address;
                finish(dialing, d);
        }
}

void dial_step(struct dialing *dialing, struct dial *d, uint64_t now_ns) {
        if (d->state == DIAL_NONE || d->state == DIAL_DONE)
                return;
        if (now_ns >= d->deadline_ns) {
                refuse_late(dialing, d);
                return;
        }
        if (d->state == DIAL_LOOKUP_UPSTREAM && d->helper < 0)
                look_up(dialing, d, dialing->policy->proxy.host);
        else if (d->state == DIAL_LOOKUP && d->helper < 0)
                look_up(dialing, d, d->authority.host);
        else if (d->state == DIAL_TLS && d->helper < 0)
                begin_tls(dialing, d);
        else if (d->state == DIAL_CONNECT)
                step_connect(dialing, d, now_ns);
        else if (d->state == DIAL_ASK)
                hear_upstream(dialing, d, now_ns);
}

static void begin_destination(struct dialing *dialing, struct dial *d, uint64_t now_ns) {
        if (d->authority.kind == HOST_ADDRESS) {
                literal(&d->authority, &d->addresses);
                vet_and_connect(dialing, d, now_ns);
                return;
        }
        d->state = DIAL_LOOKUP;
        dial_step(dialing, d, now_ns);
}

static bool has_text(const struct authority_text *text) {
        return memchr(text->text, '\0', sizeof text->text);
}

void dial_begin(struct dialing *dialing, struct dial *d, const struct dialer_request *request, uint64_t now_ns) {
        uint64_t latest = now_ns + dialing->policy->wall_time_ms * 1000000;
        enum policy_scheme scheme = request->scheme == POLICY_HTTP ? POLICY_HTTP : POLICY_HTTPS;
        enum refusal refusal = REFUSAL_HOST_NAME;

        *d = (struct dial){ .state = DIAL_LOOKUP, .id = d->id, .number = d->number, .helper = -1, .tunnel = -1, .witness = -1 };
        d->answer = (struct dialer_answer){ .tag = request->tag, .fd = -1, .witness = -1 };
        d->deadline_ns = request->deadline_ns < latest ? request->deadline_ns : latest;
        if (has_text(&request->authority))
                refusal = authority_parse(request->authority.text, strlen(request->authority.text), 0, &d->authority);
        if (!refusal)
                refusal = policy_decide(dialing->policy, &d->authority, scheme);
        if (refusal) {
                refuse(dialing, d, refusal, "%s", "");
                return;
        }
        if (through_proxy(dialing) && dialing->upstream.n == 0) {
                d->state = DIAL_LOOKUP_UPSTREAM;
                dial_step(dialing, d, now_ns);
        } else {
                begin_destination(dialing, d, now_ns);
        }
}

static void hear_resolver(struct dialing *dialing, struct dial *d, const struct lookup_answer *answer, uint64_t now_ns) {
        bool upstream = d->state == DIAL_LOOKUP_UPSTREAM;
        struct addresses found;
        enum refusal refusal = helper_addresses(answer, &found);

        if (refusal == REFUSAL_DIALER_HELPER) {
                refuse(dialing, d, refusal, "an answer that is none");
                return;
        }
        helpers_give_back(&dialing->helpers, (size_t)d->helper, now_ns);
        d->helper = -1;
        if (refusal && upstream) {
                refuse(dialing, d, REFUSAL_PROXY_DNS, "%s", refusal_row(refusal)->code);
        } else if (refusal) {
                refuse(dialing, d, refusal, "%s", "");
        } else if (upstream) {
                dialing->upstream = found;
                begin_destination(dialing, d, now_ns);
        } else {
                d->addresses = found;
                vet_and_connect(dialing, d, now_ns);
        }
}

static void hear_tls(struct dialing *dialing, struct dial *d, const struct tls_answer *answer) {
        bool known = answer->refusal >= REFUSAL_PROXY_DNS && answer->refusal <= REFUSAL_PROXY_TIMEOUT;

        if (answer->refusal == REFUSAL_NONE)
                ask(dialing, d);
        else
                refuse(dialing, d, known ? (enum refusal)answer->refusal : REFUSAL_DIALER_HELPER, "%.*s",
                        (int)strnlen(answer->detail, sizeof answer->detail), answer->detail);
}

void dial_hear(struct dialing *dialing, struct dial *d, const void *answer, size_t size, uint64_t now_ns) {
        if (!answer)
                d->helper = -1;
        if ((d->state == DIAL_LOOKUP || d->state == DIAL_LOOKUP_UPSTREAM) && answer && size == sizeof(struct lookup_answer))
                hear_resolver(dialing, d, answer, now_ns);
        else if (d->state == DIAL_TLS && answer && size == sizeof(struct tls_answer))
                hear_tls(dialing, d, answer);
        else if (d->state != DIAL_ASK || answer) /* there, what it sent before its end is still to be read */
                refuse(dialing, d, REFUSAL_DIALER_HELPER, "%s", answer ? "an answer that is none" : "it ended");
}

uint64_t dial_wake(const struct dial *d) {
        if (d->state == DIAL_NONE || d->state == DIAL_DONE)
                return UINT64_MAX;
        return d->state == DIAL_CONNECT && d->connector.wake_ns < d->deadline_ns ? d->connector.wake_ns : d->deadline_ns;
}
