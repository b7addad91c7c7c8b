/* One walker for every document: yajl cuts the text into events, the tables say what each of them must be, and what nests lies on a
 * stack of our own. Neither we nor yajl recurse, so no document can exhaust the C stack. */
#include "libocispec/walk.h"

#include "libocispec/scan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <yajl/yajl_parse.h>

static struct frame *top(struct walk *w) {
        return w->levels ? &w->frames[w->levels - 1] : NULL;
}

static struct frame *push(struct walk *w, const struct frame *frame) {
        if (w->levels == WALK_FRAMES)
                abort(); /* generate.py let a schema pass that nests deeper */
        w->frames[w->levels] = *frame;
        w->frames[w->levels].start = walk_offset(w);
        return &w->frames[w->levels++];
}

/* ---- where values go ------------------------------------------------------------------------------------------------- */

/* Room for one more element of the array or map on top. */
static char *add_element(struct walk *w, struct frame *f) {
        struct list *list = &w->lists[w->levels - 1];
        size_t need = arena_product(f->stride, f->n + 1);

        if (need > list->room) {
                size_t room = list->room ? list->room : 512;
                char *data;

                while (room < need)
                        room *= 2;
                data = arena_alloc(&w->scratch, room);
                if (f->n)
                        memcpy(data, list->data, f->n * f->stride);
                *list = (struct list){ data, room };
        }
        memset(list->data + f->n * f->stride, 0, f->stride);
        return list->data + f->n * f->stride;
}

/* Where the value goes that comes next: into the object's struct, or into a new element. */
static char *place(struct walk *w, struct frame *f) {
        if (f->form == SPEC_ONE)
                return f->at + f->field->offset;
        if (f->form == SPEC_ARRAY)
                return add_element(w, f);
        return w->lists[w->levels - 1].data + f->n * f->stride + sizeof(struct spec_entry); /* map_key() made the entry */
}

/* The value that came is complete. */
static int complete(struct frame *f) {
        if (f->form == SPEC_ONE) {
                f->present |= UINT64_C(1) << (f->field - f->module->fields - f->type->first);
                f->field = NULL;
        } else {
                f->n++;
                f->key = NULL;
        }
        return GO;
}

/* ---- scalars --------------------------------------------------------------------------------------------------------- */

static int scalar(struct walk *w, const struct found *found) {
        struct frame *f = top(w);

        if (w->ignoring) {
                w->ignoring = w->ignored_below > 0;
                return GO;
        }
        if (!f)
                return report_value(w, found);
        if (f->form == SPEC_ONE) {
                const struct spec_field *field = f->field;

                /* as if it were not there; a second one is a duplicate all the same */
                if (found->kind == FOUND_NULL && !(field->flags & SPEC_NOT_NULL)) {
                        f->field = NULL;
                        return GO;
                }
                if (field->form != SPEC_ONE)
                        return report_value(w, found);
                if (scalar_store(w, f, found, place(w, f)) == STOP)
                        return STOP;
                if (field->presence != SPEC_NO_BIT)
                        *(uint64_t *)f->at |= UINT64_C(1) << field->presence;
                return complete(f);
        }
        return scalar_store(w, f, found, place(w, f)) == STOP ? STOP : complete(f);
}

/* ---- objects, arrays and maps ---------------------------------------------------------------------------------------- */

static int open_object(struct walk *w, const struct spec_type *type, char *at) {
        push(w, &(struct frame){ .module = type->module, .type = type, .form = SPEC_ONE, .at = at });
        return GO;
}

static int open_list(struct walk *w, const struct frame *parent) {
        const struct spec_field *field = parent->field;
        size_t stride = spec_element_size(parent->module, field) + (field->form == SPEC_MAP ? sizeof(size_t) : 0);

        push(w, &(struct frame){ .module = parent->module, .field = field, .form = field->form, .stride = stride });
        return GO;
}

static int enter(struct walk *w, enum found_kind kind) {
        const struct found found = { .kind = kind };
        const struct spec_type *type;
        struct frame *f = top(w);
        char *at;

        if (++w->depth > SPEC_DEPTH_MAX)
                return report(w, walk_offset(w), "expected at most %u levels of nesting, found more", SPEC_DEPTH_MAX);
        if (w->ignoring) {
                w->ignored_below++;
                return GO;
        }
        if (!f)
                return kind == FOUND_OBJECT ? open_object(w, w->root, arena_alloc(w->arena, w->root->size)) : report_value(w, &found);
        if (f->form == SPEC_ONE && f->field->form != SPEC_ONE)
                return (kind == FOUND_ARRAY) == (f->field->form == SPEC_ARRAY) ? open_list(w, f) : report_value(w, &found);
        if (kind != FOUND_OBJECT || f->field->kind != SPEC_OBJECT)
                return report_value(w, &found);

        type = f->module->types[f->field->type];
        at = place(w, f);
        if (f->form == SPEC_ONE) { /* its struct holds a pointer; elements hold the struct itself */
                *(char **)at = arena_alloc(w->arena, type->size);
                at = *(char **)at;
        }
        return open_object(w, type, at);
}

