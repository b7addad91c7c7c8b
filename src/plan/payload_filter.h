/* The fixed filter that a sandbox's payload is under, whatever the bundle's own linux.seccomp says besides.
 *
 * It lets pass what no rule names (payload_filter_rules.c), because untrusted code here means compilers, interpreters and package managers:
 * what they may need cannot be listed, what they must not do can. Three things make up for what a list of refusals forgets:
 *  - Numbers above the newest call that the table of calls knows, and the holes below it, are ENOSYS: a kernel that is newer than this
 *    program has calls nobody has judged, and a C library falls back on ENOSYS.
 *  - Calls by another architecture's table end the process: i386's (int 0x80, or a 32-bit program), x32's, 32-bit arm's.
 *  - Arguments that the kernel takes as int are compared by their low half, so that no bit above it makes another value of the same.
 * A refusal is EPERM. clone3(2) is ENOSYS, because its flags lie in memory where no filter can look; C libraries then use clone(2).
 *
 * Pure, like all of plan/. */
#pragma once

#include "base/arena.h"
#include "plan/filter.h"
#include "plan/filter_arch.h"
#include "spec/sage-request.h"

/* What the rules are for. A rule is in force when one of its parts is. */
enum payload_filter_part {
        PAYLOAD_FILTER_ISOLATION = 1 << 0,  /* the strict profile: reach nobody else, no more of the kernel, no namespaces, no mounts */
        PAYLOAD_FILTER_PROJECT = 1 << 1,    /* disk_mb: files keep the quota project they were made in */
        PAYLOAD_FILTER_NO_NETWORK = 1 << 2, /* mode none */
        PAYLOAD_FILTER_NETWORK = 1 << 3,    /* the other modes: internet sockets that connect, and nothing else */
        PAYLOAD_FILTER_SOCKETS = PAYLOAD_FILTER_NO_NETWORK | PAYLOAD_FILTER_NETWORK,
};

/* The parts that what SAGE asks for needs, 0 for none: all three under the strict profile; the sockets' for a network policy and the
 * project's for disk_mb without it. sage: with its defaults filled in (sage_compile()); NULL: nothing is asked for. */
unsigned payload_filter_parts(const struct sage_request *sage);

/* The program for PARTS on MACHINE, which lives in ARENA; without a part an empty one, which is not to be loaded. */
struct filter_program payload_filter_build(struct arena *arena, unsigned parts, enum filter_machine machine);
