/* The runtime's own functions (it links them) on a project that the kernel limits: what is admitted and what is not, how much is used, and
 * that room for a sandbox is made in it and goes, though it is full. */
#define _GNU_SOURCE
#include "program.h"

#include <linux/dqblk_xfs.h>
#include <linux/fs.h>
#include <linux/quota.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#include "apply/project_quota.h"
#include "apply/scratch.h"
#include "apply/workspace_walk.h"
#include "facts/quota.h"

#define MOUNT "/srv/xfs"
#define WORKSPACE MOUNT "/verified"
#define PROJECT 4801u
#define MIB (UINT64_C(1) << 20)

static struct error err;
static struct arena arena;
static int mount_fd, workspace;

#define MUST(call) \
        do { \
                if ((call) < 0) \
                        fail_test("%d: %s: %s: %s (errno %d)", __LINE__, #call, err.where, err.text, errno); \
        } while (0)
#define CHECK(condition) \
        do { \
                if (!(condition)) \
                        fail_test("%d: %s (errno %d; %s: %s)", __LINE__, #condition, errno, err.where, err.text); \
        } while (0)

static void set_limits(uint64_t blocks, uint64_t inodes) {
        struct fs_disk_quota quota = {
                .d_version = FS_DQUOT_VERSION,
                .d_flags = FS_PROJ_QUOTA,
                .d_fieldmask = FS_DQ_BHARD | FS_DQ_IHARD,
                .d_id = PROJECT,
                .d_blk_hardlimit = blocks / 512,
                .d_ino_hardlimit = inodes,
        };

        CHECK(syscall(SYS_quotactl_fd, mount_fd, QCMD(Q_XSETQLIM, 2), PROJECT, &quota) == 0);
}

static void set_project(const char *path, uint32_t project, uint32_t flags) {
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        struct fsxattr attributes;

        CHECK(fd >= 0 && ioctl(fd, FS_IOC_FSGETXATTR, &attributes) == 0);
        attributes.fsx_projid = project;
        attributes.fsx_xflags = flags;
        CHECK(ioctl(fd, FS_IOC_FSSETXATTR, &attributes) == 0);
        close(fd);
}

static int check(uint64_t bytes) {
        uint32_t project = 0;
        int r = project_quota_check(&arena, mount_fd, MOUNT, workspace, WORKSPACE, bytes, "disk_mb", &project, &err);

        if (r == 0)
                CHECK(project == PROJECT);
        return r;
}

static void refused(uint64_t bytes, const char *code) {
        CHECK(check(bytes) < 0 && err.code == CODE_RESOURCE_LIMITS_UNSUPPORTED);
        CHECK(strncmp(err.text, code, strlen(code)) == 0);
}

/* XFS frees inodes in the background (Linux 5.14, inodegc). */
static void nothing_is_left(void) {
        struct sage_disk disk;

        for (int tries = 0; tries < 600; tries++) {
                MUST(project_quota_usage(mount_fd, PROJECT, &disk));
                if (disk.used_inodes == 1)
                        return;
                usleep(50000);
        }
        fail_test("the project still has %llu inodes", (unsigned long long)disk.used_inodes);
}

static void limits_are_verified(void) {
        set_limits(8 * MIB, 2048);
        MUST(check(8 * MIB));
        MUST(check(9 * MIB));
        refused(8 * MIB - 1, "quota.block_limit_too_high");
        set_limits(8 * MIB, 2049);
        refused(8 * MIB, "quota.inode_limit_too_high");
        set_limits(0, 2048);
        refused(8 * MIB, "quota.no_block_limit");
        set_limits(8 * MIB, 0);
        refused(8 * MIB, "quota.no_inode_limit");
        set_limits(8 * MIB, 2048);
        set_project(WORKSPACE, PROJECT, 0);
        refused(8 * MIB, "quota.not_inherited");
        set_project(WORKSPACE, 0, FS_XFLAG_PROJINHERIT);
        refused(8 * MIB, "quota.no_project");
        set_project(WORKSPACE, PROJECT, FS_XFLAG_PROJINHERIT);
}

static void user_may_not_read_them(void) {
        pid_t pid = fork();
        int status;

        CHECK(pid >= 0);
        if (pid == 0) {
                CHECK(setgid(65534) == 0 && setuid(65534) == 0);
                refused(8 * MIB, "quota.unreadable");
                exit(EXIT_SUCCESS);
        }
        CHECK(waitpid(pid, &status, 0) == pid && status == 0);
}

/* A tree whose every directory holds another and a file, as deep as the project has inodes. */
static void nest(int top) {
        int at = dup(top);

        CHECK(at >= 0);
        for (;;) {
                int next, file = openat(at, "f", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

                if (file >= 0)
                        close(file);
                if (mkdirat(at, "directory-with-a-name-that-is-long-enough-for-a-block", 0700) < 0)
                        break;
                next = openat(at, "directory-with-a-name-that-is-long-enough-for-a-block", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
                CHECK(next >= 0);
                close(at);
                at = next;
        }
        CHECK(errno == ENOSPC || errno == EDQUOT);
        close(at);
}

static void fill(void) {
        int fd = open(WORKSPACE "/filler", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        static char block[65536];

        CHECK(fd >= 0);
        for (size_t size = sizeof block; size >= 512;)
                if (write(fd, block, size) <= 0)
                        size /= 2;
        CHECK(fsync(fd) == 0 || errno == ENOSPC);
        close(fd);
}

static void use_is_told(void) {
        struct sage_disk disk;

        MUST(project_quota_usage(mount_fd, PROJECT, &disk));
        CHECK(disk.limit_bytes == 8 * MIB && disk.limit_inodes == 2048 && disk.used_inodes == 1 && disk.used_bytes < 65536);
        CHECK(!project_quota_full(&disk));
        fill();
        MUST(project_quota_usage(mount_fd, PROJECT, &disk));
        CHECK(disk.used_inodes == 2 && disk.used_bytes > 7 * MIB && disk.used_bytes <= 8 * MIB);
        CHECK(project_quota_full(&disk));
        CHECK(unlink(WORKSPACE "/filler") == 0);
        nothing_is_left();
}

static void room_is_made_and_goes(const struct scratch_request *request, bool on_mount) {
        const struct walk_top top = { .fd = workspace, .path = WORKSPACE };
        const struct walk_rules rules = { .in_project = true, .project = PROJECT };
        struct scratch scratch = SCRATCH_CLOSED, none = SCRATCH_CLOSED;
        struct status_scratch_claim *claim, *second;
        struct sage_disk disk;

        MUST(scratch_claim(&arena, request, &claim, &err));
        CHECK((claim->mount != NULL) == on_mount);
        MUST(scratch_make(request, claim, &scratch, &err));
        close(open(WORKSPACE "/filler", O_WRONLY | O_CREAT | O_CLOEXEC, 0600)); /* later there is no inode left for it */
        nest(scratch.tmp);
        MUST(workspace_walk(&top, 1, &rules, NULL, &err));
        MUST(project_quota_usage(mount_fd, PROJECT, &disk));
        CHECK(disk.used_inodes >= 2047 && project_quota_full(&disk));
        fill();
        MUST(scratch_claim(&arena, request, &second, &err));
        CHECK(scratch_make(request, second, &none, &err) < 0 && err.code == CODE_RESOURCE_EXHAUSTED);
        MUST(scratch_remove(second, &err));
        scratch_close(&scratch);
        MUST(scratch_remove(claim, &err));
        CHECK(unlink(WORKSPACE "/filler") == 0);
        nothing_is_left();
}

int main(void) {
        struct scratch_request request = {
                .id = "box", .workspace_path = WORKSPACE, .mount_path = MOUNT, .project = PROJECT, .uid = 65534, .gid = 65534
        };

        mount_fd = request.mount = open(MOUNT, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        CHECK(mount_fd >= 0 && mkdir(WORKSPACE, 0755) == 0);
        workspace = request.workspace = open(WORKSPACE, O_PATH | O_DIRECTORY | O_CLOEXEC);
        CHECK(workspace >= 0);
        set_project(WORKSPACE, PROJECT, FS_XFLAG_PROJINHERIT);
        limits_are_verified();
        user_may_not_read_them();
        use_is_told();
        room_is_made_and_goes(&request, false);
        CHECK(mkdir(MOUNT "/.sage", 0711) == 0);
        room_is_made_and_goes(&request, true);
        CHECK(rmdir(MOUNT "/.sage") == 0 && rmdir(WORKSPACE) == 0);
        arena_free(&arena);
        return 0;
}
