#include "base/signals.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"

/* Field 33 of proc_pid_stat(5), "sigignore", a decimal number that has only the first 31 signals: nobody ignores real-time ones. One read
 * instead of asking sixty times. */
static int read_ignored(uint64_t *ret) {
        _cleanup_close_ int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
        char text[1024], *at;
        ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);

        if (n < 0)
                return -errno;
        text[n] = '\0';
        at = strrchr(text, ')'); /* the name in field 2 may hold anything */
        for (int field = 2; at && field < 33; field++)
                at = strchr(at + 1, ' ');
        if (!at)
                return -EPROTO;
        *ret = strtoull(at, NULL, 10);
        return 0;
}

int signals_reset(void) {
        uint64_t ignored = 0;
        sigset_t none;
        int r = read_ignored(&ignored);

        if (r < 0)
                return r;
        for (int number = 1; number <= 31; number++)
                if (ignored >> (number - 1) & 1)
                        signal(number, SIG_DFL);
        sigemptyset(&none);
        return sigprocmask(SIG_SETMASK, &none, NULL) < 0 ? -errno : 0;
}
