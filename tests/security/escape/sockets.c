/* Sockets: every family with every type and protocol, the pairs, and what is done with sockets. */
#define _GNU_SOURCE
#include "attempt.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <net/if.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

static const unsigned types[] = { SOCK_STREAM, SOCK_DGRAM, SOCK_RAW, SOCK_RDM, SOCK_SEQPACKET, SOCK_DCCP, SOCK_PACKET };
static const unsigned protocols[] = { 0, IPPROTO_ICMP, IPPROTO_TCP, IPPROTO_UDP, IPPROTO_ICMPV6, IPPROTO_SCTP, IPPROTO_UDPLITE, IPPROTO_RAW,
        IPPROTO_MPTCP };
static const struct sockaddr_un abstract = { AF_UNIX, "\0escape" };
static const struct sockaddr_in somewhere = { .sin_family = AF_INET, .sin_port = 0x901f, .sin_addr = { 0x0100007f } };
static const socklen_t abstract_size = sizeof(sa_family_t) + sizeof "\0escape" - 1;
static int sock = -1;

static bool internet(unsigned long family, unsigned type, unsigned protocol) {
        return (family == AF_INET || family == AF_INET6) &&
                ((type == SOCK_STREAM && (protocol == 0 || protocol == IPPROTO_TCP)) ||
                        (type == SOCK_DGRAM && (protocol == 0 || protocol == IPPROTO_UDP)));
}

/* All but TCP and UDP of the family ARGS[0]: success when one is made, else the last error that is not the filter's. A family that the
 * kernel has not is asked for once only: each time it looks for a module. */
static long all_of_a_family(const struct attempt *a) {
        int last = EPERM;

        for (size_t i = 0; i < ELEMENTSOF(types); i++)
                for (size_t j = 0; j < ELEMENTSOF(protocols) && last != EAFNOSUPPORT; j++) {
                        if (internet(a->args[0], types[i], protocols[j]))
                                continue;
                        if (syscall(SYS_socket, a->args[0], types[i] | SOCK_CLOEXEC, protocols[j]) >= 0)
                                return 0;
                        last = errno == EPERM ? last : errno;
                }
        errno = last;
        return -1;
}

static long loopback_up(void) {
        struct ifreq lo = { .ifr_name = "lo", .ifr_flags = IFF_UP };

        sock = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        return ioctl(sock, SIOCSIFFLAGS, &lo);
}

static long listening(void) {
        return loopback_up() | listen(sock, 1);
}

/* Somebody else's socket, which a sandbox must not reach. */
static long be_a_host(void) {
        int host = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

        return host < 0 ? -1 : bind(host, (const struct sockaddr *)&abstract, abstract_size);
}

static long be_a_listening_host(void) {
        static const int both[] = { SOCK_STREAM, SOCK_SEQPACKET };

        for (size_t i = 0; i < ELEMENTSOF(both); i++) {
                int host = socket(AF_UNIX, both[i] | SOCK_CLOEXEC, 0);

                if (host < 0 || bind(host, (const struct sockaddr *)&abstract, abstract_size) < 0 || listen(host, 1) < 0)
                        return -1;
        }
        return 0;
}

/* By a pair of type ARGS[1]. */
static long send_through_a_pair(const struct attempt *a) {
        int pair[2];

        if (syscall(SYS_socketpair, AF_UNIX, a->args[1], 0, pair) < 0)
                return -1;
        return sendto(pair[0], "x", 1, 0, (const struct sockaddr *)&abstract, abstract_size);
}

/* A pair of type ARGS[1] is connected once and for all, also when the other end is gone. */
static long connect_a_pair(const struct attempt *a) {
        int pair[2];

        if (syscall(SYS_socketpair, AF_UNIX, a->args[1], 0, pair) < 0)
                return -1;
        if (a->args[2])
                close(pair[1]);
        if (a->args[2] > 1)
                shutdown(pair[0], SHUT_RDWR);
        return connect(pair[0], (const struct sockaddr *)&abstract, abstract_size);
}

static long with_socket(const struct attempt *a) {
        return syscall(a->number, sock, a->args[1], a->args[2], a->args[3], a->args[4], a->args[5]);
}

static long pair(const struct attempt *a) {
        int made[2];

        return syscall(SYS_socketpair, a->args[0], a->args[1], a->args[2], made);
}

