/* The loopback interface of a network namespace that was just made. */
#pragma once

#include "base/error.h"

/* Sets lo up (netdevice(7), SIOCSIFFLAGS). A kernel without IPv4 sockets has no lo that could matter: success. */
int loopback_up(struct error *err);
