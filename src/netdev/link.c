#include "netdev/link.h"

#include <errno.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <stdio.h>

static struct nlmsghdr *begin(struct rtnl_request *request, unsigned type, unsigned flags, int index) {
        struct nlmsghdr *header = mnl_nlmsg_put_header(request->bytes);
        struct ifinfomsg *link;

        header->nlmsg_type = (uint16_t)type;
        header->nlmsg_flags = (uint16_t)flags;
        link = mnl_nlmsg_put_extra_header(header, sizeof *link);
        link->ifi_family = AF_UNSPEC;
        link->ifi_index = index;
        return header;
}

static int on_name(const struct nlattr *attribute, void *data) {
        struct link *link = data;

        if (mnl_attr_get_type(attribute) == IFLA_IFNAME && mnl_attr_validate(attribute, MNL_TYPE_NUL_STRING) >= 0)
                snprintf(link->name, sizeof link->name, "%s", mnl_attr_get_str(attribute));
        return MNL_CB_OK;
}

static int on_link(const struct nlmsghdr *answer, void *data) {
        const struct ifinfomsg *info = mnl_nlmsg_get_payload(answer);
        struct link *link = data;

        if (answer->nlmsg_type != RTM_NEWLINK || mnl_nlmsg_get_payload_len(answer) < sizeof *info)
                return MNL_CB_OK;
        link->index = info->ifi_index;
        link->up = info->ifi_flags & IFF_UP;
        return mnl_attr_parse(answer, sizeof *info, on_name, link);
}

int link_find(struct rtnl *rtnl, const char *name, struct link *ret) {
        struct rtnl_request request;
        struct nlmsghdr *header = begin(&request, RTM_GETLINK, 0, 0);
        struct link found = { 0 };
        int r;

        mnl_attr_put_strz(header, IFLA_IFNAME, name);
        r = rtnl_ask(rtnl, header, on_link, &found);
        if (r == 0)
                *ret = found;
        return r;
}

static int exists(struct rtnl *rtnl, int index) {
        struct rtnl_request request;
        int r = rtnl_ask(rtnl, begin(&request, RTM_GETLINK, 0, index), NULL, NULL);

        return r == 0 ? 1 : r == -ENODEV ? 0 : r;
}

static int on_index(const struct nlmsghdr *answer, void *data) {
        const struct ifinfomsg *info = mnl_nlmsg_get_payload(answer);
        int *highest = data;

        if (mnl_nlmsg_get_payload_len(answer) >= sizeof *info && info->ifi_index > *highest)
                *highest = info->ifi_index;
        return MNL_CB_OK;
}

/* A number that no device of this namespace has now. An interrupted list is as good as a whole one: whoever is quicker gets us -EBUSY. */
static int free_index(struct rtnl *rtnl, int wanted) {
        struct rtnl_request request;
        int highest = 0, r = exists(rtnl, wanted);

        if (r <= 0)
                return r < 0 ? r : wanted;
        r = rtnl_ask(rtnl, begin(&request, RTM_GETLINK, NLM_F_DUMP, 0), on_index, &highest);
        return r < 0 && r != -EINTR ? r : highest + 1;
}

static int send_move(struct rtnl *from, int network, int index, const char *name, int new_index) {
        struct rtnl_request request;
        struct nlmsghdr *header = begin(&request, RTM_NEWLINK, 0, index);

        mnl_attr_put_u32(header, IFLA_NET_NS_FD, (uint32_t)network);
        mnl_attr_put_strz(header, IFLA_IFNAME, name);
        mnl_attr_put_u32(header, IFLA_NEW_IFINDEX, (uint32_t)new_index);
        return rtnl_ask(from, header, NULL, NULL);
}

/* net/core/rtnetlink.c, do_setlink(): the kernel renames a device after it has moved it, and the move stays when that fails. */
static bool has_left(struct rtnl *from, int index) {
        struct rtnl same = *from; /* whose reason for the failure is still wanted */
        bool left = exists(&same, index) == 0;

        from->sequence = same.sequence;
        return left;
}

int link_move(struct rtnl *from, struct rtnl *to, int network, int index, const char *name, int *ret_index) {
        int r = -EBUSY, new_index = 0;

        *ret_index = 0;
        for (int tries = 0; r == -EBUSY && tries < 8; tries++) {
                new_index = free_index(to, index);
                r = new_index < 0 ? new_index : send_move(from, network, index, name, new_index);
        }
        if (r == 0 || has_left(from, index))
                *ret_index = new_index;
        return r;
}

int link_set_up(struct rtnl *rtnl, int index) {
        struct rtnl_request request;
        struct nlmsghdr *header = begin(&request, RTM_NEWLINK, 0, index);
        struct ifinfomsg *link = mnl_nlmsg_get_payload(header);

        link->ifi_flags = link->ifi_change = IFF_UP;
        return rtnl_ask(rtnl, header, NULL, NULL);
}