#define FAMILY(family, ...) \
        { #family, all_of_a_family, .args = { (family) }, .refused = SOCKETS, ##__VA_ARGS__ }
/* Where the kernel has it and lets root have one; else its error proves the same, as it is not the filter's. */
#define RARE_FAMILY(family) FAMILY(family, .or = EAFNOSUPPORT)
#define ODD_FAMILY(family, errnum) FAMILY(family, .without = (errnum), .or = EAFNOSUPPORT)

#define SOCKET(text, family, type, protocol, ...) \
        { text, CALL(SYS_socket, (family), (type), (protocol)), .refused = SOCKETS, ##__VA_ARGS__ }
#define INTERNET(text, family, type, protocol) \
        { text, CALL(SYS_socket, (family), (type), (protocol)), .refused = OFFLINE, .anybody = true }
#define PAIR(text, family, type) \
        { text, pair, .args = { (family), (type), 0 }, .refused = SOCKETS }
#define GOOD_PAIR(text, type) \
        { text, pair, .args = { AF_UNIX, (type), 0 }, .anybody = true }

static const struct attempt rows[] = {
        INTERNET("socket(AF_INET, SOCK_STREAM, 0)", AF_INET, SOCK_STREAM, 0),
        INTERNET(
                "socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, TCP)", AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 6),
        INTERNET("socket(AF_INET, SOCK_DGRAM, UDP)", AF_INET, SOCK_DGRAM, IPPROTO_UDP),
        { "socket(AF_INET6, SOCK_STREAM, TCP)", CALL(SYS_socket, AF_INET6, SOCK_STREAM, 6), .refused = OFFLINE, .or = EAFNOSUPPORT },
        { "socket(AF_INET6, SOCK_DGRAM, 0)", CALL(SYS_socket, AF_INET6, SOCK_DGRAM, 0), .refused = OFFLINE, .or = EAFNOSUPPORT },
        SOCKET("socket(AF_UNIX, SOCK_STREAM)", AF_UNIX, SOCK_STREAM, 0),
        SOCKET("socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC)", AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0),
        SOCKET("socket(AF_UNIX), with a bit above the family", HIGH | AF_UNIX, SOCK_STREAM, 0),
        SOCKET("socket(AF_INET, SOCK_RAW), with a bit above the type", AF_INET, HIGH | SOCK_RAW, IPPROTO_ICMP),
        SOCKET("socket(AF_INET, SOCK_STREAM, MPTCP)", AF_INET, SOCK_STREAM, IPPROTO_MPTCP, .or = EPROTONOSUPPORT),
        SOCKET("socket(AF_INET, SOCK_STREAM, MPTCP), with a bit above", AF_INET, SOCK_STREAM, HIGH | IPPROTO_MPTCP, .or = EPROTONOSUPPORT),
        SOCKET("socket(AF_INET, SOCK_DGRAM, UDPLITE)", AF_INET, SOCK_DGRAM, IPPROTO_UDPLITE, .or = EPROTONOSUPPORT),
        SOCKET("socket(AF_INET, SOCK_DGRAM, ICMP)", AF_INET, SOCK_DGRAM, IPPROTO_ICMP, .or = EACCES),
        SOCKET("socket(AF_INET, SOCK_STREAM, UDP)", AF_INET, SOCK_STREAM, IPPROTO_UDP, .without = EPROTONOSUPPORT),
        FAMILY(AF_UNSPEC, .without = EAFNOSUPPORT),
        FAMILY(AF_UNIX),
        FAMILY(AF_INET),
        RARE_FAMILY(AF_AX25),
        RARE_FAMILY(AF_IPX),
        RARE_FAMILY(AF_APPLETALK),
        RARE_FAMILY(AF_NETROM),
        RARE_FAMILY(AF_BRIDGE),
        RARE_FAMILY(AF_ATMPVC),
        RARE_FAMILY(AF_X25),
        RARE_FAMILY(AF_INET6),
        RARE_FAMILY(AF_ROSE),
        RARE_FAMILY(AF_DECnet),
        RARE_FAMILY(AF_NETBEUI),
        RARE_FAMILY(AF_SECURITY),
        RARE_FAMILY(AF_KEY),
        FAMILY(AF_NETLINK),
        RARE_FAMILY(AF_PACKET),
        RARE_FAMILY(AF_ASH),
        RARE_FAMILY(AF_ECONET),
        RARE_FAMILY(AF_ATMSVC),
        RARE_FAMILY(AF_RDS),
        RARE_FAMILY(AF_SNA),
        RARE_FAMILY(AF_IRDA),
        RARE_FAMILY(AF_PPPOX),
        RARE_FAMILY(AF_WANPIPE),
        RARE_FAMILY(AF_LLC),
        RARE_FAMILY(AF_IB),
        RARE_FAMILY(AF_MPLS),
        RARE_FAMILY(AF_CAN),
        RARE_FAMILY(AF_TIPC),
        RARE_FAMILY(AF_BLUETOOTH),
        RARE_FAMILY(AF_IUCV),
        RARE_FAMILY(AF_RXRPC),
        RARE_FAMILY(AF_ISDN),
        RARE_FAMILY(AF_PHONET),
        RARE_FAMILY(AF_IEEE802154),
        RARE_FAMILY(AF_CAIF),
        RARE_FAMILY(AF_ALG),
        RARE_FAMILY(AF_NFC),
        RARE_FAMILY(AF_VSOCK),
        RARE_FAMILY(AF_KCM),
        RARE_FAMILY(AF_QIPCRTR),
        RARE_FAMILY(AF_SMC),
        RARE_FAMILY(AF_XDP),
        ODD_FAMILY(45, EAFNOSUPPORT),
        ODD_FAMILY(46, EAFNOSUPPORT),
        ODD_FAMILY(1000, EAFNOSUPPORT),

        GOOD_PAIR("socketpair(SOCK_STREAM)", SOCK_STREAM),
        GOOD_PAIR("socketpair(SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK)", SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK),
        GOOD_PAIR("socketpair(SOCK_SEQPACKET)", SOCK_SEQPACKET),
        PAIR("socketpair(SOCK_DGRAM)", AF_UNIX, SOCK_DGRAM),
        PAIR("socketpair(SOCK_DGRAM | SOCK_NONBLOCK)", AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK),
        PAIR("socketpair(SOCK_RAW), which makes datagram sockets", AF_UNIX, SOCK_RAW),
        PAIR("socketpair(SOCK_DGRAM), with a bit above the type", AF_UNIX, HIGH | SOCK_DGRAM),
        { "socketpair(AF_INET)", pair, .args = { AF_INET, SOCK_STREAM, 0 }, .refused = SOCKETS, .without = EOPNOTSUPP },
        { "socketpair(AF_TIPC)", pair, .args = { AF_TIPC, SOCK_STREAM, 0 }, .refused = SOCKETS, .or = EAFNOSUPPORT },
        { "a datagram pair that sends to a host's socket", send_through_a_pair, be_a_host, .args = { 0, SOCK_DGRAM }, .refused = SOCKETS },
        { "a raw pair that sends to a host's socket", send_through_a_pair, be_a_host, .args = { 0, SOCK_RAW }, .refused = SOCKETS },
        { "a stream pair that connects to a host's socket", connect_a_pair, be_a_listening_host, .args = { 0, SOCK_STREAM, 0 },
                .refused = OFFLINE, .without = EISCONN },
        { "a stream pair that has lost its other end and connects to a host's socket", connect_a_pair, be_a_listening_host,
                .args = { 0, SOCK_STREAM, 1 }, .refused = OFFLINE, .without = EISCONN },
        { "a stream pair that is shut down and connects to a host's socket", connect_a_pair, be_a_listening_host,
                .args = { 0, SOCK_STREAM, 2 }, .refused = OFFLINE, .without = EISCONN },
        { "a packet pair that is shut down and connects to a host's socket", connect_a_pair, be_a_listening_host,
                .args = { 0, SOCK_SEQPACKET, 2 }, .refused = OFFLINE, .without = EISCONN },

        { "connect", with_socket, loopback_up, .number = SYS_connect, .args = { 0, POINTER(&somewhere), sizeof somewhere },
                .refused = OFFLINE, .without = EINPROGRESS, .or = ECONNREFUSED },
        { "bind", with_socket, loopback_up, .number = SYS_bind, .args = { 0, POINTER(&somewhere), sizeof somewhere }, .refused = SOCKETS },
        { "listen", with_socket, loopback_up, .number = SYS_listen, .args = { 0, 1 }, .refused = SOCKETS },
        { "accept", with_socket, listening, .number = SYS_accept, .refused = SOCKETS, .without = EAGAIN },
        { "accept4", with_socket, listening, .number = SYS_accept4, .refused = SOCKETS, .without = EAGAIN },
        { "setsockopt(TCP_ULP)", with_socket, loopback_up, .number = SYS_setsockopt,
                .args = { 0, IPPROTO_TCP, TCP_ULP, POINTER("none"), 4 }, .refused = SOCKETS, .without = ENOENT },
        { "setsockopt(TCP_ULP), with bits above", with_socket, loopback_up, .number = SYS_setsockopt,
                .args = { 0, HIGH | IPPROTO_TCP, HIGH | TCP_ULP, POINTER("none"), 4 }, .refused = SOCKETS, .without = ENOENT },
        { "setsockopt(TCP_NODELAY)", with_socket, loopback_up, .number = SYS_setsockopt,
                .args = { 0, IPPROTO_TCP, TCP_NODELAY, POINTER(&(int){ 1 }), 4 } },
};

const struct attempts attempts_on_sockets = { "sockets", rows, ELEMENTSOF(rows) };
