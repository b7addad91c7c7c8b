#include "plan/cgroup_writer.h"

#include <inttypes.h>

const char *cgroup_field(struct cgroup_writer *w, const char *member) {
        return FIELD(w->arena, "%s.%s", w->field, member);
}

struct plan_cgroup_write *cgroup_write(struct cgroup_writer *w, const char *member, const char *file, const char *format, ...) {
        struct plan_cgroup_write *write;
        char value[64];
        va_list ap;

        if (w->n == w->room) {
                size_t room = w->room ? 2 * w->room : 8;
                struct plan_cgroup_write *list = arena_array(w->arena, struct plan_cgroup_write, room);

                if (w->n)
                        memcpy(list, w->list, w->n * sizeof *list);
                w->list = list;
                w->room = room;
        }
        va_start(ap, format);
        vsnprintf(value, sizeof value, format, ap);
        va_end(ap);
        write = &w->list[w->n++];
        *write = (struct plan_cgroup_write){ .field = cgroup_field(w, member), .file = file, .value = arena_strdup(w->arena, value) };
        return write;
}

void cgroup_write_optional(struct plan_cgroup_write *write) {
        write->optional = true;
        write->has |= PLAN_CGROUP_WRITE_HAS_OPTIONAL;
}

int cgroup_no_file(struct cgroup_writer *w, const char *member) {
        return UNSUPPORTED(w->err, cgroup_field(w, member), "cgroup v2 has nothing like it");
}

int cgroup_below_minus_one(struct cgroup_writer *w, const char *member, int64_t value) {
        return INVALID(w->err, cgroup_field(w, member), "expected -1 (no limit) or more, found %" PRId64, value);
}

static int64_t number(const struct cgroup_conversion *row, const void *object) {
        const char *at = (const char *)object + row->offset;

        switch (row->type) {
        case I64:
                return *(const int64_t *)at;
        case U64: /* the rows that come here only ask whether it is 0 */
                return *(const uint64_t *)at != 0;
        case U16:
                return *(const uint16_t *)at;
        case BOOLEAN:
                return *(const bool *)at;
        }
        return 0;
}

static int convert_one(struct cgroup_writer *w, const struct cgroup_conversion *row, int64_t value) {
        switch (row->format) {
        case LIMIT:
        case PROTECT:
        case TASKS:
                if (value < -1)
                        return cgroup_below_minus_one(w, row->member, value);
                if (value == -1)
                        cgroup_write(w, row->member, row->file, "max");
                else if (value != 0 || row->format == PROTECT)
                        cgroup_write(w, row->member, row->file, "%" PRId64, value);
                else if (row->format == TASKS)
                        cgroup_write(w, row->member, row->file, "1");
                return 0;
        case NONE:
                return value == 0 || (value == -1 && row->type == I64) ? 0 : cgroup_no_file(w, row->member);
        case NEVER:
                return cgroup_no_file(w, row->member);
        case MUST_BE_0:
                return value == 0 ? 0 : cgroup_no_file(w, row->member);
        case MUST_BE_1:
                return value == 1 ? 0 : cgroup_no_file(w, row->member);
        case SPECIAL:
                return 0;
        }
        return 0;
}

int cgroup_convert(struct cgroup_writer *w, const struct cgroup_conversion *table, size_t n, const void *object) {
        uint64_t has;
        int r;

        memcpy(&has, object, sizeof has);
        for (size_t i = 0; i < n; i++)
                if (has & table[i].bit && (r = convert_one(w, &table[i], number(&table[i], object))) < 0)
                        return r;
        return 0;
}
