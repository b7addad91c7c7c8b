#include "plan/filter_rules.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"

/* One rule for one number, before rules of the same number are brought together. */
struct entry {
        uint32_t number;
        uint32_t rule; /* linux.seccomp.syscalls[RULE] */
        const struct filter_clause *clause;
};

/* Numbers FIRST to LAST return ACTION where no rule says otherwise; no rule may in a closed region. */
struct region {
        uint32_t first, last, action;
        bool closed;
};

struct builder {
        struct arena *arena;
        const struct oci_seccomp *rules;
        const struct syscall_row *const *calls;
        uint32_t default_action;
        struct entry *unsorted; /* of one architecture */
        struct entry *entries;  /* of one architecture after the other; in the end by rising number */
        size_t n_entries;
        struct region regions[4];
        size_t n_regions;
        struct filter_verdict *verdicts; /* all distinct ones */
        struct filter_verdict *always;   /* the last of those without rules that was asked for */
        struct filter_table table;
};

/* SECCOMP_RET_* of linux/seccomp.h. KILL is libseccomp's old name for KILL_THREAD. */
static const uint32_t actions[] = {
        [OCI_SECCOMP_ACTION_SCMP_ACT_KILL] = SECCOMP_RET_KILL_THREAD,
        [OCI_SECCOMP_ACTION_SCMP_ACT_KILL_PROCESS] = SECCOMP_RET_KILL_PROCESS,
        [OCI_SECCOMP_ACTION_SCMP_ACT_KILL_THREAD] = SECCOMP_RET_KILL_THREAD,
        [OCI_SECCOMP_ACTION_SCMP_ACT_TRAP] = SECCOMP_RET_TRAP,
        [OCI_SECCOMP_ACTION_SCMP_ACT_ERRNO] = SECCOMP_RET_ERRNO,
        [OCI_SECCOMP_ACTION_SCMP_ACT_TRACE] = SECCOMP_RET_TRACE,
        [OCI_SECCOMP_ACTION_SCMP_ACT_ALLOW] = SECCOMP_RET_ALLOW,
        [OCI_SECCOMP_ACTION_SCMP_ACT_LOG] = SECCOMP_RET_LOG,
        [OCI_SECCOMP_ACTION_SCMP_ACT_NOTIFY] = SECCOMP_RET_USER_NOTIF,
};

uint32_t filter_action(enum oci_seccomp_action action, uint32_t errnum) {
        bool takes_data = action == OCI_SECCOMP_ACTION_SCMP_ACT_ERRNO || action == OCI_SECCOMP_ACTION_SCMP_ACT_TRACE;

        return actions[action] | (takes_data ? errnum & SECCOMP_RET_DATA : 0);
}

static uint32_t rule_action(const struct oci_seccomp_rule *rule) {
        return filter_action(rule->action, rule->has & OCI_SECCOMP_RULE_HAS_ERRNO_RET ? rule->errno_ret : EPERM);
}

/* ---- from rules to entries ---------------------------------------------------------------------------------------------- */

static void fill_entry(
        struct builder *b, struct entry *entry, size_t rule, const struct filter_clause *clause, struct filter_number number) {
        if (number.call)
                clause = filter_clause_multiplexed(b->arena, clause, number.call);
        *entry = (struct entry){ .number = number.number, .rule = (uint32_t)rule, .clause = clause->n ? clause : NULL };
}

/* Sorts N entries by number into SORTED, rules of one number staying in the profile's order. System call numbers are small and dense, so
 * that they can be counted; only arm has a few far away (0xf0001 and on). */
static void sort_entries(const struct entry *entries, size_t n, uint32_t first, struct entry *sorted) {
        enum { SLOTS = 1024 };
        uint32_t at[SLOTS + 1] = { 0 };

#define SLOT(entry) ((entry)->number - first < SLOTS ? (entry)->number - first : SLOTS - 1)
        for (size_t i = 0; i < n; i++)
                at[SLOT(&entries[i]) + 1]++;
        for (size_t i = 1; i <= SLOTS; i++)
                at[i] += at[i - 1];
        for (size_t i = 0; i < n; i++)
                sorted[at[SLOT(&entries[i])]++] = entries[i];
#undef SLOT
        for (size_t i = n > 0 ? at[SLOTS - 2] + 1 : n; i < n; i++) { /* the last slot, by insertion */
                const struct entry entry = sorted[i];
                size_t j = i;

                for (; j > at[SLOTS - 2] && sorted[j - 1].number > entry.number; j--)
                        sorted[j] = sorted[j - 1];
                sorted[j] = entry;
        }
}

const struct syscall_row **filter_find_calls(struct arena *arena, const struct oci_seccomp *rules) {
        const struct syscall_row **calls, *last = NULL;
        size_t n = 0;

        for (size_t i = 0; i < rules->n_syscalls; i++)
                n += rules->syscalls[i].n_names;
        calls = arena_array(arena, const struct syscall_row *, n);
        n = 0;
        for (size_t i = 0; i < rules->n_syscalls; i++)
                for (size_t j = 0; j < rules->syscalls[i].n_names; j++) {
                        const struct syscall_row *call = syscall_find(rules->syscalls[i].names[j], last);

                        calls[n++] = call;
                        last = call ?: last;
                }
        return calls;
}

