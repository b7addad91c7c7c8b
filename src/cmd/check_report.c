#define _GNU_SOURCE
#include "cmd/check_report.h"

#include <errno.h>

#include "base/file.h"
#include "base/str.h"
#include "facts/facts.h"
#include "plan/admit.h"
#include "plan/demand.h"
#include "spec/check.h"

/* Members of a result record, and the Linux that first had a source for each (cgroup-v2.rst: memory.peak, pids.peak). */
static const struct {
        const char *name;
        unsigned major, minor;
} figures[] = {
        { "memory_peak_bytes", 5, 19 },
        { "pids_peak", 6, 1 },
};

static const char **missing_figures(struct arena *arena, const struct facts_facts *facts, size_t *ret_n) {
        const char **names = arena_array(arena, const char *, ELEMENTSOF(figures) + 1);
        const struct facts_kernel *kernel = facts->kernel;
        bool v2 = facts->cgroup->version == FACTS_CGROUP_VERSION_V2;
        size_t n = 0;

        for (size_t i = 0; i < ELEMENTSOF(figures); i++)
                if (!v2 || kernel->major < figures[i].major || (kernel->major == figures[i].major && kernel->minor < figures[i].minor))
                        names[n++] = figures[i].name;
        *ret_n = n;
        return names;
}

/* What is true of this host without being a gap. */
static const char **notes(struct arena *arena, const struct facts_facts *facts, size_t *ret_n) {
        const char **texts = arena_array(arena, const char *, 3);
        size_t n = 0;

        /* user_namespaces(7): who denies setgroups, as a user must, keeps his groups. */
        if (facts->identity->euid != 0)
                texts[n++] = "supplementary groups cannot be given up without root: a mounted file that they may read stays readable";
        if (facts->features->landlock == 0)
                texts[n++] = "no Landlock: the egress broker is fenced by its identity and its filter only";
        *ret_n = n;
        return texts;
}

static bool has_gap(const struct check_report *report, const char *what) {
        for (size_t i = 0; i < report->n_missing; i++)
                if (streq(report->missing[i].limit, what))
                        return true;
        return false;
}

static void fill_items(struct arena *arena, const struct plan_plan *plan, struct check_report *report) {
        struct demand demand = demand_of(plan);

        report->enforced = arena_array(arena, struct check_item, ITEM_COUNT);
        report->missing_limits = arena_array(arena, const char *, ITEM_COUNT + 1);
        for (enum item item = 0; item < ITEM_COUNT; item++) {
                bool enforced = !has_gap(report, demand_name(item));

                if (!(demand.items & ITEM_BIT(item)))
                        continue;
                report->enforced[report->n_enforced++] = (struct check_item){ .what = demand_name(item), .enforced = enforced };
                if (!enforced && demand_is_limit(item))
                        report->missing_limits[report->n_missing_limits++] = demand_name(item);
        }
}

static int make_report(struct host *host, const struct plan_plan *plan, struct check_report *ret, struct error *err) {
        struct arena *arena = host->arena;
        struct gap *gaps;
        size_t n;
        int r = facts_need(host, FACTS_ALL | (plan ? admit_needs(plan) : 0), err);

        if (r < 0)
                return r;
        r = admit(arena, plan, &host->facts, &gaps, &n, err);
        if (r < 0 && r != -EOPNOTSUPP)
                return r;
        *ret = (struct check_report){
                .scope = plan ? CHECK_SCOPE_BUNDLE : CHECK_SCOPE_SANDBOX,
                .ok = n == 0,
                .missing = arena_array(arena, struct check_gap, n + 1),
                .n_missing = n,
                .facts = &host->facts,
        };
        for (size_t i = 0; i < n; i++)
                ret->missing[i] = (struct check_gap){ gaps[i].code, gaps[i].limit, gaps[i].text, gaps[i].remedy };
        fill_items(arena, plan, ret);
        ret->missing_figures = missing_figures(arena, &host->facts, &ret->n_missing_figures);
        ret->notes = notes(arena, &host->facts, &ret->n_notes);
        return 0;
}

/* ---- the table that people read ---- */

#define WHAT_WIDTH 16
#define ENFORCED_WIDTH 10

