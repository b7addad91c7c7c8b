#define _GNU_SOURCE
#include "life/state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/auxv.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "apply/cgroup_freeze.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/process.h"
#include "base/time.h"
#include "facts/facts.h"
#include "libocispec/spec.h"
#include "life/gate.h"
#include "life/room.h"

enum { STATE_FILE_MAX = 16 << 20 };

/* What every container has, and what only some or a killed runtime leave. */
static const char *const usual_files[] = { "plan.json", "status.json" };
static const char *const rare_files[] = { "filter", "start", ".start", ".status.json.new", ".plan.json.new", ".filter.new", "slots", "lost" };

static const enum oci_status status_of_gate[] = {
        [GATE_NONE] = OCI_STATUS_RUNNING, [GATE_MAKING] = OCI_STATUS_CREATING, [GATE_WAITING] = OCI_STATUS_CREATED,
};

bool state_id_valid(const char *id) {
        size_t n = strlen(id);

        if (n == 0 || n > 255 || id[0] == '.' || id[0] == '-')
                return false;
        for (; *id; id++)
                if (!((*id >= 'a' && *id <= 'z') || (*id >= 'A' && *id <= 'Z') || (*id >= '0' && *id <= '9') || strchr("_+.-", *id)))
                        return false;
        return true;
}

int state_check_id(const char *id, struct error *err) {
        if (state_id_valid(id))
                return 0;
        return fail(err, CODE_USAGE, EINVAL, "id", "invalid container id `%.64s`: expected 1 to 255 of a-z A-Z 0-9 _ + . -, not beginning with . or -", id);
}

/* The XDG base directory specification lets files below $XDG_RUNTIME_DIR be removed after six hours unless the sticky bit is on them. */
static mode_t kept_by_cleaners(void) {
        return getauxval(AT_EUID) != 0 ? S_ISVTX : 0; /* no system call */
}

/* mkdir -p, for --root only: the last component private, those above it as others would make them. */
static int make_root(const char *root) {
        char path[4096];
        size_t n = strlen(root);

        if (n >= sizeof path)
                return -ENAMETOOLONG;
        memcpy(path, root, n + 1);
        for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
                *slash = '\0';
                if (mkdir(path, 0755) < 0 && errno != EEXIST)
                        return -errno;
                *slash = '/';
        }
        return mkdir(path, 0700 | kept_by_cleaners()) < 0 && errno != EEXIST ? -errno : 0;
}

/* Whoever may write to --root decides which processes the next kill or delete reaches. */
static int check_root(int fd, const char *root, struct error *err) {
        struct stat st;

        if (fstat(fd, &st) < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, root, "cannot look at the state directory");
        if (st.st_uid != geteuid() && st.st_uid != 0)
                return fail(err, CODE_STATE_CORRUPT, EPERM, root, "the state directory belongs to uid %u: it is not trusted", st.st_uid);
        if (st.st_mode & (S_IWGRP | S_IWOTH))
                return fail(err, CODE_STATE_CORRUPT, EPERM, root, "others may write to the state directory: it is not trusted");
        return 0;
}

int state_open_root(const char *root, bool make, int *ret, struct error *err) {
        int fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC), r;

        if (fd < 0 && errno == ENOENT && make) {
                if ((r = make_root(root)) < 0)
                        return fail_errno(err, CODE_LAUNCH_FAILED, -r, root, "cannot make the state directory%s",
                                r == -EACCES || r == -EROFS ? ": set XDG_RUNTIME_DIR to a directory of your own, or use --root" : "");
                fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
        }
        if (fd < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, root, "cannot open the state directory");
        if ((r = check_root(fd, root, err)) < 0) {
                close(fd);
                return r;
        }
        *ret = fd;
        return 0;
}

