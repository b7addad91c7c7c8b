#define _GNU_SOURCE
#include "apply/net_devices.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/libexec.h"
#include "base/process.h"
#include "base/signals.h"
#include "plan/net_devices.h"

#define BIT(n) (UINT64_C(1) << (n))

static const char field[] = "linux.netDevices";

/* The helper is a dynamic program. The bounding set is what an exec by root becomes (capabilities(7)), so its loader and libraries begin
 * with the two capabilities that the work takes: devices, and entering the namespace. */
static int drop_rights(void) {
        for (unsigned n = 0; n < 64; n++)
                if (!(BIT(n) & (BIT(CAP_NET_ADMIN) | BIT(CAP_SYS_ADMIN))) && prctl(PR_CAPBSET_DROP, n, 0, 0, 0) < 0) {
                        if (errno == EINVAL)
                                break; /* the first number that this kernel has no capability for */
                        return -errno;
                }
        return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ? -errno : 0;
}

/* In the forked helper: the namespace is its descriptor 0, an error goes to 1, and what the loader has to complain of to our own 2. No
 * environment, no other descriptor, and no directory of ours. It does not die with us: half a move would be worse than one too many. */
__attribute__((noreturn))
static void become_helper(const struct plan_plan *plan, int network, int report) {
        const struct libexec_path program = libexec_path("sage-netdev");
        const char *args[2 * NET_DEVICES_MAX + 2], *const nothing[] = { NULL };
        struct error err;
        size_t n = 0;
        int r;

        args[n++] = "sage-netdev";
        for (size_t i = 0; i < plan->n_net_devices; i++) {
                args[n++] = plan->net_devices[i].name;
                args[n++] = plan->net_devices[i].inside ?: "";
        }
        args[n] = NULL;
        (void)signals_reset();
        r = drop_rights();
        if (r < 0)
                fail_errno(&err, CODE_LAUNCH_FAILED, -r, field, "cannot drop capabilities for the program that moves devices");
        else if (dup2(network, STDIN_FILENO) < 0 || dup2(report, STDOUT_FILENO) < 0 || syscall(SYS_close_range, 3, ~0u, 0) < 0 ||
                 chdir("/") < 0)
                fail_errno(&err, CODE_LAUNCH_FAILED, errno, field, "cannot prepare the program that moves devices");
        else {
                execve(program.path, (char *const *)args, (char *const *)nothing);
                fail_errno(&err, CODE_LAUNCH_FAILED, errno, field, "cannot execute %s, which moves devices", program.path);
        }
        (void)!write(STDOUT_FILENO, &err, sizeof err);
        _exit(1);
}

/* Until the helper has ended: one struct error, whole, or nothing. */
static int hear(int report, int status, struct error *err) {
        struct error heard;
        ssize_t n;

        do
                n = read(report, &heard, sizeof heard);
        while (n < 0 && errno == EINTR);
        if (n == (ssize_t)sizeof heard) {
                *err = heard;
                return error_received(err);
        }
        if (status > 128)
                return fail(err, CODE_LAUNCH_FAILED, EIO, field, "the program that moves devices was killed by signal %d", status - 128);
        if (status != 0 || n != 0)
                return fail(err, CODE_LAUNCH_FAILED, EIO, field, "the program that moves devices failed with status %d", status);
        return 0;
}

int net_devices_move(const struct plan_plan *plan, pid_t pid, struct error *err) {
        _cleanup_close_ int network = -1, in = -1, out = -1, pidfd = -1;
        char path[sizeof "/proc//ns/net" + 10];
        int ends[2], r, status = 0;
        pid_t helper;

        snprintf(path, sizeof path, "/proc/%d/ns/net", pid);
        network = open(path, O_RDONLY | O_CLOEXEC);
        if (network < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, field, "cannot open the container's network namespace");
        if (pipe2(ends, O_CLOEXEC) < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, field, "cannot make a pipe");
        in = ends[0];
        out = ends[1];
        helper = process_clone(0, -1, &pidfd);
        if (helper < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, -helper, field, "cannot fork the program that moves devices");
        if (helper == 0)
                become_helper(plan, network, out);
        close_fd(&out);
        /* An error fits a pipe's buffer, so the helper ends before anybody has read it (pipe(7), PIPE_BUF). */
        if ((r = process_reap(pidfd, &status)) < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, -r, field, "cannot wait for the program that moves devices");
        return hear(in, status, err);
}
