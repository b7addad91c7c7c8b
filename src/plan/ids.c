#include "plan/ids.h"

#include <linux/capability.h>
#include <linux/sched.h>
#include <stdlib.h>

/* user_namespaces(7), "Defining user and group ID mappings": one write(2) of at most 340 lines and less than a page. */
#define PAGE 4096u

bool ids_map_outside(const struct plan_id_range *map, size_t n, uint32_t id) {
        for (size_t i = 0; i < n; i++)
                if (id >= map[i].outside && id - map[i].outside < map[i].count)
                        return true;
        return false;
}

const struct plan_id_range *ids_find(const struct plan_id_range *map, size_t n, uint32_t id) {
        for (size_t i = 0; i < n; i++)
                if (id >= map[i].inside && id - map[i].inside < map[i].count)
                        return &map[i];
        return NULL;
}

bool ids_map_inside(const struct plan_id_range *map, size_t n, uint32_t id) {
        return ids_find(map, n, id);
}

bool ids_outside(const struct plan_id_range *map, size_t n, uint32_t id, uint32_t *ret) {
        const struct plan_id_range *range = ids_find(map, n, id);

        if (!range)
                return false;
        *ret = range->outside + (id - range->inside);
        return true;
}

struct span {
        uint32_t start, count;
};

static int by_start(const void *left, const void *right) {
        const struct span *a = left, *b = right;

        return (a->start > b->start) - (a->start < b->start);
}

/* The kernel refuses a map (EINVAL) in which two ranges share an id on either side. */
static int check_overlap(struct span *spans, size_t n, const char *field, const char *member, struct error *err) {
        qsort(spans, n, sizeof *spans, by_start);
        for (size_t i = 1; i < n; i++)
                if (spans[i].start - spans[i - 1].start < spans[i - 1].count)
                        return INVALID(err, field, "two ranges share the %s %u", member, spans[i].start);
        return 0;
}

int ids_compile_map(struct arena *arena, const struct oci_id_mapping *asked, size_t n, const char *field, struct plan_id_range **ret,
        struct error *err) {
        struct plan_id_range *map;
        struct span *inside, *outside;
        size_t bytes = 0;
        int r;

        if (n > IDS_MOST_RANGES)
                return INVALID(err, field, "expected at most %u ranges (user_namespaces(7)), found %zu", IDS_MOST_RANGES, n);
        map = arena_array(arena, struct plan_id_range, n);
        inside = arena_array(arena, struct span, n);
        outside = arena_array(arena, struct span, n);
        for (size_t i = 0; i < n; i++) {
                const struct oci_id_mapping *a = &asked[i];
                char line[40];

                /* 4294967295 is no id, so a range may not reach it. */
                if (a->size == 0 || a->size > UINT32_MAX - a->container_id || a->size > UINT32_MAX - a->host_id)
                        return INVALID(err, FIELD(arena, "%s[%zu].size", field, i), "expected 1 to %u, found %u",
                                UINT32_MAX - (a->container_id > a->host_id ? a->container_id : a->host_id), a->size);
                map[i] = (struct plan_id_range){ .inside = a->container_id, .outside = a->host_id, .count = a->size };
                inside[i] = (struct span){ a->container_id, a->size };
                outside[i] = (struct span){ a->host_id, a->size };
                bytes += (size_t)snprintf(line, sizeof line, "%u %u %u\n", a->container_id, a->host_id, a->size);
        }
        if (bytes >= PAGE)
                return INVALID(err, field, "the map takes %zu bytes, and the kernel reads less than %u", bytes, PAGE);
        if ((r = check_overlap(inside, n, field, "containerID", err)) < 0 || (r = check_overlap(outside, n, field, "hostID", err)) < 0)
                return r;
        *ret = map;
        return 0;
}

static bool only(const struct plan_id_range *map, size_t n, uint32_t id) {
        return n == 1 && map[0].outside == id && map[0].count == 1;
}

/* Who may write the maps: user_namespaces(7). With CAP_SETUID and CAP_SETGID any map; without them one line for the own id, after
 * setgroups was denied (CVE-2014-8989); for the rest there are newuidmap(1) and newgidmap(1), which are set-uid. */
static void choose_writer(const struct facts_identity *identity, struct plan_ids *ids) {
        const uint64_t both = UINT64_C(1) << CAP_SETUID | UINT64_C(1) << CAP_SETGID;

        if ((identity->capabilities & both) == both)
                return;
        if (only(ids->uid_map, ids->n_uid_map, identity->euid) && only(ids->gid_map, ids->n_gid_map, identity->egid)) {
                ids->deny_setgroups = true;
                ids->has |= PLAN_IDS_HAS_DENY_SETGROUPS;
        } else {
                ids->use_helpers = true;
                ids->has |= PLAN_IDS_HAS_USE_HELPERS;
        }
}

static struct plan_id_range *copy(struct arena *arena, const struct facts_id_range *map, size_t n) {
        struct plan_id_range *ranges = arena_array(arena, struct plan_id_range, n);

