/* linux.seccomp as a program for seccomp(2): what libseccomp would decide, from an emitter that is a hundred times faster.
 *
 * Meaning of a profile, per architecture:
 *  - Another architecture than the profile's and the machine's own ends the process (libseccomp's default ends the thread). A listed
 *    architecture that this machine's kernel cannot execute adds nothing.
 *  - Names that an architecture does not have (plan/syscalls.h) are skipped. Rules whose action is the default one are dropped.
 *  - Rules for one call are alternatives. Conditions of one rule must all hold, unless two of them name the same argument: then each is a
 *    rule of its own (as runc and crun do).
 *  - A rule without conditions stands alone: it replaces earlier ones with conditions and makes later ones void; of two such the first
 *    holds. Where rules with conditions overlap and differ in action, libseccomp's order decides: higher argument index first; then
 *    equality (EQ, NE, MASKED_EQ), LT and LE, GT and GE; then the narrower one; then the earlier one. Two rules with equal conditions and
 *    different actions, or a shorter one after a longer one that begins alike, are refused, as libseccomp does. (libseccomp 2.5 and 2.6
 *    differ from each other in overlaps of NE and of ranges above 2^32, and 2.5 also misjudges alternatives of several conditions: tests.)
 *  - 32-bit architectures (i386, x32, arm) compare the low half of arguments.
 *  - i386 calls that socketcall(2) and ipc(2) multiplex are matched both ways; there the first argument's condition is lost, as with
 *    libseccomp, because the arguments lie in memory.
 *  - Where the default action is not ALLOW, LOG or TRACE, a call above the highest number that the profile names for the architecture
 *    returns ENOSYS, as with runc: a C library probes newer calls and falls back only on ENOSYS. Default actions that kill are no
 *    exception. */
#pragma once

#include <linux/filter.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "spec/config.h"

struct filter_program {
        struct sock_filter *instructions;
        uint16_t count;
};

/* Checks RULES and compiles them; the program lives in ARENA. Pure. Errors name the field, "linux.seccomp.syscalls[3].args[0].op". */
int filter_build(struct arena *arena, const struct oci_seccomp *rules, struct filter_program *ret, struct error *err);

/* SECCOMP_FILTER_FLAG_* for seccomp(2): the profile's, SPEC_ALLOW when it has no list of flags (as runc and crun do), and NEW_LISTENER
 * when a rule notifies. TSYNC is left out then, as the kernel refuses both together, and WAIT_KILLABLE_RECV otherwise: it means nothing
 * without a listener. */
int filter_flags(const struct oci_seccomp *rules, uint64_t *ret, struct error *err);

/* Does any rule hand calls to a listener? */
bool filter_notifies(const struct oci_seccomp *rules);
