#include "plan/payload_filter.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/seccomp.h>

#include "base/str.h"
#include "plan/filter_code.h"
#include "plan/payload_filter_rules.h"

/* Linux 7.1: the runs of numbers that plan/syscalls.c has calls for. A test compares. */
enum { NUMBERS = 472 };
struct run {
        uint16_t first, last;
};
static const struct machine {
        uint32_t audit;
        struct run known[3];
        uint32_t foreign; /* from this number on the calls are another table's; 0: there is none */
} machines[] = {
        [FILTER_X86_64] = { AUDIT_ARCH_X86_64, { { 0, 336 }, { 424, NUMBERS - 1 } }, FILTER_X32_BIT },
        [FILTER_AARCH64] = { AUDIT_ARCH_AARCH64, { { 0, 243 }, { 260, 294 }, { 424, NUMBERS - 1 } }, 0 },
};

unsigned payload_filter_parts(const struct sage_request *sage) {
        bool strict = sage && sage->has & SAGE_REQUEST_HAS_PROFILE;
        unsigned parts = strict ? PAYLOAD_FILTER_ISOLATION : 0;

        if (strict || (sage && sage->resources && sage->resources->has & SAGE_RESOURCES_HAS_DISK_MB))
                parts |= PAYLOAD_FILTER_PROJECT;
        if (sage && sage->network && sage->network->mode != SAGE_NETWORK_MODE_NONE)
                parts |= PAYLOAD_FILTER_NETWORK;
        else if (strict || (sage && sage->network))
                parts |= PAYLOAD_FILTER_NO_NETWORK;
        return parts;
}

/* What becomes of every number that is known or could have been. */
struct outcomes {
        struct arena *arena;
        struct filter_verdict allowed, refused, unknown, foreign;
        struct filter_verdict *of[NUMBERS];
};

static struct filter_verdict always(uint32_t action) {
        return (struct filter_verdict){ .action = action, .label = FILTER_NOWHERE };
}

static const struct filter_clause *clause_of(struct arena *arena, const struct payload_rule *rule) {
        struct filter_clause *clause = arena_new(arena, struct filter_clause);

        while (clause->n < ELEMENTSOF(rule->conditions) && rule->conditions[clause->n].mask) {
                clause->conditions[clause->n] = rule->conditions[clause->n];
                clause->n++;
        }
        return clause;
}

/* Adds RULE to what is said of its call already. */
static void refuse(struct outcomes *o, struct filter_verdict **of, const struct payload_rule *rule) {
        const struct filter_clause *clause = clause_of(o->arena, rule);
        const uint32_t action = SECCOMP_RET_ERRNO | rule->errnum;
        struct filter_rule *rules;

        if (clause->n == 0) {
                *of = rule->errnum == EPERM ? &o->refused : &o->unknown;
                return;
        }
        if (*of == &o->refused)
                return;
        if (*of == &o->allowed) {
                *of = arena_new(o->arena, struct filter_verdict);
                **of = o->allowed;
        }
        rules = arena_array(o->arena, struct filter_rule, (*of)->n + 1);
        for (size_t i = 0; i < (*of)->n; i++)
                rules[i] = (*of)->rules[i];
        rules[(*of)->n++] = (struct filter_rule){ clause, action };
        (*of)->rules = rules;
}

static void fill(struct outcomes *o, const struct machine *machine, unsigned parts) {
        for (size_t i = 0; i < NUMBERS; i++)
                o->of[i] = &o->unknown;
        for (size_t i = 0; i < ELEMENTSOF(machine->known) && machine->known[i].last; i++)
                for (size_t j = machine->known[i].first; j <= machine->known[i].last; j++)
                        o->of[j] = &o->allowed;
        for (size_t i = 0; i < n_payload_rules; i++) {
                const struct payload_rule *rule = &payload_rules[i];
                int number = rule->numbers[machine - &machines[FILTER_X86_64]];

                if (rule->parts & parts && number >= 0)
                        refuse(o, &o->of[number], rule);
        }
}

/* Runs of one outcome; above all numbers there is the unknown, and then what is another table's. */
static struct filter_table table_of(struct outcomes *o, const struct machine *machine) {
        struct filter_table table = { .segments = arena_array(o->arena, struct filter_segment, NUMBERS + 2) };

        for (uint32_t i = 0; i < NUMBERS; i++)
                if (i == 0 || o->of[i] != o->of[i - 1])
                        table.segments[table.n++] = (struct filter_segment){ i, o->of[i] };
        table.segments[table.n++] = (struct filter_segment){ NUMBERS, &o->unknown };
        if (machine->foreign)
                table.segments[table.n++] = (struct filter_segment){ machine->foreign, &o->foreign };
        return table;
}

struct filter_program payload_filter_build(struct arena *arena, unsigned parts, enum filter_machine machine) {
        _cleanup_arena_ struct arena scratch = { 0 };
        struct outcomes outcomes = {
                .arena = &scratch,
                .allowed = always(SECCOMP_RET_ALLOW),
                .refused = always(SECCOMP_RET_ERRNO | EPERM),
                .unknown = always(SECCOMP_RET_ERRNO | ENOSYS),
                .foreign = always(SECCOMP_RET_KILL_PROCESS),
        };
        struct filter_program program = { 0 };
        struct filter_table table;
        struct filter_start start;
        struct filter_code code;

        if (!parts)
                return program;
        code.count = code.n_returns = 0;
        code.full = false;
        fill(&outcomes, &machines[machine], parts);
        table = table_of(&outcomes, &machines[machine]);
        start = (struct filter_start){ machines[machine].audit, filter_code_table(&code, &table) };
        filter_code_arches(&code, &start, 1);
        filter_code_take(arena, &code, &program); /* never full: the table is constant, and tests build all there is */
        return program;
}
