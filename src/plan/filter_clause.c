#include "plan/filter_clause.h"

/* ---- from a rule to clauses --------------------------------------------------------------------------------------------- */

/* Adds ARG to CLAUSE, unless it always holds, keeping arguments in rising order. */
static void add_condition(struct filter_clause *clause, const struct oci_seccomp_arg *arg) {
        bool masked = arg->op == OCI_SECCOMP_OPERATOR_SCMP_CMP_MASKED_EQ;
        uint64_t width = clause->narrow ? UINT32_MAX : UINT64_MAX, mask = (masked ? arg->value : UINT64_MAX) & width;
        uint8_t i = clause->n;

        if (mask == 0)
                return;
        for (; i > 0 && clause->conditions[i - 1].argument > arg->index; i--)
                clause->conditions[i] = clause->conditions[i - 1];
        clause->conditions[i] = (struct filter_condition){
                .argument = (uint8_t)arg->index,
                .op = arg->op,
                .mask = mask,
                .value = (masked ? arg->value_two : arg->value) & mask,
        };
        clause->n++;
}

static bool names_an_argument_twice(const struct oci_seccomp_rule *rule) {
        unsigned seen = 0;

        for (size_t i = 0; i < rule->n_args; i++) {
                if (seen & 1u << rule->args[i].index)
                        return true;
                seen |= 1u << rule->args[i].index;
        }
        return false;
}

struct filter_clause *filter_clauses(struct arena *arena, const struct oci_seccomp_rule *rule, bool narrow, size_t *ret_n) {
        size_t n = names_an_argument_twice(rule) ? rule->n_args : 1;
        struct filter_clause *clauses = arena_array(arena, struct filter_clause, n);

        for (size_t i = 0; i < n; i++)
                clauses[i].narrow = narrow;
        for (size_t i = 0; i < rule->n_args; i++)
                add_condition(&clauses[n > 1 ? i : 0], &rule->args[i]);
        *ret_n = n;
        return clauses;
}

const struct filter_clause *filter_clause_multiplexed(struct arena *arena, const struct filter_clause *clause, uint32_t call) {
        const struct oci_seccomp_arg selects = { .index = 0, .value = call, .op = OCI_SECCOMP_OPERATOR_SCMP_CMP_EQ };
        struct filter_clause *copy = arena_new(arena, struct filter_clause);

        copy->narrow = clause->narrow;
        for (uint8_t i = 0; i < clause->n; i++)
                if (clause->conditions[i].argument != 0)
                        copy->conditions[copy->n++] = clause->conditions[i];
        add_condition(copy, &selects);
        return copy;
}

/* ---- which is asked first ----------------------------------------------------------------------------------------------- */

/* Equality is looked at before LT and LE, and these before GT and GE (libseccomp's db.c, "op priority"). */
static int operator_class(enum oci_seccomp_operator op) {
        switch (op) {
        case OCI_SECCOMP_OPERATOR_SCMP_CMP_LT:
        case OCI_SECCOMP_OPERATOR_SCMP_CMP_LE:
                return 2;
        case OCI_SECCOMP_OPERATOR_SCMP_CMP_GT:
        case OCI_SECCOMP_OPERATOR_SCMP_CMP_GE:
                return 1;
        default:
                return 3;
        }
}

static bool is_masked(const struct filter_condition *c) {
        return c->op == OCI_SECCOMP_OPERATOR_SCMP_CMP_MASKED_EQ;
}

static bool same_condition(const struct filter_condition *a, const struct filter_condition *b) {
        return a->argument == b->argument && a->op == b->op && a->mask == b->mask && a->value == b->value;
}

uint8_t filter_clause_common(const struct filter_clause *a, const struct filter_clause *b) {
        uint8_t n = 0;

        while (n < a->n && n < b->n && same_condition(&a->conditions[n], &b->conditions[n]))
                n++;
        return n;
}

/* Orders halves of two values: < 0 when A's is to be asked first, > 0 when B's, 0 when neither. */
static int compare_halves(uint32_t a, uint32_t b, bool smaller_first) {
        if (a == b)
                return 0;
        return (a < b) == smaller_first ? -1 : 1;
}

bool filter_clause_goes_before(const struct filter_clause *a, const struct filter_clause *b, uint8_t common) {
        const struct filter_condition *x = &a->conditions[common], *y = &b->conditions[common];
        int class, order;

        if (common == a->n || common == b->n)
                return false;
        if (x->argument != y->argument)
                return x->argument < y->argument;
        class = operator_class(x->op);
        if (class != operator_class(y->op))
                return class < operator_class(y->op);
        order = compare_halves((uint32_t)(x->value >> 32), (uint32_t)(y->value >> 32), class == 2);
        if (order == 0 && (a->narrow || (is_masked(x) == is_masked(y) && x->mask >> 32 == y->mask >> 32)))
                order = compare_halves((uint32_t)x->value, (uint32_t)y->value, class == 2);
        return order > 0;
}