/* Enters RULE, whose names are CALLS, for ARCH. Returns how many entries it came to. */
static size_t add_rule(struct builder *b, const struct filter_arch *arch, size_t i, const struct syscall_row *const *calls,
        struct entry *entries, uint32_t *largest) {
        const struct oci_seccomp_rule *rule = &b->rules->syscalls[i];
        bool dropped = rule_action(rule) == b->default_action;
        size_t n_clauses, n_entries = 0;
        struct filter_clause *clauses = filter_clauses(b->arena, rule, arch->narrow, &n_clauses);

        for (size_t j = 0; j < rule->n_names; j++) {
                struct filter_number numbers[2];
                size_t n = calls[j] ? filter_resolve(arch, calls[j], numbers, largest) : 0;

                if (dropped)
                        continue;
                for (size_t k = 0; k < n_clauses; k++)
                        for (size_t l = 0; l < n; l++)
                                fill_entry(b, &entries[n_entries++], i, &clauses[k], numbers[l]);
        }
        return n_entries;
}

/* Enters all rules for ARCH, by number; returns the largest number that a name stands for. */
static uint32_t add_arch(struct builder *b, const struct filter_arch *arch) {
        const struct syscall_row *const *calls = b->calls;
        uint32_t largest = 0;
        size_t n = 0;

        for (size_t i = 0; i < b->rules->n_syscalls; i++) {
                n += add_rule(b, arch, i, calls, b->unsorted + n, &largest);
                calls += b->rules->syscalls[i].n_names;
        }
        sort_entries(b->unsorted, n, arch->first, b->entries + b->n_entries);
        b->n_entries += n;
        return largest;
}

static void add_region(struct builder *b, uint32_t first, uint32_t last, uint32_t action, bool closed) {
        b->regions[b->n_regions++] = (struct region){ first, last, action, closed };
}

/* Does the default action let a call pass? A tracer is expected to know what to do with new calls. */
static bool permissive(uint32_t action) {
        uint32_t kind = action & SECCOMP_RET_ACTION_FULL;

        return kind == SECCOMP_RET_ALLOW || kind == SECCOMP_RET_LOG || kind == SECCOMP_RET_TRACE;
}

/* The numbers of ARCH up to LAST: to LARGEST as the rules say, above ENOSYS. Without a single named call, as the rules say. */
static void add_arch_regions(struct builder *b, const struct filter_arch *arch, uint32_t largest, uint32_t last) {
        if (permissive(b->default_action) || largest == 0) {
                add_region(b, arch->first, last, b->default_action, false);
        } else {
                add_region(b, arch->first, largest, b->default_action, false);
                add_region(b, largest + 1, last, SECCOMP_RET_ERRNO | ENOSYS, true);
        }
}

static void add_arches(struct builder *b, const struct filter_arch *const *arches, size_t n) {
        for (size_t i = 0; i < n; i++) {
                bool x86_64_alone = arches[i]->name == OCI_SECCOMP_ARCH_SCMP_ARCH_X86_64 && n == 1;
                uint32_t largest = add_arch(b, arches[i]);

                if (x86_64_alone) {
                        /* x32 calls end the process, but not -1: a tracer gives that number to a call it wants skipped (seccomp(2)). */
                        add_arch_regions(b, arches[i], largest, FILTER_X32_BIT - 1);
                        add_region(b, FILTER_X32_BIT, UINT32_MAX - 1, SECCOMP_RET_KILL_PROCESS, true);
                        add_region(b, UINT32_MAX, UINT32_MAX, b->default_action, true);
                } else {
                        add_arch_regions(b, arches[i], largest, i + 1 < n ? arches[i + 1]->first - 1 : UINT32_MAX);
                }
        }
}

/* ---- entries of one number ---------------------------------------------------------------------------------------------- */

/* Puts ENTRY among the N rules before it. */
static int insert_rule(struct builder *b, struct filter_rule *rules, size_t *n, const struct entry *entry, struct error *err) {
        uint32_t action = rule_action(&b->rules->syscalls[entry->rule]);
        size_t at = *n;

        for (size_t i = *n; i-- > 0;) {
                uint8_t common = filter_clause_common(rules[i].clause, entry->clause);
                char where[64];

                if (common == rules[i].clause->n && (common < entry->clause->n || rules[i].action == action))
                        return 0; /* never reached: whatever it matches is decided before */
                if (common == entry->clause->n && rules[i].action != action) {
                        snprintf(where, sizeof where, "linux.seccomp.syscalls[%u]", entry->rule);
                        return fail(err, CODE_CONFIG_INVALID, EEXIST, where,
                                "contradicts an earlier rule: the same call and conditions with another action");
                }
                if (filter_clause_goes_before(rules[i].clause, entry->clause, common))
                        at = i;
        }
        memmove(&rules[at + 1], &rules[at], (*n - at) * sizeof *rules);
        rules[at] = (struct filter_rule){ entry->clause, action };
        (*n)++;
        return 0;
}

