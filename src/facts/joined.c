/* A user namespace that is there already. Its maps can be read only of a process in it, and a file that keeps one need not have any. */
#define _GNU_SOURCE
#include "facts/facts.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/file.h"
#include "base/process.h"

/* user_namespaces(7): 340 lines of three numbers. */
enum { MAP_TEXT_MAX = 340 * 36 };

static bool is_own(int fd) {
        struct stat there, here;

        return fstat(fd, &there) == 0 && stat("/proc/self/ns/user", &here) == 0 && there.st_ino == here.st_ino &&
                there.st_dev == here.st_dev;
}

/* The process in it that is looked at, until OURS, a socket, has no other end any more: the parent may be killed at any time. The signal that
 * prctl(2) has for that comes only to who could ask for it in time, and a change of credentials, which joining another user's namespace
 * is, takes it off again. */
__attribute__((noreturn)) static void stay_inside(int fd, int ours) {
        char word = 0;

        /* The kernel joins nobody to where he is already (setns(2)). */
        if ((setns(fd, CLONE_NEWUSER) == 0 || is_own(fd)) && send(ours, &word, 1, MSG_NOSIGNAL) == 1)
                (void)!recv(ours, &word, 1, 0);
        _exit(1);
}

/* Lines of three numbers. Opened here, they tell the outside as it is called here. */
static int read_map(struct arena *arena, pid_t pid, const char *name, struct facts_id_range **ret, size_t *ret_n) {
        _cleanup_str_ struct str text = { 0 };
        struct facts_id_range *ranges;
        char path[48];
        size_t n = 0;
        int r;

        snprintf(path, sizeof path, "/proc/%d/%s", pid, name);
        if ((r = file_read(AT_FDCWD, path, MAP_TEXT_MAX, &text)) < 0)
                return r;
        for (const char *at = text.text; at && *at; at++)
                n += *at == '\n';
        ranges = arena_array(arena, struct facts_id_range, n);
        n = 0;
        for (char *at = text.text, *end; at && *at; at = end + strspn(end, "\n")) {
                ranges[n].inside = (uint32_t)strtoul(at, &end, 10);
                ranges[n].outside = (uint32_t)strtoul(end, &end, 10);
                ranges[n++].count = (uint32_t)strtoul(end, &end, 10);
                if (end == at)
                        return -EPROTO;
        }
        *ret = ranges;
        *ret_n = n;
        return 0;
}

static int look(struct arena *arena, pid_t pid, struct facts_joined *joined) {
        _cleanup_str_ struct str text = { 0 };
        char path[48];
        int r;

        snprintf(path, sizeof path, "/proc/%d/setgroups", pid);
        if ((r = read_map(arena, pid, "uid_map", &joined->uid_map, &joined->n_uid_map)) < 0 ||
                (r = read_map(arena, pid, "gid_map", &joined->gid_map, &joined->n_gid_map)) < 0 ||
                (r = file_read(AT_FDCWD, path, 64, &text)) < 0)
                return r;
        joined->deny_setgroups = text.text && strncmp(text.text, "deny", 4) == 0;
        return 0;
}

int facts_join(struct host *host, const char *path, struct error *err) {
        struct facts_joined *joined = arena_new(host->arena, struct facts_joined);
        _cleanup_close_ int fd = -1, ours = -1, theirs = -1, pidfd = -1;
        int ends[2], status;
        char ready;
        pid_t pid;

        if (host->recorded)
                return 0;
        joined->path = path;
        fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
        if (fd < 0)
                return 0;
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, path, "cannot look at the user namespace to join");
        ours = ends[0];
        theirs = ends[1];
        pid = process_clone(0, -1, &pidfd);
        if (pid == 0) {
                close_fd(&ours);
                stay_inside(fd, theirs);
        }
        if (pid < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, -pid, path, "cannot look at the user namespace to join");
        close_fd(&theirs);
        if (read(ours, &ready, 1) == 1 && look(host->arena, pid, joined) == 0)
                host->facts.joined = joined;
        process_signal(pidfd, SIGKILL);
        process_reap(pidfd, &status);
        return 0;
}
