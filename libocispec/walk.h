/* The state of one decoding, shared by decode.c (which walks), scalar.c (which stores values) and report.c (which says what is wrong, and
 * where). */
#pragma once

#include "libocispec/table.h"

/* Types do not contain themselves and nest at most 13 deep (generate.py checks); between two objects there is at most one array or map. */
#define WALK_FRAMES 28

enum found_kind { FOUND_NULL, FOUND_BOOLEAN, FOUND_NUMBER, FOUND_STRING, FOUND_OBJECT, FOUND_ARRAY };

/* A value as the parser meets it. Text of strings (escapes undone) and numbers is neither terminated nor ours. */
struct found {
        enum found_kind kind;
        bool truth;
        const char *text;
        size_t size;
};

/* Elements of an array or a map while we do not know how many there will be. One a level, used again by every array on that level. */
struct list {
        char *data;
        size_t room;
};

/* One open bracket of a value we know: an object, an array or a map. */
struct frame {
        const struct spec_module *module;
        const struct spec_field *field; /* an object's: the member whose value is next, or NULL; an array's or a map's: itself */
        enum spec_form form;            /* SPEC_ONE: an object */

        const struct spec_type *type; /* objects: what is filled in, how far the table was used, which bits of it were seen */
        char *at;
        unsigned next;
        uint64_t seen, present;
        size_t start; /* offset of its opening bracket */

        size_t n;        /* arrays and maps: elements so far */
        size_t stride;   /* and their size in the list: the element; in maps, also the offset of its key */
        const char *key; /* maps: the key whose value is next, or NULL */
};

struct walk {
        struct arena *arena;  /* for the result */
        struct arena scratch; /* gone when decoding ends */
        const struct spec_type *root;
        char *value; /* the struct of ROOT once it is complete */

        const char *what, *text;
        size_t size;
        void *parser; /* yajl_handle */
        bool columns; /* messages say where in a line */
        bool at_end;  /* the parser has all of the text */

        unsigned depth; /* open brackets, those of ignored values included */
        bool ignoring;  /* inside the value of a member we do not know, or just before it */
        unsigned ignored_below;
        char unknown[64]; /* the name of that member */

        int levels;
        struct frame frames[WALK_FRAMES];
        struct list lists[WALK_FRAMES];

        struct error *err;
        int result;
};

/* What a callback of the parser returns. */
#define STOP 0
#define GO 1

/* Puts FOUND at AT if it is one element of F's member. */
int scalar_store(struct walk *w, const struct frame *f, const struct found *found, char *at);

/* Offset of the token that was read last. */
size_t walk_offset(const struct walk *w);

/* These fill w->err and w->result, and return STOP. */

/* The value that comes next is not what the table wants. */
int report_value(struct walk *w, const struct found *found);
/* It has the right type but breaks a rule; EXPECTED is the rule. */
int report_rule(struct walk *w, int errnum, const char *expected, const struct found *found);
/* Anything else, about the place where the walk is. */
__attribute__((format(printf, 3, 4))) int report(struct walk *w, size_t offset, const char *text, ...);
/* A member of the object on top, which is not there. */
int report_missing(struct walk *w, const struct spec_field *field);
/* A key of the object on top that its type does not have. */
int report_unknown(struct walk *w, const char *key, size_t size);
