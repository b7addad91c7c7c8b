#include "plan/device_rules.h"

#include <linux/bpf.h>
#include <linux/capability.h>
#include <linux/sched.h>
#include <sys/stat.h>

#define ALL (BPF_DEVCG_ACC_MKNOD | BPF_DEVCG_ACC_READ | BPF_DEVCG_ACC_WRITE)

#define HAS_MAJOR .has = PLAN_DEVICE_RULE_HAS_MAJOR
#define HAS_BOTH .has = PLAN_DEVICE_RULE_HAS_MAJOR | PLAN_DEVICE_RULE_HAS_MINOR
#define CHARACTER(a, b) \
        { HAS_BOTH, .allow = true, .type = BPF_DEVCG_DEV_CHAR, .major = (a), .minor = (b), .access = ALL }

/* What runc allows after the request's own rules, so that no engine has to ask for it. crun's list has the host's console, 5:1, too; a
 * container's /dev/console is a pseudo-terminal, so it is not needed. Making a node is harmless where opening it is not allowed. */
/* clang-format off */
static const struct plan_device_rule always[] = {
        { .allow = true, .type = BPF_DEVCG_DEV_CHAR, .access = BPF_DEVCG_ACC_MKNOD },
        { .allow = true, .type = BPF_DEVCG_DEV_BLOCK, .access = BPF_DEVCG_ACC_MKNOD },
        CHARACTER(1, 3),    /* null */
        CHARACTER(1, 5),    /* zero */
        CHARACTER(1, 7),    /* full */
        CHARACTER(1, 8),    /* random */
        CHARACTER(1, 9),    /* urandom */
        CHARACTER(5, 0),    /* tty */
        CHARACTER(5, 2),    /* ptmx */
        { HAS_MAJOR, .allow = true, .type = BPF_DEVCG_DEV_CHAR, .major = 136, .access = ALL }, /* pts/N */
        CHARACTER(10, 200), /* net/tun: taken away in runc 1.2.0-rc1, given back because too much broke */
};
/* clang-format on */

static const uint32_t types[] = {
        [OCI_DEVICE_RULE_TYPE_C] = BPF_DEVCG_DEV_CHAR,
        [OCI_DEVICE_RULE_TYPE_B] = BPF_DEVCG_DEV_BLOCK,
        [OCI_DEVICE_RULE_TYPE_A] = 0,
};

static int compile_access(const char *access, uint32_t *ret) {
        *ret = 0;
        for (; access && *access; access++)
                switch (*access) {
                case 'm':
                        *ret |= BPF_DEVCG_ACC_MKNOD;
                        break;
                case 'r':
                        *ret |= BPF_DEVCG_ACC_READ;
                        break;
                case 'w':
                        *ret |= BPF_DEVCG_ACC_WRITE;
                        break;
                default:
                        return -EINVAL;
                }
        return *ret ? 0 : -EINVAL;
}

/* Absent and -1: every one. */
static int compile_number(struct arena *arena, int64_t value, bool given, const char *field, size_t index, const char *member, uint64_t bit,
        struct plan_device_rule *rule, uint32_t *ret, struct error *err) {
        if (!given || value == -1)
                return 0;
        if (value < 0 || value > UINT32_MAX)
                return INVALID(err, FIELD(arena, "%s.devices[%zu].%s", field, index, member), "expected -1 or a device number, found %lld",
                        (long long)value);
        *ret = (uint32_t)value;
        rule->has |= bit;
        return 0;
}

static int compile_rule(struct arena *arena, const struct oci_device_rule *asked, const char *field, size_t index,
        struct plan_device_rule *rule, struct error *err) {
        int r;

        *rule = (struct plan_device_rule){ .allow = asked->allow };
        if (asked->has & OCI_DEVICE_RULE_HAS_TYPE) {
                if (asked->type < OCI_DEVICE_RULE_TYPE_A || asked->type > OCI_DEVICE_RULE_TYPE_B)
                        return INVALID(err, FIELD(arena, "%s.devices[%zu].type", field, index), "expected a, b or c");
                rule->type = types[asked->type];
        }
        if (compile_access(asked->access, &rule->access) < 0)
                return INVALID(err, FIELD(arena, "%s.devices[%zu].access", field, index),
                        "expected one or more of r, w and m, found \"%s\"", asked->access ?: "");
        if ((r = compile_number(arena, asked->major, asked->has & OCI_DEVICE_RULE_HAS_MAJOR, field, index, "major",
                     PLAN_DEVICE_RULE_HAS_MAJOR, rule, &rule->major, err)) < 0)
                return r;
        return compile_number(arena, asked->minor, asked->has & OCI_DEVICE_RULE_HAS_MINOR, field, index, "minor",
                PLAN_DEVICE_RULE_HAS_MINOR, rule, &rule->minor, err);
}

static bool matches_everything(const struct plan_device_rule *rule) {
        return rule->has == 0 && rule->type == 0 && rule->access == ALL;
}

static struct plan_device_rule rule_for(const struct plan_device *device) {
        return (struct plan_device_rule){ HAS_BOTH, .allow = true, .major = device->major, .minor = device->minor, .access = ALL,
                .type = device->type == S_IFBLK ? BPF_DEVCG_DEV_BLOCK : BPF_DEVCG_DEV_CHAR };
}

int device_rules_compile(struct arena *arena, const struct oci_device_rule *asked, size_t n, const struct plan_device *given,
        size_t n_given, const char *field, struct plan_cgroup *ret, struct error *err) {
        struct plan_device_rule *rules = arena_array(arena, struct plan_device_rule, n + n_given + ELEMENTSOF(always));
        bool denies = false;
        size_t used = 0;
        int r;

        for (size_t i = 0; i < n; i++) {
                struct plan_device_rule rule;

                if ((r = compile_rule(arena, &asked[i], field, i, &rule, err)) < 0)
                        return r;
                /* Whatever was said before is overruled; and that nothing matches is denied anyway. */
                if (matches_everything(&rule)) {
                        used = 0;
                        denies = false;
                        if (!rule.allow)
                                continue;
                }
                denies |= !rule.allow;
                rules[used++] = rule;
        }
        if (used > 0 && matches_everything(&rules[0]) && !denies)
                return 0;
        if (n == 0)
                for (size_t i = 0; i < n_given; i++)
                        if (given[i].field && given[i].type != S_IFIFO)
                                rules[used++] = rule_for(&given[i]);
        memcpy(rules + used, always, sizeof always);
        ret->devices = rules;
        ret->n_devices = used + ELEMENTSOF(always);
        ret->limit_devices = true;
        ret->has |= PLAN_CGROUP_HAS_LIMIT_DEVICES;
        return 0;
}

bool device_rules_useless(const struct facts_identity *identity, const struct plan_plan *plan) {
        return !identity->initial_userns ||
                (!(identity->capabilities & UINT64_C(1) << CAP_SYS_ADMIN) && namespace_own(plan, CLONE_NEWUSER));
}
