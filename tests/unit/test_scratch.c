/* Private room for a sandbox on the file system of its workspace: where it is made, whom it belongs to, and that it goes. */
#define _GNU_SOURCE
#include "xfs.h"

#include <dirent.h>
#include <sys/resource.h>

#include "apply/scratch.h"
#include "apply/tree_remove.h"
#include "base/arena.h"
#include "base/fd.h"

#define PROJECT 1001
#define UID 1234
#define GID 5678

static struct error err;
static struct arena arena;
static struct scratch_request request;

/* XFS with a workspace of UID's that is a project, and what a launch has of it. */
static void make_workspace(void) {
        mount_xfs();
        make_directory_of("xfs/w", PROJECT);
        CHECK(chown("xfs/w", UID, GID) == 0);
        request = (struct scratch_request){
                .id = "box",
                .workspace = open("xfs/w", O_PATH | O_DIRECTORY | O_CLOEXEC),
                .workspace_path = realpath("xfs/w", NULL),
                .mount = open("xfs", O_RDONLY | O_DIRECTORY | O_CLOEXEC),
                .mount_path = realpath("xfs", NULL),
                .project = PROJECT,
                .uid = UID,
                .gid = GID,
        };
        CHECK(request.workspace >= 0 && request.mount >= 0);
}

static struct status_scratch_claim *claim(void) {
        struct status_scratch_claim *made;

        CHECK_OK(scratch_claim(&arena, &request, &made, &err));
        return made;
}

static struct status_scratch_claim *make(struct scratch *ret) {
        struct status_scratch_claim *made = claim();

        CHECK_OK(scratch_make(&request, made, ret, &err));
        return made;
}

static size_t names_in(const char *path) {
        DIR *dir = opendir(path);
        size_t n = 0;

        CHECK(dir);
        while (readdir(dir))
                n++;
        closedir(dir);
        return n - 2;
}

static void belongs_to_the_payload(int fd, mode_t mode) {
        struct fsxattr attributes;
        struct stat st;

        CHECK(fstat(fd, &st) == 0 && st.st_uid == UID && st.st_gid == GID && (st.st_mode & 07777) == mode);
        CHECK(ioctl(fd, FS_IOC_FSGETXATTR, &attributes) == 0);
        CHECK(attributes.fsx_projid == PROJECT && attributes.fsx_xflags & FS_XFLAG_PROJINHERIT);
}

CHILD_TEST(on_a_prepared_mount_nothing_of_it_is_in_the_workspace, 0) {
        struct scratch dirs = SCRATCH_CLOSED;
        const struct status_scratch_claim *made;
        char path[512];
        struct stat st;

        make_workspace();
        CHECK(mkdir("xfs/.sage", 0711) == 0);
        made = make(&dirs);
        CHECK(strcmp(made->mount, request.mount_path) == 0 && strncmp(made->name, "box.", 4) == 0);
        belongs_to_the_payload(dirs.tmp, 01777);
        belongs_to_the_payload(dirs.shm, 01777);
        CHECK(names_in("xfs/w") == 0 && names_in("xfs/.sage") == 1);
        snprintf(path, sizeof path, "xfs/.sage/%s", made->name);
        CHECK(stat(path, &st) == 0 && st.st_uid == 0 && (st.st_mode & 07777) == 0700);
        CHECK(mkdirat(dirs.tmp, "made", 0755) == 0);
        scratch_close(&dirs);
        CHECK_OK(scratch_remove(made, &err));
        CHECK(names_in("xfs/.sage") == 0);
        CHECK_OK(scratch_remove(made, &err));
        CHECK_OK(scratch_remove(NULL, &err));
}

CHILD_TEST(elsewhere_the_last_sandbox_leaves_nothing_in_the_workspace, 0) {
        struct scratch one = SCRATCH_CLOSED, other = SCRATCH_CLOSED;
        const struct status_scratch_claim *first, *second;
        struct stat st;

        make_workspace();
        first = make(&one);
        second = make(&other);
        CHECK(!first->mount && !second->mount);
        belongs_to_the_payload(one.tmp, 01777);
        CHECK(stat("xfs/w/" SCRATCH_IN_WORKSPACE, &st) == 0 && st.st_uid == 0 && (st.st_mode & 07777) == 0711);
        CHECK(names_in("xfs/w/" SCRATCH_IN_WORKSPACE) == 2);
        CHECK_OK(scratch_remove(first, &err));
        CHECK(names_in("xfs/w/" SCRATCH_IN_WORKSPACE) == 1);
        CHECK_OK(scratch_remove(second, &err));
        CHECK(names_in("xfs/w") == 0);
}

CHILD_TEST(a_mount_that_others_may_write_is_no_place_for_it, 0) {
        make_workspace();
        CHECK(mkdir("xfs/.sage", 0755) == 0);
        CHECK(claim()->mount);
        CHECK(chmod("xfs/.sage", 0775) == 0);
        CHECK(!claim()->mount);
        CHECK(chmod("xfs/.sage", 0755) == 0 && chown("xfs/.sage", UID, GID) == 0);
        CHECK(!claim()->mount);
        CHECK(chown("xfs/.sage", 0, 0) == 0);
        set_attributes("xfs/.sage", 7, FS_XFLAG_PROJINHERIT);
        CHECK(!claim()->mount);
        CHECK(rmdir("xfs/.sage") == 0 && symlink("w", "xfs/.sage") == 0);
        CHECK(!claim()->mount);
}

