#define _GNU_SOURCE
#include "apply/namespaces.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/nsfs.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include "apply/mount_namespace.h"
#include "base/fd.h"
#include "base/file.h"
#include "plan/namespaces.h"

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x80 /* linux/sched.h; older C libraries lack it */
#endif

static const uint64_t join_order[] = { CLONE_NEWNET, CLONE_NEWIPC, CLONE_NEWUTS, CLONE_NEWTIME, CLONE_NEWCGROUP };

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
        int r;

        for (unsigned k = 0; k < joins->n; k++)
                if (joins->items[k].flag == CLONE_NEWNS && (r = mount_namespace_check(joins->items[k].fd, err)) < 0)
                        return r;
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

bool namespaces_joins(const struct plan_namespaces *namespaces, uint64_t flag) {
        for (size_t i = 0; i < namespaces->n_join; i++)
                if (namespaces->join[i].flag == flag)
                        return true;
        return false;
}

bool namespaces_has(const struct plan_namespaces *namespaces, uint64_t flag) {
        return namespaces->create & flag || namespaces_joins(namespaces, flag);
}

uint64_t namespaces_of_clone(const struct plan_namespaces *namespaces) {
        uint64_t made = CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS | (namespaces->time_offsets ? 0 : CLONE_NEWTIME);

        return (namespaces->create & made) | (namespaces_joins(namespaces, CLONE_NEWNS) ? CLONE_NEWNS : 0);
}

static int fail_join(struct error *err, uint64_t flag) {
        return fail_errno(err, CODE_LAUNCH_FAILED, errno, "linux.namespaces", "cannot join the %s namespace", namespace_name(flag));
}

/* 0 also where there is none of that kind (any more). -EPERM, ERR untouched: not with the rights we have now. */
static int join_one(struct namespace_joins *joins, uint64_t flag, struct error *err) {
        for (unsigned i = 0; i < joins->n; i++) {
                if (joins->items[i].flag != flag || joins->items[i].fd < 0)
                        continue;
                if (setns(joins->items[i].fd, (int)flag) < 0)
                        return errno == EPERM ? -EPERM : fail_join(err, flag);
                close_fd(&joins->items[i].fd);
        }
        return 0;
}

/* setns(2) refuses the one where we are already, which is what an engine that runs in a user namespace itself may name (podman). */
static void drop_own_userns(struct namespace_joins *joins) {
        for (unsigned i = 0; i < joins->n; i++)
                if (joins->items[i].flag == CLONE_NEWUSER && is_own(joins->items[i].fd, CLONE_NEWUSER))
                        close_fd(&joins->items[i].fd);
}

int namespaces_join_ahead(const struct plan_namespaces *namespaces, struct namespace_joins *joins, struct error *err) {
        static const uint64_t kinds[] = { CLONE_NEWNET, CLONE_NEWIPC, CLONE_NEWUTS, CLONE_NEWTIME, CLONE_NEWPID, CLONE_NEWCGROUP };
        bool userns = namespaces_has(namespaces, CLONE_NEWUSER);

        /* Those that the host's root or an outer user namespace owns can be joined from here only, those that the joined user namespace owns
         * also from here where we are its master, as root is; an ordinary user has rights over them only inside. */
        drop_own_userns(joins);
        for (int inside = 0; inside < 2; inside++) {
                int r = inside ? join_one(joins, CLONE_NEWUSER, err) : 0;

                if (r == -EPERM) {
                        errno = EPERM;
                        return fail_join(err, CLONE_NEWUSER);
                }
                for (size_t k = 0; r == 0 && k < sizeof kinds / sizeof *kinds; k++) {
                        if (kinds[k] == CLONE_NEWCGROUP && !userns)
                                continue;
                        r = join_one(joins, kinds[k], err);
                        if (r == -EPERM && inside) {
                                errno = EPERM;
                                return fail_join(err, kinds[k]);
                        }
                        r = r == -EPERM ? 0 : r;
                }
                if (r < 0)
                        return r;
        }
        return 0;
}

int namespaces_fd(const struct namespace_joins *joins, uint64_t flag) {
        for (unsigned i = 0; i < joins->n; i++)
                if (joins->items[i].flag == flag)
                        return joins->items[i].fd;
        return -1;
}

int namespaces_join_mount(struct namespace_joins *joins, struct error *err) {
        int r = join_one(joins, CLONE_NEWNS, err);

        if (r != -EPERM)
                return r;
        return fail_errno(err, CODE_LAUNCH_FAILED, EPERM, "linux.namespaces",
                          "cannot join the mount namespace, which takes CAP_SYS_ADMIN in the user namespace that owns it");
}

int namespaces_set_clocks(const struct plan_namespaces *namespaces, struct error *err) {
        static const char path[] = "/proc/self/timens_offsets";
        int r;

        if (!namespaces->time_offsets)
                return 0;
        if (unshare(CLONE_NEWTIME) < 0)
                return fail_errno(err, errno == ENOSPC ? CODE_RESOURCE_EXHAUSTED : CODE_LAUNCH_FAILED, errno, "linux.namespaces",
                                  "cannot make the time namespace");
        r = file_write(AT_FDCWD, path, namespaces->time_offsets, strlen(namespaces->time_offsets));
        if (r == -ERANGE)
                return fail(err, CODE_CONFIG_INVALID, ERANGE, "linux.timeOffsets", "a clock would be before zero, or too far in the future, with this offset");
        return r < 0 ? fail_errno(err, CODE_LAUNCH_FAILED, -r, "linux.timeOffsets", "cannot set the clocks") : 0;
}

int namespaces_enter(const struct plan_namespaces *namespaces, struct namespace_joins *joins, struct error *err) {
        uint64_t make = namespaces->create & ~(namespaces_of_clone(namespaces) | CLONE_NEWTIME);

        for (size_t k = 0; k < sizeof join_order / sizeof *join_order; k++)
                if (join_one(joins, join_order[k], err) < 0) {
                        errno = EPERM;
                        return fail_join(err, join_order[k]);
                }
        if (make && unshare((int)make) < 0)
                return fail_errno(err, errno == ENOSPC ? CODE_RESOURCE_EXHAUSTED : CODE_LAUNCH_FAILED, errno, "linux.namespaces",
                                  "cannot make the namespaces");
        return 0;
}
