#define _GNU_SOURCE
#include "bundle.h"

#include <grp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "apply/credentials.h"
#include "apply/lsm.h"
#include "apply/procfs.h"
#include "apply/rlimits.h"
#include "apply/sysctl.h"

#define BIT(n) (UINT64_C(1) << (n))
#define KILL BIT(CAP_KILL)
#define BIND_SERVICE BIT(CAP_NET_BIND_SERVICE)

static uint64_t status_bits(const char *name) {
        char text[8192], *at;

        read_text("/proc/self/status", text, sizeof text);
        at = strstr(text, name);
        CHECK(at);
        return strtoull(at + strlen(name), NULL, 16);
}

CHILD_TEST(the_bounding_set_loses_all_but_what_is_asked_for, 0) {
        struct plan_capabilities capabilities = { .bounding = KILL | BIND_SERVICE | BIT(50) };
        struct plan_process process = { .capabilities = &capabilities };

        CHECK_OK(credentials_drop_bounding(&process, &err));
        CHECK(status_bits("CapBnd:") == (KILL | BIND_SERVICE));
        CHECK_OK(credentials_drop_bounding(&process, &err));
}

CHILD_TEST(a_user_keeps_the_capabilities_that_it_is_given, 0) {
        uint32_t groups[] = { 7, 8 };
        struct plan_capabilities capabilities = { .bounding = KILL | BIND_SERVICE,
                .effective = KILL,
                .permitted = KILL | BIND_SERVICE,
                .inheritable = BIND_SERVICE,
                .ambient = BIND_SERVICE | KILL | BIT(CAP_SYS_ADMIN) };
        struct plan_process process = { .has = PLAN_PROCESS_HAS_UMASK,
                .uid = 1234,
                .gid = 567,
                .groups = groups,
                .n_groups = 2,
                .umask = 027,
                .capabilities = &capabilities };
        gid_t found[8];

        CHECK_OK(credentials_drop_bounding(&process, &err));
        CHECK_OK(credentials_set(&process, &err));
        CHECK(getuid() == 1234 && geteuid() == 1234 && getgid() == 567 && getgroups(8, found) == 2 && found[1] == 8 && umask(0) == 027);
        CHECK(prctl(PR_GET_DUMPABLE) == 0);
        CHECK(prctl(PR_SET_DUMPABLE, 1) == 0); /* only so that /proc/self can be read now */
        CHECK(status_bits("CapEff:") == KILL && status_bits("CapPrm:") == (KILL | BIND_SERVICE) && status_bits("CapInh:") == BIND_SERVICE);
        CHECK(status_bits("CapAmb:") == BIND_SERVICE);
}

CHILD_TEST(root_without_capabilities_has_none_and_no_groups, 0) {
        struct plan_capabilities none = { 0 };
        struct plan_process process = { .capabilities = &none, .no_new_privileges = true };
        gid_t groups[] = { 1, 2 };

        CHECK(setgroups(2, groups) == 0);
        CHECK_OK(credentials_no_new_privileges(&process, &err));
        CHECK_OK(credentials_set(&process, &err));
        CHECK(getgroups(0, NULL) == 0 && umask(0) == 0022 && prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 && prctl(PR_GET_DUMPABLE) == 0);
        CHECK(prctl(PR_SET_DUMPABLE, 1) == 0);
        CHECK(status_bits("CapEff:") == 0 && status_bits("CapPrm:") == 0 && status_bits("CapAmb:") == 0);
        CHECK(mount("x", ".", "tmpfs", 0, NULL) < 0 && errno == EPERM);
}

CHILD_TEST(capabilities_that_cannot_be_had_are_left_out, 0) {
        struct plan_capabilities few = { .bounding = KILL,
                .effective = KILL | BIT(CAP_SETUID) | BIT(CAP_SETGID) | BIT(CAP_SETPCAP),
                .permitted = KILL | BIT(CAP_SETUID) | BIT(CAP_SETGID) | BIT(CAP_SETPCAP) };
        struct plan_capabilities all = { .effective = KILL | BIT(CAP_SYS_ADMIN), .permitted = KILL | BIT(CAP_SYS_ADMIN), .inheritable = 0 };
        struct plan_process first = { .capabilities = &few }, second = { .capabilities = &all };

        CHECK_OK(credentials_set(&first, &err));
        CHECK_OK(credentials_set(&second, &err));
        CHECK(prctl(PR_SET_DUMPABLE, 1) == 0);
        CHECK(status_bits("CapEff:") == KILL && status_bits("CapPrm:") == KILL);
}

