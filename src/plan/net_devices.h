/* Network devices of the host that go into the container (runtime-spec config-linux.md, "Network Devices"). */
#pragma once

#include "plan/compilation.h"

/* What one run of the helper program takes as its command line. A host has a few devices; nobody hands over hundreds. */
enum { NET_DEVICES_MAX = 256 };

int net_devices_compile(struct compilation *c);