CHILD_TEST(what_somebody_else_has_put_in_its_place_is_refused, 0) {
        static const char *const commands[] = {
                "mkdir elsewhere && ln -s ../../elsewhere xfs/w/" SCRATCH_IN_WORKSPACE,
                "rm xfs/w/" SCRATCH_IN_WORKSPACE " && touch xfs/w/" SCRATCH_IN_WORKSPACE,
                "rm xfs/w/" SCRATCH_IN_WORKSPACE " && mkdir xfs/w/" SCRATCH_IN_WORKSPACE " && chown 1234 xfs/w/" SCRATCH_IN_WORKSPACE,
                "chown 0 xfs/w/" SCRATCH_IN_WORKSPACE " && chmod 777 xfs/w/" SCRATCH_IN_WORKSPACE,
        };

        make_workspace();
        for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
                struct scratch dirs = SCRATCH_CLOSED;

                CHECK(system(commands[i]) == 0);
                CHECK(scratch_make(&request, claim(), &dirs, &err) < 0);
                CHECK(err.code == CODE_WORKSPACE_INVALID && strcmp(err.where, request.workspace_path) == 0);
        }
        CHECK(names_in("elsewhere") == 0);
}

CHILD_TEST(it_goes_whatever_of_it_there_was, 0) {
        const struct status_scratch_claim *made;
        char path[512];

        make_workspace();
        CHECK_OK(scratch_remove(claim(), &err)); /* of a runtime that was killed before it made any */
        CHECK(mkdir("xfs/.sage", 0711) == 0);
        CHECK_OK(scratch_remove(claim(), &err));
        made = claim();
        snprintf(path, sizeof path, "xfs/w/%s", made->moving);
        CHECK(mkdir(path, 0700) == 0); /* before it was moved */
        CHECK_OK(scratch_remove(made, &err));
        CHECK(names_in("xfs/w") == 0);
        snprintf(path, sizeof path, "xfs/.sage/%s", made->name);
        CHECK(mkdir(path, 0700) == 0); /* before there was anything in it */
        CHECK_OK(scratch_remove(made, &err));
        CHECK(names_in("xfs/.sage") == 0);
}

CHILD_TEST(another_workspace_at_the_same_path_is_left_alone, 0) {
        struct scratch dirs = SCRATCH_CLOSED;
        const struct status_scratch_claim *made;
        char command[512];

        make_workspace();
        made = make(&dirs);
        CHECK(rename("xfs/w", "xfs/moved") == 0 && mkdir("xfs/w", 0755) == 0);
        snprintf(command, sizeof command, "mkdir -p 'xfs/w/" SCRATCH_IN_WORKSPACE "/%s/tmp/theirs'", made->name);
        CHECK(system(command) == 0);
        CHECK_OK(scratch_remove(made, &err));
        CHECK(names_in("xfs/w/" SCRATCH_IN_WORKSPACE) == 1);
        CHECK(rename("xfs/w", "xfs/theirs") == 0);
        CHECK_OK(scratch_remove(made, &err)); /* nothing there at all */
        CHECK(rename("xfs/moved", "xfs/w") == 0);
        CHECK_OK(scratch_remove(made, &err));
        CHECK(names_in("xfs/w") == 0);
}

CHILD_TEST(what_was_put_in_its_place_does_not_keep_a_sandbox, 0) {
        static const char *const commands[] = { "touch", "ln -s /", "mkfifo" };
        struct scratch dirs = SCRATCH_CLOSED;
        const struct status_scratch_claim *made;
        char command[128];

        make_workspace();
        made = make(&dirs);
        CHECK(rename("xfs/w/" SCRATCH_IN_WORKSPACE, "xfs/w/moved") == 0);
        for (size_t i = 0; i < ELEMENTSOF(commands); i++) {
                snprintf(command, sizeof command, "%s xfs/w/" SCRATCH_IN_WORKSPACE, commands[i]);
                CHECK(system(command) == 0);
                CHECK_OK(scratch_remove(made, &err));
                CHECK(unlink("xfs/w/" SCRATCH_IN_WORKSPACE) == 0);
        }
        CHECK(rename("xfs/w/moved", "xfs/w/" SCRATCH_IN_WORKSPACE) == 0);
        CHECK_OK(scratch_remove(made, &err));
        CHECK(names_in("xfs/w") == 0);
}

