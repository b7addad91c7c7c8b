#define _GNU_SOURCE
#include "plan/mounts.h"

#include "plan/idmap.h"
#include "plan/ids.h"
#include "plan/mount_options.h"

#include <linux/sched.h>
#include <sys/mount.h>

static const char *destination(struct compilation *c, const char *field, const char *asked) {
        if (asked[0] == '/')
                return asked;
        warn(c->arena, &c->warnings, "%s.destination: \"%s\" is relative, which is deprecated; taken from /", field, asked);
        return FIELD(c->arena, "/%s", asked);
}

/* "/", "//", "/a/.." … name the root itself. Links are not looked at here. */
static bool is_root(const char *path) {
        unsigned depth = 0;

        while (*(path += strspn(path, "/"))) {
                size_t n = strcspn(path, "/");

                if (n == 2 && path[0] == '.' && path[1] == '.')
                        depth -= depth > 0;
                else if (n != 1 || path[0] != '.')
                        depth++;
                path += n;
        }
        return depth == 0;
}

static void set_flag(struct plan_mount *mount, bool *member, uint64_t bit) {
        *member = true;
        mount->has |= bit;
}

/* A bind is what has bind or rbind (config.md), not what is of type "bind"; but that type names no file system, so it can mean nothing
 * else, and runc reads it so. */
static int compile_bind(struct compilation *c, const struct oci_mount *asked, const struct mount_options *o, struct plan_mount *mount) {
        const char *field = mount->field;

        if (o->data)
                return INVALID(c->err, FIELD(c->arena, "%s.options", field), "\"%s\" is for a file system, and a bind mount cannot have it",
                        o->data);
        if (o->copy_up)
                return INVALID(c->err, FIELD(c->arena, "%s.options", field), "tmpcopyup is for a tmpfs, not for a bind mount");
        if (o->superblock)
                warn(c->arena, &c->warnings, "%s.options: %s belongs to a file system and has no effect on a bind mount", field,
                        o->superblock);
        if (!asked->source || !*asked->source)
                return INVALID(c->err, FIELD(c->arena, "%s.source", field), "expected the path to bind");
        mount->kind = PLAN_MOUNT_KIND_BIND;
        mount->source = asked->source[0] == '/' ? asked->source : FIELD(c->arena, "%s/%s", c->request->bundle, asked->source);
        mount->attributes_set = o->attributes_set;
        mount->attributes_clear = o->attributes_clear;
        if (o->recursive)
                set_flag(mount, &mount->recursive, PLAN_MOUNT_HAS_RECURSIVE);
        if (o->copy_symlink)
                set_flag(mount, &mount->copy_symlink, PLAN_MOUNT_HAS_COPY_SYMLINK);
        if (o->source_nofollow)
                set_flag(mount, &mount->source_nofollow, PLAN_MOUNT_HAS_SOURCE_NOFOLLOW);
        return idmap_compile(c, asked, o->idmap, mount);
}

/* Changes what is mounted at the destination already, in one mount(2). */
static int compile_remount(struct compilation *c, const struct oci_mount *asked, const struct mount_options *o, struct plan_mount *mount) {
        if (o->bind && o->data)
                return INVALID(c->err, FIELD(c->arena, "%s.options", mount->field),
                        "\"%s\" is for a file system, and a bind mount cannot have it", o->data);
        mount->kind = PLAN_MOUNT_KIND_FILESYSTEM;
        mount->type = asked->type && *asked->type ? asked->type : "none"; /* the kernel does not look at it */
        mount->flags = o->flags | MS_REMOUNT | (o->bind ? MS_BIND : 0);
        mount->data = o->data;
        return 0;
}

/* uid= and gid= of tmpfs, devpts and others name ids inside the container; one that is not mapped is EINVAL (kernel: make_kuid). */
static int check_id_options(struct compilation *c, const struct oci_mount *asked, const char *field) {
        const struct plan_ids *ids = c->plan->ids;

        if (!ids->n_uid_map)
                return 0;
        for (size_t i = 0; i < asked->n_options; i++) {
                const char *uid = str_after(asked->options[i], "uid="), *gid = str_after(asked->options[i], "gid=");
                uint64_t id;

                if ((!uid && !gid) || str_to_u64(uid ?: gid, UINT32_MAX, &id) < 0)
                        continue;
                if (uid ? !ids_map_inside(ids->uid_map, ids->n_uid_map, (uint32_t)id)
                        : !ids_map_inside(ids->gid_map, ids->n_gid_map, (uint32_t)id))
                        return INVALID(c->err, FIELD(c->arena, "%s.options[%zu]", field, i), "%s: this id is not in linux.%s",
                                asked->options[i], uid ? "uidMappings" : "gidMappings");
        }
        return 0;
}

/* Own directory of the cgroup hierarchy only: whatever the type says, nothing above it is shown (CVE-2023-25809). */
static int compile_cgroup(struct compilation *c, const struct mount_options *o, struct plan_mount *mount) {
        if (o->data)
                return UNSUPPORTED(c->err, FIELD(c->arena, "%s.options", mount->field),
                        "\"%s\": options of cgroup2 change the whole host's hierarchy", o->data);
        mount->kind = PLAN_MOUNT_KIND_CGROUP;
        return 0;
}

