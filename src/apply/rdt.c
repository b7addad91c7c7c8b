#define _GNU_SOURCE
#include "apply/rdt.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "apply/rdt_schema.h"
#include "base/file.h"

/* A schemata file has a line a resource and a number for each of a machine's caches. */
#define SCHEMATA_MAX (64u << 10)

static int read_file(const char *directory, const char *name, struct str *ret) {
        _cleanup_str_ struct str path = { 0 };

        str_printf(&path, "%s/%s", directory, name);
        return file_read(AT_FDCWD, path.text, SCHEMATA_MAX, ret);
}

static int write_file(const char *directory, const char *name, const char *text) {
        _cleanup_str_ struct str path = { 0 };

        str_printf(&path, "%s/%s", directory, name);
        return file_write(AT_FDCWD, path.text, text, strlen(text));
}

/* The kernel says more of the last call that failed than an errno can (resctrl.rst, "last_cmd_status"). */
static int fail_there(struct error *err, enum code code, int errnum, const char *root, const char *field, const char *what) {
        _cleanup_str_ struct str reason = { 0 };

        if (read_file(root, "info/last_cmd_status", &reason) < 0 || reason.size == 0 || str_after(reason.text, "ok"))
                return fail_errno(err, code, errnum, field, "%s", what);
        if (reason.text[reason.size - 1] == '\n')
                reason.text[--reason.size] = '\0';
        return fail_errno(err, code, errnum, field, "%s (%s)", what, reason.text);
}

static bool says_something(const struct plan_rdt *rdt) {
        return rdt->l3_cache_schema || rdt->mem_bw_schema || rdt->n_schemata;
}

/* Memory bandwidth comes in steps (resctrl.rst, "bandwidth_gran"); 1 where that is not known. */
static uint64_t bandwidth_step(const char *root) {
        _cleanup_str_ struct str text = { 0 };
        uint64_t step;

        if (read_file(root, "info/MB/bandwidth_gran", &text) < 0 || text.size == 0)
                return 1;
        text.text[strcspn(text.text, "\n")] = '\0';
        return str_to_u64(text.text, UINT32_MAX, &step) < 0 ? 1 : step;
}

static int compare_schemata(struct arena *arena, const struct plan_rdt *rdt, const char *group, struct error *err) {
        const char *const first[] = { rdt->l3_cache_schema, rdt->mem_bw_schema };
        _cleanup_str_ struct str existing = { 0 };
        uint64_t step = bandwidth_step(rdt->root);
        int r = read_file(group, "schemata", &existing);

        if (r < 0)
                return fail_errno(
                        err, CODE_LAUNCH_FAILED, -r, arena_printf(arena, "%s/schemata", group), "cannot read this class of service");
        for (size_t i = 0; i < ELEMENTSOF(first) + rdt->n_schemata; i++) {
                const char *asked = i < ELEMENTSOF(first) ? first[i] : rdt->schemata[i - ELEMENTSOF(first)];

                if (asked && !rdt_schema_holds(existing.text ? existing.text : "", asked, step))
                        return fail(err, CODE_EXISTS, EEXIST, "linux.intelRdt.closID",
                                "the class of service \"%s\" is there already, and does not have %s", rdt->group, asked);
        }
        return 0;
}

struct status_rdt_claim *rdt_claim(struct arena *arena, const struct plan_rdt *rdt, const char *id) {
        struct status_rdt_claim *claim;

        if (!rdt || !rdt->root)
                return NULL;
        claim = arena_new(arena, struct status_rdt_claim);
        claim->root = rdt->root;
        claim->group = streq(rdt->group, "/") ? rdt->root : arena_printf(arena, "%s/%s", rdt->root, rdt->group);
        claim->ours = !rdt->named;
        claim->shared = rdt->named;
        claim->monitor = rdt->monitor ? arena_printf(arena, "%s/mon_groups/%s", claim->group, id) : NULL;
        return claim;
}

int rdt_examine(struct arena *arena, const struct plan_rdt *rdt, const char *id, struct status_rdt_claim **ret, struct error *err) {
        struct status_rdt_claim *claim = rdt_claim(arena, rdt, id);
        bool exists;
        int r;

        if (!claim)
                return fail(err, CODE_CAPABILITY_UNSUPPORTED, EOPNOTSUPP, "linux.intelRdt", "no resctrl file system is mounted");
        exists = access(claim->group, F_OK) == 0;
        if (!exists && rdt->named && !says_something(rdt))
                return fail(err, CODE_NOT_FOUND, ENOENT, "linux.intelRdt.closID",
                        "there is no class of service \"%s\"; one is made only where l3CacheSchema, memBwSchema or schemata say of what kind",
                        rdt->group);
        if (exists && rdt->named && (r = compare_schemata(arena, rdt, claim->group, err)) < 0)
                return r;
        claim->ours = !exists;
        if (claim->monitor && access(claim->monitor, F_OK) == 0)
                return fail(err, CODE_EXISTS, EEXIST, claim->monitor, "this monitoring group is there already, and is not the container's");
        *ret = claim;
        return 0;
}

