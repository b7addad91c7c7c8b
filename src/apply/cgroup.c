#define _GNU_SOURCE
#include "apply/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "apply/cgroup_file.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/str.h"
#include "facts/facts.h"

/* ---- the directory ------------------------------------------------------------------------------------------------------ */

static int too_long(const char *path, struct error *err) {
        return fail(err, CODE_CONFIG_INVALID, ENAMETOOLONG, path, "the path of the cgroup is too long");
}

int cgroup_ours(const char *path, unsigned *ret_components, struct error *err) {
        unsigned components = 0;
        char at[PATH_MAX];

        if (strlen(path) >= sizeof at)
                return too_long(path, err);
        strcpy(at, path);
        while (access(at, F_OK) < 0) {
                char *slash = strrchr(at, '/');

                if (errno != ENOENT || !slash || slash == at)
                        return fail_errno(err, CODE_LAUNCH_FAILED, errno, at, "cannot look at the cgroup");
                *slash = '\0';
                components++;
        }
        *ret_components = components;
        return 0;
}

static int cannot_make(const char *path, struct error *err) {
        if (errno == EACCES || errno == EPERM || errno == EROFS)
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, path,
                                  "cannot make the cgroup: its parent has to be delegated to this user (or use --cgroup-manager disabled)");
        return fail_errno(err, CODE_LAUNCH_FAILED, errno, path, "cannot make the cgroup");
}

/* A directory above was removed: a moment ago, or right now (kernel: cgroup_mkdir(), cgroup_kn_lock_live()). */
static bool is_removed(int errnum) {
        return errnum == ENOENT || errnum == ENODEV;
}

