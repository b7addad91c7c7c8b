/* The uid and gid maps of a new user namespace, written by the parent. */
#pragma once

#include <sys/types.h>

#include "base/error.h"
#include "spec/plan.h"

/* Writes /proc/PID/{setgroups,uid_map,gid_map} as user_namespaces(7) demands: setgroups before gid_map, each map in one write. */
int idmap_write(pid_t pid, const struct plan_ids *ids, struct error *err);

/* In the child, once mapped: become uid and gid 0 of the namespace, or the first that it has, so that the inodes made from here on belong
 * to ids it can name. Anything made while the kernel uid is unmapped fails with EOVERFLOW. */
int idmap_become_root(const struct plan_ids *ids, struct error *err);
