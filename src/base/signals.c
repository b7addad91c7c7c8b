#define _GNU_SOURCE
#include "base/signals.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"

/* "SigIgn:" of proc_pid_status(5), a mask in hexadecimal: one read instead of asking sixty-four times. */
static int read_ignored(uint64_t *ret) {
        _cleanup_close_ int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
        char text[4096];
        const char *at;
        ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);

        if (n < 0)
                return -errno;
        text[n] = '\0';
        at = strstr(text, "\nSigIgn:\t");
        if (!at)
                return -EPROTO;
        *ret = strtoull(at + strlen("\nSigIgn:\t"), NULL, 16);
        return 0;
}

/* The system call itself: the C library keeps signals 32 and 33 to itself and refuses them. */
static void set_default(int number) {
        const struct { void (*handler)(int); unsigned long flags; void (*restorer)(void); uint64_t mask; } action = { .handler = SIG_DFL };

        (void)syscall(SYS_rt_sigaction, number, &action, NULL, sizeof action.mask);
}

int signals_reset(void) {
        uint64_t ignored = 0;
        sigset_t none;
        int r = read_ignored(&ignored);

        if (r < 0)
                return r;
        for (int number = 1; number <= 64; number++)
                if (ignored >> (number - 1) & 1)
                        set_default(number);
        sigemptyset(&none);
        return sigprocmask(SIG_SETMASK, &none, NULL) < 0 ? -errno : 0;
}