CHILD_TEST(an_inherited_ambient_capability_goes, 0) {
        struct plan_capabilities capabilities = { .bounding = KILL, .effective = KILL, .permitted = KILL, .inheritable = KILL };
        struct plan_process process = { .capabilities = &capabilities };
        struct plan_capabilities before = capabilities;
        struct plan_process caller = { .capabilities = &before };

        before.ambient = KILL;
        before.effective = before.permitted = KILL | BIT(CAP_SETUID) | BIT(CAP_SETGID);
        CHECK_OK(credentials_set(&caller, &err));
        CHECK_OK(credentials_set(&process, &err));
        CHECK(prctl(PR_SET_DUMPABLE, 1) == 0);
        CHECK(status_bits("CapAmb:") == 0 && status_bits("CapPrm:") == KILL);
}

CHILD_TEST(groups_that_a_user_namespace_denies_are_an_error_only_when_wanted, CLONE_NEWUSER) {
        uint32_t groups[] = { 7 };
        struct plan_capabilities none = { 0 };
        struct plan_process process = { .capabilities = &none, .groups = groups, .n_groups = 1 };

        (void)scratch;
        CHECK(credentials_set(&process, &err) == -EPERM && strcmp(err.where, "process.user.additionalGids") == 0);
        process.n_groups = 0;
        CHECK_OK(credentials_set(&process, &err));
}

CHILD_TEST(an_unmapped_user_is_an_error, CLONE_NEWUSER) {
        struct plan_capabilities none = { 0 };
        struct plan_process process = { .capabilities = &none, .uid = 55 };

        (void)scratch;
        CHECK(credentials_set(&process, &err) == -EINVAL && strcmp(err.where, "process.user.uid") == 0);
}

CHILD_TEST(rlimits_are_set_or_refused_by_name, 0) {
        struct plan_rlimit limits[] = {
                { .field = "process.rlimits[0]", .resource = RLIMIT_NOFILE, .soft = 50, .hard = 60 },
                { .field = "process.rlimits[1]", .resource = RLIMIT_CORE, .soft = UINT64_MAX, .hard = UINT64_MAX },
                { .field = "process.rlimits[2]", .resource = RLIMIT_NOFILE, .soft = 70, .hard = 65 },
        };
        struct plan_process process = { .rlimits = limits, .n_rlimits = 2 };
        struct rlimit found;

        (void)scratch;
        CHECK(getrlimit(RLIMIT_CORE, &found) == 0);
        if (found.rlim_max != RLIM_INFINITY)
                process.n_rlimits = 1;
        CHECK_OK(rlimits_set(&process, &err));
        CHECK(getrlimit(RLIMIT_NOFILE, &found) == 0 && found.rlim_cur == 50 && found.rlim_max == 60);
        process.n_rlimits = 3;
        CHECK(rlimits_set(&process, &err) == -EINVAL && strcmp(err.where, "process.rlimits[2]") == 0);
}

static void check_domain(const char *expected) {
        char name[128];

        CHECK(getdomainname(name, sizeof name) == 0);
        CHECK(strcmp(name, expected) == 0);
}

CHILD_TEST(sysctls_are_those_of_our_namespaces, CLONE_NEWUTS | CLONE_NEWIPC) {
        struct plan_sysctl sysctls[] = { { .key = "kernel/domainname", .value = "one" },
                { .key = "kernel/shm_rmid_forced", .value = "1" } };
        struct plan_plan plan = { .sysctls = sysctls, .n_sysctls = 2 };

        (void)scratch;
        CHECK_OK(sysctls_write(&plan, &err));
        check_domain("one");
        sysctls[1].key = "kernel/no_such_thing";
        CHECK(sysctls_write(&plan, &err) == -ENOENT && err.code == CODE_CAPABILITY_UNSUPPORTED && strstr(err.text, "no_such_thing"));
        sysctls[1] = (struct plan_sysctl){ .key = "kernel/shm_rmid_forced", .value = "words" };
        CHECK(sysctls_write(&plan, &err) == -EINVAL && err.code == CODE_LAUNCH_FAILED);
}

