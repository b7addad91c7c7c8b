/* What a config must have, and words of it that are few: process, annotations, seccomp, masks. The larger nouns are in files of their own. */
#include "configs.h"

#define RUN_OCI(name, value) TOP("\"annotations\":{\"run.oci." name "\":\"" value "\"}")

/* clang-format off */
static const struct refusal refused[] = {
        { "no root",
          "{\"ociVersion\":\"1.3.0\",\"process\":{\"cwd\":\"/\",\"args\":[\"sh\"]},\"linux\":{\"namespaces\":[{\"type\":\"mount\"}]}}",
          "root", "root file system", AS_INVALID },
        { "no process", HEAD "\"linux\":{\"namespaces\":[{\"type\":\"mount\"}]}}", "process", "process to run", AS_INVALID },
        { "no linux", HEAD "\"process\":{\"cwd\":\"/\",\"args\":[\"sh\"]}}", "linux.namespaces", "\"mount\" namespace", AS_INVALID },
        { "nothing to run", HEAD "\"process\":{\"cwd\":\"/\"},\"linux\":{\"namespaces\":[{\"type\":\"mount\"}]}}",
          "process.args", "program", AS_INVALID },
        { "a umask of more than nine bits", PROCESS("\"user\":{\"uid\":0,\"gid\":0,\"umask\":512}"),
          "process.user.umask", "found 512", AS_INVALID },
        { "a soft limit above the hard one", PROCESS("\"rlimits\":[{\"type\":\"RLIMIT_NOFILE\",\"soft\":2,\"hard\":1}]"),
          "process.rlimits[0]", "RLIMIT_NOFILE, 2, is above the hard one, 1", AS_INVALID },
        { "a limit twice",
          PROCESS("\"rlimits\":[{\"type\":\"RLIMIT_NOFILE\",\"soft\":1,\"hard\":1},{\"type\":\"RLIMIT_NOFILE\",\"soft\":1,\"hard\":1}]"),
          "process.rlimits[1]", "RLIMIT_NOFILE is given twice", AS_INVALID },
        { "a Sage rule", TOP("\"annotations\":{\"a\":\"b\",\"sage.sandbox.resources.memory_mb\":\"2\"}"),
          "annotations[\"sage.sandbox.resources.memory_mb\"]", "not supported", AS_UNSUPPORTED },
        { "a handler", RUN_OCI("handler", "krun"), "annotations[\"run.oci.handler\"]", "krun", AS_UNSUPPORTED },
        { "cgroup v1", RUN_OCI("systemd.force_cgroup_v1", "/sys/fs/cgroup/systemd"), "annotations[\"run.oci.systemd.force_cgroup_v1\"]",
          "not supported", AS_UNSUPPORTED },
        { "a filter in base64", RUN_OCI("seccomp_bpf_data", "AAAA"), "annotations[\"run.oci.seccomp_bpf_data\"]", "not supported", AS_UNSUPPORTED },
        { "plugins for seccomp", RUN_OCI("seccomp.plugins", "a.so"), "annotations[\"run.oci.seccomp.plugins\"]", "not supported", AS_UNSUPPORTED },
        { "a relative receiver", RUN_OCI("seccomp.receiver", "a"), "annotations[\"run.oci.seccomp.receiver\"]", "absolute", AS_INVALID },
        { "a relative output", RUN_OCI("hooks.stdout", "a"), "annotations[\"run.oci.hooks.stdout\"]", "absolute", AS_INVALID },
        { "a context that is none", RUN_OCI("mount_context_type", "xcontext"), "annotations[\"run.oci.mount_context_type\"]",
          "found \"xcontext\"", AS_INVALID },
        { "a cgroup above", RUN_OCI("delegate-cgroup", "a/../.."), "annotations[\"run.oci.delegate-cgroup\"]", "below", AS_INVALID },
        { "a system call of nobody", ALL("", ",\"annotations\":{\"run.oci.seccomp_fail_unknown_syscall\":\"1\"}",
          ",\"seccomp\":{\"defaultAction\":\"SCMP_ACT_ALLOW\",\"syscalls\":[{\"names\":[\"read\",\"reed\"],\"action\":\"SCMP_ACT_ERRNO\"}]}", ""),
          "linux.seccomp.syscalls[0].names[1]", "reed", AS_INVALID },
        { "a mask on the root", LINUX("\"maskedPaths\":[\"/a\",\"/\"]"), "linux.maskedPaths[1]", "below /", AS_INVALID },
        { "a mask on the root by another name", LINUX("\"maskedPaths\":[\"//a/./../\"]"), "linux.maskedPaths[0]", "below /", AS_INVALID },
        { "a read-only path that is the root", LINUX("\"readonlyPaths\":[\"/..\"]"), "linux.readonlyPaths[0]", "below /", AS_INVALID },
        { "a relative listener",
          LINUX("\"seccomp\":{\"defaultAction\":\"SCMP_ACT_ALLOW\",\"listenerPath\":\"l\","
                "\"syscalls\":[{\"names\":[\"mkdir\"],\"action\":\"SCMP_ACT_NOTIFY\"}]}"),
          "linux.seccomp.listenerPath", "absolute path, found \"l\"", AS_INVALID },
        { "data for nobody", LINUX("\"seccomp\":{\"defaultAction\":\"SCMP_ACT_ALLOW\",\"listenerMetadata\":\"x\"}"),
          "linux.seccomp.listenerMetadata", "needs linux.seccomp.listenerPath", AS_INVALID },
        { "nobody to notify",
          LINUX("\"seccomp\":{\"defaultAction\":\"SCMP_ACT_ALLOW\",\"syscalls\":[{\"names\":[\"mkdir\"],\"action\":\"SCMP_ACT_NOTIFY\"}]}"),
          "linux.seccomp.listenerPath", "somebody to notify", AS_INVALID },
};
/* clang-format on */

