#define _GNU_SOURCE
#include "apply/cgroup_devices.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* ---- rules -------------------------------------------------------------------------------------------------------------- */

#define BOTH_TYPES (BPF_DEVCG_DEV_BLOCK | BPF_DEVCG_DEV_CHAR)
#define ALL_ACCESS (BPF_DEVCG_ACC_MKNOD | BPF_DEVCG_ACC_READ | BPF_DEVCG_ACC_WRITE)

/* A rule of the plan, or several that a range of minor numbers joined. */
struct rule {
        bool allow, any_major, any_minor;
        uint32_t type, access; /* bits of BOTH_TYPES and ALL_ACCESS */
        uint32_t major, first_minor, last_minor;
};

static struct rule make_rule(const struct plan_device_rule *from) {
        struct rule rule = {
                .allow = from->allow,
                .any_major = !(from->has & PLAN_DEVICE_RULE_HAS_MAJOR),
                .any_minor = !(from->has & PLAN_DEVICE_RULE_HAS_MINOR),
                .type = from->type ? from->type & BOTH_TYPES : BOTH_TYPES,
                .access = from->access & ALL_ACCESS,
        };

        if (!rule.any_major)
                rule.major = from->major;
        if (!rule.any_minor)
                rule.first_minor = rule.last_minor = from->minor;
        return rule;
}

static bool covers_everything(const struct rule *rule) {
        return rule->any_major && rule->any_minor && rule->type == BOTH_TYPES && rule->access == ALL_ACCESS;
}

static bool same_numbers(const struct rule *a, const struct rule *b) {
        return a->any_major == b->any_major && a->any_minor == b->any_minor && a->major == b->major && a->first_minor == b->first_minor &&
                a->last_minor == b->last_minor;
}

static bool covers(const struct rule *a, const struct rule *b) {
        return (a->type & b->type) == b->type && (a->access & b->access) == b->access &&
                (a->any_major || (!b->any_major && a->major == b->major)) &&
                (a->any_minor || (!b->any_minor && a->first_minor <= b->first_minor && a->last_minor >= b->last_minor));
}

/* Makes A cover B as well, where one rule can say both. */
static bool join(struct rule *a, const struct rule *b) {
        if (covers(a, b))
                return true;
        if (a->type == b->type && same_numbers(a, b))
                a->access |= b->access;
        else if (a->access == b->access && same_numbers(a, b))
                a->type |= b->type;
        else if (a->access == b->access && a->type == b->type && a->any_major == b->any_major && a->major == b->major && !a->any_minor &&
                 !b->any_minor && a->last_minor != UINT32_MAX && b->first_minor == a->last_minor + 1)
                a->last_minor = b->last_minor;
        else
                return false;
        return true;
}

/* Joins the N rules of a run, all allowing or all denying and so in no order among themselves; returns how many are left. */
static size_t join_run(struct rule *rules, size_t n) {
        bool joined;

        do {
                joined = false;
                for (size_t i = 0; i < n; i++)
                        for (size_t j = n; j-- > 0;)
                                if (i != j && join(&rules[i], &rules[j])) {
                                        rules[j] = rules[--n];
                                        joined = true;
                                        if (i == n) /* it has moved */
                                                i = j;
                                }
        } while (joined);
        return n;
}

/* Character devices are written last and so asked first; those for both types the other way round. */
static unsigned type_order(uint32_t type) {
        return type % BOTH_TYPES;
}

/* The order in which the rules of a run are written, which is the reverse of that in which they are asked: seldom wanted ones first, those
 * that share a check next to each other, minor numbers falling. */
static int compare_rules(const void *a, const void *b) {
        const struct rule *x = a, *y = b;

        if (x->type != y->type)
                return type_order(x->type) < type_order(y->type) ? -1 : 1;
        if (x->access != y->access)
                return x->access < y->access ? -1 : 1;
        if (x->any_major != y->any_major)
                return x->any_major ? -1 : 1;
        if (x->major != y->major)
                return x->major > y->major ? -1 : 1;
        if (x->any_minor != y->any_minor)
                return x->any_minor ? -1 : 1;
        return x->first_minor > y->first_minor ? -1 : x->first_minor < y->first_minor;
}

