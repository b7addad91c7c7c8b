/* enter_the_entering: for a container whose processes hold CAP_SYS_PTRACE. Looks, as fast as it can, into every other process of its pid
 * namespace: through /proc/PID/root, cwd and fd, and by PTRACE_SEIZE. Whatever it finds there that is not the container's own is a way
 * out: another root or mount namespace, a directory or file of elsewhere, a capability that it does not have itself. Prints a line for
 * each such find, and "met" for each process that it meets before that runs a program of the container. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile sig_atomic_t ended;
static struct stat our_root, our_exe, our_mounts, busybox;
static uint64_t our_capabilities;
static pid_t last_met;

static void end(int signal) {
        (void)signal;
        ended = 1;
}

static bool same(const struct stat *a, const struct stat *b) {
        return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

static uint64_t effective_of(pid_t pid) {
        char path[32], text[4096], *at;
        ssize_t n;
        int fd;

        snprintf(path, sizeof path, "/proc/%d/status", pid);
        fd = open(path, O_RDONLY | O_CLOEXEC);
        n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
        if (fd >= 0)
                close(fd);
        text[n > 0 ? n : 0] = '\0';
        at = strstr(text, "CapPrm:");
        return at ? strtoull(at + 8, NULL, 16) : 0;
}

static void found(pid_t pid, const char *what, const char *detail) {
        printf("way out: %s of process %d: %s\n", what, pid, detail);
}

/* NAME of PID, followed: is it what OURS is? */
static void compare(pid_t pid, const char *name, const struct stat *ours) {
        char path[64], target[256] = "";
        struct stat st;

        snprintf(path, sizeof path, "/proc/%d/%s", pid, name);
        if (stat(path, &st) < 0 || same(&st, ours))
                return;
        (void)!readlink(path, target, sizeof target - 1);
        found(pid, name, target);
}

/* What is open there leads nowhere but to what any program of the container gets: standard streams, and sockets and pipes. */
static void look_at_files(pid_t pid) {
        char path[64], target[256];
        struct dirent *entry;
        DIR *dir;

        snprintf(path, sizeof path, "/proc/%d/fd", pid);
        dir = opendir(path);
        while (dir && (entry = readdir(dir))) {
                ssize_t n = atoi(entry->d_name) > 2 ? readlinkat(dirfd(dir), entry->d_name, target, sizeof target - 1) : -1;

                if (n < 0)
                        continue;
                target[n] = '\0';
                if (strncmp(target, "socket:", 7) != 0 && strncmp(target, "pipe:", 5) != 0)
                        found(pid, "descriptor", target);
        }
        if (dir)
                closedir(dir);
}

/* Has it not run a program of the container yet? There are two, this one and busybox. */
static bool is_entering(pid_t pid) {
        char path[32];
        struct stat st;

        snprintf(path, sizeof path, "/proc/%d/exe", pid);
        return stat(path, &st) == 0 && !same(&st, &our_exe) && !same(&st, &busybox);
}

static void look_into(pid_t pid) {
        if (!is_entering(pid))
                return;
        if (pid != last_met) {
                last_met = pid;
                puts("met");
        }
        compare(pid, "root", &our_root);
        compare(pid, "cwd", &our_root);
        compare(pid, "ns/mnt", &our_mounts);
        look_at_files(pid);
        if (effective_of(pid) & ~our_capabilities)
                found(pid, "capabilities", "more than ours");
}

/* Takes hold of it, so that it stands still while we look. One that ended meanwhile is ours to reap, or its parent waits for us. */
static void seize(pid_t pid) {
        int status;

        if (ptrace(PTRACE_SEIZE, pid, NULL, NULL) < 0)
                return;
        ptrace(PTRACE_INTERRUPT, pid, NULL, NULL);
        if (waitpid(pid, &status, __WALL) == pid && WIFSTOPPED(status)) {
                look_into(pid);
                ptrace(PTRACE_DETACH, pid, NULL, WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status));
        }
}

int main(int argc, char **argv) {
        struct sigaction action = { .sa_handler = end };
        const pid_t us = getpid();

        setvbuf(stdout, NULL, _IOLBF, 0);
        (void)argc;
        sigaction(SIGTERM, &action, NULL);
        if (stat("/", &our_root) < 0 || stat(argv[0], &our_exe) < 0 || stat("/proc/self/ns/mnt", &our_mounts) < 0 ||
            stat("/bin/busybox", &busybox) < 0)
                return 1;
        our_capabilities = effective_of(us);
        puts("ready");
        /* Numbers are given out in turn: one of the next is the next to come. */
        for (pid_t next = us + 1; !ended; next++) {
                for (pid_t first = next; !ended && kill(next, 0) < 0; next = next < first + 8 ? next + 1 : first)
                        ;
                for (int i = 0; !ended && kill(next, 0) == 0; i++) {
                        look_into(next);
                        if (i % 4 == 3)
                                seize(next);
                }
        }
        return 0;
}
