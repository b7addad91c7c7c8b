/* Network devices ("links"), by rtnetlink(7). */
#pragma once

#include <net/if.h>
#include <stdbool.h>

#include "netdev/rtnl.h"

struct link {
        int index;
        bool up;
        char name[IFNAMSIZ];
};

/* The device called NAME, which may be an alternative name (ip-link(8), property add altname). -ENODEV: there is none. */
int link_find(struct rtnl *rtnl, const char *name, struct link *ret);

/* Moves the device INDEX from the namespace of FROM to that of TO, of which NETWORK is a descriptor, and calls it NAME there, in one
 * message: in between it would have its old name there. The kernel sets it down and takes its addresses. Its number stays the same if
 * nobody has it there. ret_index: its number in TO, also when that is an error: it moved and could not be renamed. 0: it did not move. */
int link_move(struct rtnl *from, struct rtnl *to, int network, int index, const char *name, int *ret_index);

int link_set_up(struct rtnl *rtnl, int index);