static bool same_group(const struct rule *a, const struct rule *b) {
        return a->type == b->type && a->access == b->access && a->any_major == b->any_major && a->major == b->major &&
                a->any_minor == b->any_minor;
}

/* ---- code --------------------------------------------------------------------------------------------------------------- */

/* Written from the end to the start, as in plan/filter_emit.h: a label says how many instructions are behind it. */
typedef size_t label;

struct program {
        struct bpf_insn *instructions;
        size_t count, room;
        label allow, deny;
        unsigned used; /* registers, a bit each */
};

enum { VERDICT = BPF_REG_0, CONTEXT = BPF_REG_1, WHAT = BPF_REG_2, MAJOR = BPF_REG_4, MINOR = BPF_REG_5 };

/* WHAT holds bpf_cgroup_dev_ctx.access_type: the type in the low half, the access in the high one. */
#define ACCESS(bits) ((int32_t)(bits) << 16)

static label emit(struct program *code, uint8_t operation, uint8_t to, uint8_t from, int16_t offset, int32_t k) {
        code->instructions[code->room - 1 - code->count] =
                (struct bpf_insn){ .code = operation, .dst_reg = to & 0xf, .src_reg = from & 0xf, .off = offset, .imm = k };
        return code->count++;
}

/* Compares the low 32 bits of REG with K and goes to TO when it holds. */
static label emit_jump(struct program *code, uint8_t operation, uint8_t reg, uint32_t k, label to) {
        code->used |= 1u << reg;
        return emit(code, BPF_JMP32 | operation | BPF_K, reg, 0, (int16_t)(code->count - to - 1), (int32_t)k);
}

static label emit_goto(struct program *code, label to) {
        return emit(code, BPF_JMP | BPF_JA, 0, 0, (int16_t)(code->count - to - 1), 0);
}

/* What a match of RULE means. NEXT, the code behind, is where a match that settles only part of the request goes on. */
static label emit_outcome(struct program *code, const struct rule *rule, label next) {
        if (rule->access == ALL_ACCESS)
                return rule->allow ? code->allow : code->deny;
        if (!rule->allow)
                return emit_jump(code, BPF_JSET, WHAT, (uint32_t)ACCESS(rule->access), code->deny);
        emit_goto(code, code->allow);
        emit_jump(code, BPF_JSET, WHAT, (uint32_t)ACCESS(ALL_ACCESS), next); /* not all that was asked for is settled */
        return emit(code, BPF_ALU | BPF_AND | BPF_K, WHAT, 0, 0, ~ACCESS(rule->access));
}

/* The last check of a rule for its minor numbers: to YES, which may stand right behind, or to NO. */
static void emit_minor(struct program *code, const struct rule *rule, label yes, label no) {
        bool one = rule->first_minor == rule->last_minor, behind = yes == code->count - 1;

        if (behind && one) {
                emit_jump(code, BPF_JNE, MINOR, rule->first_minor, no);
                return;
        }
        if (behind)
                emit_jump(code, BPF_JGT, MINOR, rule->last_minor, no);
        else
                emit_jump(code, one ? BPF_JEQ : BPF_JLE, MINOR, rule->last_minor, yes);
        if (!one && rule->first_minor > 0)
                emit_jump(code, BPF_JLT, MINOR, rule->first_minor, no);
}

/* The rules of one group: N of them, minor numbers falling. What they do not match goes on to the code behind. */
static void emit_group(struct program *code, const struct rule *rules, size_t n) {
        label next = code->count - 1, outcome = emit_outcome(code, rules, next);
        bool elsewhere = rules->access == ALL_ACCESS; /* the outcome is a common exit, not the code behind */

        if (!rules->any_minor) {
                for (size_t i = 0; i < n; i++)
                        emit_minor(code, &rules[i], outcome, next);
                if (!rules->any_major)
                        emit_jump(code, BPF_JNE, MAJOR, rules->major, next);
        } else if (!rules->any_major) {
                emit_jump(code, elsewhere ? BPF_JEQ : BPF_JNE, MAJOR, rules->major, elsewhere ? outcome : next);
        } else if (elsewhere) {
                emit_goto(code, outcome);
        }
}

