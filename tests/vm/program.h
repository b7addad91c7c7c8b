/* What the test programs of this folder share: a cgroup of their own below the guest's root, and words for what went wrong.
 * They prove the guest and depend on nothing of the product, so they end at the first surprise: exit status 0 passed, 1 failed. */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

struct test_cgroup {
        char path[64];
};

__attribute__((format(printf, 1, 2), noreturn))
static inline void fail_test(const char *text, ...) {
        va_list ap;

        va_start(ap, text);
        vfprintf(stderr, text, ap);
        va_end(ap);
        fputc('\n', stderr);
        exit(EXIT_FAILURE);
}

static inline int cgroup_open(const struct test_cgroup *cgroup, const char *file, int flags) {
        char path[128];
        int fd;

        snprintf(path, sizeof path, "%s/%s", cgroup->path, file);
        fd = open(path, flags | O_CLOEXEC);
        if (fd < 0)
                fail_test("cannot open %s: %s", path, strerror(errno));
        return fd;
}

static inline void cgroup_write(const struct test_cgroup *cgroup, const char *file, const char *value) {
        int fd = cgroup_open(cgroup, file, O_WRONLY);

        if (write(fd, value, strlen(value)) < 0)
                fail_test("cannot write %s to %s/%s: %s", value, cgroup->path, file, strerror(errno));
        close(fd);
}

/* The number after KEY in a flat-keyed file such as memory.events. */
static inline long long cgroup_count(const struct test_cgroup *cgroup, const char *file, const char *key) {
        FILE *stream = fdopen(cgroup_open(cgroup, file, O_RDONLY), "r");
        char found[64];
        long long value;

        while (stream && fscanf(stream, "%63s %lld", found, &value) == 2)
                if (!strcmp(found, key)) {
                        fclose(stream);
                        return value;
                }
        fail_test("%s/%s has no %s", cgroup->path, file, key);
}

/* A new cgroup with one limit. */
static inline struct test_cgroup cgroup_make(const char *file, const char *limit) {
        struct test_cgroup cgroup;

        snprintf(cgroup.path, sizeof cgroup.path, "/sys/fs/cgroup/program-%d", (int)getpid());
        if (mkdir(cgroup.path, 0755) < 0)
                fail_test("cannot make %s: %s", cgroup.path, strerror(errno));
        cgroup_write(&cgroup, file, limit);
        return cgroup;
}

/* Forks; the child, in which 0 is returned, is inside CGROUP. */
static inline pid_t cgroup_fork(const struct test_cgroup *cgroup) {
        pid_t pid = fork();

        if (pid < 0)
                fail_test("cannot fork: %s", strerror(errno));
        if (pid == 0)
                cgroup_write(cgroup, "cgroup.procs", "0");
        return pid;
}

/* The members must have been waited for. A dead process leaves its cgroup a moment after its parent has seen it end. */
static inline void cgroup_remove(const struct test_cgroup *cgroup) {
        while (rmdir(cgroup->path) < 0) {
                if (errno != EBUSY)
                        fail_test("cannot remove %s: %s", cgroup->path, strerror(errno));
                usleep(10000);
        }
}
