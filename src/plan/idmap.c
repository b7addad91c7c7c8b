#include "plan/idmap.h"

#include "plan/ids.h"

/* A number up to the separator that must follow it, or up to the end of the text for '\0'. */
static int read_number(const char **at, char separator, uint32_t *ret) {
        size_t n = strspn(*at, "0123456789");
        char digits[16];
        uint64_t value;

        if (n == 0 || n >= sizeof digits || (separator && (*at)[n] != separator))
                return -EINVAL;
        memcpy(digits, *at, n);
        digits[n] = '\0';
        if (str_to_u64(digits, UINT32_MAX - 1, &value) < 0)
                return -ERANGE;
        *ret = (uint32_t)value;
        *at += n + (separator != '\0');
        return 0;
}

/* "0-1-10#10-11-10": ranges of FROM-TO-SIZE. *AT is left behind them. */
static int read_ranges(struct arena *arena, const char **at, struct oci_id_mapping **ret, size_t *ret_n) {
        struct oci_id_mapping *ranges;
        size_t n = 0, room = 1;

        for (const char *p = *at; *p && *p != ';'; p++)
                room += *p == '#';
        ranges = arena_array(arena, struct oci_id_mapping, room);
        do {
                struct oci_id_mapping *range = &ranges[n++];

                if (read_number(at, '-', &range->container_id) < 0 || read_number(at, '-', &range->host_id) < 0 ||
                        read_number(at, '\0', &range->size) < 0)
                        return -EINVAL;
        } while (**at == '#' && (*at)++);
        *ret = ranges;
        *ret_n = n;
        return 0;
}

/* crun.1, "@": TO is an id of the container. Ids that follow each other there need not do so on the host, so that a range may become
 * several; of more than the kernel takes, ids_compile_map() is shown one too many. Without a user namespace the ids are the host's. */
static int from_container(struct compilation *c, const struct plan_id_range *map, size_t n_map, const char *field,
        struct oci_id_mapping **ranges, size_t *n_ranges) {
        struct oci_id_mapping *all = arena_array(c->arena, struct oci_id_mapping, IDS_MOST_RANGES + 1);
        size_t n = 0;

        for (size_t i = 0; n_map && i < *n_ranges; i++) {
                struct oci_id_mapping rest = (*ranges)[i];

                do {
                        const struct plan_id_range *in = ids_find(map, n_map, rest.host_id);
                        uint32_t skipped = in ? rest.host_id - in->inside : 0, left = in ? in->count - skipped : 0;
                        uint32_t size = rest.size < left ? rest.size : left;

                        if (!in)
                                return INVALID(c->err, field, "%u is no id of the container: its map does not have it", rest.host_id);
                        if (n <= IDS_MOST_RANGES)
                                all[n++] = (struct oci_id_mapping){
                                        .container_id = rest.container_id, .host_id = in->outside + skipped, .size = size
                                };
                        rest.container_id += size;
                        rest.host_id += size;
                        rest.size -= size;
                } while (rest.size);
        }
        if (n_map) {
                *ranges = all;
                *n_ranges = n;
        }
        return 0;
}

static int compile_text(struct compilation *c, const char *text, const char *field, struct plan_idmap *map) {
        while (*text) {
                const char *uids = str_after(text, "uids="), *gids = str_after(text, "gids=");
                const struct plan_ids *ids = c->plan->ids;
                struct oci_id_mapping *ranges;
                struct plan_id_range **ret = uids ? &map->uid_map : &map->gid_map;
                size_t *ret_n = uids ? &map->n_uid_map : &map->n_gid_map;
                const char *which = FIELD(c->arena, "%s.%s", field, uids ? "uids" : "gids");
                bool relative;
                int r;

                text = uids ?: gids;
                if ((relative = text && *text == '@'))
                        text++;
                if (!text || *ret || read_ranges(c->arena, &text, &ranges, ret_n) < 0 || (*text && *text != ';'))
                        return INVALID(c->err, field, "expected idmap=uids=FROM-TO-SIZE#…;gids=FROM-TO-SIZE#…, or @FROM-TO-SIZE#…");
                if ((relative &&
                            (r = from_container(c, uids ? ids->uid_map : ids->gid_map, uids ? ids->n_uid_map : ids->n_gid_map, which,
                                     &ranges, ret_n)) < 0) ||
                        (r = ids_compile_map(c->arena, ranges, *ret_n, which, ret, c->err)) < 0)
                        return r;
                text += *text == ';';
        }
        return 0;
}

static int compile_members(struct compilation *c, const struct oci_mount *asked, const char *field, struct plan_idmap *map) {
        int r;

        if (!asked->n_uid_mappings || !asked->n_gid_mappings)
                return INVALID(c->err, FIELD(c->arena, "%s.%s", field, asked->n_uid_mappings ? "gidMappings" : "uidMappings"),
                        "expected both uidMappings and gidMappings");
        if ((r = ids_compile_map(c->arena, asked->uid_mappings, asked->n_uid_mappings, FIELD(c->arena, "%s.uidMappings", field),
                     &map->uid_map, c->err)) < 0 ||
                (r = ids_compile_map(c->arena, asked->gid_mappings, asked->n_gid_mappings, FIELD(c->arena, "%s.gidMappings", field),
                         &map->gid_map, c->err)) < 0)
                return r;
        map->n_uid_map = asked->n_uid_mappings;
        map->n_gid_map = asked->n_gid_mappings;
        return 0;
}

int idmap_compile(struct compilation *c, const struct oci_mount *asked, const char *option, struct plan_mount *mount) {
        const char *field = mount->field, *text = option ? strchr(option, '=') : NULL;
        struct plan_idmap *map;
        int r;

        if (!idmap_asked(asked, option))
                return 0;
        map = arena_new(c->arena, struct plan_idmap);
        map->recursive = option && option[0] == 'r';
        if (asked->n_uid_mappings || asked->n_gid_mappings)
                r = compile_members(c, asked, field, map);
        else
                r = compile_text(c, text ? text + 1 : "", FIELD(c->arena, "%s.options", field), map);
        if (r < 0)
                return r;
        if ((!map->uid_map && !c->plan->ids->n_uid_map) || (!map->gid_map && !c->plan->ids->n_gid_map))
                return INVALID(c->err, FIELD(c->arena, "%s.options", field),
                        "idmap needs uidMappings and gidMappings, the mount's own or the container's in linux");
        mount->idmap = map;
        return 0;
}
