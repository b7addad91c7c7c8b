#include "cmd/stats.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* What the host has of a resource: the files of info/NAME that runc shows, all numbers but the mask. */
static const struct resource {
        const char *directory; /* below the root */
        const char *name;      /* what its line in a schemata file begins with: "L3", with code and data prioritisation "L3CODE" */
        const char *info, *schema;
        const char *files[5];
} resources[] = {
        { "info/L3", "L3", "l3_cache_info", "l3_cache_schema", { "cbm_mask", "min_cbm_bits", "num_closids" } },
        { "info/MB", "MB", "mem_bw_info", "mem_bw_schema", { "bandwidth_gran", "delay_linear", "min_bandwidth", "num_closids" } },
};

/* What is counted for each domain, an array of objects each. */
static const struct counter {
        const char *name;
        const char *files[3];
} counters[] = {
        { "mbm_stats", { "mbm_total_bytes", "mbm_local_bytes" } },
        { "cmt_stats", { "llc_occupancy" } },
};

static const char *read_below(const struct stats_source *s, const char *directory, const char *below, const char *file) {
        char path[4096];

        if (snprintf(path, sizeof path, "%s%s%s/%s", directory, *below ? "/" : "", below, file) >= (int)sizeof path)
                return NULL;
        return s->read(s->data, path);
}

/* The next member of an object, or element of an array. */
static void begin(struct str *out, bool *first) {
        if (!*first)
                str_putc(out, ',');
        *first = false;
}

/* TEXT to the end of its line, as a JSON string: the kernel writes nothing that would have to be escaped, and what is not its own ends it. */
static void append_text(struct str *out, const char *text) {
        size_t n = 0;

        while (text[n] > ' ' && text[n] < 0x7f && text[n] != '"' && text[n] != '\\')
                n++;
        str_printf(out, "\"%.*s\"", (int)n, text);
}

static void append_info(struct str *out, const struct stats_source *s, const struct resource *resource, bool *first) {
        bool opened = false, none = true;

        for (const char *const *file = resource->files; *file; file++) {
                const char *text = read_below(s, s->rdt->root, resource->directory, *file);

                if (!text)
                        continue;
                if (!opened) {
                        begin(out, first);
                        str_printf(out, "\"%s\":{", resource->info);
                        opened = true;
                }
                begin(out, &none);
                str_printf(out, "\"%s\":", *file);
                if (streq(*file, "cbm_mask"))
                        append_text(out, text);
                else
                        str_printf(out, "%" PRIu64, (uint64_t)strtoull(text, NULL, 10));
        }
        if (opened)
                str_putc(out, '}');
}

/* The line of the resource in GROUP's schemata, without the blanks that align it. */
static void append_schema(struct str *out, const struct stats_source *s, const char *group, const struct resource *resource,
        const char *suffix, bool *first) {
        const char *line = read_below(s, group, "", "schemata");

        while (line && *line) {
                line += strspn(line, " \n");
                if (str_after(line, resource->name)) {
                        begin(out, first);
                        str_printf(out, "\"%s%s\":", resource->schema, suffix);
                        append_text(out, line);
                        return;
                }
                line += strcspn(line, "\n");
        }
}

static void append_counter(struct str *out, const struct stats_source *s, const struct counter *counter, bool *first) {
        bool opened = false, none = true;

        for (const char *const *domain = s->rdt->domains; *domain; domain++) {
                bool empty = true;

                for (const char *const *file = counter->files; *file; file++) {
                        const char *text = read_below(s, s->rdt->monitored, *domain, *file);

                        if (!text)
                                continue;
                        if (!opened) {
                                begin(out, first);
                                str_printf(out, "\"%s\":[", counter->name);
                                opened = true;
                        }
                        if (empty) {
                                begin(out, &none);
                                str_putc(out, '{');
                        }
                        begin(out, &empty);
                        str_printf(out, "\"%s\":%" PRIu64, *file, (uint64_t)strtoull(text, NULL, 10)); /* "Unavailable" is 0 */
                }
                if (!empty)
                        str_putc(out, '}');
        }
        if (opened)
                str_putc(out, ']');
}

void stats_append_rdt(struct str *out, const struct stats_source *source) {
        bool first = true;

        str_putc(out, '{');
        for (size_t i = 0; i < ELEMENTSOF(resources); i++) {
                append_info(out, source, &resources[i], &first);
                append_schema(out, source, source->rdt->root, &resources[i], "_root", &first);
                append_schema(out, source, source->rdt->group, &resources[i], "", &first);
        }
        for (size_t i = 0; i < ELEMENTSOF(counters); i++)
                append_counter(out, source, &counters[i], &first);
        str_putc(out, '}');
}
