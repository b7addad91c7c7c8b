#define _GNU_SOURCE
#include "apply/namespaces.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/nsfs.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "plan/namespaces.h"

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x80 /* linux/sched.h; older C libraries lack it */
#endif

/* In the order they are joined: the user namespace first, because it gives the capabilities to join the others. */
static const uint64_t join_order[] = {
        CLONE_NEWUSER, CLONE_NEWNET, CLONE_NEWIPC, CLONE_NEWUTS, CLONE_NEWTIME, CLONE_NEWCGROUP, CLONE_NEWNS,
};

int namespaces_open(const struct plan_namespaces *namespaces, struct namespace_joins *ret, struct error *err) {
        struct namespace_joins joins = { 0 };

        for (size_t i = 0; i < namespaces->n_join; i++) {
                const struct plan_join_namespace *join = &namespaces->join[i];
                int fd = open(join->path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
                int type = fd < 0 ? -1 : ioctl(fd, NS_GET_NSTYPE);

                if (type < 0 || (uint64_t)type != join->flag) {
                        int failure = errno;
                        bool opened = fd >= 0;

                        close_fd(&fd);
                        namespaces_close(&joins);
                        if (!opened)
                                return fail_errno(err, CODE_CONFIG_INVALID, failure, join->path, "cannot open the %s namespace to join",
                                                  namespace_name(join->flag));
                        return fail(err, CODE_CONFIG_INVALID, EINVAL, join->path, "expected a %s namespace, found %s", namespace_name(join->flag),
                                    type < 0 ? "something else" : namespace_name((uint64_t)type));
                }
                joins.items[joins.n].flag = join->flag;
                joins.items[joins.n].fd = fd;
                joins.n++;
        }
        *ret = joins;
        return 0;
}

/* Is FD the namespace of kind FLAG that this process is in? Two descriptors of one namespace have one inode (namespaces(7)). */
static bool is_own(int fd, uint64_t flag) {
        static const struct { uint64_t flag; const char *path; } own[] = {
                { CLONE_NEWNET, "/proc/self/ns/net" }, { CLONE_NEWIPC, "/proc/self/ns/ipc" }, { CLONE_NEWUTS, "/proc/self/ns/uts" },
                { CLONE_NEWUSER, "/proc/self/ns/user" },
        };
        struct stat joined, ours;

        for (size_t i = 0; i < sizeof own / sizeof *own; i++)
                if (own[i].flag == flag)
                        return fstat(fd, &joined) < 0 || stat(own[i].path, &ours) < 0 ||
                               (joined.st_ino == ours.st_ino && joined.st_dev == ours.st_dev);
        return false;
}

static int check_devices(const struct namespace_joins *joins, struct error *err) {
        for (unsigned k = 0; k < joins->n; k++)
                if (joins->items[k].flag == CLONE_NEWNET && is_own(joins->items[k].fd, CLONE_NEWNET))
                        return fail(err, CODE_CONFIG_INVALID, EINVAL, "linux.netDevices", "the network namespace to join is our own: its devices are there already");
        return 0;
}

int namespaces_check_own(const struct plan_plan *plan, const struct namespace_joins *joins, struct error *err) {
        for (size_t i = 0; i < plan->n_sysctls; i++)
                for (unsigned k = 0; k < joins->n; k++)
                        if (joins->items[k].flag == plan->sysctls[i].namespace && is_own(joins->items[k].fd, joins->items[k].flag))
                                return fail(err, CODE_CONFIG_INVALID, EPERM, "linux.sysctl", "%s would be set on the host: the %s namespace to join is its own",
                                            plan->sysctls[i].key, namespace_name(joins->items[k].flag));
        return plan->n_net_devices ? check_devices(joins, err) : 0;
}

void namespaces_close(struct namespace_joins *joins) {
        for (unsigned i = 0; i < joins->n; i++)
                close_fd(&joins->items[i].fd);
        joins->n = 0;
}

uint64_t namespaces_of_clone(const struct plan_namespaces *namespaces) {
        return namespaces->create & (CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS);
}

int namespaces_enter_pid(const struct namespace_joins *joins, int *ret_own, struct error *err) {
        for (unsigned i = 0; i < joins->n; i++) {
                if (joins->items[i].flag != CLONE_NEWPID)
                        continue;
                *ret_own = open("/proc/self/ns/pid", O_RDONLY | O_CLOEXEC);
                if (*ret_own < 0 || setns(joins->items[i].fd, CLONE_NEWPID) < 0)
                        return fail_errno(err, CODE_LAUNCH_FAILED, errno, "linux.namespaces", "cannot join the pid namespace");
        }
        return 0;
}

int namespaces_leave_pid(int own, struct error *err) {
        if (own >= 0 && setns(own, CLONE_NEWPID) < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, "linux.namespaces", "cannot go back to our pid namespace");
        return 0;
}

int namespaces_enter(const struct plan_namespaces *namespaces, const struct namespace_joins *joins, struct error *err) {
        uint64_t make = namespaces->create & ~namespaces_of_clone(namespaces);

        for (size_t k = 0; k < sizeof join_order / sizeof *join_order; k++)
                for (unsigned i = 0; i < joins->n; i++)
                        if (joins->items[i].flag == join_order[k] && setns(joins->items[i].fd, (int)join_order[k]) < 0)
                                return fail_errno(err, CODE_LAUNCH_FAILED, errno, "linux.namespaces", "cannot join the %s namespace",
                                                  namespace_name(join_order[k]));
        if (make && unshare((int)make) < 0)
                return fail_errno(err, errno == ENOSPC ? CODE_RESOURCE_EXHAUSTED : CODE_LAUNCH_FAILED, errno, "linux.namespaces",
                                  "cannot make the namespaces");
        return 0;
}
