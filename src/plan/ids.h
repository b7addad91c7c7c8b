#pragma once

#include "plan/compilation.h"

/* linux.uidMappings and gidMappings, and who writes them. */
int ids_compile(struct compilation *c);

/* user, group and supplementary groups must exist in the container: setresuid(2) answers EINVAL without saying which is missing. */
int ids_check_process(struct arena *arena, const struct plan_ids *ids, const char *field, const struct plan_process *process,
                      struct error *err);

#define IDS_MOST_RANGES 340u /* user_namespaces(7), since Linux 4.15 */

/* A map as the kernel takes one: at most IDS_MOST_RANGES that share no id. field: "linux.uidMappings". */
int ids_compile_map(struct arena *arena, const struct oci_id_mapping *asked, size_t n, const char *field, struct plan_id_range **ret,
                    struct error *err);

/* ID is what some id of the container is on the host (outside) or in the container (inside). */
bool ids_map_outside(const struct plan_id_range *map, size_t n, uint32_t id);
bool ids_map_inside(const struct plan_id_range *map, size_t n, uint32_t id);

/* The range that holds ID of the container; NULL: none does. */
const struct plan_id_range *ids_find(const struct plan_id_range *map, size_t n, uint32_t id);

/* What ID of the container is on the host. False: it is not in the map. */
bool ids_outside(const struct plan_id_range *map, size_t n, uint32_t id, uint32_t *ret);
