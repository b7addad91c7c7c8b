/* Tests that change namespaces, mounts or identity run in a child, so that nothing of it reaches the machine or the next test. */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "unit.h"

#include "base/error.h"

#define SKIPPED 77

/* cmocka's assertions jump back into the group's runner, which a child must not do. */
#define CHECK(condition) \
        do { \
                if (!(condition)) { \
                        fprintf(stderr, "# %s:%d: %s (errno %d)\n", __FILE__, __LINE__, #condition, errno); \
                        _exit(1); \
                } \
        } while (0)

/* A call that fills ERR. */
#define CHECK_OK(call) \
        do { \
                int result_ = (call); \
                if (result_ < 0) { \
                        fprintf(stderr, "# %s:%d: %s: %d: %s: %s\n", __FILE__, __LINE__, #call, result_, err.where, err.text); \
                        _exit(1); \
                } \
        } while (0)

static inline void write_text(const char *path, const char *text) {
        int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

        CHECK(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
        close(fd);
}

static inline size_t read_text(const char *path, char *text, size_t size) {
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        ssize_t n;

        CHECK(fd >= 0);
        n = read(fd, text, size - 1);
        CHECK(n >= 0);
        text[n] = '\0';
        close(fd);
        return (size_t)n;
}

/* A child that a failed check of its parent takes along, and that ends by itself when it hangs. */
static inline pid_t fork_child(void) {
        pid_t pid = fork();

        CHECK(pid >= 0);
        if (pid == 0) {
                prctl(PR_SET_PDEATHSIG, SIGKILL);
                alarm(30);
        }
        return pid;
}

/* False where SKIPPED, else the child has succeeded. BODY runs with / private, an empty tmpfs at SCRATCH that is its working directory, and
 * the CLONE_NEW* of NAMESPACES, all made after that mount; a user namespace maps root to root. */
static inline bool run_in_child(unsigned long namespaces, void (*body)(const char *scratch)) {
        char scratch[] = "/tmp/sage-unit.XXXXXX";
        int status;
        pid_t pid;

        if (geteuid() != 0 || !mkdtemp(scratch))
                return false;
        fflush(NULL);
        pid = fork_child();
        if (pid == 0) {
                if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
                        mount("scratch", scratch, "tmpfs", 0, "mode=755") < 0 || chdir(scratch) < 0)
                        _exit(SKIPPED);
                if (namespaces && unshare((int)namespaces) < 0)
                        _exit(SKIPPED);
                if (namespaces & CLONE_NEWUSER) {
                        write_text("/proc/self/setgroups", "deny");
                        write_text("/proc/self/uid_map", "0 0 1");
                        write_text("/proc/self/gid_map", "0 0 1");
                }
                if (namespaces & CLONE_NEWPID && (pid = fork_child()) > 0) {
                        waitpid(pid, &status, 0);
                        _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 2);
                }
                body(scratch);
                _exit(0);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        rmdir(scratch);
        if (WIFEXITED(status) && WEXITSTATUS(status) == SKIPPED)
                return false;
        assert_int_equal(status, 0);
        return true;
}

/* The test NAME, whose body follows. */
#define CHILD_TEST(name, namespaces) \
        static void name##_body(const char *scratch); \
        static void name(void **state) { \
                (void)state; \
                if (!run_in_child((namespaces), name##_body)) \
                        skip(); \
        } \
        static void name##_body(__attribute__((unused)) const char *scratch)