/* Writes the code of a run. The rules of one type stand behind one check of it. */
static void emit_run(struct program *code, const struct rule *rules, size_t n) {
        for (size_t i = 0, j; i < n; i = j) {
                label behind = code->count - 1;

                for (j = i; j < n && rules[j].type == rules[i].type;) {
                        size_t first = j;

                        while (j < n && same_group(&rules[first], &rules[j]))
                                j++;
                        emit_group(code, &rules[first], j - first);
                }
                if (rules[i].type != BOTH_TYPES)
                        emit_jump(code, BPF_JSET, WHAT, BOTH_TYPES & ~rules[i].type, behind);
        }
}

/* Starts over with what holds when no rule matches. VERDICT is 1 from the start on. */
static void emit_end(struct program *code, bool allow) {
        code->count = code->used = 0;
        code->allow = emit(code, BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
        code->deny = emit(code, BPF_ALU64 | BPF_MOV | BPF_K, VERDICT, 0, 0, 0);
        if (allow)
                code->allow = emit(code, BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
}

static void emit_start(struct program *code) {
        static const struct { uint8_t reg; int16_t offset; } loads[] = {
                { MINOR, offsetof(struct bpf_cgroup_dev_ctx, minor) },
                { MAJOR, offsetof(struct bpf_cgroup_dev_ctx, major) },
                { WHAT, offsetof(struct bpf_cgroup_dev_ctx, access_type) },
        };

        for (size_t i = 0; i < sizeof loads / sizeof *loads; i++)
                if (code->used & 1u << loads[i].reg)
                        emit(code, BPF_LDX | BPF_MEM | BPF_W, loads[i].reg, CONTEXT, loads[i].offset, 0);
        emit(code, BPF_ALU64 | BPF_MOV | BPF_K, VERDICT, 0, 0, 1);
}

int cgroup_devices_program(struct arena *arena, const struct plan_device_rule *plan, size_t n, struct bpf_insn **ret, size_t *ret_n,
                           struct error *err) {
        struct program code = { .room = 8 * n + 8 };
        struct rule *rules = arena_array(arena, struct rule, n);
        size_t n_rules = 0;
        bool otherwise = false;

        if (n > 4000) /* jumps reach 32,767 instructions */
                return fail(err, CODE_CONFIG_INVALID, E2BIG, "linux.resources.devices", "more than 4000 rules");
        for (size_t i = 0; i < n; i++) {
                rules[n_rules] = make_rule(&plan[i]);
                if (rules[n_rules].access)
                        n_rules++;
        }

        code.instructions = arena_array(arena, struct bpf_insn, code.room);
        emit_end(&code, otherwise);
        for (size_t i = 0, j; i < n_rules; i = j) {
                size_t n_run;

                for (j = i; j < n_rules && rules[j].allow == rules[i].allow;)
                        j++;
                n_run = join_run(&rules[i], j - i);
                if (n_run == 1 && covers_everything(&rules[i])) {
                        otherwise = rules[i].allow; /* earlier rules never get their turn; code that is never reached is refused */
                        emit_end(&code, otherwise);
                        continue;
                }
                if (rules[i].allow == otherwise && code.count == (otherwise ? 3 : 2))
                        continue;
                qsort(&rules[i], n_run, sizeof *rules, compare_rules);
                emit_run(&code, &rules[i], n_run);
        }
        if (otherwise && code.count == 3) {
                *ret_n = 0;
                return 0;
        }
        emit_start(&code);
        *ret = code.instructions + code.room - code.count;
        *ret_n = code.count;
        return 0;
}
