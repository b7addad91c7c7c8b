#include "plan/sandbox_update.h"

#include "base/str.h"
#include "plan/sandbox_cgroup.h"

#define CPU_PERIOD 100000 /* microseconds: that of Sage's limits, which a quota alone leaves as it is */

/* "QUOTA PERIOD" or "QUOTA" of cpu.max. "max" is no number. */
static bool read_share(const char *text, uint64_t *quota, uint64_t *period) {
        size_t n = strcspn(text, " ");
        char number[24];

        if (n >= sizeof number)
                return false;
        memcpy(number, text, n);
        number[n] = '\0';
        *period = CPU_PERIOD;
        return str_to_u64(number, UINT64_MAX, quota) == 0 && (!text[n] || str_to_u64(text + n + 1, UINT64_MAX, period) == 0);
}

/* A share of time is one, whatever the period is. */
static bool is_same_share(const char *a, const char *b) {
        uint64_t quota, period, other_quota, other_period;

        return read_share(a, &quota, &period) && read_share(b, &other_quota, &other_period) &&
                (unsigned __int128)quota * other_period == (unsigned __int128)other_quota * period;
}

static bool is_same(const struct plan_cgroup_write *a, const struct plan_cgroup_write *b) {
        return streq(a->value, b->value) || (streq(a->file, "cpu.max") && is_same_share(a->value, b->value));
}

static const struct plan_cgroup_write *find(const struct plan_cgroup_write *limits, size_t n, const char *file) {
        for (size_t i = 0; i < n; i++)
                if (streq(limits[i].file, file))
                        return &limits[i];
        return NULL;
}

int sandbox_update_check(struct arena *arena, const struct plan_plan *plan, struct plan_cgroup *update, struct error *err) {
        struct plan_cgroup_write limits[SANDBOX_CGROUP_WRITES];
        size_t n = plan->sage && plan->sage->resources ? sandbox_cgroup_writes(arena, plan->sage->resources, limits) : 0, kept = 0;

        if (plan->sandbox && update->has & PLAN_CGROUP_HAS_LIMIT_DEVICES)
                return fail(err, CODE_INVALID_STATE, EBUSY, "linux.resources.devices", "the devices of a strict sandbox are its own");
        for (size_t i = 0; i < update->n_writes; i++) {
                const struct plan_cgroup_write *write = &update->writes[i], *limit = find(limits, n, write->file);

                if (!limit)
                        update->writes[kept++] = *write;
                else if (!is_same(write, limit))
                        return fail(err, CODE_INVALID_STATE, EBUSY, write->field,
                                "%s keeps %s at %s, and this would make it %s: a sandbox is never changed while it lives, make another",
                                limit->field, limit->file, limit->value, write->value);
        }
        update->n_writes = kept;
        return 0;
}