/* Makes all directories above PATH that are missing, as far as nobody removes them meanwhile. */
static int make_parents(const char *path, struct error *err) {
        char at[PATH_MAX];

        strcpy(at, path);
        for (char *slash = strchr(at + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
                *slash = '\0';
                if (mkdir(at, 0755) < 0 && errno != EEXIST && !is_removed(errno))
                        return cannot_make(at, err);
                *slash = '/';
        }
        return 0;
}

/* What says that a cgroup was made for a container, and is somebody's to remove: whoever has the same path but another --root looks for the claim
 * where it is not. The bit has no other meaning where nobody but the owner may write; an extended attribute would be a system call more. */
#define CLAIMED S_ISVTX

/* Another container of the same parent may end, and remove it, between our making the parent and our making what goes below. */
static int make(const char *path, bool *ret_existed, struct error *err) {
        if (strlen(path) >= PATH_MAX)
                return too_long(path, err);
        for (int tries = 0; mkdir(path, 0755 | CLAIMED) < 0; tries++) {
                int r;

                if (errno == EEXIST) {
                        *ret_existed = true;
                        return 0;
                }
                if (!is_removed(errno) || tries == 64)
                        return cannot_make(path, err);
                r = make_parents(path, err);
                if (r < 0)
                        return r;
        }
        *ret_existed = false;
        return 0;
}

/* The specification lets us refuse a cgroup that would mix the container with others, or never let it run. */
static int check_existing(int fd, const char *path, struct error *err) {
        char events[CGROUP_FILE_SIZE], type[CGROUP_FILE_SIZE];
        struct stat st;
        int r;

        if (fstat(fd, &st) < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, path, "cannot look at the cgroup");
        if ((r = cgroup_file_read(fd, "cgroup.events", events)) < 0 || (r = cgroup_file_read(fd, "cgroup.type", type)) < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, -r, path, "cannot use this directory as the container's cgroup");
        if (cgroup_event(events, "populated"))
                return fail(err, CODE_BUSY, EBUSY, path, "the cgroup exists and holds processes");
        if (cgroup_event(events, "frozen"))
                return fail(err, CODE_BUSY, EBUSY, path, "the cgroup exists and is frozen");
        if (st.st_mode & CLAIMED)
                return fail(err, CODE_BUSY, EBUSY, path,
                            "the cgroup was made for a container that is not below this --root: delete that one, or, if its state is lost, "
                            "remove the cgroup (rmdir)");
        if (!cgroup_has_word(type, "domain") || cgroup_has_word(type, "invalid") || cgroup_has_word(type, "threaded"))
                return fail(err, CODE_BUSY, EBUSY, path, "the cgroup exists and is a threaded one");
        return 0;
}

/* ---- controllers -------------------------------------------------------------------------------------------------------- */

struct controller {
        const char *name;
        bool needed; /* else wanted for accounting */
        bool open;   /* not enabled yet */
};

struct controllers {
        struct controller list[32];
        size_t n, n_open;
};

static int collect(struct controllers *c, const char *const *names, size_t n, bool needed, const char *enabled, struct error *err) {
        for (size_t i = 0; i < n; i++) {
                if (cgroup_has_word(enabled, names[i]))
                        continue;
                if (c->n == ELEMENTSOF(c->list))
                        return fail(err, CODE_INTERNAL, E2BIG, "linux.resources", "too many controllers");
                c->list[c->n++] = (struct controller){ .name = names[i], .needed = needed, .open = true };
                c->n_open++;
        }
        return 0;
}

/* The field that needs CONTROLLER: the first that is written to one of its files. */
static const char *needed_by(const struct plan_cgroup *cgroup, const char *controller) {
        for (size_t i = 0; i < cgroup->n_writes; i++) {
                const char *rest = str_after(cgroup->writes[i].file, controller);

                if (rest && *rest == '.')
                        return cgroup->writes[i].field;
        }
        return "linux.resources";
}

static int cannot_enable(const struct plan_cgroup *cgroup, const char *controller, const char *where, int errnum, struct error *err) {
        const char *field = needed_by(cgroup, controller);

        switch (errnum) {
        case ENOENT:
        case EINVAL:
                return fail(err, CODE_RESOURCE_LIMITS_UNSUPPORTED, EOPNOTSUPP, field, "cgroup v2 of this host has no %s controller at %s",
                            controller, where);
        case EBUSY:
                return fail(err, CODE_RESOURCE_LIMITS_UNSUPPORTED, EBUSY, field,
                            "%s cannot hand out the %s controller because it holds processes itself", where, controller);
        case EACCES:
        case EPERM:
        case EROFS:
                return fail(err, CODE_RESOURCE_LIMITS_UNSUPPORTED, errnum, field,
                            "the %s controller of %s is not delegated to this user (systemd: Delegate=%s in a drop-in of user@.service)",
                            controller, where, controller);
        default:
                return fail_errno(
                        err, CODE_RESOURCE_LIMITS_UNSUPPORTED, errnum, field, "cannot enable the %s controller in %s", controller, where);
        }
}

/* Only the root of the whole hierarchy, which has no type, may hold processes beside its children's controllers. For cpu, cpuset and pids
 * the kernel would go along, but make DIR the root of a threaded tree, in which no container can live (cgroup-v2.rst, "Threads"). */
static bool holds_processes(int dir) {
        char text[CGROUP_FILE_SIZE];

        return cgroup_file_read(dir, "cgroup.type", text) == 0 && cgroup_file_read(dir, "cgroup.procs", text) == 0 && *text;
}

static int enable(int dir, const char *controller, const char *available) {
        char text[64];
        int n = snprintf(text, sizeof text, "+%s", controller);

        if (!cgroup_has_word(available, controller) || n >= (int)sizeof text)
                return -ENOENT;
        if (holds_processes(dir))
                return -EBUSY;
        return file_write(dir, "cgroup.subtree_control", text, (size_t)n);
}

/* Enables the open ones for the children of directory DIR, one at a time: a write of several fails as a whole. */
static int enable_below(int dir, const char *where, struct controllers *c, const struct plan_cgroup *cgroup, struct error *err) {
        char enabled[CGROUP_FILE_SIZE], available[CGROUP_FILE_SIZE];
        bool known = false;
        int r = cgroup_file_read(dir, "cgroup.subtree_control", enabled);

        if (r < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, -r, where, "cannot read cgroup.subtree_control");
        for (size_t i = 0; i < c->n; i++) {
                struct controller *one = &c->list[i];

                if (!one->open || cgroup_has_word(enabled, one->name))
                        continue;
                if (!known && (r = cgroup_file_read(dir, "cgroup.controllers", available)) < 0)
                        return fail_errno(err, CODE_LAUNCH_FAILED, -r, where, "cannot read cgroup.controllers");
                known = true;
                r = enable(dir, one->name, available);
                if (r < 0 && one->needed)
                        return cannot_enable(cgroup, one->name, where, -r, err);
                if (r < 0) {
                        one->open = false;
                        c->n_open--;
                }
        }
        return 0;
}

/* Enables what PATH, whose descriptor FD is, does not have: in every directory from the mount to its parent. */
int cgroup_enable(const char *path, int fd, const struct plan_cgroup *cgroup, struct error *err) {
        const char *mount = facts_cgroup_mount(), *below = str_after(path, mount), *slash;
        struct controllers c = { .n = 0 };
        _cleanup_close_ int dir = -1;
        char enabled[CGROUP_FILE_SIZE];
        char where[PATH_MAX];
        int r;

        if (cgroup->n_controllers + cgroup->n_accounting == 0)
                return 0;
        r = cgroup_file_read(fd, "cgroup.controllers", enabled);
        if (r < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, -r, path, "cannot read cgroup.controllers");
        if ((r = collect(&c, cgroup->controllers, cgroup->n_controllers, true, enabled, err)) < 0 ||
            (r = collect(&c, cgroup->accounting, cgroup->n_accounting, false, enabled, err)) < 0)
                return r;
        if (!below || *below != '/')
                return fail(err, CODE_INTERNAL, EINVAL, path, "expected a path below %s", mount);
        for (slash = below; slash && c.n_open > 0; slash = strchr(slash + 1, '/')) {
                snprintf(where, sizeof where, "%.*s", (int)(slash - path), path);
                close_fd(&dir);
                dir = open(where, O_PATH | O_DIRECTORY | O_CLOEXEC);
                if (dir < 0)
                        return fail_errno(err, CODE_LAUNCH_FAILED, errno, where, "cannot open the cgroup");
                r = enable_below(dir, where, &c, cgroup, err);
                if (r < 0)
                        return r;
        }
        return 0;
}

int cgroup_create(const char *path, const struct plan_cgroup *cgroup, unsigned *ours, int *ret_fd, struct error *err) {
        _cleanup_close_ int fd = -1;
        bool existed = false;
        int r;

        r = make(path, &existed, err);
        if (r < 0)
                return r;
        if (existed && *ours > 0) {
                *ours = 0;
                return fail(err, CODE_BUSY, EBUSY, path, "another container is being made in this cgroup");
        }
        fd = open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, path, "cannot open the cgroup");
        if (existed && (r = check_existing(fd, path, err)) < 0)
                return r;
        r = cgroup_enable(path, fd, cgroup, err);
        if (r < 0)
                return r;
        *ret_fd = take_fd(&fd);
        return 0;
}
