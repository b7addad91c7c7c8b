/* Calls by another architecture's table, which no rule has numbers for. */
#define _GNU_SOURCE
#include "attempt.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef __x86_64__

enum { X32 = 0x40000000, I386_GETPID = 20, I386_SOCKETCALL = 102, I386_SOCKETCALL_SOCKET = 1 };

/* Answers 0 to -4095 with an errno, as the kernel does. Kernels without 32-bit programs end who tries with SIGSEGV. */
static long int80(long number, long first, void *second) {
        long result;

        signal(SIGSEGV, SIG_DFL);
        __asm__ volatile("int $0x80" : "=a"(result) : "a"(number), "b"(first), "c"(second) : "memory", "r8", "r9", "r10", "r11");
        if ((int)result >= 0)
                return (int)result;
        errno = -(int)result;
        return -1;
}

static long getpid_of_i386(const struct attempt *attempt) {
        (void)attempt;
        return int80(I386_GETPID, 0, NULL);
}

/* Its arguments lie where 32-bit pointers reach. */
static long socketcall_of_i386(const struct attempt *attempt) {
        unsigned *arguments = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);

        (void)attempt;
        if (arguments == MAP_FAILED)
                return -1;
        arguments[0] = AF_UNIX;
        arguments[1] = SOCK_DGRAM;
        arguments[2] = 0;
        return int80(I386_SOCKETCALL, I386_SOCKETCALL_SOCKET, arguments);
}

static void *call_in_thread(void *unused) {
        (void)unused;
        syscall(X32 | SYS_getpid);
        return NULL;
}

/* A filter that kills the thread alone lets this process go on without it. */
static long in_a_thread(const struct attempt *attempt) {
        pthread_t thread;

        (void)attempt;
        if (pthread_create(&thread, NULL, call_in_thread, NULL) == 0)
                pthread_join(thread, NULL);
        return 0;
}

#define KILLS .refused = SOCKETS | FILES, .with = KILLED

static const struct attempt rows[] = {
        { "getpid of x32", CALL(X32 | SYS_getpid), KILLS },
        { "socket of x32", CALL(X32 | SYS_socket, AF_UNIX, SOCK_DGRAM, 0), KILLS },
        { "ioctl of x32", CALL(X32 | 514, -1ul, 0x401c5820, 0), KILLS, .without = EBADF },
        { "getpid of x32, in a thread", in_a_thread, KILLS },
        { "getpid of i386", getpid_of_i386, KILLS, .or = CRASHED },
        { "socketcall of i386", socketcall_of_i386, KILLS, .or = CRASHED },
};

const struct attempts attempts_by_other_tables = { "other tables", rows, ELEMENTSOF(rows) };

#else

/* A 32-bit arm program would be needed, and few machines run one. */
const struct attempts attempts_by_other_tables = { "other tables", NULL, 0 };

#endif
