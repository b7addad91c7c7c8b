/* A cgroup2 hierarchy for tests that need one, also on a host that shows another at /sys/fs/cgroup. */
#pragma once

#include <linux/magic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#define VIEW_VARIABLE "SAGE_TEST_CGROUP_VIEW"

/* May this process make cgroups below /sys/fs/cgroup? */
static inline bool have_cgroups(void) {
        struct statfs fs;

        return statfs("/sys/fs/cgroup", &fs) == 0 && fs.f_type == CGROUP2_SUPER_MAGIC && access("/sys/fs/cgroup/cgroup.procs", W_OK) == 0;
}

/* Runs this very program again in tests/cgroup2-view and exits with its status. Returns where that is not possible, or done already. */
static inline void enter_cgroup_view(char **argv) {
        const char *srcdir = getenv("srcdir");
        char path[4096];
        int status;
        pid_t pid;

        snprintf(path, sizeof path, "%s/tests/cgroup2-view", srcdir ? srcdir : ".");
        if (getenv(VIEW_VARIABLE) || access(path, X_OK) < 0 || geteuid() != 0)
                return;
        setenv(VIEW_VARIABLE, "1", 1);
        pid = fork();
        if (pid == 0) {
                execl(path, path, argv[0], (char *)NULL);
                _exit(125);
        }
        if (waitpid(pid, &status, 0) == pid && !(WIFEXITED(status) && WEXITSTATUS(status) == 125))
                exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}
