#include "plan/namespaces.h"

#include <linux/sched.h>

/* clone3(2), by the words of the schema. */
static const uint64_t flags[] = {
        [OCI_NAMESPACE_TYPE_PID] = CLONE_NEWPID,
        [OCI_NAMESPACE_TYPE_NETWORK] = CLONE_NEWNET,
        [OCI_NAMESPACE_TYPE_MOUNT] = CLONE_NEWNS,
        [OCI_NAMESPACE_TYPE_IPC] = CLONE_NEWIPC,
        [OCI_NAMESPACE_TYPE_UTS] = CLONE_NEWUTS,
        [OCI_NAMESPACE_TYPE_USER] = CLONE_NEWUSER,
        [OCI_NAMESPACE_TYPE_CGROUP] = CLONE_NEWCGROUP,
        [OCI_NAMESPACE_TYPE_TIME] = CLONE_NEWTIME,
};

/* linux/utsname.h, __NEW_UTS_LEN: sethostname(2) answers EINVAL to a longer one. */
#define LONGEST_NAME 64u

const char *namespace_name(uint64_t flag) {
        for (size_t i = 1; i < ELEMENTSOF(flags); i++)
                if (flags[i] == flag)
                        return spec_enum_name(&oci_namespace_type_enum, (int)i);
        return NULL;
}

static int compile_list(struct compilation *c, const struct oci_linux *linux, struct plan_namespaces *ret) {
        struct plan_join_namespace *join = arena_array(c->arena, struct plan_join_namespace, linux->n_namespaces);
        uint64_t seen = 0;

        for (size_t i = 0; i < linux->n_namespaces; i++) {
                const struct oci_namespace *asked = &linux->namespaces[i];
                const char *name = spec_enum_name(&oci_namespace_type_enum, (int)asked->type);
                uint64_t flag;

                if (!name)
                        return INVALID(c->err, FIELD(c->arena, "linux.namespaces[%zu].type", i), "expected a kind of namespace");
                flag = flags[asked->type];
                if (seen & flag)
                        return INVALID(c->err, FIELD(c->arena, "linux.namespaces[%zu]", i), "the %s namespace is given twice", name);
                seen |= flag;
                if (!asked->path || !*asked->path) {
                        ret->create |= flag;
                        continue;
                }
                if (asked->path[0] != '/')
                        return INVALID(c->err, FIELD(c->arena, "linux.namespaces[%zu].path", i), "expected an absolute path, found \"%s\"",
                                asked->path);
                join[ret->n_join++] = (struct plan_join_namespace){ .flag = flag, .path = asked->path };
        }
        if (ret->n_join)
                ret->join = join;
        return 0;
}

static const char *joined_path(const struct plan_namespaces *namespaces, uint64_t flag) {
        for (size_t i = 0; i < namespaces->n_join; i++)
                if (namespaces->join[i].flag == flag)
                        return namespaces->join[i].path;
        return NULL;
}

/* Every container gets a root and mounts, and without a namespace of its own they would be made in the caller's, and stay there
 * (measured with crun 1.27). What a joined one rules out: changing mounts takes CAP_SYS_ADMIN in the user namespace that owns it
 * (mount_namespaces(7)), which a new one is not; and without pivot_root(2) everything in it would stay within the container's reach. */
static int check_mount_namespace(struct compilation *c, const struct plan_namespaces *namespaces) {
        const char *joined;

        if (namespaces->create & CLONE_NEWNS)
                return 0;
        joined = joined_path(namespaces, CLONE_NEWNS);
        if (!joined)
                return INVALID(c->err, "linux.namespaces",
                        "expected a \"mount\" namespace: root, mounts, masked and read-only paths must not be made in the host's");
        if (namespaces->create & CLONE_NEWUSER)
                return UNSUPPORTED(c->err, "linux.namespaces",
                        "a new user namespace has no rights over the mount namespace %s: join the user namespace that owns it", joined);
        if (c->request->no_pivot)
                return UNSUPPORTED(c->err, "linux.namespaces",
                        "--no-pivot would leave all that is mounted in %s within the container's reach", joined);
        return 0;
}

int namespaces_compile_name(struct compilation *c, const char *field, const char *name, const char **ret) {
        if (!name || !*name)
                return 0;
        if (!namespace_own(c->plan, CLONE_NEWUTS))
                return INVALID(c->err, field, "needs a \"uts\" namespace in linux.namespaces: it would rename the host");
        if (strlen(name) > LONGEST_NAME)
                return INVALID(c->err, field, "expected at most %u bytes, found %zu", LONGEST_NAME, strlen(name));
        *ret = name;
        return 0;
}

/* include/linux/ktime.h, KTIME_SEC_MAX: the seconds that fit into 63 bits of nanoseconds. */
#define LONGEST_OFFSET INT64_C(9223372036)

/* A line for /proc/PID/timens_offsets (time_namespaces(7)). */
static int compile_offset(struct compilation *c, const char *clock, const struct oci_time_offset *offset, const char **text) {
        if (!offset)
                return 0;
        if (offset->secs > LONGEST_OFFSET || offset->secs < -LONGEST_OFFSET)
                return INVALID(c->err, FIELD(c->arena, "linux.timeOffsets.%s.secs", clock), "expected %lld to %lld, found %lld",
                        (long long)-LONGEST_OFFSET, (long long)LONGEST_OFFSET, (long long)offset->secs);
        *text = arena_printf(c->arena, "%s%s %lld %u\n", *text ?: "", clock, (long long)offset->secs, offset->nanosecs);
        return 0;
}

/* The offsets of a namespace are fixed with its first process. */
static int compile_offsets(struct compilation *c, const struct oci_time_offsets *offsets) {
        struct plan_namespaces *namespaces = c->plan->namespaces;
        int r;

        if (!offsets || (!offsets->monotonic && !offsets->boottime))
                return 0;
        if (!(namespaces->create & CLONE_NEWTIME))
                return INVALID(c->err, "linux.timeOffsets", "needs a \"time\" namespace in linux.namespaces that is new: %s",
                        namespace_own(c->plan, CLONE_NEWTIME) ? "the one to join has its offsets already" : "the host's clocks stay");
        if ((r = compile_offset(c, "monotonic", offsets->monotonic, &namespaces->time_offsets)) < 0)
                return r;
        return compile_offset(c, "boottime", offsets->boottime, &namespaces->time_offsets);
}

int namespaces_compile(struct compilation *c) {
        static const struct oci_linux nothing;
        const struct oci_config *config = c->request->config;
        struct plan_namespaces *namespaces = arena_new(c->arena, struct plan_namespaces);
        const struct oci_linux *linux = config->linux ?: &nothing;
        int r;

        c->plan->namespaces = namespaces;
        if ((r = compile_list(c, linux, namespaces)) < 0 || (r = check_mount_namespace(c, namespaces)) < 0)
                return r;
        if ((r = compile_offsets(c, linux->time_offsets)) < 0 ||
                (r = namespaces_compile_name(c, "hostname", config->hostname, &c->plan->hostname)) < 0)
                return r;
        return namespaces_compile_name(c, "domainname", config->domainname, &c->plan->domainname);
}
