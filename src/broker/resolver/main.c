/* sage-egress-resolver: looks names up as every program on this host does (NSS, /etc/hosts, DNS), for the dialer (helper.h). It reads what
 * strangers' name servers send, so it is a process of its own that holds nothing and can be killed at any time. */
#define _GNU_SOURCE
#include "base/str.h"
#include "broker/helper.h"
#include "broker/helper_lockdown.h"

#include <netdb.h>
#include <netinet/in.h>
#include <resolv.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* getaddrinfo(3). A name server that does not answer and one that answers SERVFAIL are both EAI_AGAIN, and only the time it took tells them
 * apart: as long as the resolver waits for one answer (resolv.conf(5), timeout). */
static enum refusal refusal_of(int error, uint64_t ms) {
        switch (error) {
        case 0:
                return REFUSAL_NONE;
        case EAI_NONAME:
                return REFUSAL_DNS_NXDOMAIN;
        case EAI_NODATA:
        case EAI_ADDRFAMILY:
                return REFUSAL_DNS_NO_ADDRESS;
        case EAI_AGAIN:
                return ms >= (uint64_t)_res.retrans * 1000 ? REFUSAL_DNS_TIMEOUT : REFUSAL_DNS_FAILED;
        default:
                return REFUSAL_DNS_FAILED;
        }
}

/* An IPv4-mapped address becomes IPv4 first, so that neither is listed twice. */
static void add(struct lookup_answer *answer, bool v6, const void *bytes) {
        struct address a = address_from_bytes(v6, bytes);

        for (size_t i = 0; i < answer->n; i++)
                if (answer->addresses[i].v6 == a.v6 && memcmp(answer->addresses[i].bytes, a.bytes, 16) == 0)
                        return;
        if (answer->n == VET_ADDRESSES_MAX) {
                *answer = (struct lookup_answer){ .refusal = REFUSAL_DNS_LIMIT };
                return;
        }
        answer->addresses[answer->n].v6 = a.v6;
        memcpy(answer->addresses[answer->n++].bytes, a.bytes, 16);
}

static uint64_t now_ms(void) {
        struct timespec t;

        clock_gettime(CLOCK_MONOTONIC, &t);
        return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static struct lookup_answer look_up(const char *name) {
        const struct addrinfo hints = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM };
        struct lookup_answer answer = { 0 };
        struct addrinfo *list = NULL;
        uint64_t started;
        int r;

        /* A changed resolv.conf is read again, but here and not while we look up: what is set behind it would be lost. Search domains are for
         * people at a keyboard: with them, a name that does not exist becomes another one. A trailing dot would switch them off too, and
         * /etc/hosts with them. */
        res_init();
        _res.options = (_res.options & ~(unsigned long)(RES_DNSRCH | RES_DEFNAMES)) | RES_NORELOAD;

        started = now_ms();
        r = getaddrinfo(name, NULL, &hints, &list);
        answer.refusal = refusal_of(r, now_ms() - started);
        for (struct addrinfo *i = list; i && !answer.refusal; i = i->ai_next) {
                if (i->ai_family == AF_INET)
                        add(&answer, false, &((struct sockaddr_in *)i->ai_addr)->sin_addr);
                else if (i->ai_family == AF_INET6)
                        add(&answer, true, &((struct sockaddr_in6 *)i->ai_addr)->sin6_addr);
        }
        if (list)
                freeaddrinfo(list);
        if (!answer.refusal && answer.n == 0)
                answer.refusal = REFUSAL_DNS_NO_ADDRESS;
        return answer;
}

int main(void) {
        struct lookup_question question;
        struct lookup_answer answer;
        struct error err;
        ssize_t n;

        prctl(PR_SET_NAME, "egress-resolver");
        if (lockdown_resolver(&err) < 0) {
                fprintf(stderr, "sage-egress-resolver: %s: %s\n", err.where, err.text);
                return 1;
        }
        for (;;) {
                n = recv(STDIN_FILENO, &question, sizeof question, 0);
                if (n <= 0)
                        return n < 0;
                if (n != sizeof question || question.name[HOST_MAX] != '\0')
                        return 1;
                answer = look_up(question.name);
                if (send(STDIN_FILENO, &answer, sizeof answer, MSG_NOSIGNAL) != sizeof answer)
                        return 1;
        }
}
