#define _GNU_SOURCE
#include "apply/loopback.h"

#include <errno.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "base/fd.h"

int loopback_up(struct error *err) {
        struct ifreq request = { .ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING };
        _cleanup_close_ int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

        if (fd < 0)
                return errno == EAFNOSUPPORT ? 0 : fail_errno(err, CODE_LAUNCH_FAILED, errno, "linux.namespaces", "cannot open a socket to set lo up");
        if (ioctl(fd, SIOCSIFFLAGS, &request) < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, "linux.namespaces", "cannot set lo up");
        return 0;
}
