#pragma once

#include "plan/compilation.h"

/* linux.resources.devices and what every container may use, as rules of which the last match wins and the rest is denied.
 * *ret_n 0 and *ret_limit false: everything is allowed, so no device program is needed. given: linux.devices, allowed where the
 * request has no rules at all, because they "MUST be available". */
int device_rules_compile(struct arena *arena, const struct oci_device_rule *rules, size_t n, const struct plan_device *given,
                         size_t n_given, const char *field, struct plan_cgroup *ret, struct error *err);

/* A device program needs CAP_SYS_ADMIN in the initial user namespace (kernel: bpf_prog_load()). Who lacks it runs containers in a user
 * namespace: nobody there can make a node, and what is bound into it can be opened by whom it could be opened before. */
bool device_rules_useless(const struct facts_identity *identity, const struct plan_plan *plan);
