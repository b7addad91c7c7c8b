#define _GNU_SOURCE
#include "life/notify.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stddef.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "apply/container_path.h"
#include "base/fd.h"
#include "base/str.h"
#include "life/notify_receiver.h"

enum {
        BARRIER_WAIT_MS = 5000, /* a service manager answers at once; one that knows no barriers, never */
        FINISH_WAIT_MS = 1000,
        SEND_WAIT_S = 5,         /* a program that says more than the service manager reads must not keep us from our signals */
};

/* sd_notify(3). STATUS is shown to people by systemctl, which escapes it. What is not here could change how the service is supervised:
 * MAINPID, NOTIFYACCESS, FDSTORE, WATCHDOG=trigger, WATCHDOG_USEC, and whatever comes to be. */
static const struct {
        const char *name;
        bool whole;
} relayed[] = {
        { "READY=1", true },
        { "RELOADING=1", true },
        { "STOPPING=1", true },
        { "WATCHDOG=1", true },
        { "STATUS=", false },
        { "ERRNO=", false },
        { "EXTEND_TIMEOUT_USEC=", false },
        { "MONOTONIC_USEC=", false },
};

const struct plan_plan *notify_mount(struct arena *arena, const struct plan_plan *plan) {
        struct plan_plan *copy = arena_new(arena, struct plan_plan);
        struct plan_mount *mounts = arena_array(arena, struct plan_mount, plan->n_mounts + 1);

        if (plan->n_mounts)
                memcpy(mounts, plan->mounts, plan->n_mounts * sizeof *mounts);
        mounts[plan->n_mounts] = (struct plan_mount){
                .field = "NOTIFY_SOCKET",
                .destination = NOTIFY_DIRECTORY,
                .kind = PLAN_MOUNT_KIND_FILESYSTEM,
                .type = "tmpfs",
                .source = "tmpfs",
                .flags = MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC,
                .data = "mode=0755,size=4k,nr_inodes=2", /* its root and the socket (tmpfs(5)) */
        };
        *copy = *plan;
        copy->mounts = mounts;
        copy->n_mounts++;
        return copy;
}

/* unix(7): an abstract name begins with a NUL and is as long as the address says. */
static int connect_manager(const char *manager, int *ret) {
        _cleanup_close_ int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        const struct timeval wait = { .tv_sec = SEND_WAIT_S };
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        size_t n = strlen(manager);

        if (n >= sizeof address.sun_path)
                return -ENAMETOOLONG;
        memcpy(address.sun_path, manager, n);
        if (manager[0] == '@')
                address.sun_path[0] = '\0';
        if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof wait) < 0 ||
                connect(fd, (struct sockaddr *)&address, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n + (manager[0] != '@'))) < 0)
                return -errno;
        *ret = take_fd(&fd);
        return 0;
}

/* The program may be of any id, so everybody may write (rootfs_prepare() has set the umask to 0); who can reach the directory is what
 * counts. */
int notify_bind(int root, int *ret, struct error *err) {
        static const struct sockaddr_un address = { .sun_family = AF_UNIX, .sun_path = "notify.sock" };
        _cleanup_close_ int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0), directory = -1;
        int r = container_path_open(root, NOTIFY_DIRECTORY, O_PATH | O_DIRECTORY, &directory, err);

        if (r < 0)
                return fail_within(err, r, "NOTIFY_SOCKET");
        if (fd < 0 || fchdir(directory) < 0 || bind(fd, (const struct sockaddr *)&address, sizeof address) < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, "NOTIFY_SOCKET", "cannot make the program's socket");
        *ret = take_fd(&fd);
        return 0;
}

int notify_connect(const char *manager, struct notify *ret, struct error *err) {
        int r = connect_manager(manager, &ret->outside);

        return r < 0 ? fail_errno(err, CODE_LAUNCH_FAILED, -r, "NOTIFY_SOCKET", "cannot connect to %s", manager) : 0;
}

