#define _GNU_SOURCE
#include "life/force.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/file.h"
#include "base/log.h"
#include "base/process.h"
#include "base/str.h"
#include "life/release.h"

enum {
        PATIENCE_MS = 1000,
        STEP_MS = 10,
        LOCKS_MAX = 1 << 20,
        STATUS_MAX = 1 << 14,
};

/* proc_locks(5): "1: FLOCK  ADVISORY  WRITE 1234 00:1a:5678 0 EOF", "1: -> FLOCK …" for one who waits. Some file systems have another device
 * there than in stat(2): then nobody is found. 0: nobody. */
static pid_t find_holder(int dir) {
        static const char begin[] = ": FLOCK  ADVISORY  WRITE ";
        _cleanup_str_ struct str locks = { 0 };
        char file[64];
        struct stat st;

        if (fstat(dir, &st) < 0 || file_read(AT_FDCWD, "/proc/locks", LOCKS_MAX, &locks) < 0 || !locks.text)
                return 0;
        snprintf(file, sizeof file, " %02x:%02x:%ju 0 EOF\n", major(st.st_dev), minor(st.st_dev), (uintmax_t)st.st_ino);
        for (const char *at = locks.text; (at = strstr(at, begin));) {
                char *end;
                long pid = strtol(at += strlen(begin), &end, 10);

                if (str_after(end, file))
                        return pid > 0 ? (pid_t)pid : 0;
        }
        return 0;
}

/* Has SIGKILL been sent to PID, which cannot take it yet? proc_pid_status(5). */
static bool is_dying(pid_t pid) {
        static const char begin[] = "\nShdPnd:\t";
        _cleanup_str_ struct str status = { 0 };
        const char *pending;
        char path[32];

        snprintf(path, sizeof path, "/proc/%d/status", pid);
        if (file_read(AT_FDCWD, path, STATUS_MAX, &status) < 0 || !status.text || !(pending = strstr(status.text, begin)))
                return false;
        return strtoull(pending + strlen(begin), NULL, 16) >> (SIGKILL - 1) & 1;
}

/* A pid is not used again while it is the holder's. 0: nobody was killed. */
static pid_t kill_holder(int dir) {
        pid_t pid = find_holder(dir);
        _cleanup_close_ int pidfd = pid > 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;

        if (pidfd < 0 || find_holder(dir) != pid || process_signal(pidfd, SIGKILL) < 0)
                return 0;
        log_debug("killed process %d, which kept the container locked", pid);
        return pid;
}

static int wait_for_lock(struct arena *arena, const char *root, const char *id, struct container *ret, struct error *err) {
        int r = container_open(arena, root, id, CONTAINER_LOCKED_AT_ONCE, ret, err);

        for (int ms = 0; r < 0 && err->code == CODE_BUSY && ms < PATIENCE_MS; ms += STEP_MS) {
                usleep(STEP_MS * 1000);
                r = container_open(arena, root, id, CONTAINER_LOCKED_AT_ONCE, ret, err);
        }
        return r;
}

int container_open_by_force(struct arena *arena, const char *root, const char *id, struct container *ret, struct error *err) {
        _cleanup_container_ struct container busy = CONTAINER_CLOSED;
        struct error ignored;
        bool lost = false; /* what the holder waits for will not come: a process of the container does not die */
        pid_t holder;
        int r = container_open(arena, root, id, CONTAINER_LOCKED_AT_ONCE, ret, err);

        if (r == 0 || err->code != CODE_BUSY)
                return r;
        if (container_open(arena, root, id, CONTAINER_UNLOCKED, &busy, &ignored) == 0)
                lost = release_kill(&busy, &ignored) < 0 && ignored.code == CODE_LOST;
        else if (container_open_unread(root, id, CONTAINER_UNLOCKED, &busy, &ignored) < 0)
                return container_open(arena, root, id, CONTAINER_LOCKED_AT_ONCE, ret, err);
        if (!lost && ((r = wait_for_lock(arena, root, id, ret, err)) == 0 || err->code != CODE_BUSY))
                return r;
        holder = kill_holder(busy.dir);
        r = wait_for_lock(arena, root, id, ret, err);
        if (r == 0 || err->code != CODE_BUSY || !holder || !is_dying(holder))
                return r;
        return container_open(arena, root, id, CONTAINER_UNLOCKED, ret, err);
}
