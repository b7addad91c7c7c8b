/* Writes that ask for nothing, and the first that does. */
#include "plan/cgroup_resources.h"

/* What a new cgroup says anyway, whether or not its controller is there: cgroup-v2.rst, "default" of each file. */
/* clang-format off */
static const struct { const char *file, *value; } defaults[] = {
        { "cpu.max", "max" },         { "cpu.max.burst", "0" },     { "cpu.idle", "0" },          { "memory.max", "max" },
        { "memory.high", "max" },     { "memory.low", "0" },        { "memory.min", "0" },        { "memory.swap.max", "max" },
        { "memory.swap.high", "max" }, { "memory.zswap.max", "max" }, { "memory.oom.group", "0" }, { "pids.max", "max" },
};
/* clang-format on */

bool cgroup_write_is_nothing(const struct plan_cgroup_write *write) {
        size_t length = strcspn(write->value, " "); /* of cpu.max: "max 100000" limits no more than "max" */
        const char *sign = strrchr(write->value, '=');

        for (size_t i = 0; i < ELEMENTSOF(defaults); i++)
                if (streq(defaults[i].file, write->file))
                        return strlen(defaults[i].value) == length && strncmp(defaults[i].value, write->value, length) == 0;
        return streq(write->file, "io.max") && sign && streq(sign, "=max") && strchr(write->value, '=') == sign;
}

const struct plan_cgroup_write *cgroup_first_limit(const struct plan_cgroup *cgroup, const char *controller) {
        for (size_t i = 0; i < cgroup->n_writes; i++) {
                const char *rest = controller ? str_after(cgroup->writes[i].file, controller) : ".";

                if (rest && *rest == '.' && !cgroup_write_is_nothing(&cgroup->writes[i]))
                        return &cgroup->writes[i];
        }
        return NULL;
}
