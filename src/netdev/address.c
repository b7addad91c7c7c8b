#include "netdev/address.h"

#include <errno.h>
#include <linux/if_addr.h>
#include <linux/rtnetlink.h>

#ifndef IFA_PROTO
#define IFA_PROTO 11 /* linux/if_addr.h, since 5.18 */
#endif

/* What an administrator chose. The others (permanent, secondary, tentative …) are the kernel's to find out again. */
#define CHOSEN_FLAGS (IFA_F_NODAD | IFA_F_HOMEADDRESS | IFA_F_MANAGETEMPADDR | IFA_F_NOPREFIXROUTE | IFA_F_MCAUTOJOIN)

struct keeper {
        int index;
        struct str *out;
};

/* IFA_FLAGS has them all, the header only the first eight. */
static int on_flags(const struct nlattr *attribute, void *data) {
        if (mnl_attr_get_type(attribute) == IFA_FLAGS && mnl_attr_validate(attribute, MNL_TYPE_U32) >= 0)
                *(uint32_t *)data = mnl_attr_get_u32(attribute);
        return MNL_CB_OK;
}

static uint32_t flags_of(const struct nlmsghdr *message) {
        const struct ifaddrmsg *info = mnl_nlmsg_get_payload(message);
        uint32_t flags = info->ifa_flags;

        (void)mnl_attr_parse(message, sizeof *info, on_flags, &flags);
        return flags;
}

static int on_address(const struct nlmsghdr *answer, void *data) {
        const struct ifaddrmsg *info = mnl_nlmsg_get_payload(answer);
        struct keeper *keeper = data;

        if (answer->nlmsg_type != RTM_NEWADDR || mnl_nlmsg_get_payload_len(answer) < sizeof *info || (int)info->ifa_index != keeper->index)
                return MNL_CB_OK;
        if (info->ifa_scope == RT_SCOPE_UNIVERSE && flags_of(answer) & IFA_F_PERMANENT)
                str_add(keeper->out, (const char *)answer, MNL_ALIGN(answer->nlmsg_len));
        return MNL_CB_OK;
}

int addresses_save(struct rtnl *rtnl, int index, struct str *out) {
        const size_t before = out->size;
        struct keeper keeper = { index, out };
        int r = -EINTR;

        for (int tries = 0; r == -EINTR && tries < 16; tries++) {
                struct rtnl_request request;
                struct nlmsghdr *header = mnl_nlmsg_put_header(request.bytes);
                struct ifaddrmsg *info = mnl_nlmsg_put_extra_header(header, sizeof *info);

                out->size = before;
                info->ifa_family = AF_UNSPEC;
                header->nlmsg_type = RTM_GETADDR;
                header->nlmsg_flags = NLM_F_DUMP;
                r = rtnl_ask(rtnl, header, on_address, &keeper);
        }
        return r;
}

struct copy {
        struct nlmsghdr *request;
        bool renamed;
};

static int copy_attribute(const struct nlattr *attribute, void *data) {
        const struct copy *copy = data;

        switch (mnl_attr_get_type(attribute)) {
        case IFA_LABEL:
                if (copy->renamed)
                        return MNL_CB_OK;
                break;
        case IFA_ADDRESS:
        case IFA_LOCAL:
        case IFA_BROADCAST:
        case IFA_RT_PRIORITY:
        case IFA_PROTO:
                break;
        default:
                return MNL_CB_OK;
        }
        if (!mnl_attr_put_check(copy->request, sizeof(struct rtnl_request), mnl_attr_get_type(attribute),
                    mnl_attr_get_payload_len(attribute), mnl_attr_get_payload(attribute))) {
                errno = EMSGSIZE;
                return MNL_CB_ERROR;
        }
        return MNL_CB_OK;
}

static int restore_one(struct rtnl *rtnl, int index, bool renamed, const struct nlmsghdr *saved) {
        const struct ifa_cacheinfo unwanted = { .ifa_valid = UINT32_MAX }; /* for ever, for incoming connections: `preferred_lft 0` */
        struct rtnl_request request;
        struct copy copy = { mnl_nlmsg_put_header(request.bytes), renamed };
        struct ifaddrmsg *info = mnl_nlmsg_put_extra_header(copy.request, sizeof *info);

        *info = *(const struct ifaddrmsg *)mnl_nlmsg_get_payload(saved);
        info->ifa_flags = 0;
        info->ifa_index = (unsigned)index;
        copy.request->nlmsg_type = RTM_NEWADDR;
        copy.request->nlmsg_flags = NLM_F_CREATE | NLM_F_EXCL;
        mnl_attr_put_u32(copy.request, IFA_FLAGS, flags_of(saved) & CHOSEN_FLAGS);
        if (flags_of(saved) & IFA_F_DEPRECATED)
                mnl_attr_put(copy.request, IFA_CACHEINFO, sizeof unwanted, &unwanted);
        if (mnl_attr_parse(saved, sizeof *info, copy_attribute, &copy) < 0)
                return -errno;
        return rtnl_ask(rtnl, copy.request, NULL, NULL);
}

int addresses_restore(struct rtnl *rtnl, int index, bool renamed, const struct str *saved) {
        for (size_t at = 0; at < saved->size;) {
                const struct nlmsghdr *message = (const void *)(saved->text + at);
                int r = restore_one(rtnl, index, renamed, message);

                if (r < 0)
                        return r;
                at += MNL_ALIGN(message->nlmsg_len);
        }
        return 0;
}
