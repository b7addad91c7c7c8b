#define _GNU_SOURCE
#include "life/gate.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fd.h"

static const char making[] = ".start", waiting[] = "start";

/* A path of any length fits into sun_path when it goes through the directory's descriptor. */
static struct sockaddr_un address(int dir, const char *name) {
        struct sockaddr_un a = { .sun_family = AF_UNIX };

        snprintf(a.sun_path, sizeof a.sun_path, "/proc/self/fd/%d/%s", dir, name);
        return a;
}

int gate_open(int dir, int *ret, struct error *err) {
        _cleanup_close_ int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
        struct sockaddr_un a = address(dir, making);

        if (fd < 0 || bind(fd, (struct sockaddr *)&a, sizeof a) < 0 || listen(fd, 1) < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, making, "cannot make the socket that `start` connects to");
        *ret = take_fd(&fd);
        return 0;
}

int gate_ready(int dir, struct error *err) {
        if (renameat(dir, making, dir, waiting) < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, waiting, "cannot open the container for `start`");
        return 0;
}

int gate_state(int dir, enum gate *ret) {
        static const struct { enum gate gate; const char *name; } gates[] = { { GATE_WAITING, waiting }, { GATE_MAKING, making } };

        for (size_t i = 0; i < sizeof gates / sizeof *gates; i++) {
                if (faccessat(dir, gates[i].name, F_OK, 0) == 0) {
                        *ret = gates[i].gate;
                        return 0;
                }
                if (errno != ENOENT)
                        return -errno;
        }
        *ret = GATE_NONE;
        return 0;
}

int gate_connect(int dir, int *ret, struct error *err) {
        _cleanup_close_ int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
        struct sockaddr_un a = address(dir, waiting);

        if (fd < 0 || connect(fd, (struct sockaddr *)&a, sizeof a) < 0)
                return fail_errno(err, CODE_INVALID_STATE, errno, "", "cannot reach the waiting container");
        if (unlinkat(dir, waiting, 0) < 0)
                return fail_errno(err, CODE_INTERNAL, errno, waiting, "cannot take the gate away");
        *ret = take_fd(&fd);
        return 0;
}