/* CVE-2025-52881: something is mounted where we write. The real file is written, or nothing. */
CHILD_TEST(a_covered_sysctl_is_written_where_it_really_is, CLONE_NEWUTS | CLONE_NEWPID | CLONE_NEWNS) {
        struct plan_sysctl sysctl = { .key = "kernel/domainname", .value = "two" };
        struct plan_plan plan = { .sysctls = &sysctl, .n_sysctls = 1 };
        struct plan_process process = { .apparmor_profile = "some-profile" };
        char text[64];
        int proc;

        CHECK(mount("t", "/proc/sys", "tmpfs", 0, NULL) == 0 && mkdir("/proc/sys/kernel", 0755) == 0);
        write_text("/proc/sys/kernel/domainname", "fake");
        CHECK_OK(sysctls_write(&plan, &err));
        check_domain("two");
        CHECK(read_text("/proc/sys/kernel/domainname", text, sizeof text) == 4);
        CHECK(umount2("/proc/sys", 0) == 0);

        /* One file read-only by a mount, as an outer container has it. */
        CHECK(mount("/proc/sys", "/proc/sys", NULL, MS_BIND, NULL) == 0 &&
                mount(NULL, "/proc/sys", NULL, MS_BIND | MS_REMOUNT | MS_RDONLY, NULL) == 0);
        sysctl.value = "three";
        CHECK_OK(sysctls_write(&plan, &err));
        check_domain("three");

        CHECK(mkdir("fake", 0755) == 0 && mkdir("fake/self", 0755) == 0 && mkdir("fake/self/attr", 0755) == 0);
        write_text("fake/self/attr/exec", "");
        CHECK_OK(procfs_open(&proc, &err));
        CHECK(procfs_write(proc, "self/fd/1", "x") == -ELOOP);
        CHECK(mount("fake", "/proc", NULL, MS_BIND, NULL) == 0);
        CHECK(lsm_set_exec_label(&process, -1, &err) == -EXDEV && strcmp(err.where, "/proc") == 0);
        CHECK(read_text("fake/self/attr/exec", text, sizeof text) == 0);
}

CHILD_TEST(a_label_without_its_lsm_is_an_error, 0) {
        struct plan_process none = { 0 }, apparmor = { .apparmor_profile = "no-such-profile" },
                            selinux = { .selinux_label = "not a label" };
        int r;

        (void)scratch;
        CHECK_OK(lsm_set_exec_label(&none, -1, &err));
        r = lsm_set_exec_label(&apparmor, -1, &err);
        CHECK(r < 0 && strcmp(err.where, "process.apparmorProfile") == 0 && strstr(err.text, "no-such-profile"));
        r = lsm_set_exec_label(&selinux, -1, &err);
        CHECK(r < 0 && strcmp(err.where, "process.selinuxLabel") == 0 && strstr(err.text, "not a label"));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(the_bounding_set_loses_all_but_what_is_asked_for),
                cmocka_unit_test(a_user_keeps_the_capabilities_that_it_is_given),
                cmocka_unit_test(root_without_capabilities_has_none_and_no_groups),
                cmocka_unit_test(capabilities_that_cannot_be_had_are_left_out),
                cmocka_unit_test(an_inherited_ambient_capability_goes),
                cmocka_unit_test(groups_that_a_user_namespace_denies_are_an_error_only_when_wanted),
                cmocka_unit_test(an_unmapped_user_is_an_error),
                cmocka_unit_test(rlimits_are_set_or_refused_by_name),
                cmocka_unit_test(sysctls_are_those_of_our_namespaces),
                cmocka_unit_test(a_covered_sysctl_is_written_where_it_really_is),
                cmocka_unit_test(a_label_without_its_lsm_is_an_error),
        };

        return RUN_TESTS(tests);
}
