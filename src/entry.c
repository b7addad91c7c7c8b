/* The first instructions of the static program: before the C library is there, decide whether to run from a read-only mount instead.
 *
 * protect_binary() (life/protect.c) says why a runtime that starts containers must not run from a file that they could write. Where no
 * administrator has mounted the file read-only, that takes an exec of ourselves, and starting the C library twice would be the dearest
 * part of it: 0.6 ms in a virtual machine, where each of its 68 CPUID instructions traps. So create, run and exec are turned round here,
 * in a few system calls. Nothing depends on it: whatever fails or is not known yet is left to protect_binary().
 *
 * No C library means no errno, no thread-local storage and thus no stack protector, no memcpy; it is entered from the assembler below,
 * which then goes on to the C library's _start with everything as the kernel left it. */
#define _GNU_SOURCE
#include <elf.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>

#if defined(__x86_64__)

/* System V ABI, AMD64 supplement 3.4.1: at entry %rsp points at argc, %rdx is a function for atexit(3). */
__asm__(".globl sage_entry\n"
        ".type sage_entry, @function\n"
        "sage_entry:\n"
        "        xor %ebp, %ebp\n"
        "        mov %rsp, %rbx\n"
        "        mov %rdx, %r12\n"
        "        mov %rsp, %rdi\n"
        "        and $-16, %rsp\n"
        "        call entry_protect\n"
        "        mov %rbx, %rsp\n"
        "        mov %r12, %rdx\n"
        "        jmp _start\n");

__attribute__((no_stack_protector))
static inline long call(long number, long a, long b, long c, long d, long e) {
        register long r10 __asm__("r10") = d, r8 __asm__("r8") = e;
        long result;

        __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8) : "rcx", "r11", "memory");
        return result;
}

#elif defined(__aarch64__)

/* AAPCS64 and the kernel's ELF loader: at entry sp points at argc, x0 is zero or a function for atexit(3). */
__asm__(".globl sage_entry\n"
        ".type sage_entry, %function\n"
        "sage_entry:\n"
        "        mov x29, #0\n"
        "        mov x19, sp\n"
        "        mov x20, x0\n"
        "        mov x0, sp\n"
        "        bl entry_protect\n"
        "        mov sp, x19\n"
        "        mov x0, x20\n"
        "        b _start\n");

__attribute__((no_stack_protector))
static inline long call(long number, long a, long b, long c, long d, long e) {
        register long x8 __asm__("x8") = number, x0 __asm__("x0") = a, x1 __asm__("x1") = b, x2 __asm__("x2") = c, x3 __asm__("x3") = d,
                      x4 __asm__("x4") = e;

        __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4) : "memory");
        return x0;
}

#else
#error "x86_64 and aarch64 only; configure --disable-static does without this file"
#endif

static const char itself[] = "/proc/self/exe";

__attribute__((no_stack_protector))
static int same(const char *a, const char *b) {
        while (*a && *a == *b)
                a++, b++;
        return *a == *b;
}

/* Is one of the words a command that enters a container? A directory of that name as an option's value costs an exec and nothing else. */
__attribute__((no_stack_protector))
static int enters_a_container(char **argv) {
        for (; *argv; argv++)
                if (same(*argv, "create") || same(*argv, "run") || same(*argv, "exec"))
                        return 1;
        return 0;
}

/* getauxval(3) by hand: the vector lies behind the environment. */
__attribute__((no_stack_protector))
static unsigned long aux_value(char **envp, unsigned long type) {
        const Elf64_auxv_t *aux;

        while (*envp)
                envp++;
        for (aux = (const Elf64_auxv_t *)(envp + 1); aux->a_type != AT_NULL; aux++)
                if (aux->a_type == type)
                        return aux->a_un.a_val;
        return ~0ul;
}

void entry_protect(long *stack);

/* stack: argc, the pointers of argv, NULL, those of the environment, NULL, the auxiliary vector. */
__attribute__((no_stack_protector, used))
void entry_protect(long *stack) {
        char **argv = (char **)(stack + 1), **envp = argv + *stack + 1;
        struct mount_attr attributes;
        struct statfs seen;
        long fd;

        if (aux_value(envp, AT_EUID) != 0 || !enters_a_container(argv))
                return;
        if (call(SYS_statfs, (long)itself, (long)&seen, 0, 0, 0) < 0 || seen.f_flags & ST_RDONLY)
                return;
        attributes.attr_set = MOUNT_ATTR_RDONLY;
        attributes.attr_clr = attributes.propagation = attributes.userns_fd = 0;
        fd = call(SYS_open_tree, AT_FDCWD, (long)itself, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC, 0, 0);
        if (fd >= 0 && call(SYS_mount_setattr, fd, (long)"", AT_EMPTY_PATH, (long)&attributes, sizeof attributes) == 0)
                call(SYS_execveat, fd, (long)"", (long)argv, (long)envp, AT_EMPTY_PATH);
        if (fd >= 0)
                call(SYS_close, fd, 0, 0, 0, 0);
}
