#define _GNU_SOURCE
#include "apply/cgroup_processes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apply/cgroup.h"
#include "base/fd.h"
#include "base/file.h"
#include "facts/facts.h"

/* A container with a delegated cgroup may nest its own as deep as it likes; nobody needs this many. */
enum { DEPTH_MAX = 64, PROCS_MAX = 16 << 20 };

struct visitor {
        void (*visit)(pid_t pid, void *data);
        void *data;
};

/* 0 stands for a process that this pid namespace does not have. */
static int visit_members(int dir, const struct visitor *visitor) {
        _cleanup_str_ struct str procs = { 0 };
        int r = file_read(dir, "cgroup.procs", PROCS_MAX, &procs);

        if (r < 0)
                return r == -ENOENT || r == -ENODEV ? 0 : r;
        for (char *at = procs.text, *end; at && *at; at = end + (*end == '\n')) {
                long pid = strtol(at, &end, 10);

                if (end == at)
                        break;
                if (pid > 0)
                        visitor->visit((pid_t)pid, visitor->data);
        }
        return 0;
}

static int visit_tree(int dir, const struct visitor *visitor, int depth) {
        _cleanup_dir_ DIR *entries = NULL;
        _cleanup_close_ int listed = -1;
        int r = visit_members(dir, visitor);

        if (r < 0 || depth == 0)
                return r;
        listed = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        entries = listed < 0 ? NULL : fdopendir(listed);
        if (!entries)
                return 0;
        take_fd(&listed);
        for (struct dirent *entry; r == 0 && (entry = readdir(entries)); ) {
                _cleanup_close_ int child = -1;

                if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
                        continue;
                child = openat(dir, entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
                if (child >= 0)
                        r = visit_tree(child, visitor, depth - 1);
        }
        return r;
}

int cgroup_processes(const char *path, void (*visit)(pid_t pid, void *data), void *data) {
        const struct visitor visitor = { .visit = visit, .data = data };
        _cleanup_close_ int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        if (dir < 0)
                return errno == ENOENT ? 0 : -errno;
        return visit_tree(dir, &visitor, DEPTH_MAX);
}

/* ---- looking for one ---------------------------------------------------------------------------------------------------- */

static bool is_called(const char *directory, const char *name) {
        size_t length = strlen(directory), n = strlen(name);

        if (length > 6 && streq(directory + length - 6, ".scope") && !streq(directory, name))
                length -= 6;
        return length >= n && strncmp(directory + length - n, name, n) == 0 && (length == n || directory[length - n - 1] == '-');
}

static bool is_populated(const char *path) {
        _cleanup_close_ int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
        bool populated = false;
        struct error ignored;

        return fd >= 0 && cgroup_populated(fd, &populated, &ignored) == 0 && populated;
}

/* PATH holds LENGTH characters, the directory to look in. */
static bool find_below(const char *name, char path[PATH_MAX], size_t length, int depth) {
        _cleanup_dir_ DIR *entries = depth > 0 ? opendir(path) : NULL;

        for (struct dirent *entry; entries && (entry = readdir(entries));) {
                int n;

                if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
                        continue;
                n = snprintf(path + length, PATH_MAX - length, "/%s", entry->d_name);
                if (n < (int)(PATH_MAX - length) && ((is_called(entry->d_name, name) && is_populated(path)) ||
                                                     find_below(name, path, length + (size_t)n, depth - 1)))
                        return true;
                path[length] = '\0';
        }
        return false;
}

bool cgroup_find_populated(const char *name, char path[PATH_MAX]) {
        size_t length = (size_t)snprintf(path, PATH_MAX, "%s", facts_cgroup_mount());

        return find_below(name, path, length, DEPTH_MAX);
}