static bool same_verdict(const struct filter_verdict *a, const struct filter_verdict *b) {
        if (a->n != b->n || a->action != b->action)
                return false;
        for (size_t i = 0; i < a->n; i++)
                if (a->rules[i].clause != b->rules[i].clause || a->rules[i].action != b->rules[i].action)
                        return false;
        return true;
}

/* The verdict equal to LIKE, made if there is none yet. */
static struct filter_verdict *intern(struct builder *b, const struct filter_verdict *like) {
        struct filter_verdict *verdict;

        for (verdict = b->verdicts; verdict; verdict = verdict->next)
                if (same_verdict(verdict, like))
                        return verdict;
        verdict = arena_new(b->arena, struct filter_verdict);
        *verdict = *like;
        verdict->label = FILTER_NOWHERE;
        verdict->next = b->verdicts;
        b->verdicts = verdict;
        return verdict;
}

/* Nearly all numbers are allowed or denied whatever their arguments, so the last such verdict is remembered. */
static struct filter_verdict *always(struct builder *b, uint32_t action) {
        if (!b->always || b->always->action != action)
                b->always = intern(b, &(struct filter_verdict){ .action = action });
        return b->always;
}

/* What the N entries of one number come to. */
static int decide(struct builder *b, const struct entry *entries, size_t n, struct filter_verdict **ret, struct error *err) {
        struct filter_rule *rules;
        size_t n_rules = 0;
        int r;

        for (size_t i = 0; i < n; i++)
                if (!entries[i].clause) {
                        *ret = always(b, rule_action(&b->rules->syscalls[entries[i].rule]));
                        return 0;
                }
        rules = arena_array(b->arena, struct filter_rule, n);
        for (size_t i = 0; i < n; i++) {
                r = insert_rule(b, rules, &n_rules, &entries[i], err);
                if (r < 0)
                        return r;
        }
        *ret = intern(b, &(struct filter_verdict){ .action = b->default_action, .n = n_rules, .rules = rules });
        return 0;
}

/* ---- the table ---------------------------------------------------------------------------------------------------------- */

/* From FIRST on it is VERDICT. FIRST never goes down. */
static void add_segment(struct filter_table *table, uint32_t first, struct filter_verdict *verdict) {
        if (table->n && table->segments[table->n - 1].first == first)
                table->n--;
        if (table->n && table->segments[table->n - 1].verdict == verdict)
                return;
        table->segments[table->n++] = (struct filter_segment){ first, verdict };
}

static int fill_table(struct builder *b, struct error *err) {
        size_t i = 0;

        for (size_t k = 0; k < b->n_regions; k++) {
                const struct region *region = &b->regions[k];
                struct filter_verdict *otherwise = always(b, region->action);

                add_segment(&b->table, region->first, otherwise);
                while (i < b->n_entries && b->entries[i].number <= region->last) {
                        uint32_t number = b->entries[i].number;
                        struct filter_verdict *verdict;
                        size_t n = 1;
                        int r;

                        while (i + n < b->n_entries && b->entries[i + n].number == number)
                                n++;
                        r = decide(b, &b->entries[i], n, &verdict, err);
                        if (r < 0)
                                return r;
                        i += n;
                        if (region->closed)
                                continue;
                        add_segment(&b->table, number, verdict);
                        if (number < region->last)
                                add_segment(&b->table, number + 1, otherwise);
                }
        }
        return 0;
}

/* No architecture has more entries than this. */
static size_t most_entries(const struct oci_seccomp *rules, const struct filter_arch *const *arches, size_t n) {
        size_t most = 0, each = 1;

        for (size_t i = 0; i < n; i++)
                if (arches[i]->multiplexes)
                        each = 2;
        for (size_t i = 0; i < rules->n_syscalls; i++)
                most += rules->syscalls[i].n_names * (rules->syscalls[i].n_args ? rules->syscalls[i].n_args : 1) * each;
        return most;
}

int filter_table_build(struct arena *arena, const struct oci_seccomp *rules, const struct syscall_row *const *calls,
        const struct filter_arch *const *arches, size_t n, struct filter_table *ret, struct error *err) {
        bool has_errno = rules->has & OCI_SECCOMP_HAS_DEFAULT_ERRNO_RET;
        size_t most = most_entries(rules, arches, n);
        struct builder b = {
                .arena = arena,
                .rules = rules,
                .calls = calls,
                .default_action = filter_action(rules->default_action, has_errno ? rules->default_errno_ret : EPERM),
                .unsorted = arena_array_raw(arena, struct entry, most),
                .entries = arena_array_raw(arena, struct entry, most * n),
        };
        int r;

        add_arches(&b, arches, n);
        b.table.segments = arena_array_raw(arena, struct filter_segment, 2 * b.n_entries + ELEMENTSOF(b.regions));
        r = fill_table(&b, err);
        if (r < 0)
                return r;
        *ret = b.table;
        return 0;
}