int notify_begin(struct notify *notify, int *bound, struct error *err) {
        int r;

        if (notify->outside < 0 || *bound < 0)
                return 0;
        notify->bound = take_fd(bound);
        r = notify_receiver_start(notify->bound, &notify->inside, &notify->receiver);
        return r < 0 ? fail_errno(err, CODE_LAUNCH_FAILED, -r, "NOTIFY_SOCKET", "cannot listen to the program's socket") : 0;
}

static bool passes(const char *line) {
        for (size_t i = 0; i < ELEMENTSOF(relayed); i++)
                if (relayed[i].whole ? streq(line, relayed[i].name) : str_after(line, relayed[i].name) != NULL)
                        return true;
        return false;
}

/* Waits until the service manager has taken what was sent, as long as it can still tell by our pid whose word it is. */
static void wait_taken(int outside) {
        static const char barrier[] = "BARRIER=1";
        union {
                char space[CMSG_SPACE(sizeof(int))];
                struct cmsghdr header;
        } control = { 0 };
        struct iovec iov = { .iov_base = (void *)(uintptr_t)barrier, .iov_len = sizeof barrier - 1 };
        struct msghdr message = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control };
        struct pollfd p;
        int ends[2];

        if (pipe2(ends, O_CLOEXEC) < 0)
                return;
        control.header = (struct cmsghdr){ .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof(int)) };
        memcpy(CMSG_DATA(&control.header), &ends[1], sizeof ends[1]);
        if (sendmsg(outside, &message, MSG_NOSIGNAL) > 0) {
                close_fd(&ends[1]);
                p = (struct pollfd){ .fd = ends[0] };
                (void)poll(&p, 1, BARRIER_WAIT_MS);
        }
        close_fd(&ends[0]);
        close_fd(&ends[1]);
}

bool notify_step(struct notify *notify) {
        char text[NOTIFY_DATAGRAM_MAX + 1];
        _cleanup_str_ struct str passed = { 0 };
        ssize_t n = recv(notify->inside, text, sizeof text - 1, MSG_DONTWAIT);
        bool ready = false;

        if (n == 0) /* the receiver is gone */
                close_fd(&notify->inside);
        if (n <= 0)
                return false;
        text[n] = '\0';
        for (char *line = text, *next; line; line = next) {
                next = strchr(line, '\n');
                if (next)
                        *next++ = '\0';
                if (!passes(line))
                        continue;
                str_printf(&passed, "%s\n", line);
                ready |= streq(line, "READY=1");
        }
        if (ready && notify->main_pid)
                str_printf(&passed, "MAINPID=%d\n", notify->main_pid);
        if (passed.size)
                (void)send(notify->outside, passed.text, passed.size, MSG_NOSIGNAL);
        if (ready && notify->main_pid) /* a runtime in the foreground is still there when the service manager comes to it */
                wait_taken(notify->outside);
        (void)send(notify->inside, "", 1, MSG_NOSIGNAL);
        return ready;
}

void notify_finish(struct notify *notify) {
        struct pollfd p = { .fd = notify->inside, .events = POLLIN };
        char byte;

        for (int ms = 0; ms < FINISH_WAIT_MS && notify->inside >= 0 && recv(notify->bound, &byte, 1, MSG_PEEK | MSG_DONTWAIT) >= 0; ms++)
                if (poll(&p, 1, 1) > 0)
                        (void)notify_step(notify);
}

void notify_wait(struct notify *notify, int init) {
        struct pollfd fds[] = { { .fd = notify->inside, .events = POLLIN }, { .fd = init, .events = POLLIN } };

        while (notify->inside >= 0) {
                if (poll(fds, ELEMENTSOF(fds), -1) < 0) {
                        if (errno == EINTR)
                                continue;
                        return;
                }
                if (fds[0].revents & POLLIN && notify_step(notify))
                        return;
                if (fds[1].revents) {
                        notify_finish(notify);
                        return;
                }
        }
}

void notify_close(struct notify *notify) {
        notify_receiver_stop(&notify->receiver);
        close_fd(&notify->bound);
        close_fd(&notify->inside);
        close_fd(&notify->outside);
}
