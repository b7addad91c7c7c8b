/* System calls by name: their numbers on every architecture a filter can be for. One look-up answers for all of them, from a table that
 * shares a few pages: asking libseccomp for each architecture took longer than all the rest of compiling Docker's default profile. */
#pragma once

#include <stdint.h>

enum syscall_column { SYSCALL_X86_64, SYSCALL_X32, SYSCALL_I386, SYSCALL_AARCH64, SYSCALL_ARM, SYSCALL_COLUMNS };

/* No such call. Smaller ones are arm's own: SYSCALL_NONE - N is call N above 0xf0000 (arch/arm/include/uapi/asm/unistd.h). */
#define SYSCALL_NONE (-1)

/* In multiplexer: a call of ipc(2), not of socketcall(2). */
#define SYSCALL_IPC 0x80u

struct syscall_row {
        char name[29];
        uint8_t multiplexer; /* i386: its number in socketcall(2) (linux/net.h), or with SYSCALL_IPC in ipc(2) (linux/ipc.h); 0: none */
        int16_t numbers[SYSCALL_COLUMNS]; /* without FILTER_X32_BIT */
};

/* NULL: no kernel knows NAME. before: the row that was found last, or NULL; next to it is looked first. */
const struct syscall_row *syscall_find(const char *name, const struct syscall_row *before);
