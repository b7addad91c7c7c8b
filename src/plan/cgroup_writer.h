/* From members of linux.resources to the texts of cgroup files: what all of them have in common, and the table of those that are one number
 * each. For cgroup_resources.c and its parts. */
#pragma once

#include "plan/compilation.h"

struct cgroup_writer {
        struct arena *arena;
        const char *field; /* "linux.resources" */
        struct error *err;
        struct warnings *warnings;
        struct plan_cgroup_write *list;
        size_t n, room;
};

/* How a number becomes the text of a cgroup file. */
enum cgroup_format {
        LIMIT,     /* bytes: -1 is "max", 0 is "not set" (as runc has it, because engines write it so) */
        PROTECT,   /* the same for memory.low, where 0 is a value */
        TASKS,     /* -1 is "max"; 0 is 1, since the payload itself is a task and must be cloned into the cgroup (as runc has it) */
        NONE,      /* v2 has no such file: 0 and -1 mean no limit and pass, the rest is refused */
        NEVER,     /* v2 has no such file and every value would mean something */
        MUST_BE_0, /* v2 behaves as if it were 0 */
        MUST_BE_1,
        SPECIAL, /* looked at by the function that knows its neighbours */
};

struct cgroup_conversion {
        const char *member;
        enum cgroup_format format;
        const char *file;
        uint64_t bit;
        size_t offset;
        enum { I64, U64, U16, BOOLEAN } type;
};

#define CGROUP_ROW(object, OBJECT, name, NAME, kind) OBJECT##_HAS_##NAME, offsetof(struct object, name), kind

/* "linux.resources.MEMBER" */
const char *cgroup_field(struct cgroup_writer *w, const char *member);

/* One more write, of MEMBER's value to FILE. */
__attribute__((format(printf, 4, 5))) struct plan_cgroup_write *cgroup_write(
        struct cgroup_writer *w, const char *member, const char *file, const char *format, ...);

/* WRITE need not succeed where its file is missing. */
void cgroup_write_optional(struct plan_cgroup_write *write);

/* Refusals of MEMBER. */
int cgroup_no_file(struct cgroup_writer *w, const char *member);
int cgroup_below_minus_one(struct cgroup_writer *w, const char *member, int64_t value);

/* Writes the rows of TABLE whose bit is set in OBJECT. Every generated struct with optional scalars begins with its presence bits. */
int cgroup_convert(struct cgroup_writer *w, const struct cgroup_conversion *table, size_t n, const void *object);

/* linux.resources.blockIO, which may be NULL (cgroup_io.c). */
int cgroup_convert_block_io(struct cgroup_writer *w, const struct oci_block_io *io);