static int open_dir(int root, const char *id) {
        int fd = openat(root, id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

        return fd < 0 ? -errno : fd;
}

static int does_not_exist(const char *id, struct error *err) {
        return fail(err, CODE_NOT_FOUND, ENOENT, "", "container `%s` does not exist: container does not exist", id);
}

static bool is_deleted(const struct container *c) {
        struct stat st;

        return fstat(c->dir, &st) == 0 && st.st_nlink == 0;
}

static int lock(struct container *container, int operation, struct error *err) {
        int r;

        do
                r = flock(container->dir, operation);
        while (r < 0 && errno == EINTR);
        if (r < 0 && errno == EWOULDBLOCK)
                return fail(err, CODE_BUSY, EBUSY, container->id, "another command is at work on the container");
        if (r < 0)
                return fail_errno(err, CODE_INTERNAL, errno, container->id, "cannot lock the container");
        /* Whoever held the lock may have deleted it meanwhile. */
        return is_deleted(container) ? does_not_exist(container->id, err) : 0;
}

int container_lock(struct container *container, struct error *err) {
        return lock(container, LOCK_EX, err);
}

void container_unlock(struct container *container) {
        flock(container->dir, LOCK_UN);
}

void container_close(struct container *container) {
        close_fd(&container->dir);
        close_fd(&container->root);
}

/* Makes c->dir and locks it. -ENOENT: somebody removed it before we had the lock. */
static int make_dir(struct container *c, struct error *err) {
        int r;

        if (mkdirat(c->root, c->id, 0700) < 0)
                return errno == EEXIST ? fail(err, CODE_EXISTS, EEXIST, c->id, "container `%s` already exists: container with given ID already exists", c->id)
                                       : fail_errno(err, CODE_LAUNCH_FAILED, errno, c->id, "cannot make the container's state directory");
        c->dir = open_dir(c->root, c->id);
        if (c->dir == -ENOENT)
                return does_not_exist(c->id, err);
        r = c->dir < 0 ? fail_errno(err, CODE_LAUNCH_FAILED, -c->dir, c->id, "cannot open the container's state directory") : container_lock(c, err);
        if (r < 0 && err->code != CODE_NOT_FOUND)
                unlinkat(c->root, c->id, AT_REMOVEDIR);
        return r;
}

int container_create(const char *root, const char *id, struct container *ret, struct error *err) {
        _cleanup_container_ struct container c = { .root = -1, .dir = -1, .id = id };
        int r;

        if ((r = state_check_id(id, err)) < 0 || (r = state_open_root(root, true, &c.root, err)) < 0)
                return r;
        /* Before it is locked, it looks like what a create that was killed has left: `gc` and `delete --force` may take it for that. */
        for (int tries = 0; (r = make_dir(&c, err)) < 0 && err->code == CODE_NOT_FOUND && tries < 100; tries++)
                close_fd(&c.dir);
        if (r < 0)
                return r;
        *ret = c;
        c.root = c.dir = -1;
        return 0;
}

/* What lies there may be damaged, and a FIFO in its place would keep even `list` waiting. */
static int read_state_file(const struct container *c, const char *name, size_t max, struct str *ret) {
        _cleanup_close_ int fd = openat(c->dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

        return fd < 0 ? -errno : file_read_fd(fd, max, ret);
}

static int read_json(struct arena *arena, const struct container *c, const char *name, const struct spec_type *type, void *ret, struct error *err) {
        _cleanup_str_ struct str text = { 0 };
        int r = read_state_file(c, name, STATE_FILE_MAX, &text);

        if (r < 0)
                return fail_errno(err, CODE_STATE_CORRUPT, -r, name, "cannot read the state of container `%s`", c->id);
        r = spec_decode(arena, type, name, text.text, text.size, ret, err);
        if (r < 0)
                err->code = CODE_STATE_CORRUPT;
        return r;
}

int container_open_unread(const char *root, const char *id, enum container_lock how, struct container *ret, struct error *err) {
        _cleanup_container_ struct container c = { .root = -1, .dir = -1, .id = id };
        int r;

        if ((r = state_check_id(id, err)) < 0)
                return r;
        c.root = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
        c.dir = c.root < 0 ? -errno : open_dir(c.root, id);
        if (c.root >= 0 && (r = check_root(c.root, root, err)) < 0)
                return r;
        if (c.dir == -ENOENT)
                return does_not_exist(id, err);
        if (c.dir < 0)
                return fail_errno(err, CODE_STATE_CORRUPT, -c.dir, id, "cannot open the container's state directory");
        if (how != CONTAINER_UNLOCKED && (r = lock(&c, how == CONTAINER_LOCKED ? LOCK_EX : LOCK_EX | LOCK_NB, err)) < 0)
                return r;
        *ret = c;
        c.root = c.dir = -1;
        return 0;
}

/* A directory without a status is being made or being deleted, or its runtime was killed at that. Whoever holds the lock knows that it is
 * the last; for others the moment may pass, so that nobody hears of a container that is "creating" when it is on its way out. What keeps us
 * from a status that may be there must not pass for none: whoever deletes would leave behind what the container holds. */
static bool has_status(const struct container *c, enum container_lock how) {
        for (int tries = 0; faccessat(c->dir, "status.json", F_OK, 0) < 0 && errno == ENOENT; tries++) {
                if (how != CONTAINER_UNLOCKED || tries == 20 || is_deleted(c))
                        return false;
                usleep(500);
        }
        return true;
}

int container_open(struct arena *arena, const char *root, const char *id, enum container_lock how, struct container *ret, struct error *err) {
        _cleanup_container_ struct container c = CONTAINER_CLOSED;
        int r;

        if ((r = container_open_unread(root, id, how, &c, err)) < 0)
                return r;
        if (has_status(&c, how) && (r = read_json(arena, &c, "status.json", &status_status_type, &c.status, err)) < 0)
                return r;
        if (!c.status.schema && is_deleted(&c))
                return does_not_exist(id, err);
        if (how != CONTAINER_UNLOCKED)
                room_mend(&c);
        *ret = c;
        c.root = c.dir = -1;
        return 0;
}

static int write_json(struct container *c, const char *name, const struct spec_type *type, const void *value, struct error *err) {
        _cleanup_str_ struct str text = { 0 };
        int r = spec_encode(type, value, &text, 0, err);

        if (r < 0)
                return r;
        r = file_replace(c->dir, name, 0600 | kept_by_cleaners(), text.text, text.size);
        return r < 0 ? fail_errno(err, CODE_LAUNCH_FAILED, -r, name, "cannot write the state of container `%s`", c->id) : 0;
}

int container_save(struct container *container, struct error *err) {
        return write_json(container, "status.json", &status_status_type, &container->status, err);
}

int container_replace_plan(struct container *container, const struct plan_plan *plan, struct error *err) {
        return write_json(container, "plan.json", &plan_plan_type, plan, err);
}

int container_save_plan(struct container *container, const struct plan_plan *plan, const struct filter_program *filter, struct error *err) {
        struct plan_plan kept = *plan;
        struct plan_filter without_rules;
        int r;

        if (plan->filter) {
                without_rules = *plan->filter;
                without_rules.rules = NULL;
                kept.filter = &without_rules;
                r = file_replace(container->dir, "filter", 0600 | kept_by_cleaners(), filter->instructions, filter->count * sizeof *filter->instructions);
                if (r < 0)
                        return fail_errno(err, CODE_LAUNCH_FAILED, -r, "filter", "cannot write the seccomp program of container `%s`", container->id);
        }
        return container_replace_plan(container, &kept, err);
}

int container_load_plan(struct arena *arena, const struct container *container, struct plan_plan *ret, struct error *err) {
        return read_json(arena, container, "plan.json", &plan_plan_type, ret, err);
}

int container_load_filter(struct arena *arena, const struct container *container, struct filter_program *ret, struct error *err) {
        _cleanup_str_ struct str bytes = { 0 };
        int r = read_state_file(container, "filter", UINT16_MAX * sizeof(struct sock_filter), &bytes);

        if (r < 0)
                return fail_errno(err, CODE_STATE_CORRUPT, -r, "filter", "cannot read the seccomp program of container `%s`", container->id);
        if (bytes.size == 0 || bytes.size % sizeof(struct sock_filter) != 0)
                return fail(err, CODE_STATE_CORRUPT, EIO, "filter", "the seccomp program of container `%s` is damaged", container->id);
        ret->count = (uint16_t)(bytes.size / sizeof(struct sock_filter));
        ret->instructions = memcpy(arena_alloc(arena, bytes.size), bytes.text, bytes.size);
        return 0;
}

bool container_is_of_this_boot(const struct container *container) {
        char boot_id[37];

        return !container->status.boot_id || process_boot_id(boot_id) < 0 || streq(boot_id, container->status.boot_id);
}

int container_state(const struct container *container, enum oci_status *ret, int *ret_pidfd, struct error *err) {
        const struct status_process_claim *init = container->status.init;
        _cleanup_close_ int pidfd = -1;
        char boot_id[37];
        enum gate gate;
        int r;

        if (ret_pidfd)
                *ret_pidfd = -1;
        if (container->status.schema == 0 || !init) {
                *ret = OCI_STATUS_CREATING;
                return 0;
        }
        if ((r = process_boot_id(boot_id)) < 0)
                return fail_errno(err, CODE_INTERNAL, -r, "/proc/sys/kernel/random/boot_id", "cannot read the boot id");
        r = streq(boot_id, container->status.boot_id) ? process_open(init->pid, init->start_time, &pidfd) : -ESRCH;
        if (r < 0 && r != -ESRCH)
                return fail_errno(err, CODE_INTERNAL, -r, container->id, "cannot look at the container's process");
        *ret = OCI_STATUS_STOPPED;
        if (r == 0) {
                if ((r = gate_state(container->dir, &gate)) < 0)
                        return fail_errno(err, CODE_INTERNAL, -r, container->id, "cannot see whether the container waits for start");
                *ret = status_of_gate[gate];
        }
        if (*ret == OCI_STATUS_RUNNING && container->status.cgroup && cgroup_frozen(container->status.cgroup->path))
                *ret = OCI_STATUS_PAUSED;
        if (ret_pidfd)
                *ret_pidfd = take_fd(&pidfd);
        return 0;
}

static int remove_files(const struct container *container, const char *const *files, size_t n, struct error *err) {
        for (size_t i = 0; i < n; i++)
                if (unlinkat(container->dir, files[i], 0) < 0 && errno != ENOENT)
                        return fail_errno(err, CODE_RELEASE_FAILED, errno, files[i], "cannot remove the state of container `%s`", container->id);
        return 0;
}

int container_remove(struct container *container, struct error *err) {
        int r = remove_files(container, usual_files, ELEMENTSOF(usual_files), err);

        if (r < 0 || unlinkat(container->root, container->id, AT_REMOVEDIR) == 0)
                return r;
        if (errno == ENOTEMPTY && (r = remove_files(container, rare_files, ELEMENTSOF(rare_files), err)) < 0)
                return r;
        if (unlinkat(container->root, container->id, AT_REMOVEDIR) < 0 && errno != ENOENT)
                return fail_errno(err, CODE_RELEASE_FAILED, errno, container->id, "cannot remove the container's state directory");
        return 0;
}

static struct oci_sage *describe_sage(struct arena *arena, const struct status_status *s) {
        struct oci_sage *sage = s->sage_fingerprint ? arena_new(arena, struct oci_sage) : NULL;

        if (sage)
                *sage = (struct oci_sage){ .fingerprint = s->sage_fingerprint, .limits = s->limits };
        return sage;
}

struct oci_state container_describe(struct arena *arena, const struct container *container, enum oci_status status) {
        const struct status_status *s = &container->status;
        struct oci_state state = {
                .has = OCI_STATE_HAS_PID,
                .oci_version = s->oci_version ? s->oci_version : "1.0.0",
                .id = container->id,
                .status = status,
                .pid = s->init && status != OCI_STATUS_STOPPED ? s->init->pid : 0,
                .bundle = s->bundle,
                .rootfs = s->rootfs,
                .annotations = s->annotations,
                .n_annotations = s->n_annotations,
        };

        if (s->schema) {
                state.created = arena_strdup(arena, time_rfc3339(s->created).text);
                state.owner = arena_printf(arena, "%u", s->owner);
                state.sage = describe_sage(arena, s);
        } else {
                state.bundle = "/";
        }
        return state;
}
