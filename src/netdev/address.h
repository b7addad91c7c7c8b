/* The addresses of a network device, which the kernel takes from it when it changes its namespace. */
#pragma once

#include <stdbool.h>

#include "base/str.h"
#include "netdev/rtnl.h"

/* Appends the addresses of device INDEX that shall stay with it, as the kernel's messages: permanent ones of global scope
 * (runtime-spec config-linux.md, "Network Devices"). Others come by themselves, or belong to the network that the device leaves. */
int addresses_save(struct rtnl *rtnl, int index, struct str *out);

/* Gives them to device INDEX. renamed: their labels ("eth0:1"), which name the device, stay behind. */
int addresses_restore(struct rtnl *rtnl, int index, bool renamed, const struct str *saved);
