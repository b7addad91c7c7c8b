#define _GNU_SOURCE
#include "cmd/egress_report.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "broker/refusal.h"
#include "libocispec/spec.h"
#include "spec/audit.h"

#define ROW "%-24s  %-32s %5s  %-8s %-22s %10s %10s %8s\n"

/* Printable ASCII as it is, all else as \xNN, cut where it would go on and on. */
struct shown {
        char text[260];
};

static struct shown show(const char *text) {
        struct shown shown = { "-" };
        size_t n = 0;

        for (; text && *text && n < sizeof shown.text - 5; text++) {
                bool plain = *text >= ' ' && *text < 0x7f && *text != '\\';

                n += (size_t)snprintf(shown.text + n, sizeof shown.text - n, plain ? "%c" : "\\x%02x", (unsigned char)*text);
        }
        return shown;
}

static struct shown show_number(uint64_t number) {
        struct shown shown;

        snprintf(shown.text, sizeof shown.text, "%llu", (unsigned long long)number);
        return shown;
}

/* Nanoseconds are for sorting: "2026-01-31T23:59:59.123456789Z" becomes "2026-01-31T23:59:59.123Z". */
static struct shown show_time(const char *text) {
        struct shown shown = show(text);

        if (strlen(shown.text) > 24 && shown.text[19] == '.')
                memcpy(shown.text + 23, "Z", 2);
        return shown;
}

void egress_report_begin(struct egress_report *report, struct str *out) {
        report->reasons = arena_array(&report->arena, struct sage_egress_reason, EGRESS_REASONS_MAX);
        report->amounts = arena_array(&report->arena, uint64_t, EGRESS_REASONS_MAX);
        report->sum.reasons = report->reasons;
        if (!report->json)
                str_printf(out, ROW, "TIME", "HOST", "PORT", "VERDICT", "REASON", "SENT", "RECEIVED", "MS");
}

void egress_report_free(struct egress_report *report) {
        str_free(&report->partial);
        arena_free(&report->arena);
}

/* ---- what would change it ---------------------------------------------------------------------------------------------------- */

/* Which connections have one reason: those to one host, or those to one port. The host does not matter to a limit of the whole sandbox. */
enum { BY_HOST, BY_PORT, BY_NOTHING };

/* A member of the policy, and how to say what to make of it: %s is the host, or the number. */
static const struct change {
        const char *member;
        uint8_t by;
        const char *text;
        size_t amount; /* where in the audit's line the number is; 0: the host, or the port where it is by port */
        uint64_t divide;
} changes[] = {
        { "allow_ech", BY_HOST, "true", 0, 0 },
        { "allowed_hosts", BY_HOST, "add \"%s\"", 0, 0 },
        { "allowed_ports", BY_PORT, "add %s", 0, 0 },
        { "allowed_schemes", BY_PORT, "add \"http\" for plain requests, \"https\" for CONNECT", 0, 0 },
        { "deny_private_networks", BY_HOST, "false, for a private address; opens all of those to allowed hosts", 0, 0 },
        { "max_connections", BY_NOTHING, "more", 0, 0 },
        { "max_request_body_bytes", BY_HOST, "more than %s", offsetof(struct sage_audit, sent_bytes), 1 },
        { "max_response_bytes", BY_HOST, "more than %s", offsetof(struct sage_audit, received_bytes), 1 },
        { "max_wall_time_seconds", BY_HOST, "more than %s", offsetof(struct sage_audit, milliseconds), 1000 },
};

static const struct change *change_of(const char *member) {
        for (size_t i = 0; member && i < ELEMENTSOF(changes); i++)
                if (streq(changes[i].member, member))
                        return &changes[i];
        return NULL;
}

static bool same(const char *a, const char *b) {
        return streq(a ? a : "", b ? b : "");
}

static bool is_same_reason(const struct sage_egress_reason *reason, const struct sage_audit *line) {
        const struct change *change = change_of(reason->member);

        if (!streq(reason->code, line->code))
                return false;
        switch (change ? change->by : BY_HOST) {
        case BY_HOST:
                return same(reason->host, line->host);
        case BY_PORT:
                return reason->port == line->port;
        default:
                return true;
        }
}

static char *copy(struct arena *arena, const char *text) {
        return text ? arena_strdup(arena, text) : NULL;
}