static void print_heading(const struct check_report *report, struct str *out) {
        const struct facts_facts *facts = report->facts;

        str_printf(out, "%s\n",
                report->scope == CHECK_SCOPE_BUNDLE ? "What this bundle demands of this host:"
                                                    : "What the strict sandbox needs of this host (--bundle asks for one bundle):");
        str_printf(out, "uid %u, Linux %s %s, cgroup %s\n\n", facts->identity->euid, facts->kernel->release, facts->kernel->machine,
                spec_enum_name(&facts_cgroup_version_enum, facts->cgroup->version));
        str_printf(out, "%-*s%-*s%s\n", WHAT_WIDTH, "WHAT", ENFORCED_WIDTH, "ENFORCED", "WHY NOT, AND WHAT TO DO");
}

/* An earlier gap with the same code and remedy: its text was printed already. */
static const struct check_gap *said_before(
        const struct check_report *report, const char *const *printed, size_t n_printed, const struct check_gap *gap) {
        for (size_t i = 0; i < report->n_missing; i++) {
                const struct check_gap *earlier = &report->missing[i];

                for (size_t k = 0; k < n_printed; k++)
                        if (streq(earlier->limit, printed[k]) && streq(earlier->code, gap->code) && streq(earlier->text, gap->text))
                                return earlier;
        }
        return NULL;
}

static void print_gap(const struct check_gap *gap, const struct check_gap *earlier, bool first, struct str *out) {
        int indent = WHAT_WIDTH + ENFORCED_WIDTH;

        if (!first)
                str_printf(out, "%-*s", indent, "");
        if (earlier) {
                str_printf(out, "%s, as for %s\n", gap->code, earlier->limit);
                return;
        }
        str_printf(out, "%s: %s\n", gap->code, gap->text);
        str_printf(out, "%-*sto do: %s\n", indent, "", gap->remedy);
}

static void print_items(const struct check_report *report, struct str *out) {
        const char *printed[ITEM_COUNT];
        size_t n_printed = 0;

        for (size_t i = 0; i < report->n_enforced; i++) {
                const struct check_item *item = &report->enforced[i];
                bool first = true;

                if (item->enforced) {
                        str_printf(out, "%-*syes\n", WHAT_WIDTH, item->what);
                        continue;
                }
                str_printf(out, "%-*s%-*s", WHAT_WIDTH, item->what, ENFORCED_WIDTH, "no");
                for (size_t k = 0; k < report->n_missing; k++) {
                        const struct check_gap *gap = &report->missing[k];

                        if (!streq(gap->limit, item->what))
                                continue;
                        print_gap(gap, said_before(report, printed, n_printed, gap), first, out);
                        first = false;
                }
                printed[n_printed++] = item->what;
        }
}

static void print_words(const char *title, const char *const *words, size_t n, struct str *out) {
        if (n == 0)
                return;
        str_puts(out, title);
        for (size_t i = 0; i < n; i++)
                str_printf(out, " %s", words[i]);
        str_putc(out, '\n');
}

static void print_table(const struct check_report *report, struct str *out) {
        print_heading(report, out);
        print_items(report, out);
        str_putc(out, '\n');
        for (size_t i = 0; i < report->n_notes; i++)
                str_printf(out, "note: %s\n", report->notes[i]);
        print_words("members of a result record that stay null on this host:", report->missing_figures, report->n_missing_figures, out);
        print_words("limits that are not hard on this host:", report->missing_limits, report->n_missing_limits, out);
        str_puts(out,
                report->ok ? "Everything that is asked for can be enforced.\n" : "Not everything that is asked for can be enforced.\n");
}

int check_run(struct host *host, const struct plan_plan *plan, bool json, int out, struct error *err) {
        _cleanup_str_ struct str text = { 0 };
        struct check_report report;
        int r = make_report(host, plan, &report, err);

        if (r < 0)
                return r;
        if (json) {
                r = spec_encode(&check_report_type, &report, &text, SPEC_PRETTY, err);
                if (r < 0)
                        return r;
                str_putc(&text, '\n');
        } else {
                print_table(&report, &text);
        }
        r = file_write_all(out, text.text, text.size);
        if (r < 0)
                return fail_errno(err, CODE_INTERNAL, -r, NULL, "cannot write the report");
        return report.ok ? 0 : 1;
}