/* rename(2) between two mounts of one file system is EXDEV. */
CHILD_TEST(a_workspace_that_was_reached_through_another_mount_is_fine, 0) {
        struct scratch dirs = SCRATCH_CLOSED;
        const struct status_scratch_claim *made;

        make_workspace();
        CHECK(mkdir("xfs/.sage", 0711) == 0 && mkdir("bound", 0755) == 0);
        CHECK(mount("xfs/w", "bound", NULL, MS_BIND, NULL) == 0 && mount(NULL, "bound", NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL) == 0);
        request.workspace = open("bound", O_PATH | O_DIRECTORY | O_CLOEXEC);
        request.workspace_path = realpath("bound", NULL);
        made = make(&dirs);
        belongs_to_the_payload(dirs.shm, 01777);
        CHECK(umount2("bound", MNT_DETACH) == 0);
        CHECK_OK(scratch_remove(made, &err));
        CHECK(names_in("xfs/.sage") == 0 && names_in("xfs/w") == 0);
}

CHILD_TEST(a_directory_of_another_project_is_not_handed_out, 0) {
        struct scratch dirs = SCRATCH_CLOSED;

        make_workspace();
        request.project = 7;
        CHECK(scratch_make(&request, claim(), &dirs, &err) == -EBUSY);
        CHECK(dirs.tmp < 0 && dirs.shm < 0);
}

/* ---- what payloads leave ------------------------------------------------------------------------------------------------- */

static void remove_tree(const char *name) {
        int here = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC), r = tree_remove(here, name, &err);

        if (r < 0) {
                fprintf(stderr, "# %s: %s\n", name, strerror(-r));
                _exit(1);
        }
        close(here);
        CHECK(access(name, F_OK) < 0);
}

CHILD_TEST(removal_takes_every_kind_of_file_and_follows_nothing, 0) {
        mount_xfs();
        CHECK(chdir("xfs") == 0);
        CHECK(system("mkdir -p outside keep t/a/b/c && touch outside/file && ln -s ../outside t/link && ln -s ../../outside/file t/a/link && "
                     "mkfifo t/fifo && mknod t/null c 1 3 && ln outside/file t/a/b/hard && chmod 0 t/a/b/c && "
                     "(cd t && seq 3000 | xargs touch) && for i in $(seq 300); do echo t/many/$i/x; done | xargs mkdir -p") == 0);
        remove_tree("t");
        remove_tree("t");
        CHECK(names_in("outside") == 1 && names_in("keep") == 0);
        CHECK(symlink("outside", "t") == 0);
        CHECK(tree_remove(AT_FDCWD, "t", &err) == -ELOOP || tree_remove(AT_FDCWD, "t", &err) == -ENOTDIR);
        CHECK(names_in("outside") == 1);
}

CHILD_TEST(removal_stops_at_a_mount, 0) {
        CHECK(mkdir("t", 0755) == 0 && mkdir("t/m", 0755) == 0 && mount("none", "t/m", "tmpfs", 0, NULL) == 0);
        write_text("t/m/file", "");
        CHECK(tree_remove(AT_FDCWD, "t", &err) == -EBUSY);
        CHECK(access("t/m/file", F_OK) == 0);
}

CHILD_TEST(removal_needs_few_descriptors_however_deep_a_tree_is, 0) {
        struct rlimit few = { 32, 32 };

        mount_xfs();
        CHECK(setrlimit(RLIMIT_NOFILE, &few) == 0 && chdir("xfs") == 0);
        CHECK(mkdir("t", 0755) == 0 && chdir("t") == 0);
        for (int i = 0; i < 8000; i++) {
                write_text("beside", "");
                CHECK(mkdir("directory", 0755) == 0 && chdir("directory") == 0);
        }
        CHECK(chdir(scratch) == 0 && chdir("xfs") == 0);
        remove_tree("t");
}

CHILD_TEST(a_user_removes_what_his_payload_made_unreadable, 0) {
        CHECK(chmod(".", 0777) == 0 && setgid(GID) == 0 && setuid(UID) == 0);
        CHECK(system("mkdir -p t/a/b/c t/d/e && touch t/a/b/file t/d/file && chmod 0 t/a/b t/a t/d/e t/d && chmod 500 t") == 0);
        remove_tree("t");
}

int main(void) {
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(on_a_prepared_mount_nothing_of_it_is_in_the_workspace),
                cmocka_unit_test(elsewhere_the_last_sandbox_leaves_nothing_in_the_workspace),
                cmocka_unit_test(a_mount_that_others_may_write_is_no_place_for_it),
                cmocka_unit_test(what_somebody_else_has_put_in_its_place_is_refused),
                cmocka_unit_test(it_goes_whatever_of_it_there_was),
                cmocka_unit_test(another_workspace_at_the_same_path_is_left_alone),
                cmocka_unit_test(what_was_put_in_its_place_does_not_keep_a_sandbox),
                cmocka_unit_test(a_workspace_that_was_reached_through_another_mount_is_fine),
                cmocka_unit_test(a_directory_of_another_project_is_not_handed_out),
                cmocka_unit_test(removal_takes_every_kind_of_file_and_follows_nothing),
                cmocka_unit_test(removal_stops_at_a_mount),
                cmocka_unit_test(removal_needs_few_descriptors_however_deep_a_tree_is),
                cmocka_unit_test(a_user_removes_what_his_payload_made_unreadable),
        };

        return RUN_TESTS(tests);
}
