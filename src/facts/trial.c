/* Tries what a sandbox needs of namespaces, in a child that leaves nothing: settings lie, and the filter of an outer container cannot
 * be read at all. */
#define _GNU_SOURCE
#include "facts/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/file.h"

/* What the child found out, written into the pipe in one piece. */
struct outcome {
        int step, errnum;
};

static int write_text(const char *path, const char *text) {
        return file_write(AT_FDCWD, path, text, strlen(text));
}

/* Maps our own two ids to themselves. setgroups is denied first, as user_namespaces(7) demands of who has no CAP_SETGID outside. */
static int map_own_ids(unsigned uid, unsigned gid) {
        char uids[64], gids[64];
        int r;

        snprintf(uids, sizeof uids, "%u %u 1", uid, uid);
        snprintf(gids, sizeof gids, "%u %u 1", gid, gid);
        r = write_text("/proc/self/uid_map", uids);
        if (r == 0)
                r = write_text("/proc/self/setgroups", "deny");
        if (r == 0)
                r = write_text("/proc/self/gid_map", gids);
        return r;
}

/* In the child. Its mounts are in a namespace of its own, which begins with every mount a slave of the host's
 * (mount_namespaces(7)), so nothing comes back; the new /proc goes with the child. */
static struct outcome try_namespaces(unsigned uid, unsigned gid) {
        int r = map_own_ids(uid, gid);

        if (r < 0)
                return (struct outcome){ FACTS_TRIAL_STEP_MAP, -r };
        if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
                return (struct outcome){ FACTS_TRIAL_STEP_MOUNT, errno };
        if (mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0)
                return (struct outcome){ FACTS_TRIAL_STEP_PROC, errno };
        return (struct outcome){ 0, 0 };
}

/* fork(2) with flags. Not clone3: the filters of older container engines answer ENOSYS to it and would hide their real verdict. */
static pid_t clone_child(unsigned long flags) {
#if defined(__s390x__)
        return (pid_t)syscall(SYS_clone, NULL, flags | SIGCHLD, NULL, NULL, NULL);
#else
        return (pid_t)syscall(SYS_clone, flags | SIGCHLD, NULL, NULL, NULL, NULL);
#endif
}

static struct outcome run_trial(void) {
        struct outcome outcome = { FACTS_TRIAL_STEP_CLONE, EIO };
        unsigned uid = geteuid(), gid = getegid();
        _cleanup_close_ int from = -1, to = -1;
        int pipes[2];
        pid_t child;

        if (pipe2(pipes, O_CLOEXEC) < 0)
                return (struct outcome){ FACTS_TRIAL_STEP_CLONE, errno };
        from = pipes[0];
        to = pipes[1];
        child = clone_child(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID);
        if (child < 0)
                return (struct outcome){ FACTS_TRIAL_STEP_CLONE, errno };
        if (child == 0) {
                outcome = try_namespaces(uid, gid);
                _exit(write(to, &outcome, sizeof outcome) != sizeof outcome);
        }
        close_fd(&to);
        if (read(from, &outcome, sizeof outcome) != sizeof outcome)
                outcome = (struct outcome){ FACTS_TRIAL_STEP_CLONE, EIO };
        while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
                ;
        return outcome;
}

int probe_trial(struct arena *arena, struct facts_trial **ret, struct error *err) {
        struct facts_trial *trial = arena_new(arena, struct facts_trial);
        struct outcome outcome = run_trial();

        (void)err;
        if (outcome.step) {
                trial->has = FACTS_TRIAL_HAS_FAILED | FACTS_TRIAL_HAS_ERRNUM;
                trial->failed = (enum facts_trial_step)outcome.step;
                trial->errnum = outcome.errnum;
        }
        *ret = trial;
        return 0;
}