static int close_object(struct walk *w) {
        struct frame *f = top(w);
        uint64_t missing = f->type->required & ~f->present;

        if (missing)
                return report_missing(w, &f->module->fields[f->type->first + (unsigned)__builtin_ctzll(missing)]);
        if (--w->levels == 0) {
                w->value = f->at;
                return GO;
        }
        return complete(top(w));
}

static int by_key(const void *a, const void *b) {
        return strcmp(((const struct spec_entry *)a)->key, ((const struct spec_entry *)b)->key);
}

/* Sorts the map on top, and refuses a key that stands in it twice. Writers mostly sort already. */
static int sort_map(struct walk *w, struct frame *f) {
        char *data = w->lists[w->levels - 1].data;
        size_t n = f->n, offset = f->stride - sizeof(size_t);
        bool sorted = true;

        for (size_t i = 1; i < n && sorted; i++)
                sorted = by_key(data + (i - 1) * f->stride, data + i * f->stride) <= 0;
        if (!sorted)
                qsort(data, n, f->stride, by_key);
        for (size_t i = 1; i < n; i++) {
                const char *a = data + (i - 1) * f->stride, *b = a + f->stride;
                size_t first = *(const size_t *)(a + offset), second = *(const size_t *)(b + offset);

                if (by_key(a, b) != 0)
                        continue;
                f->key = ((const struct spec_entry *)a)->key;
                return report(w, first > second ? first : second, "expected every key once, found it again");
        }
        return GO;
}

static int close_list(struct walk *w) {
        struct frame *f = top(w), *parent = f - 1;
        const struct spec_field *field = f->field;
        size_t size = spec_element_size(f->module, field), n = f->n;
        const char *data = w->lists[w->levels - 1].data;
        char *array;

        if (f->form == SPEC_MAP && sort_map(w, f) == STOP)
                return STOP;
        w->levels--;
        if (n < field->min_items)
                return report(w, walk_offset(w), "expected at least %u element%s, found %zu", field->min_items,
                        field->min_items > 1 ? "s" : "", n);

        array = arena_alloc(w->arena, arena_product(size, n + 1)); /* one more: a list of strings ends with NULL, for execve(2) */
        if (size == f->stride && n)
                memcpy(array, data, n * size);
        for (size_t i = 0; size != f->stride && i < n; i++)
                memcpy(array + i * size, data + i * f->stride, size);
        *(char **)(parent->at + field->offset) = array;
        *(size_t *)(parent->at + field->count) = n;
        return complete(parent);
}

/* ---- what yajl calls --------------------------------------------------------------------------------------------------- */

static int on_null(void *w) {
        return scalar(w, &(struct found){ .kind = FOUND_NULL });
}

static int on_boolean(void *w, int truth) {
        return scalar(w, &(struct found){ .kind = FOUND_BOOLEAN, .truth = truth });
}

static int on_number(void *w, const char *text, size_t size) {
        return scalar(w, &(struct found){ .kind = FOUND_NUMBER, .text = text, .size = size });
}

static int on_string(void *w, const unsigned char *text, size_t size) {
        return scalar(w, &(struct found){ .kind = FOUND_STRING, .text = (const char *)text, .size = size });
}

static int on_start_map(void *w) {
        return enter(w, FOUND_OBJECT);
}

static int on_start_array(void *w) {
        return enter(w, FOUND_ARRAY);
}

static int on_end(void *context) {
        struct walk *w = context;

        w->depth--;
        if (w->ignoring) {
                w->ignored_below--;
                w->ignoring = w->ignored_below > 0;
                return GO;
        }
        return top(w)->form == SPEC_ONE ? close_object(w) : close_list(w);
}

/* A key of a map: any that keeps the map's rule. */
static int map_key(struct walk *w, struct frame *f, const char *text, size_t size) {
        const char *rule = f->field->key_validator ? spec_validate(f->field->key_validator, text, size) : NULL;
        char *entry;

        f->key = arena_strndup(w->arena, text, size);
        if (rule)
                return report_rule(w, EINVAL, rule, &(struct found){ .kind = FOUND_STRING, .text = text, .size = size });
        entry = add_element(w, f);
        ((struct spec_entry *)entry)->key = f->key;
        *(size_t *)(entry + f->stride - sizeof(size_t)) = walk_offset(w); /* for the line of a duplicate */
        return GO;
}

