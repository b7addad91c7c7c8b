#pragma once

#include "plan/compilation.h"

/* linux.uidMappings and gidMappings, and who writes them. */
int ids_compile(struct compilation *c);

/* user, group and supplementary groups must exist in the container: setresuid(2) answers EINVAL without saying which is missing. */
int ids_check_process(struct arena *arena, const struct plan_ids *ids, const char *field, const struct plan_process *process, struct error *err);

/* ID is what some id of the container is on the host (outside) or in the container (inside). */
bool ids_map_outside(const struct plan_id_range *map, size_t n, uint32_t id);
bool ids_map_inside(const struct plan_id_range *map, size_t n, uint32_t id);
