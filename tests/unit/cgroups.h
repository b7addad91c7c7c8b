/* Cgroups that a test makes, and processes in them. */
#pragma once

#include "unit.h"

#include <fcntl.h>
#include <signal.h>

#include "apply/cgroup.h"
#include "base/process.h"
#include "cgroup_view.h"

static struct plan_cgroup nothing; /* no controllers, no limits */

/* A path below the hierarchy that no other run of the tests has. */
static inline const char *path(const char *below) {
        static char text[4][512];
        static unsigned next;
        char *at = text[next++ % 4];

        snprintf(at, sizeof text[0], "/sys/fs/cgroup/sage-test.%d%s", getpid(), below);
        return at;
}

static inline bool exists(const char *at) {
        return access(at, F_OK) == 0;
}

static inline int create(const char *at, const struct plan_cgroup *cgroup) {
        struct error err;
        unsigned ours = 0;
        int fd = -1, r = cgroup_create(at, cgroup, &ours, &fd, &err);

        if (r < 0)
                FAIL("%s: %s", err.where, err.text);
        assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
        return fd;
}

static inline void remove_all(const char *at, unsigned ours) {
        struct error err;

        if (cgroup_remove(at, ours, &err) < 0)
                FAIL("%s: %s", err.where, err.text);
}

static inline unsigned ours(const char *at) {
        struct error err;
        unsigned n = 77;

        assert_int_equal(cgroup_ours(at, &n, &err), 0);
        return n;
}

/* A process in the cgroup that ends after MS milliseconds, or lives until it is killed. */
static inline pid_t start_in(int fd, int ms) {
        int pidfd;
        pid_t pid = process_clone(0, fd, &pidfd);

        if (pid == 0) {
                if (ms < 0)
                        pause();
                usleep((unsigned)ms * 1000);
                _exit(0);
        }
        assert_true(pid > 0);
        close(pidfd);
        return pid;
}

static inline void end(pid_t pid) {
        kill(pid, SIGKILL);
        assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* The tests of a program, where they can be run. */
#define RUN_CGROUP_TESTS(argv, tests) (enter_cgroup_view(argv), have_cgroups() ? RUN_TESTS(tests) : skip_all())

static inline int skip_all(void) {
        puts("1..0 # SKIP no cgroup2 hierarchy that may be written to");
        return 0;
}
