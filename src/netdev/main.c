/* sage-netdev NAME INSIDE [NAME INSIDE]...: moves network devices into a container, all of them or none.
 *
 * NAME is the device's name in this network namespace, INSIDE what it is called in the container's ("" for the same; with a "%d" the kernel
 * puts a number there). Descriptor 0 is the container's network namespace. Success is silence and status 0; a failure is one
 * struct error on descriptor 1. Started by the runtime (apply/net_devices.c), which has checked the names; with CAP_NET_ADMIN and
 * CAP_SYS_ADMIN, of which the second goes as soon as both sockets are open. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "netdev/address.h"
#include "netdev/link.h"

struct device {
        const char *name, *inside;
        struct link link; /* as it is on the host */
        struct str addresses;
        int index; /* in the container, once it is there; 0: it is not */
};

/* The two ends of a move. */
struct side {
        struct rtnl rtnl;
        int network; /* descriptor of its network namespace */
};

struct sides {
        struct side host, container;
};

static const char *where(const struct device *device, char buffer[64]) {
        snprintf(buffer, 64, "linux.netDevices[\"%s\"]", device->name);
        return buffer;
}

/* The kernel's own words say more than the number does, where it has any. */
static int failed(struct error *err, const struct device *device, int r, const struct rtnl *rtnl, const char *what) {
        char field[64];

        if (rtnl->reason[0])
                return fail(err, CODE_LAUNCH_FAILED, -r, where(device, field), "%s: %s (%s)", what, strerror(-r), rtnl->reason);
        return fail_errno(err, CODE_LAUNCH_FAILED, -r, where(device, field), "%s", what);
}

static int open_sides(struct sides *sides, struct error *err) {
        int r;

        sides->container.network = STDIN_FILENO;
        sides->host.network = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
        if (sides->host.network < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, "/proc/self/ns/net", "cannot open the network namespace");
        if ((r = rtnl_open(&sides->host.rtnl, err)) < 0)
                return r;
        if (setns(sides->container.network, CLONE_NEWNET) < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, "linux.netDevices", "cannot enter the container's network namespace");
        return rtnl_open(&sides->container.rtnl, err);
}

/* Both ends are open, and each request is judged by what its sender may do now (net/netlink/af_netlink.c, netlink_ns_capable()). */
static int keep_only_net_admin(struct error *err) {
        struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
        const uint32_t kept = 1u << CAP_NET_ADMIN;
        struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = { { .effective = kept, .permitted = kept } };

        if (syscall(SYS_capset, &header, sets) < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, "linux.netDevices", "cannot drop capabilities");
        return 0;
}

/* What can be known before anything moves: the device is there, it is asked for once, and its name is free inside. */
static int check(struct sides *sides, struct device *devices, size_t n, struct error *err) {
        struct device *device = &devices[n];
        const char *inside;
        struct link other;
        char field[64];
        int r = link_find(&sides->host.rtnl, device->name, &device->link);

        if (r == -ENODEV)
                return fail(err, CODE_CONFIG_INVALID, ENODEV, where(device, field), "there is no such network device on the host");
        if (r < 0)
                return failed(err, device, r, &sides->host.rtnl, "cannot find the device");
        for (size_t i = 0; i < n; i++)
                if (devices[i].link.index == device->link.index)
                        return fail(err, CODE_CONFIG_INVALID, EINVAL, where(device, field), "is the same device as %s", devices[i].name);
        inside = *device->inside ? device->inside : device->link.name;
        r = strchr(inside, '%') ? -ENODEV : link_find(&sides->container.rtnl, inside, &other);
        if (r == 0)
                return fail(err, CODE_CONFIG_INVALID, EEXIST, where(device, field),
                        "the container's network namespace has a device called %s already; a name with %%d gets a free number", inside);
        if (r != -ENODEV)
                return failed(err, device, r, &sides->container.rtnl, "cannot look for a device of its name in the container");
        return 0;
}

static int move(struct sides *sides, struct device *device, struct error *err) {
        const char *inside = *device->inside ? device->inside : device->link.name;
        int r;

        if ((r = addresses_save(&sides->host.rtnl, device->link.index, &device->addresses)) < 0)
                return failed(err, device, r, &sides->host.rtnl, "cannot list its addresses");
        r = link_move(&sides->host.rtnl, &sides->container.rtnl, sides->container.network, device->link.index, inside, &device->index);
        if (r < 0)
                return failed(err, device, r, &sides->host.rtnl, "cannot move the device into the container");
        if ((r = addresses_restore(&sides->container.rtnl, device->index, !streq(inside, device->link.name), &device->addresses)) < 0)
                return failed(err, device, r, &sides->container.rtnl, "cannot give the device its addresses in the container");
        if ((r = link_set_up(&sides->container.rtnl, device->index)) < 0)
                return failed(err, device, r, &sides->container.rtnl, "cannot set the device up in the container");
        return 0;
}

/* Back to the host, as it was there. Otherwise a virtual device would end with the namespace of a container that never was. */
static int give_back(struct sides *sides, const struct device *device) {
        int index, r;

        r = link_move(&sides->container.rtnl, &sides->host.rtnl, sides->host.network, device->index, device->link.name, &index);
        if (index == 0)
                return r;
        if (r == 0)
                r = addresses_restore(&sides->host.rtnl, index, false, &device->addresses);
        if (device->link.up && r == 0)
                r = link_set_up(&sides->host.rtnl, index);
        return r;
}

static void undo(struct sides *sides, const struct device *devices, size_t n, struct error *err) {
        while (n-- > 0)
                if (devices[n].index != 0 && give_back(sides, &devices[n]) < 0) {
                        char lost[64];

                        snprintf(lost, sizeof lost, "%s did not come back as it was", devices[n].name);
                        fail_within(err, 0, lost);
                        err->effect = EFFECT_APPLIED;
                }
}

static void close_sides(struct sides *sides) {
        rtnl_close(&sides->host.rtnl);
        rtnl_close(&sides->container.rtnl);
        close_fd(&sides->host.network);
}

static int move_all(struct device *devices, size_t n, struct error *err) {
        __attribute__((cleanup(close_sides))) struct sides sides = { .host.network = -1 };
        int r;

        if ((r = open_sides(&sides, err)) < 0 || (r = keep_only_net_admin(err)) < 0)
                return r;
        for (size_t i = 0; i < n; i++)
                if ((r = check(&sides, devices, i, err)) < 0)
                        return r;
        for (size_t i = 0; i < n; i++)
                if ((r = move(&sides, &devices[i], err)) < 0) {
                        undo(&sides, devices, i + 1, err);
                        return r;
                }
        return 0;
}

int main(int argc, char **argv) {
        const size_t n = argc > 2 ? (size_t)(argc - 1) / 2 : 0;
        struct device *devices = calloc(n + 1, sizeof *devices);
        struct error err = { 0 };
        int r;

        if (!devices || n == 0 || argc % 2 == 0) {
                free(devices);
                return 2;
        }
        for (size_t i = 0; i < n; i++)
                devices[i] = (struct device){ .name = argv[1 + 2 * i], .inside = argv[2 + 2 * i] };
        r = move_all(devices, n, &err);
        if (r < 0)
                (void)!write(STDOUT_FILENO, &err, sizeof err);
        for (size_t i = 0; i < n; i++)
                str_free(&devices[i].addresses);
        free(devices);
        return r < 0;
}
