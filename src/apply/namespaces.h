/* The namespaces of a container: which the clone makes, which the child makes or joins itself. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "spec/plan.h"

enum { NAMESPACE_KINDS = 8 };

/* Namespaces to be joined, opened while paths still mean what the bundle's author saw. */
struct namespace_joins {
        struct { uint64_t flag; int fd; } items[NAMESPACE_KINDS];
        unsigned n;
};

/* Opens every path in NAMESPACES->join and checks that it is a namespace of that type (NS_GET_NSTYPE, ioctl_nsfs(2)). */
int namespaces_open(const struct plan_namespaces *namespaces, struct namespace_joins *ret, struct error *err);

/* Refuses what a joined namespace that turns out to be the runtime's own, under whatever path, rules out: sysctls, which would be set on the
 * host, and network devices, which would go from the host to the host. And a mount namespace that is the runtime's or process 1's, whose root
 * would be replaced. */
int namespaces_check_own(const struct plan_plan *plan, const struct namespace_joins *joins, struct error *err);
void namespaces_close(struct namespace_joins *joins);

/* Does the container have one of kind FLAG that is not the runtime's: made for it, or joined? */
bool namespaces_has(const struct plan_namespaces *namespaces, uint64_t flag);
bool namespaces_joins(const struct plan_namespaces *namespaces, uint64_t flag);

/* The CLONE_NEW* that clone3 itself must make. A pid namespace and a time namespace begin with the first process in them, a user namespace
 * must own all others, and a mount namespace copied later would cost a second copy. For one that is joined another is made, in which the
 * container's tree is built (rootfs_move()). The rest the child makes with
 * namespaces_enter(), so that the dearest one (network, about 0.9 ms) is made while the parent works on the cgroup. */
uint64_t namespaces_of_clone(const struct plan_namespaces *namespaces);

/* In the child: joins what is still to be joined, then makes what clone3 did not. The cgroup namespace must come from here: clone3
 * would root it at the parent's cgroup, not at the one it clones into (kernel/cgroup/namespace.c, copy_cgroup_ns). */
int namespaces_enter(const struct plan_namespaces *namespaces, struct namespace_joins *joins, struct error *err);

/* For a process that goes ahead (life/usher.h): joins everything while it has the rights for it, some before the user namespace and some only
 * in there, and a pid namespace for its children. All that is joined is closed in JOINS. The cgroup namespace is left to namespaces_enter()
 * where that will have the rights: it could shut out the cgroup that the child is yet to be born in (cgroups(7), nsdelegate). */
int namespaces_join_ahead(const struct plan_namespaces *namespaces, struct namespace_joins *joins, struct error *err);

/* The same: makes the time namespace and sets its clocks; only its children will be in it. */
int namespaces_set_clocks(const struct plan_namespaces *namespaces, struct error *err);

/* The descriptor of the namespace of kind FLAG that is still to be joined, or -1. It stays JOINS's. */
int namespaces_fd(const struct namespace_joins *joins, uint64_t flag);

/* In the child: joins the mount namespace. Root and working directory are that namespace's "/" afterwards (setns(2)). */
int namespaces_join_mount(struct namespace_joins *joins, struct error *err);
