#define _GNU_SOURCE
#include "cmd/sandbox_lookup.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "cmd/passwd.h"
#include "cmd/sandbox_cache.h"
#include "cmd/sandbox_env.h"
#include "cmd/sandbox_policy.h"
#include "cmd/source.h"
#include "facts/trusted_file.h"

#define PACKAGED_USER "sage-sandbox"
#define POLICY_MAX (1u << 20)

/* ---- workspace ---------------------------------------------------------------------------------------------------------- */

static bool has_quota(const struct sandbox_options *o, const struct sandbox_found *found) {
        const struct sage_host *policy = found->policy ? found->policy->host : NULL;

        return o->quota_mount || (policy && policy->linux_quota_mount) || (found->sources.host && found->sources.host->linux_quota_mount);
}

/* *ret is all zeros where it is still to be made. */
static int find_workspace(struct arena *arena, const struct sandbox_options *o, const char *fresh, struct sandbox_found *found,
        struct stat *ret, struct error *err) {
        const struct sage_filesystem *policy = found->policy ? found->policy->filesystem : NULL;
        const char *named = o->workspace ?: policy ? policy->workspace : NULL;
        char path[PATH_MAX];

        *ret = (struct stat){ 0 };
        if (!named && has_quota(o, found))
                return fail(err, CODE_WORKSPACE_INVALID, EINVAL, "--workspace",
                        "hard limits on disk use need a directory that an administrator has given a project quota");
        if (!named) {
                found->workspace = fresh;
                found->fresh = true;
                return 0;
        }
        if (!realpath(named, path) || stat(path, ret) < 0)
                return fail_errno(err, CODE_WORKSPACE_INVALID, errno, "--workspace", "cannot find %s", named);
        if (!S_ISDIR(ret->st_mode))
                return fail(err, CODE_WORKSPACE_INVALID, ENOTDIR, "--workspace", "expected a directory, found %s", named);
        found->workspace = arena_strdup(arena, path);
        found->workspace_dev = ret->st_dev;
        found->workspace_ino = ret->st_ino;
        return 0;
}

/* ---- identity ----------------------------------------------------------------------------------------------------------- */

static int parse_id(const char *option, const char *text, uint32_t *ret, struct error *err) {
        uint64_t id;

        if (str_to_u64(text, UINT32_MAX - 1, &id) < 0)
                return fail(err, CODE_IDENTITY_INVALID, EINVAL, option, "expected a number below 4294967295, found `%s`", text);
        if (id == 0)
                return fail(err, CODE_IDENTITY_INVALID, EINVAL, option, "commands of a sandbox never run as root");
        *ret = (uint32_t)id;
        return 0;
}

/* Policies say both or neither (plan/sage_host.c). */
static bool said_by_policy(const struct sandbox_found *found, uint32_t *uid, uint32_t *gid) {
        const struct sage_request *requests[] = { found->policy, found->sources.command_line };
        const struct sage_host_policy *host = found->sources.host;

        for (size_t i = 0; i < ELEMENTSOF(requests); i++) {
                const struct sage_host *said = requests[i] ? requests[i]->host : NULL;

                if (said && said->has & SAGE_HOST_HAS_LINUX_EXECUTION_UID) {
                        *uid = said->linux_execution_uid;
                        *gid = said->linux_execution_gid;
                        return true;
                }
        }
        if (!host || !(host->has & SAGE_HOST_POLICY_HAS_LINUX_EXECUTION_UID))
                return false;
        *uid = host->linux_execution_uid;
        *gid = host->linux_execution_gid;
        return true;
}

/* Whom root runs a sandbox as when neither option nor policy says. */
static int choose_uid(
        struct arena *arena, const struct sandbox_found *found, const struct stat *workspace, uint32_t *ret, struct error *err) {
        struct passwd_entry user;

        if (workspace->st_uid != 0)
                *ret = workspace->st_uid;
        else if (passwd_find(arena, PACKAGED_USER, 0, &user) && user.uid != 0)
                *ret = user.uid;
        else
                return fail(err, CODE_IDENTITY_INVALID, EINVAL, "--uid",
                        "commands of a sandbox never run as root, whom %s belongs to, and there is no user " PACKAGED_USER
                        ": name whom they run as",
                        workspace->st_ino ? found->workspace : "a fresh workspace");
        return 0;
}

static int choose_gid(struct arena *arena, const struct stat *workspace, uint32_t uid, uint32_t *ret, struct error *err) {
        struct passwd_entry user;

        if (passwd_find(arena, NULL, uid, &user) && user.gid != 0)
                *ret = user.gid;
        else if (workspace->st_uid == uid && workspace->st_gid != 0)
                *ret = workspace->st_gid;
        else
                return fail(err, CODE_IDENTITY_INVALID, EINVAL, "--gid", "uid %u has no group that is known: name one", uid);
        return 0;
}

