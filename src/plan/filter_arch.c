#include "plan/filter_arch.h"

#include <linux/audit.h>

#include "base/str.h"

static const struct filter_arch arches[] = {
        { OCI_SECCOMP_ARCH_SCMP_ARCH_X86_64, FILTER_X86_64, SYSCALL_X86_64, AUDIT_ARCH_X86_64 },
        { OCI_SECCOMP_ARCH_SCMP_ARCH_X32, FILTER_X86_64, SYSCALL_X32, AUDIT_ARCH_X86_64, .first = FILTER_X32_BIT, .narrow = true },
        { OCI_SECCOMP_ARCH_SCMP_ARCH_X86, FILTER_X86_64, SYSCALL_I386, AUDIT_ARCH_I386, .narrow = true, .multiplexes = true },
        { OCI_SECCOMP_ARCH_SCMP_ARCH_AARCH64, FILTER_AARCH64, SYSCALL_AARCH64, AUDIT_ARCH_AARCH64 },
        { OCI_SECCOMP_ARCH_SCMP_ARCH_ARM, FILTER_AARCH64, SYSCALL_ARM, AUDIT_ARCH_ARM, .narrow = true },
};

#define I386_SOCKETCALL 102
#define I386_IPC 117

#define ARM_OWN_CALLS UINT32_C(0xf0000) /* __ARM_NR_BASE of arch/arm/include/uapi/asm/unistd.h */

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

/* The multiplexer's number with CALL selecting, and where there is one the call's own. */
static size_t multiplexed(const struct syscall_row *call, int own, struct filter_number ret[2]) {
        bool ipc = call->multiplexer & SYSCALL_IPC;

        ret[0] = (struct filter_number){ ipc ? I386_IPC : I386_SOCKETCALL, call->multiplexer & ~SYSCALL_IPC };
        if (own < 0)
                return 1;
        ret[1] = (struct filter_number){ (uint32_t)own, 0 };
        return 2;
}

size_t filter_resolve(const struct filter_arch *arch, const struct syscall_row *call, struct filter_number ret[2], uint32_t *ret_largest) {
        int own = call->numbers[arch->column];
        uint32_t number;

        if (arch->multiplexes && call->multiplexer)
                return multiplexed(call, own, ret);
        if (own == SYSCALL_NONE)
                return 0;
        number = own >= 0 ? arch->first | (uint32_t)own : ARM_OWN_CALLS + (uint32_t)(SYSCALL_NONE - own);
        if (number > *ret_largest)
                *ret_largest = number;
        ret[0] = (struct filter_number){ number, 0 };
        return 1;
}