/* ENOSPC: a processor has few classes (resctrl.rst, "num_closids", "num_rmids"). */
static int make_group(const char *root, const char *path, const char *field, struct error *err) {
        if (mkdir(path, 0755) == 0)
                return 0;
        return fail_there(err,
                errno == ENOSPC           ? CODE_RESOURCE_EXHAUSTED
                        : errno == EEXIST ? CODE_EXISTS
                                          : CODE_LAUNCH_FAILED,
                errno, root, field, "cannot make a group in the resctrl file system");
}

static int write_schemata(const char *root, const char *group, const char *text, const char *field, struct error *err) {
        int r = write_file(group, "schemata", text);

        return r < 0 ? fail_there(err, r == -EINVAL ? CODE_CONFIG_INVALID : CODE_LAUNCH_FAILED, -r, root, field,
                               "cannot set the schemata of the class of service")
                     : 0;
}

static int write_schema(const char *root, const char *group, const char *schema, const char *field, struct error *err) {
        _cleanup_str_ struct str line = { 0 };

        if (!schema)
                return 0;
        str_printf(&line, "%s\n", schema);
        return write_schemata(root, group, line.text, field, err);
}

/* In this order, and each by itself (config-linux.md): one write may name a cache only once, and the later one is to count. */
static int write_all(const struct plan_rdt *rdt, const char *group, struct error *err) {
        _cleanup_str_ struct str rest = { 0 };
        int r;

        if ((r = write_schema(rdt->root, group, rdt->l3_cache_schema, "linux.intelRdt.l3CacheSchema", err)) < 0 ||
                (r = write_schema(rdt->root, group, rdt->mem_bw_schema, "linux.intelRdt.memBwSchema", err)) < 0)
                return r;
        for (size_t i = 0; i < rdt->n_schemata; i++)
                str_printf(&rest, "%s\n", rdt->schemata[i]);
        return rest.size ? write_schemata(rdt->root, group, rest.text, "linux.intelRdt.schemata", err) : 0;
}

int rdt_make(const struct plan_rdt *rdt, struct status_rdt_claim *claim, struct error *err) {
        int r;

        if (claim->ours && (r = make_group(claim->root, claim->group, "linux.intelRdt.closID", err)) < 0) {
                claim->ours = false;
                claim->monitor = NULL;
                return r;
        }
        if (claim->monitor && (r = make_group(claim->root, claim->monitor, "linux.intelRdt.enableMonitoring", err)) < 0) {
                claim->monitor = NULL;
                return r;
        }
        /* A class that is shared and was there holds them already. */
        return claim->ours || !claim->shared ? write_all(rdt, claim->group, err) : 0;
}

int rdt_enter(const struct status_rdt_claim *claim, pid_t pid, struct error *err) {
        char text[16];
        int r;

        if (!claim)
                return 0;
        snprintf(text, sizeof text, "%d", pid);
        if ((r = write_file(claim->group, "tasks", text)) < 0 || (claim->monitor && (r = write_file(claim->monitor, "tasks", text)) < 0))
                return fail_there(
                        err, CODE_LAUNCH_FAILED, -r, claim->root, claim->group, "cannot put the process into the class of service");
        return 0;
}

static bool has_tasks(const char *group) {
        _cleanup_str_ struct str tasks = { 0 };

        return read_file(group, "tasks", &tasks) == 0 && tasks.size > 0;
}

static int remove_group(const char *path, struct error *err) {
        if (!path || rmdir(path) == 0 || errno == ENOENT)
                return 0;
        return fail_errno(err, CODE_RELEASE_FAILED, errno, path, "cannot remove this group of the resctrl file system");
}

int rdt_remove(const struct status_rdt_claim *claim, struct error *err) {
        int r = claim ? remove_group(claim->monitor, err) : 0;

        /* To remove a class puts those who are in it into the default one: not for others that came to a shared one meanwhile. */
        if (r < 0 || !claim || !claim->ours || (claim->shared && has_tasks(claim->group)))
                return r;
        return remove_group(claim->group, err);
}

int rdt_change(const struct status_rdt_claim *claim, const char *l3_cache, const char *mem_bw, struct str *before, struct error *err) {
        int r = read_file(claim->group, "schemata", before);

        if (r < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, -r, claim->group, "cannot read the schemata of the class of service");
        if ((r = write_schema(claim->root, claim->group, l3_cache, "--l3-cache-schema", err)) < 0)
                return r;
        r = write_schema(claim->root, claim->group, mem_bw, "--mem-bw-schema", err);
        if (r < 0 && l3_cache && rdt_restore(claim, before) < 0)
                err->effect = EFFECT_APPLIED;
        return r;
}

int rdt_restore(const struct status_rdt_claim *claim, const struct str *before) {
        return before->size ? write_file(claim->group, "schemata", before->text) : 0;
}
