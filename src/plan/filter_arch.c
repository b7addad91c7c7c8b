#include "plan/filter_arch.h"

#include <linux/audit.h>
#include <seccomp.h>

#include "base/str.h"

static const struct filter_arch arches[] = {
        { OCI_SECCOMP_ARCH_SCMP_ARCH_X86_64, FILTER_X86_64, SCMP_ARCH_X86_64, AUDIT_ARCH_X86_64 },
        { OCI_SECCOMP_ARCH_SCMP_ARCH_X32, FILTER_X86_64, SCMP_ARCH_X32, AUDIT_ARCH_X86_64, .first = FILTER_X32_BIT, .narrow = true },
        { OCI_SECCOMP_ARCH_SCMP_ARCH_X86, FILTER_X86_64, SCMP_ARCH_X86, AUDIT_ARCH_I386, .narrow = true, .multiplexes = true },
        { OCI_SECCOMP_ARCH_SCMP_ARCH_AARCH64, FILTER_AARCH64, SCMP_ARCH_AARCH64, AUDIT_ARCH_AARCH64 },
        { OCI_SECCOMP_ARCH_SCMP_ARCH_ARM, FILTER_AARCH64, SCMP_ARCH_ARM, AUDIT_ARCH_ARM, .narrow = true },
};

#define I386_SOCKETCALL 102
#define I386_IPC 117

/* i386 numbers of the calls that also go through socketcall(2), by its first argument (linux/net.h,
 * arch/x86/entry/syscalls/syscall_32.tbl); 0: no number of its own. */
static const uint16_t i386_socket_calls[] = {
        [1] = 359, [2] = 361, [3] = 362, [4] = 363, [5] = 0, [6] = 367, [7] = 368, [8] = 360, [9] = 0, [10] = 0,
        [11] = 369, [12] = 371, [13] = 373, [14] = 366, [15] = 365, [16] = 370, [17] = 372, [18] = 364, [19] = 337, [20] = 345,
};

/* The same for ipc(2) (linux/ipc.h). */
static const uint16_t i386_ipc_calls[] = {
        [1] = 0,
        [2] = 393,
        [3] = 394,
        [4] = 0,
        [11] = 400,
        [12] = 401,
        [13] = 399,
        [14] = 402,
        [21] = 397,
        [22] = 398,
        [23] = 395,
        [24] = 396,
};

const struct filter_arch *filter_arches(enum filter_machine machine, size_t *ret_n) {
        const struct filter_arch *first = arches;
        size_t n = 0;

        while (first->machine != machine)
                first++;
        while (first + n < arches + ELEMENTSOF(arches) && first[n].machine == machine)
                n++;
        *ret_n = n;
        return first;
}

static size_t multiplexed(uint32_t multiplexer, const uint16_t *calls, size_t n, uint32_t call, struct filter_number ret[2]) {
        ret[0] = (struct filter_number){ multiplexer, call };
        if (call >= n || calls[call] == 0)
                return 1;
        ret[1] = (struct filter_number){ calls[call], 0 };
        return 2;
}

size_t filter_resolve(const struct filter_arch *arch, const char *name, struct filter_number ret[2], uint32_t *ret_largest) {
        int number = seccomp_syscall_resolve_name_arch(arch->token, name);

        if (number >= 0) {
                if ((uint32_t)number > *ret_largest)
                        *ret_largest = (uint32_t)number;
                ret[0] = (struct filter_number){ (uint32_t)number, 0 };
                return 1;
        }
        /* libseccomp's pseudo numbers (seccomp.h): -100 - N is call N of socketcall(2), -200 - N call N of ipc(2), the rest is not here. */
        if (arch->multiplexes && number < -100 && number >= -120)
                return multiplexed(I386_SOCKETCALL, i386_socket_calls, ELEMENTSOF(i386_socket_calls), (uint32_t)(-100 - number), ret);
        if (arch->multiplexes && number < -200 && number >= -224)
                return multiplexed(I386_IPC, i386_ipc_calls, ELEMENTSOF(i386_ipc_calls), (uint32_t)(-200 - number), ret);
        return 0;
}
