/* The runtime without sandbox_unbuilt.c, for tests of what is built of a strict sandbox before all of it is. Never installed: what it runs is
 * no sandbox yet. */
#include "plan/sandbox.h"

int sandbox_refuse_unbuilt(struct compilation *c) {
        (void)c;
        return 0;
}
