/* A plan as compile makes it of the default bundle, to be changed by each test. */
#pragma once

#include "in_child.h"

#include <linux/capability.h>
#include <sys/statvfs.h>

#include "apply/container_path.h"
#include "apply/dev.h"
#include "apply/masks.h"
#include "apply/mounts.h"
#include "apply/rootfs.h"
#include "spec/plan.h"

#define FILESYSTEM PLAN_MOUNT_KIND_FILESYSTEM
#define BIND PLAN_MOUNT_KIND_BIND
#define NEW_ALL (CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWNET)
#define VIEW (MS_NOSUID | MS_NOEXEC | MS_NODEV)

static struct plan_mount default_mounts[] = {
        { .field = "mounts[0]", .destination = "/proc", .kind = FILESYSTEM, .type = "proc", .source = "proc" },
        { .field = "mounts[1]",
                .destination = "/dev",
                .kind = FILESYSTEM,
                .type = "tmpfs",
                .source = "tmpfs",
                .data = "mode=755,size=65536k",
                .flags = MS_NOSUID | MS_STRICTATIME },
        { .field = "mounts[2]",
                .destination = "/dev/pts",
                .kind = FILESYSTEM,
                .type = "devpts",
                .source = "devpts",
                .data = "newinstance,ptmxmode=0666,mode=0620",
                .flags = MS_NOSUID | MS_NOEXEC },
        { .field = "mounts[3]",
                .destination = "/dev/shm",
                .kind = FILESYSTEM,
                .type = "tmpfs",
                .source = "shm",
                .data = "mode=1777,size=65536k",
                .flags = VIEW },
        { .field = "mounts[4]", .destination = "/dev/mqueue", .kind = FILESYSTEM, .type = "mqueue", .source = "mqueue", .flags = VIEW },
        { .field = "mounts[5]",
                .destination = "/sys",
                .kind = PLAN_MOUNT_KIND_SYSFS_OR_BIND,
                .type = "sysfs",
                .source = "sysfs",
                .flags = VIEW | MS_RDONLY },
};

#define CHARACTER(name, a, b) \
        { .path = "/dev/" name, .type = S_IFCHR, .mode = 0666, .major = (a), .minor = (b) }
static struct plan_device default_devices[] = {
        CHARACTER("null", 1, 3),
        CHARACTER("zero", 1, 5),
        CHARACTER("full", 1, 7),
        CHARACTER("random", 1, 8),
        CHARACTER("urandom", 1, 9),
        CHARACTER("tty", 5, 0),
};

static const char *default_masked[] = { "/proc/acpi", "/proc/keys", "/proc/timer_list", "/proc/no-such-file", "/proc/version/no-directory",
        "/sys/firmware", "/proc/scsi" };
static const char *default_readonly[] = { "/proc/bus", "/proc/fs", "/proc/sys", "/proc/sysrq-trigger", "/proc/no-such-file" };

static struct plan_rootfs rootfs;
static struct plan_namespaces namespaces;
static struct plan_ids ids;
static struct plan_cgroup cgroup;
static struct error err;

/* The root is the directory "root" of the scratch directory. */
static inline struct plan_plan *default_plan(const char *scratch) {
        static struct plan_plan plan;
        static char path[128];

        snprintf(path, sizeof path, "%s/root", scratch);
        CHECK(mkdir("root", 0755) == 0 || errno == EEXIST);
        rootfs.path = path;
        plan = (struct plan_plan){
                .rootfs = &rootfs,
                .namespaces = &namespaces,
                .ids = &ids,
                .cgroup = &cgroup,
                .mounts = default_mounts,
                .n_mounts = sizeof default_mounts / sizeof default_mounts[0],
                .devices = default_devices,
                .n_devices = sizeof default_devices / sizeof default_devices[0],
                .masked_paths = default_masked,
                .n_masked_paths = sizeof default_masked / sizeof default_masked[0],
                .readonly_paths = default_readonly,
                .n_readonly_paths = sizeof default_readonly / sizeof default_readonly[0],
        };
        return &plan;
}

/* A plan with MOUNTS and nothing else. */
static inline struct plan_plan *bare_plan(const char *scratch, struct plan_mount *mounts, size_t n) {
        struct plan_plan *plan = default_plan(scratch);

        plan->mounts = mounts;
        plan->n_mounts = n;
        plan->n_devices = plan->n_masked_paths = plan->n_readonly_paths = 0;
        return plan;
}

static inline void enter_all(const struct plan_plan *plan) {
        int root;

        CHECK_OK(rootfs_prepare(plan, &root, &err));
        CHECK_OK(mounts_attach(plan, root, NULL, &err));
        CHECK_OK(dev_populate(plan, root, NULL, &err));
        CHECK_OK(masks_apply(plan, root, &err));
        CHECK_OK(rootfs_enter(plan, root, &err));
        close(root);
}

/* One of the mounts cannot be attached, for the reason EXPECTED. */
static inline void fail_attach(const struct plan_plan *plan, int expected) {
        int root, r;

        CHECK_OK(rootfs_prepare(plan, &root, &err));
        r = mounts_attach(plan, root, NULL, &err);
        if (r != expected)
                fprintf(stderr, "# got %d: %s\n", r, err.text);
        CHECK(r == expected);
}

static inline mode_t mode_of(const char *path) {
        struct stat st;

        CHECK(lstat(path, &st) == 0);
        return st.st_mode;
}

static inline bool refuses_write(const char *path, int errnum) {
        int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

        return fd < 0 && errno == errnum;
}

static inline unsigned long flags_of(const char *path) {
        struct statvfs st;

        CHECK(statvfs(path, &st) == 0);
        return st.f_flag;
}

/* Of this mount namespace; CONTAINING: NULL for all. */
static inline int count_mounts(const char *containing) {
        FILE *file = fopen("/proc/self/mountinfo", "re");
        char line[4096];
        int n = 0;

        CHECK(file);
        while (fgets(line, sizeof line, file))
                n += !containing || strstr(line, containing);
        fclose(file);
        return n;
}