/* The reason of LINE, which is new when there is room and it was not there; or NULL. */
static struct sage_egress_reason *reason_of(struct egress_report *report, const struct sage_audit *line) {
        size_t n = report->sum.n_reasons;

        for (size_t i = 0; i < n; i++)
                if (is_same_reason(&report->reasons[i], line))
                        return &report->reasons[i];
        if (n == EGRESS_REASONS_MAX)
                return NULL;
        report->sum.n_reasons++;
        report->reasons[n] = (struct sage_egress_reason){
                .has = line->has & SAGE_AUDIT_HAS_PORT ? SAGE_EGRESS_REASON_HAS_PORT : 0,
                .code = arena_strdup(&report->arena, line->code),
                .host = copy(&report->arena, line->host),
                .port = line->port,
                .member = copy(&report->arena, line->member),
        };
        return &report->reasons[n];
}

static void count_reason(struct egress_report *report, const struct sage_audit *line) {
        struct sage_egress_reason *reason = reason_of(report, line);
        const struct change *change = reason ? change_of(reason->member) : NULL;
        uint64_t amount, *most = reason ? &report->amounts[reason - report->reasons] : NULL;

        if (!reason) {
                report->sum.other_reasons++;
                return;
        }
        reason->count++;
        if (!change || !change->amount)
                return;
        memcpy(&amount, (const char *)line + change->amount, sizeof amount);
        amount /= change->divide;
        /* Such a request was refused for what it announced, before anything was sent. */
        if (streq(line->code, "body.limit"))
                amount = line->announced_bytes;
        *most = amount > *most ? amount : *most;
}

/* ---- lines --------------------------------------------------------------------------------------------------------------------- */

static void count(struct egress_report *report, const struct sage_audit *line) {
        struct sage_egress_summary *s = &report->sum;
        uint64_t *verdicts[] = {
                [SAGE_VERDICT_ALLOWED] = &s->allowed,
                [SAGE_VERDICT_REFUSED] = &s->refused,
                [SAGE_VERDICT_LIMITED] = &s->limited,
                [SAGE_VERDICT_FAILED] = &s->failed,
        };

        s->connections++;
        s->sent_bytes += line->sent_bytes;
        s->received_bytes += line->received_bytes;
        s->lost += line->lost;
        ++*verdicts[line->verdict];
        /* A client that reset its connection has a code and was allowed; that is nothing to change. */
        if (line->code && *line->code && line->verdict != SAGE_VERDICT_ALLOWED)
                count_reason(report, line);
}

static void add_row(const struct sage_audit *line, struct str *out) {
        bool port = line->has & SAGE_AUDIT_HAS_PORT;

        str_printf(out, ROW, show_time(line->time).text, show(line->host).text, port ? show_number(line->port).text : "-",
                spec_enum_name(&sage_verdict_enum, line->verdict), show(line->code).text, show_number(line->sent_bytes).text,
                show_number(line->received_bytes).text, show_number(line->milliseconds).text);
}

/* JSON needs no escape for DEL and for the controls behind it (U+0080 to U+009F, of which terminals take one for the beginning of a
 * command); they stand in strings only, where an escape is the same. A tab between members is a blank. */
static void add_json(const char *text, size_t n, struct str *out) {
        for (size_t i = 0; i < n; i++) {
                unsigned char c = (unsigned char)text[i], next = i + 1 < n ? (unsigned char)text[i + 1] : 0;

                if (c == 0x7f)
                        str_puts(out, "\\u007f");
                else if (c == 0xc2 && next >= 0x80 && next < 0xa0)
                        str_printf(out, "\\u%04x", next), i++;
                else
                        str_putc(out, c < ' ' ? ' ' : (char)c);
        }
        str_putc(out, '\n');
}

/* A member that this version does not know is passed over, as the schema says; a verdict that it does not know makes the line unreadable. */
static void take_line(struct egress_report *report, const char *text, size_t n, struct str *out) {
        _cleanup_arena_ struct arena arena = { 0 };
        struct sage_audit line;
        struct error err;

        if (n == 0)
                return;
        if (report->too_long || spec_decode(&arena, &sage_audit_type, "audit", text, n, &line, &err) < 0) {
                report->sum.unreadable++;
                return;
        }
        count(report, &line);
        if (report->json)
                add_json(text, n, out);
        else
                add_row(&line, out);
}

static void end_line(struct egress_report *report, struct str *out) {
        take_line(report, report->partial.text, report->partial.size, out);
        str_free(&report->partial);
        report->too_long = false;
}

