#include "netdev/rtnl.h"

#include <errno.h>
#include <linux/netlink.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

int rtnl_open(struct rtnl *ret, struct error *err) {
        struct rtnl rtnl = { .socket = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC), .sequence = 0 };
        int yes = 1;

        if (!rtnl.socket || mnl_socket_bind(rtnl.socket, 0, MNL_SOCKET_AUTOPID) < 0) {
                fail_errno(err, CODE_LAUNCH_FAILED, errno, "linux.netDevices", "cannot open a netlink socket");
                rtnl_close(&rtnl);
                return -(err->errnum);
        }
        /* Only for better messages, so a failure is none. */
        (void)mnl_socket_setsockopt(rtnl.socket, NETLINK_EXT_ACK, &yes, sizeof yes);
        *ret = rtnl;
        return 0;
}

void rtnl_close(struct rtnl *rtnl) {
        if (rtnl->socket)
                mnl_socket_close(rtnl->socket);
        rtnl->socket = NULL;
}

struct answers {
        struct rtnl *rtnl;
        int (*each)(const struct nlmsghdr *, void *);
        void *data;
};

static int on_answer(const struct nlmsghdr *answer, void *data) {
        const struct answers *answers = data;

        return answers->each ? answers->each(answer, answers->data) : MNL_CB_OK;
}

static int on_reason(const struct nlattr *attribute, void *data) {
        struct rtnl *rtnl = data;

        if (mnl_attr_get_type(attribute) == NLMSGERR_ATTR_MSG && mnl_attr_validate(attribute, MNL_TYPE_NUL_STRING) >= 0)
                snprintf(rtnl->reason, sizeof rtnl->reason, "%s", mnl_attr_get_str(attribute));
        return MNL_CB_OK;
}

/* netlink(7), NLMSG_ERROR: the end of a request, 0 or a negative errno, then the request's header, the request itself unless capped, and
 * attributes (linux/netlink.h, NLM_F_CAPPED and NLM_F_ACK_TLVS). */
static int on_end(const struct nlmsghdr *message, void *data) {
        struct rtnl *rtnl = ((struct answers *)data)->rtnl;
        const struct nlmsgerr *end = mnl_nlmsg_get_payload(message);
        size_t attributes = sizeof *end;

        if (mnl_nlmsg_get_payload_len(message) < sizeof *end) {
                errno = EBADMSG;
                return MNL_CB_ERROR;
        }
        if (!(message->nlmsg_flags & NLM_F_CAPPED))
                attributes += mnl_nlmsg_get_payload_len(&end->msg);
        if (message->nlmsg_flags & NLM_F_ACK_TLVS && attributes < mnl_nlmsg_get_payload_len(message))
                (void)mnl_attr_parse(message, (unsigned)attributes, on_reason, rtnl);
        if (end->error == 0)
                return MNL_CB_STOP;
        errno = -end->error;
        return MNL_CB_ERROR;
}

int rtnl_ask(struct rtnl *rtnl, struct nlmsghdr *request, int (*each)(const struct nlmsghdr *, void *), void *data) {
        static mnl_cb_t ends[NLMSG_ERROR + 1] = { [NLMSG_ERROR] = on_end };
        static _Alignas(struct nlmsghdr) char buffer[32768]; /* as much as the kernel puts into one message of a list */
        struct answers answers = { rtnl, each, data };
        const unsigned port = mnl_socket_get_portid(rtnl->socket);
        int r = MNL_CB_OK;

        rtnl->reason[0] = '\0';
        request->nlmsg_seq = ++rtnl->sequence;
        request->nlmsg_flags |= NLM_F_REQUEST | NLM_F_ACK;
        if (mnl_socket_sendto(rtnl->socket, request, request->nlmsg_len) < 0)
                return -errno;
        while (r > MNL_CB_STOP) {
                ssize_t n = mnl_socket_recvfrom(rtnl->socket, buffer, sizeof buffer);

                if (n < 0 && errno == EINTR)
                        continue;
                if (n < 0)
                        return -errno;
                r = mnl_cb_run2(buffer, (size_t)n, rtnl->sequence, port, on_answer, &answers, ends, sizeof ends / sizeof *ends);
        }
        return r < 0 ? -errno : 0;
}