/* The member called TEXT. Documents mostly keep the order of the schema, so the search goes on where the last one ended. */
static const struct spec_field *find_member(struct frame *f, const char *text, size_t size) {
        const struct spec_field *fields = f->module->fields + f->type->first;

        for (unsigned i = 0, at = f->next; i < f->type->n; i++, at++) {
                if (at >= f->type->n)
                        at = 0;
                if (spec_name_size(f->module, &fields[at]) == size && memcmp(spec_name(f->module, &fields[at]), text, size) == 0) {
                        f->next = at + 1;
                        return &fields[at];
                }
        }
        return NULL;
}

static int on_key(void *context, const unsigned char *key, size_t size) {
        const char *text = (const char *)key;
        struct walk *w = context;
        struct frame *f = top(w);
        uint64_t bit;

        if (w->ignoring)
                return GO;
        if (f->form == SPEC_MAP)
                return map_key(w, f, text, size);
        f->field = find_member(f, text, size);
        if (!f->field && f->type->refuse)
                return report_unknown(w, text, size);
        if (!f->field) {
                size_t n = size < sizeof w->unknown ? size : sizeof w->unknown - 1;

                memcpy(w->unknown, text, n);
                w->unknown[n] = '\0';
                w->ignoring = true;
                return GO;
        }
        bit = UINT64_C(1) << (f->field - f->module->fields - f->type->first);
        if (f->seen & bit)
                return report(w, walk_offset(w), "expected every member once, found it again");
        f->seen |= bit;
        return GO;
}

static const yajl_callbacks callbacks = {
        .yajl_null = on_null,
        .yajl_boolean = on_boolean,
        .yajl_number = on_number, /* takes all numbers as text, so 2^64-1 stays what it is */
        .yajl_string = on_string,
        .yajl_start_map = on_start_map,
        .yajl_map_key = on_key,
        .yajl_end_map = on_end,
        .yajl_start_array = on_start_array,
        .yajl_end_array = on_end,
};

/* ---- yajl's memory: our scratch arena, so that nothing has to be freed and none of its allocations can fail ----------------- */

#define HEADER 16

static void *yajl_take(void *arena, size_t size) {
        char *p = arena_alloc(arena, size + HEADER);

        memcpy(p, &size, sizeof size);
        return p + HEADER;
}

static void *yajl_grow(void *arena, void *old, size_t size) {
        char *p = yajl_take(arena, size);
        size_t had;

        if (!old)
                return p;
        memcpy(&had, (char *)old - HEADER, sizeof had);
        return memcpy(p, old, had < size ? had : size);
}

static void yajl_drop(void *arena, void *p) {
        (void)arena;
        (void)p;
}

/* ---- the whole ------------------------------------------------------------------------------------------------------- */

/* What yajl says, without its "\n" and, where it comes from the lexer, without "in json text". */
static int report_syntax(struct walk *w) {
        char *said = (char *)yajl_get_error(w->parser, 0, NULL, 0);

        said[strcspn(said, ".\n")] = '\0';
        return report(w, walk_offset(w), "expected JSON, found a %s", said);
}

static void parse(struct walk *w, const struct scan_fault *fault) {
        yajl_status status = yajl_parse(w->parser, (const unsigned char *)w->text, fault ? fault->token : w->size);

        if (status == yajl_status_ok && fault) {
                report(w, fault->at, "%s", fault->text);
                return;
        }
        if (status == yajl_status_ok) {
                w->at_end = true;
                status = yajl_complete_parse(w->parser);
        }
        if (status == yajl_status_error)
                report_syntax(w);
}

static int decode(struct arena *arena, const struct spec_type *type, const char *what, bool columns, const char *text, size_t size,
        void *ret_value, struct error *err) {
        struct walk w = { .arena = arena, .root = type, .what = what, .columns = columns, .text = text, .size = size, .err = err };
        yajl_alloc_funcs memory = { yajl_take, yajl_grow, yajl_drop, &w.scratch };
        struct scan_fault fault;
        bool clean;

        if (size > SPEC_SIZE_MAX)
                return fail(err, CODE_CONFIG_INVALID, E2BIG, "", "%s: expected at most %u bytes, found %zu", what ? what : "this text",
                        SPEC_SIZE_MAX, size);
        w.parser = yajl_alloc(&callbacks, &memory, &w);
        clean = spec_scan(text, size, &fault);
        parse(&w, clean ? NULL : &fault);
        if (w.result == 0)
                memcpy(ret_value, w.value, type->size);
        arena_free(&w.scratch);
        return w.result;
}

int spec_decode(struct arena *arena, const struct spec_type *type, const char *what, const char *text, size_t size, void *ret_value,
        struct error *err) {
        return decode(arena, type, what, false, text, size, ret_value, err);
}

int spec_decode_inside(struct arena *arena, const struct spec_type *type, const char *what, const char *text, size_t size, void *ret_value,
        struct error *err) {
        return decode(arena, type, what, true, text, size, ret_value, err);
}
