#pragma once

#include "plan/compilation.h"

/* The nodes of /dev: those every container gets (config-linux.md, "Default Devices") and linux.devices. */
int devices_compile(struct compilation *c);
