#define _GNU_SOURCE
#include "broker/route.h"

#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>
#include <unistd.h>

int route_open(int *ret_socket) {
        int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);

        if (fd < 0)
                return -errno;
        *ret_socket = fd;
        return 0;
}

/* rtnetlink(7), RTM_GETROUTE of one destination: the kernel looks the route up as connect(2) would. */
static int ask(int socket, const struct address *a, uint32_t sequence) {
        size_t n = a->v6 ? 16 : 4;
        struct {
                struct nlmsghdr header;
                struct rtmsg route;
                struct rtattr attribute;
                uint8_t bytes[16];
        } message = {
                .header = {
                        .nlmsg_len = (uint32_t)(offsetof(__typeof__(message), bytes) + n),
                        .nlmsg_type = RTM_GETROUTE,
                        .nlmsg_flags = NLM_F_REQUEST,
                        .nlmsg_seq = sequence,
                },
                .route = { .rtm_family = a->v6 ? AF_INET6 : AF_INET, .rtm_dst_len = (unsigned char)(n * 8) },
                .attribute = { .rta_len = (unsigned short)RTA_LENGTH(n), .rta_type = RTA_DST },
        };

        memcpy(message.bytes, a->bytes, n);
        return send(socket, &message, message.header.nlmsg_len, 0) < 0 ? -errno : 0;
}

static int hear(int socket, uint32_t sequence, bool *ret_own) {
        union {
                struct nlmsghdr header;
                char bytes[8192];
        } answer;
        const struct rtmsg *route = NLMSG_DATA(&answer.header);
        ssize_t n;

        do {
                n = recv(socket, &answer, sizeof answer, 0);
                if (n < 0 && errno != EINTR)
                        return -errno;
        } while (n < 0 || (n >= (ssize_t)sizeof answer.header && answer.header.nlmsg_seq != sequence));

        if (n >= (ssize_t)NLMSG_LENGTH(sizeof(struct nlmsgerr)) && answer.header.nlmsg_type == NLMSG_ERROR)
                *ret_own = false; /* ENETUNREACH, EHOSTUNREACH, EACCES of a prohibited route: connect(2) will say the same */
        else if (n >= (ssize_t)NLMSG_LENGTH(sizeof *route) && answer.header.nlmsg_type == RTM_NEWROUTE)
                *ret_own = route->rtm_type != RTN_UNICAST;
        else
                return -EPROTO;
        return 0;
}

static int is_own(int socket, const struct address *a, bool *ret_own) {
        static uint32_t sequence;
        int r = ask(socket, a, ++sequence);

        return r < 0 ? r : hear(socket, sequence, ret_own);
}

int route_own(int socket, const struct policy *policy, const struct addresses *addresses, uint32_t *ret_own) {
        const struct address_host host = { .nat64 = policy->nat64, .n_nat64 = policy->n_nat64 };
        uint32_t bits = 0;

        for (size_t i = 0; i < addresses->n; i++) {
                struct address_class class = address_classify(&addresses->list[i], &host);
                bool own = false;
                int r = is_own(socket, &addresses->list[i], &own);

                if (r == 0 && !own && class.has_embedded && class.verdict == ADDRESS_GLOBAL)
                        r = is_own(socket, &class.embedded, &own);
                if (r < 0)
                        return r;
                bits |= (uint32_t)own << i;
        }
        *ret_own = bits;
        return 0;
}
