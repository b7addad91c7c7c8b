/* JSON documents as C structs: one strict decoder and one canonical encoder over constant tables.
 *
 * schemas/NAME.json says what a document holds; generate.py makes spec/NAME.h (structs, enums, presence bits) and spec/NAME.c
 * (tables, table.h) of it. README.md beside this file explains the mapping and how to add a member. */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"

#include <stddef.h>
#include <stdint.h>

/* GNU C predefines `linux` as 1, and config.json has a member of that name. */
#undef linux

struct spec_type;
struct spec_enum;

/* One member of a JSON object that is a map from string to string. Maps are arrays of these, sorted by key (strcmp). */
struct string_pair {
        const char *key, *value;
};

/* What the member at the same place of an object's table is, if the object is a request's (README.md, "Rules of requests"). */
struct spec_rule {
        uint8_t class, tighter;
};
enum spec_class {
        SPEC_CLASS_ENFORCED,
        SPEC_CLASS_DEFAULT, /* must equal its default */
        SPEC_CLASS_HOST,    /* the host's own business: taken and shown */
};
/* What makes a value at most as permissive as another. */
enum spec_tighter {
        SPEC_TIGHTER_EQUAL,
        SPEC_TIGHTER_LESS,          /* numbers; absent is without limit */
        SPEC_TIGHTER_TRUE,
        SPEC_TIGHTER_FALSE,
        SPEC_TIGHTER_SUBSET,        /* lists */
        SPEC_TIGHTER_SUPERSET,
        SPEC_TIGHTER_SUBSET_OR_ANY, /* empty is everything */
        SPEC_TIGHTER_HOSTS,         /* a subset, where *.name covers what ends so */
        SPEC_TIGHTER_MODE,          /* of networking: the words stand in order, the tightest first */
};

/* Largest document, and deepest nesting of arrays and objects in it (members that we ignore included). */
#define SPEC_SIZE_MAX (16u << 20)
#define SPEC_DEPTH_MAX 1000u

/* Decodes the SIZE bytes at TEXT, which must be exactly one JSON object of TYPE. A member that is null is as one that is absent. Refused
 * are: whatever RFC 8259 does not allow, a byte order mark, NUL and lone surrogates in strings, a member or a key that stands twice in an
 * object we know, null as an element or as a map's value, integers with a fraction or an exponent, and what breaks a rule of the schema.
 * Values of members that the schema does not know are looked at only so far as to find their end, unless it refuses them.
 *
 * arena      everything the value points to is allocated here (also what a failed attempt had allocated); TEXT need not outlive it
 * what       how the document is called in messages, e.g. "config.json" (NULL: not at all): text is "config.json:12: expected …, found …",
 *            err->where is the path of the member ("mounts[3].options[1]", "annotations[\"k\"]"), empty for the document as a
 *            whole, and err->line is its line
 * ret_value  the struct of TYPE; overwritten on success, untouched on failure
 *
 * Returns 0, or -EINVAL with CODE_CONFIG_INVALID (-E2BIG for a document above SPEC_SIZE_MAX). */
int spec_decode(struct arena *arena, const struct spec_type *type, const char *what, const char *text, size_t size, void *ret_value,
        struct error *err);

/* The same for a text within a document, such as an annotation, which is often one line: messages also tell the byte of the line that the
 * value ends with ("sage.sandbox.network:1:23: …"). */
int spec_decode_inside(struct arena *arena, const struct spec_type *type, const char *what, const char *text, size_t size, void *ret_value,
        struct error *err);

enum { SPEC_PRETTY = 1 << 0 }; /* two spaces a level and one member a line, instead of no blanks at all */

/* Appends VALUE, a struct of TYPE, to OUT as canonical JSON: members in the order of the schema, maps sorted by key, no escape that
 * JSON does not ask for. The same value always gives the same bytes, so they can be hashed. No newline at the end.
 *
 * Members that are absent (NULL, or an optional scalar without its bit) are left out, or written as null where the schema says
 * "emitNull". Returns 0, or -EINVAL with CODE_INTERNAL when VALUE is not encodable (a required member is NULL, a string is not
 * UTF-8, an enum holds no value of its list, a number is not finite, a map holds a key twice); OUT is then as it was. */
int spec_encode(const struct spec_type *type, const void *value, struct str *out, unsigned flags, struct error *err);

/* The word for VALUE (numbered from 1), or NULL for 0 and for numbers that are none of the list. */
const char *spec_enum_name(const struct spec_enum *e, int value);
/* The number of the word TEXT of N bytes, or 0. */
int spec_enum_find(const struct spec_enum *e, const char *text, size_t n);