static int find_identity(struct arena *arena, const struct sandbox_options *o, const struct stat *workspace, struct sandbox_found *found,
        struct error *err) {
        bool root = geteuid() == 0, said = said_by_policy(found, &found->uid, &found->gid);
        int r;

        if (!said && !root) {
                found->uid = geteuid();
                found->gid = getegid();
        }
        if (o->uid && (r = parse_id("--uid", o->uid, &found->uid, err)) < 0)
                return r;
        if (!o->uid && !said && root && (r = choose_uid(arena, found, workspace, &found->uid, err)) < 0)
                return r;
        if (o->gid)
                return parse_id("--gid", o->gid, &found->gid, err);
        return root && (o->uid || !said) ? choose_gid(arena, workspace, found->uid, &found->gid, err) : 0;
}

/* ---- policy ------------------------------------------------------------------------------------------------------------- */

/* Whom the sandbox runs as must not be able to say what it may. A pipe is whoever's who holds its other end; the caller chose that. */
static int check_descriptor(int fd, const char *name, struct error *err) {
        struct stat st;

        if (fstat(fd, &st) < 0)
                return fail_errno(err, CODE_USAGE, errno, "--policy", "cannot look at %s", name);
        if (S_ISREG(st.st_mode) && ((st.st_uid != 0 && st.st_uid != geteuid()) || st.st_mode & (S_IWGRP | S_IWOTH)))
                return fail(err, CODE_CONFIG_INVALID, EPERM, "--policy",
                        "%s: expected a file of root or the caller that nobody else can write", name);
        return 0;
}

static int read_policy(struct arena *arena, const char *name, struct sandbox_found *found, struct error *err) {
        struct sage_request *policy = arena_new(arena, struct sage_request);
        _cleanup_str_ struct str text = { 0 };
        char path[PATH_MAX];
        int fd, r = source_fd("--policy", name, &fd, err);

        if (r == 0 && !realpath(name, path))
                r = fail_errno(err, CODE_USAGE, errno, "--policy", "cannot find %s", name);
        if (r < 0)
                return r;
        found->policy_path = arena_strdup(arena, r ? name : path);
        if (r == 0)
                r = trusted_file_read(path, true, POLICY_MAX, &text, err);
        else if ((r = check_descriptor(fd, name, err)) == 0)
                r = source_read("--policy", name, POLICY_MAX, &text, err);
        if (r < 0 || (r = spec_decode(arena, &sage_request_type, found->policy_path, text.text, text.size, policy, err)) < 0)
                return r;
        found->policy = policy;
        return 0;
}

/* An ordinary user's sandbox runs as the user: what it can write, it could write for the next time. */
static int check_reach(const struct sandbox_options *o, const struct sandbox_found *found, struct error *err) {
        const char *path = found->policy_path;

        if (!path || *path != '/')
                return 0;
        for (size_t i = 0; i <= o->write_paths.n; i++) {
                const char *top = i ? o->write_paths.items[i - 1] : found->workspace;

                if (path_is_below(path, top))
                        return fail(err, CODE_CONFIG_INVALID, EPERM, "--policy", "%s lies in %s, which the sandbox can write", path, top);
        }
        return 0;
}

/* ---- all of it ---------------------------------------------------------------------------------------------------------- */

static int find_caches(struct arena *arena, const struct sandbox_options *o, struct sandbox_found *found, struct error *err) {
        struct passwd_entry user;

        if (!o->caches.n)
                return 0;
        if (geteuid() == 0)
                return sandbox_caches(arena, &o->caches, NULL, found->uid, &found->caches, &found->cache_env, err);
        if (!passwd_find(arena, NULL, geteuid(), &user) || *user.home != '/')
                return fail(err, CODE_USAGE, ENOENT, "--cache", "/etc/passwd has no home directory for uid %u, below which caches would be",
                        geteuid());
        return sandbox_caches(arena, &o->caches, user.home, found->uid, &found->caches, &found->cache_env, err);
}

int sandbox_look_up(
        struct invocation *invocation, const struct sandbox_options *o, const char *fresh, struct sandbox_found *ret, struct error *err) {
        static const struct oci_config nothing;
        struct arena *arena = invocation->arena;
        struct sandbox_found found = { .terminal = o->tty && streq(o->tty, "true"), .term = "xterm" };
        struct stat workspace;
        int r;

        if ((r = sandbox_policies(invocation, &nothing, &found.sources, err)) < 0 ||
                (o->policy && (r = read_policy(arena, o->policy, &found, err)) < 0) ||
                (r = find_workspace(arena, o, fresh, &found, &workspace, err)) < 0 || (r = check_reach(o, &found, err)) < 0 ||
                (r = find_identity(arena, o, &workspace, &found, err)) < 0 ||
                (r = sandbox_environment(arena, &o->env, &o->env_files, &found.env, err)) < 0 ||
                (r = find_caches(arena, o, &found, err)) < 0)
                return r;
        *ret = found;
        return 0;
}

int sandbox_make_caches(const struct sandbox_found *found, struct error *err) {
        int r = 0;

        for (size_t i = 0; r == 0 && i < found->caches.n; i++)
                r = sandbox_cache_make(found->caches.items[i], found->uid, found->gid, err);
        return r;
}
