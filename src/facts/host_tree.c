/* What a sandbox could have of the host's files. */
#define _GNU_SOURCE
#include "facts/facts.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"

#define GROUPS_MAX 65536 /* include/uapi/linux/limits.h, NGROUPS_MAX */

static enum facts_place_kind kind_of(mode_t mode) {
        switch (mode & S_IFMT) {
        case S_IFDIR:
                return FACTS_PLACE_KIND_DIRECTORY;
        case S_IFREG:
                return FACTS_PLACE_KIND_FILE;
        case S_IFLNK:
                return FACTS_PLACE_KIND_SYMLINK;
        default:
                return FACTS_PLACE_KIND_OTHER;
        }
}

static enum facts_place_kind kind_of_failure(int errnum) {
        switch (errnum) {
        case ELOOP:
                return FACTS_PLACE_KIND_SYMLINK;
        case EACCES:
        case EPERM:
                return FACTS_PLACE_KIND_UNREACHABLE;
        default:
                return FACTS_PLACE_KIND_ABSENT;
        }
}

static int open_whole(const char *path) {
        const struct open_how how = { .flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS };
        int fd = (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof how);

        return fd < 0 ? -errno : fd;
}

/* The ids that the kernel looks at for files. Neither call says whether it worked; asked for an id that there is none of, each tells the one in
 * use (setfsuid(2)). */
static bool become(uint32_t uid, uint32_t gid) {
        setfsgid(gid);
        setfsuid(uid);
        return (uint32_t)setfsuid((uid_t)-1) == uid && (uint32_t)setfsgid((gid_t)-1) == gid;
}

/* The kernel itself says who may go where: mode bits do not tell all (acl(5)). With the file system's ids of another user the capabilities
 * that overrule modes are off (capabilities(7), "Effect of user ID changes"); groups are the caller's, so they go as well. *RET_FD is a
 * descriptor or a negative errno. -errno: we could not be somebody else, or ourselves again. */
static int open_as(const char *path, uint32_t uid, uint32_t gid, struct arena *arena, int *ret_fd) {
        const uid_t euid = geteuid();
        const gid_t egid = getegid();
        _cleanup_close_ int fd = -EPERM;
        int n = getgroups(0, NULL);
        bool there, back;
        gid_t *groups;

        if (euid != 0) {
                *ret_fd = open_whole(path);
                return 0;
        }
        if (n < 0 || n > GROUPS_MAX)
                return n < 0 ? -errno : -E2BIG;
        groups = arena_array(arena, gid_t, (size_t)n + 1);
        if ((n > 0 && getgroups(n, groups) < 0) || syscall(SYS_setgroups, 0, NULL) < 0)
                return -errno;
        there = become(uid, gid);
        if (there)
                fd = open_whole(path);
        back = become(euid, egid);
        if (syscall(SYS_setgroups, n, groups) < 0 || !there || !back)
                return -EPERM;
        *ret_fd = take_fd(&fd);
        return 0;
}

static const char *read_target(struct arena *arena, const char *path) {
        char target[PATH_MAX];
        ssize_t n = readlink(path, target, sizeof target);

        return n <= 0 || (size_t)n == sizeof target ? NULL : arena_strndup(arena, target, (size_t)n);
}

static int look_at(struct arena *arena, const struct facts_look *look, uint32_t uid, uint32_t gid, struct facts_place *ret) {
        _cleanup_close_ int fd = -1;
        struct stat st;
        int r;

        *ret = (struct facts_place){ .path = look->path };
        if (look->as_identity && (r = open_as(look->path, uid, gid, arena, &fd)) < 0)
                return r;
        if (look->whole && !look->as_identity)
                fd = open_whole(look->path);
        if (look->whole)
                r = fd < 0 ? fd : fstat(fd, &st) < 0 ? -errno : 0;
        else
                r = lstat(look->path, &st) < 0 ? -errno : 0;
        if (r < 0) {
                ret->kind = kind_of_failure(-r);
                return 0;
        }
        ret->kind = kind_of(st.st_mode);
        ret->dev = st.st_dev;
        ret->ino = st.st_ino;
        ret->uid = st.st_uid;
        if (ret->kind == FACTS_PLACE_KIND_SYMLINK && !(ret->target = read_target(arena, look->path)))
                return -errno;
        return 0;
}

static const char *if_same(struct arena *arena, const char *path, const struct stat *ours) {
        char real[PATH_MAX];
        struct stat st;

        return path && realpath(path, real) && stat(real, &st) == 0 && st.st_dev == ours->st_dev && st.st_ino == ours->st_ino
                ? arena_strdup(arena, real)
                : NULL;
}

/* A program that was executed again, from a mount that has no place (life/protect.h), has no path in /proc/self/exe; then its name leads to it, as
 * it led whoever called it. A name that leads elsewhere does no harm: what it leads to must be this very file. */
static const char *own_path(struct arena *arena, const struct stat *ours) {
        const char *said = read_target(arena, "/proc/self/exe"), *name = program_invocation_name, *path = getenv("PATH"), *found;

        if ((found = if_same(arena, said, ours)) || (strchr(name, '/') && (found = if_same(arena, name, ours))))
                return found;
        while (path && *path) {
                const char *end = strchrnul(path, ':');

                found = if_same(arena, arena_printf(arena, "%.*s/%s", (int)(end - path), path, name), ours);
                if (found)
                        return found;
                path = *end ? end + 1 : end;
        }
        return said;
}

int facts_look(struct host *host, const struct facts_look *looks, size_t n, uint32_t uid, uint32_t gid, struct error *err) {
        struct facts_tree *tree;
        struct stat st;

        if (host->facts.tree)
                return 0;
        if (host->recorded)
                return fail(err, CODE_CONFIG_INVALID, ENODATA, "tree", "this part is needed, and the recorded host does not have it");
        tree = arena_new(host->arena, struct facts_tree);
        if (stat("/proc/self/exe", &st) < 0 || !(tree->program = own_path(host->arena, &st)))
                return fail_errno(err, CODE_INTERNAL, errno, "/proc/self/exe", "cannot tell where this program is");
        tree->program_uid = st.st_uid;
        tree->places = arena_array(host->arena, struct facts_place, n);
        tree->n_places = n;
        for (size_t i = 0; i < n; i++) {
                int r = look_at(host->arena, &looks[i], uid, gid, &tree->places[i]);

                if (r < 0)
                        return fail_errno(err, CODE_LAUNCH_FAILED, -r, looks[i].path, "cannot look at this path as the sandbox would");
        }
        host->facts.tree = tree;
        return 0;
}

const struct facts_place *facts_place(const struct facts_facts *facts, const char *path) {
        for (size_t i = 0; facts->tree && i < facts->tree->n_places; i++)
                if (strcmp(facts->tree->places[i].path, path) == 0)
                        return &facts->tree->places[i];
        return NULL;
}