/* sysfs belongs to a network namespace: mounting it needs CAP_SYS_ADMIN over the one the container is in (kernel: sysfs_init_fs_context),
 * which a user namespace does not give over one that was there before. Then the host's is bound, with all that is mounted on it,
 * read-only (crun issue 2178). */
static void choose_sysfs(struct compilation *c, struct plan_mount *mount) {
        if (!namespace_own(c->plan, CLONE_NEWUSER) || namespace_made(c->plan, CLONE_NEWNET))
                return;
        mount->kind = PLAN_MOUNT_KIND_SYSFS_OR_BIND;
}

static int compile_filesystem(
        struct compilation *c, const struct oci_mount *asked, const struct mount_options *o, struct plan_mount *mount) {
        const char *field = mount->field;

        if (!asked->type || !*asked->type || streq(asked->type, "none"))
                return INVALID(
                        c->err, FIELD(c->arena, "%s.type", field), "expected a type of file system, or bind or rbind among the options");
        if (o->copy_up && !streq(asked->type, "tmpfs"))
                return INVALID(c->err, FIELD(c->arena, "%s.options", field), "tmpcopyup is for a tmpfs, not for %s", asked->type);
        if (idmap_asked(asked, o->idmap))
                return INVALID(c->err,
                        FIELD(c->arena, "%s.%s", field,
                                o->idmap                        ? "options"
                                        : asked->n_uid_mappings ? "uidMappings"
                                                                : "gidMappings"),
                        "only a bind mount can be id-mapped");
        if (o->copy_symlink || o->source_nofollow)
                return INVALID(c->err, FIELD(c->arena, "%s.options", field), "%s is for a bind mount, not for %s",
                        o->copy_symlink ? "copy-symlink" : "src-nofollow", asked->type);
        mount->kind = PLAN_MOUNT_KIND_FILESYSTEM;
        mount->type = asked->type;
        mount->source = asked->source;
        mount->flags = o->flags;
        mount->data = o->data;
        if (o->copy_up)
                set_flag(mount, &mount->copy_up, PLAN_MOUNT_HAS_COPY_UP);
        if (streq(asked->type, "cgroup") || streq(asked->type, "cgroup2"))
                return compile_cgroup(c, o, mount);
        if (streq(asked->type, "sysfs"))
                choose_sysfs(c, mount);
        return check_id_options(c, asked, field);
}

static int compile_mount(struct compilation *c, const struct oci_mount *asked, size_t index, struct plan_mount *mount) {
        struct mount_options o;
        bool bind;
        int r;

        mount->field = FIELD(c->arena, "mounts[%zu]", index);
        if (!asked->destination || !*asked->destination || is_root(asked->destination))
                return INVALID(c->err, FIELD(c->arena, "%s.destination", mount->field),
                        "expected a path below the container's root, found \"%s\"", asked->destination ?: "");
        r = mount_options_parse(c->arena, asked->options, asked->n_options, FIELD(c->arena, "%s.options", mount->field), &o, c->err);
        if (r < 0)
                return r;
        bind = o.bind || (asked->type && streq(asked->type, "bind"));
        mount->destination = destination(c, mount->field, asked->destination);
        mount->recursive_set = o.recursive_set;
        mount->recursive_clear = o.recursive_clear;
        mount->propagation = o.propagation;
        if (o.destination_nofollow)
                set_flag(mount, &mount->destination_nofollow, PLAN_MOUNT_HAS_DESTINATION_NOFOLLOW);
        if (o.remount) {
                o.bind = bind;
                return compile_remount(c, asked, &o, mount);
        }
        return bind ? compile_bind(c, asked, &o, mount) : compile_filesystem(c, asked, &o, mount);
}

/* The tree is built in another mount namespace than the one that is joined, and the copy that gets there leaves out unbindable mounts
 * (mount_namespaces(7)). */
static int check_copied(struct compilation *c, const struct plan_mount *mount) {
        if (!(mount->propagation & MS_UNBINDABLE) || namespace_made(c->plan, CLONE_NEWNS))
                return 0;
        return UNSUPPORTED(c->err, FIELD(c->arena, "%s.options", mount->field),
                "an unbindable mount cannot be brought into a mount namespace that is joined");
}

int mounts_compile(struct compilation *c) {
        const struct oci_config *config = c->request->config;
        int r;

        if (config->n_mounts == 0)
                return 0;
        c->plan->mounts = arena_array(c->arena, struct plan_mount, config->n_mounts);
        for (size_t i = 0; i < config->n_mounts; i++) {
                struct plan_mount *mount = &c->plan->mounts[i];

                if ((r = compile_mount(c, &config->mounts[i], i, mount)) < 0 || (r = check_copied(c, mount)) < 0)
                        return r;
        }
        c->plan->n_mounts = config->n_mounts;
        return 0;
}
