/* Network devices of the host that go into the container. */
#pragma once

#include <sys/types.h>

#include "base/error.h"
#include "spec/plan.h"

/* Moves PLAN->net_devices from our network namespace to that of PID, a child of ours that is in all its namespaces, and sets them up there.
 * All or none: the helper program that does it gives back what it moved before a failure. From then on they share the fate of the network
 * namespace (network_namespaces(7)): when it ends, physical devices come back by themselves, virtual ones are gone. The runtime never takes
 * them out again, as runtime-spec config-linux.md, "Namespace Lifecycle and Container Termination", demands. */
int net_devices_move(const struct plan_plan *plan, pid_t pid, struct error *err);
