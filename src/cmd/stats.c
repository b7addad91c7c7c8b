#include "cmd/stats.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define NO_LIMIT UINT64_MAX

static const char *next_line(const char *line) {
        line += strcspn(line, "\n");
        return line + (*line == '\n');
}

uint64_t stats_number(const char *text, const char *key) {
        for (const char *line = text ? text : ""; *line; line = next_line(line)) {
                const char *rest = str_after(line, key);

                if (rest && *rest == ' ')
                        return strtoull(rest + 1, NULL, 10);
        }
        return 0;
}

/* A file of one number, or of "max". */
static uint64_t single(const struct stats_source *s, const char *file, uint64_t absent) {
        const char *text = s->read(s->data, file);

        return !text ? absent : str_after(text, "max") ? NO_LIMIT : strtoull(text, NULL, 10);
}

static uint64_t sum(uint64_t a, uint64_t b) {
        return a > NO_LIMIT - b ? NO_LIMIT : a + b;
}

/* cpu.stat counts microseconds, runc's document nanoseconds. */
static void append_cpu(struct str *out, const struct stats_source *s) {
        const char *stat = s->read(s->data, "cpu.stat");

        str_printf(out, "\"cpu\":{\"usage\":{\"total\":%" PRIu64 ",\"kernel\":%" PRIu64 ",\"user\":%" PRIu64 "},",
                1000 * stats_number(stat, "usage_usec"), 1000 * stats_number(stat, "system_usec"), 1000 * stats_number(stat, "user_usec"));
        str_printf(out, "\"throttling\":{\"periods\":%" PRIu64 ",\"throttledPeriods\":%" PRIu64 ",\"throttledTime\":%" PRIu64 "}}",
                stats_number(stat, "nr_periods"), stats_number(stat, "nr_throttled"), 1000 * stats_number(stat, "throttled_usec"));
}

static void append_memory_entry(struct str *out, const char *name, uint64_t limit, uint64_t usage, uint64_t max, uint64_t failures) {
        str_printf(out, "\"%s\":{\"limit\":%" PRIu64 ",\"usage\":%" PRIu64 ",\"max\":%" PRIu64 ",\"failcnt\":%" PRIu64 "},", name, limit,
                usage, max, failures);
}

static void append_raw(struct str *out, const char *stat) {
        bool first = true;

        for (const char *line = stat ? stat : ""; *line; line = next_line(line)) {
                size_t n = strcspn(line, " \n");

                if (line[n] != ' ')
                        continue;
                str_printf(out, "%s\"%.*s\":%" PRIu64, first ? "" : ",", (int)n, line, (uint64_t)strtoull(line + n, NULL, 10));
                first = false;
        }
}

/* Swap includes memory, as it did on cgroup v1 and as runc keeps it. */
static void append_memory(struct str *out, const struct stats_source *s) {
        uint64_t limit = single(s, "memory.max", NO_LIMIT), usage = single(s, "memory.current", 0), peak = single(s, "memory.peak", 0);
        uint64_t swap_limit = single(s, "memory.swap.max", NO_LIMIT), swap = single(s, "memory.swap.current", 0);
        uint64_t failures = stats_number(s->read(s->data, "memory.events"), "max");
        uint64_t swap_failures = stats_number(s->read(s->data, "memory.swap.events"), "max");
        const char *stat = s->read(s->data, "memory.stat");

        str_printf(out, "\"memory\":{\"cache\":%" PRIu64 ",", stats_number(stat, "file"));
        append_memory_entry(out, "usage", limit, usage, peak, failures);
        append_memory_entry(out, "swap", sum(limit, swap_limit), sum(usage, swap), 0, swap_failures);
        append_memory_entry(out, "kernel", NO_LIMIT, stats_number(stat, "kernel"), 0, 0);
        append_memory_entry(out, "kernelTCP", NO_LIMIT, stats_number(stat, "sock"), 0, 0);
        str_puts(out, "\"raw\":{");
        append_raw(out, stat);
        str_puts(out, "}}");
}

static void append_pids(struct str *out, const struct stats_source *s) {
        uint64_t limit = single(s, "pids.max", NO_LIMIT);

        str_printf(out, "\"pids\":{\"current\":%" PRIu64 ",\"limit\":%" PRIu64 "}", single(s, "pids.current", 0),
                limit == NO_LIMIT ? 0 : limit);
}

struct operation {
        const char *key, *name;
};

/* One array of the operations that io.stat counts by the keys of OPERATIONS: "8:0 rbytes=1 wbytes=2 rios=3 …" a device. */
static void append_io(struct str *out, const char *name, const char *stat, const struct operation *operations, size_t n) {
        bool first = true;

        str_printf(out, "\"%s\":[", name);
        for (const char *line = stat ? stat : ""; *line; line = next_line(line)) {
                const char *end = line + strcspn(line, "\n");
                unsigned major, minor;

                if (!str_two_numbers(line, ':', &major, &minor))
                        continue;
                for (size_t i = 0; i < n; i++) {
                        const char *at = strstr(line, operations[i].key);

                        if (!at || at > end)
                                continue;
                        str_printf(out, "%s{\"major\":%u,\"minor\":%u,\"op\":\"%s\",\"value\":%" PRIu64 "}", first ? "" : ",", major, minor,
                                operations[i].name, (uint64_t)strtoull(at + strlen(operations[i].key), NULL, 10));
                        first = false;
                }
        }
        str_putc(out, ']');
}

static void append_block_io(struct str *out, const struct stats_source *s) {
        static const struct operation bytes[] = { { " rbytes=", "Read" }, { " wbytes=", "Write" }, { " dbytes=", "Discard" } };
        static const struct operation requests[] = { { " rios=", "Read" }, { " wios=", "Write" }, { " dios=", "Discard" } };
        const char *stat = s->read(s->data, "io.stat");

        str_puts(out, "\"blkio\":{");
        append_io(out, "ioServiceBytesRecursive", stat, bytes, ELEMENTSOF(bytes));
        str_putc(out, ',');
        append_io(out, "ioServicedRecursive", stat, requests, ELEMENTSOF(requests));
        str_putc(out, '}');
}

/* max: what was in use at most, which cgroup v2 does not count. */
static void append_huge_pages(struct str *out, const struct stats_source *s) {
        str_puts(out, "\"hugetlb\":{");
        for (size_t i = 0; s->huge_page_sizes[i]; i++) {
                const char *size = s->huge_page_sizes[i];
                char current[64], events[64];

                snprintf(current, sizeof current, "hugetlb.%s.current", size);
                snprintf(events, sizeof events, "hugetlb.%s.events", size);
                str_printf(out, "%s\"%s\":{\"usage\":%" PRIu64 ",\"failcnt\":%" PRIu64 "}", i ? "," : "", size, single(s, current, 0),
                        stats_number(s->read(s->data, events), "max"));
        }
        str_putc(out, '}');
}

void stats_append(struct str *out, const struct stats_source *source) {
        static void (*const parts[])(struct str *, const struct stats_source *) = {
                append_cpu,
                append_memory,
                append_pids,
                append_block_io,
                append_huge_pages,
        };

        for (size_t i = 0; i < ELEMENTSOF(parts); i++) {
                str_putc(out, i ? ',' : '{');
                parts[i](out, source);
        }
        if (source->rdt) {
                str_puts(out, ",\"intel_rdt\":");
                stats_append_rdt(out, source);
        }
        str_putc(out, '}');
}