        for (size_t i = 0; i < n; i++)
                ranges[i] = (struct plan_id_range){ .inside = map[i].inside, .outside = map[i].outside, .count = map[i].count };
        return ranges;
}

static bool holds_range(const struct plan_id_range *map, size_t n, const struct oci_id_mapping *range) {
        for (size_t i = 0; i < n; i++)
                if (map[i].inside == range->container_id && map[i].outside == range->host_id && map[i].count == range->size)
                        return true;
        return false;
}

/* containerd and CRI-O give a path and the maps that it has as well. Ranges of other order or, in the kernel, of other extent are the same map
 * only by chance, so it must be the very ranges, as runc has it. */
static int check_same(struct compilation *c, const struct oci_id_mapping *asked, size_t n_asked, const struct plan_id_range *map, size_t n,
        const char *field) {
        for (size_t i = 0; i < n_asked; i++)
                if (!holds_range(map, n, &asked[i]))
                        return INVALID(c->err, field,
                                "differs from the map of the user namespace to join, %s: leave it out, or give the same",
                                c->facts->joined->path);
        if (n_asked && n_asked != n)
                return INVALID(c->err, field, "the map of the user namespace to join, %s, has %zu ranges", c->facts->joined->path, n);
        return 0;
}

/* A namespace that is there has its maps. */
static int take_joined(struct compilation *c, struct plan_ids *ids) {
        const struct oci_linux *linux = c->request->config->linux;
        const struct facts_joined *joined = c->facts->joined;
        int r;

        ids->uid_map = copy(c->arena, joined->uid_map, joined->n_uid_map);
        ids->n_uid_map = joined->n_uid_map;
        ids->gid_map = copy(c->arena, joined->gid_map, joined->n_gid_map);
        ids->n_gid_map = joined->n_gid_map;
        if (joined->deny_setgroups) {
                ids->deny_setgroups = true;
                ids->has |= PLAN_IDS_HAS_DENY_SETGROUPS;
        }
        if ((r = check_same(c, linux->uid_mappings, linux->n_uid_mappings, ids->uid_map, ids->n_uid_map, "linux.uidMappings")) < 0)
                return r;
        return check_same(c, linux->gid_mappings, linux->n_gid_mappings, ids->gid_map, ids->n_gid_map, "linux.gidMappings");
}

int ids_compile(struct compilation *c) {
        const struct oci_linux *linux = c->request->config->linux;
        struct plan_ids *ids = arena_new(c->arena, struct plan_ids);
        int r;

        c->plan->ids = ids;
        if (!namespace_own(c->plan, CLONE_NEWUSER)) {
                if (linux->n_uid_mappings || linux->n_gid_mappings)
                        return INVALID(c->err, linux->n_uid_mappings ? "linux.uidMappings" : "linux.gidMappings",
                                "id maps need a \"user\" namespace in linux.namespaces");
                return 0;
        }
        if (!namespace_made(c->plan, CLONE_NEWUSER) && c->facts->joined)
                return take_joined(c, ids);
        /* Where nobody could look, config.json may tell. */
        if (!namespace_made(c->plan, CLONE_NEWUSER) && !linux->n_uid_mappings && !linux->n_gid_mappings)
                return 0;
        if (!linux->n_uid_mappings)
                return INVALID(c->err, "linux.uidMappings", "expected at least one range for the user namespace");
        if (!linux->n_gid_mappings)
                return INVALID(c->err, "linux.gidMappings", "expected at least one range for the user namespace");
        if ((r = ids_compile_map(c->arena, linux->uid_mappings, linux->n_uid_mappings, "linux.uidMappings", &ids->uid_map, c->err)) < 0 ||
                (r = ids_compile_map(c->arena, linux->gid_mappings, linux->n_gid_mappings, "linux.gidMappings", &ids->gid_map, c->err)) < 0)
                return r;
        ids->n_uid_map = linux->n_uid_mappings;
        ids->n_gid_map = linux->n_gid_mappings;
        if (namespace_made(c->plan, CLONE_NEWUSER))
                choose_writer(c->facts->identity, ids);
        return 0;
}

int ids_check_process(struct arena *arena, const struct plan_ids *ids, const char *field, const struct plan_process *p, struct error *err) {
        if (ids->n_uid_map && !ids_map_inside(ids->uid_map, ids->n_uid_map, p->uid))
                return INVALID(err, FIELD(arena, "%s.user.uid", field), "%u is not in linux.uidMappings", p->uid);
        if (ids->n_gid_map == 0)
                return 0;
        if (!ids_map_inside(ids->gid_map, ids->n_gid_map, p->gid))
                return INVALID(err, FIELD(arena, "%s.user.gid", field), "%u is not in linux.gidMappings", p->gid);
        for (size_t i = 0; i < p->n_groups; i++)
                if (!ids_map_inside(ids->gid_map, ids->n_gid_map, p->groups[i]))
                        return INVALID(
                                err, FIELD(arena, "%s.user.additionalGids[%zu]", field, i), "%u is not in linux.gidMappings", p->groups[i]);
        return 0;
}