static void begin_line(struct egress_report *report, const char *data, size_t n) {
        if (report->partial.size + n <= EGRESS_LINE_MAX) {
                str_add(&report->partial, data, n);
                return;
        }
        str_free(&report->partial);
        str_putc(&report->partial, ' '); /* so that the line is one, and is counted */
        report->too_long = true;
}

void egress_report_feed(struct egress_report *report, const char *data, size_t n, struct str *out) {
        const char *end;

        for (; n && (end = memchr(data, '\n', n)); n -= (size_t)(end + 1 - data), data = end + 1) {
                if (!report->too_long)
                        begin_line(report, data, (size_t)(end - data));
                end_line(report, out);
        }
        if (n && !report->too_long)
                begin_line(report, data, n);
}

void egress_report_end_file(struct egress_report *report, struct str *out) {
        end_line(report, out);
}

/* ---- the sum ------------------------------------------------------------------------------------------------------------------- */

static int compare(const void *a, const void *b) {
        const struct sage_egress_reason *left = a, *right = b;
        int codes = strcmp(left->code, right->code);

        if (left->count != right->count)
                return left->count < right->count ? 1 : -1;
        return codes ? codes : strcmp(left->host ? left->host : "", right->host ? right->host : "");
}

static void say_change(struct egress_report *report, size_t i) {
        struct sage_egress_reason *reason = &report->reasons[i];
        const struct change *change = change_of(reason->member);
        uint64_t number = change && change->by == BY_PORT ? reason->port : report->amounts[i];
        bool host = change && change->by == BY_HOST && !change->amount;

        if (!change)
                return;
        if (change->amount && number == 0) {
                reason->change = "more"; /* of less than a second, or there is nothing that says how much */
                return;
        }
        if (streq(reason->code, "body.limit")) {
                reason->change = arena_printf(&report->arena, "at least %s", show_number(number).text);
                return;
        }
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        reason->change = arena_printf(&report->arena, change->text, host ? show(reason->host).text : show_number(number).text);
#pragma GCC diagnostic pop
}

static void add_reason(const struct sage_egress_reason *reason, struct str *out) {
        const char *text = refusal_text_of(reason->code);

        str_printf(out, "%8llu  %-22s %-32s ", (unsigned long long)reason->count, show(reason->code).text, show(reason->host).text);
        if (reason->change)
                str_printf(out, "%s: %s\n", show(reason->member).text, reason->change);
        else
                str_printf(out, "%s\n", text ? text : "-");
}

static void add_table(const struct sage_egress_summary *s, struct str *out) {
        str_printf(out, "\n%llu connections: %llu allowed, %llu refused, %llu limited, %llu failed; %llu bytes sent, %llu received\n",
                (unsigned long long)s->connections, (unsigned long long)s->allowed, (unsigned long long)s->refused,
                (unsigned long long)s->limited, (unsigned long long)s->failed, (unsigned long long)s->sent_bytes,
                (unsigned long long)s->received_bytes);
        if (s->lost)
                str_printf(out, "of %llu more the line could not be written\n", (unsigned long long)s->lost);
        if (s->unreadable)
                str_printf(
                        out, "%llu lines are cut off, or of a kind that this version does not know\n", (unsigned long long)s->unreadable);
        if (s->n_reasons)
                str_printf(out, "\n%8s  %-22s %-32s %s\n", "COUNT", "REASON", "HOST", "WHAT WOULD CHANGE IT");
        for (size_t i = 0; i < s->n_reasons; i++)
                add_reason(&s->reasons[i], out);
        if (s->other_reasons)
                str_printf(out, "%8llu  more, for other reasons or hosts\n", (unsigned long long)s->other_reasons);
}

void egress_report_sum(struct egress_report *report, struct str *out) {
        _cleanup_str_ struct str text = { 0 };
        struct error err;

        for (size_t i = 0; i < report->sum.n_reasons; i++)
                say_change(report, i);
        qsort(report->reasons, report->sum.n_reasons, sizeof *report->reasons, compare);
        if (!report->json) {
                add_table(&report->sum, out);
                return;
        }
        str_puts(&text, "{\"summary\":");
        (void)spec_encode(&sage_egress_summary_type, &report->sum, &text, 0, &err);
        str_putc(&text, '}');
        add_json(text.text, text.size, out);
}