static void a_bad_config_is_refused_by_the_name_of_its_field(void **state) {
        (void)state;
        for (size_t i = 0; i < ELEMENTSOF(refused); i++)
                must_refuse(&refused[i]);
}

static void a_config_that_was_never_json_is_checked_as_well(void **state) {
        struct oci_config config;

        (void)state;
        decode(&oci_config_type, LINUX("\"maskedPaths\":[\"/a\",\"/b\"],\"readonlyPaths\":[\"/a\"]"), &config);
        assert_int_equal(compile_config(&config), 0);
        config.linux->masked_paths[1] = "b";
        assert_int_equal(compile_config(&config), -EINVAL);
        assert_string_equal(err.where, "linux.maskedPaths[1]");
        config.linux->masked_paths[1] = "/b";
        config.linux->readonly_paths[0] = "a";
        assert_int_equal(compile_config(&config), -EINVAL);
        assert_string_equal(err.where, "linux.readonlyPaths[0]");

        decode(&oci_config_type, PROCESS("\"user\":{\"uid\":0,\"gid\":0,\"additionalGids\":[1]},\"oomScoreAdj\":1"), &config);
        config.process->cwd = "relative";
        assert_int_equal(compile_config(&config), -EINVAL);
        assert_string_equal(err.where, "process.cwd");
        config.process->cwd = "/";
        config.process->oom_score_adj = 1001;
        assert_int_equal(compile_config(&config), -EINVAL);
        assert_string_equal(err.where, "process.oomScoreAdj");
        config.process->oom_score_adj = 1000;
        config.process->user->uid = UINT32_MAX;
        assert_int_equal(compile_config(&config), -EINVAL);
        assert_string_equal(err.where, "process.user.uid");
        config.process->user->uid = 0;
        config.process->user->gid = UINT32_MAX;
        assert_int_equal(compile_config(&config), -EINVAL);
        assert_string_equal(err.where, "process.user.gid");
        config.process->user->gid = 0;
        config.process->user->additional_gids[0] = UINT32_MAX;
        assert_int_equal(compile_config(&config), -EINVAL);
        assert_string_equal(err.where, "process.user.additionalGids[0]");

        decode(&oci_config_type, TOP("\"hooks\":{\"poststop\":[{\"path\":\"/bin/true\",\"timeout\":1}]}"), &config);
        config.hooks->poststop[0].timeout = 0;
        assert_int_equal(compile_config(&config), -EINVAL);
        assert_string_equal(err.where, "hooks.poststop[0].timeout");
        config.hooks->poststop[0].timeout = 1;
        config.hooks->poststop[0].path = "true";
        assert_int_equal(compile_config(&config), -EINVAL);
        assert_string_equal(err.where, "hooks.poststop[0].path");
}

static void a_plan_without_the_facts_it_needs_is_an_error_of_ours(void **state) {
        const struct facts_facts nothing = { 0 };
        struct plan_plan *plan;

        (void)state;
        assert_int_equal(compile_text(PROCESS("\"env\":[]"), &nothing, PLAN_CGROUP_MANAGER_CGROUPFS, &plan), -ENODATA);
        assert_int_equal(err.code, CODE_INTERNAL);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(a_bad_config_is_refused_by_the_name_of_its_field),
                TEST(a_config_that_was_never_json_is_checked_as_well),
                TEST(a_plan_without_the_facts_it_needs_is_an_error_of_ours),
        };

        return RUN_TESTS(tests);
}
