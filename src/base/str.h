/* A growing string, always NUL-terminated once something was added, and the few questions about strings the runtime asks. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct str {
        char *text; /* NULL while empty */
        size_t size, room;
};

void str_free(struct str *s);
#define _cleanup_str_ __attribute__((cleanup(str_free)))

/* TEXT may be NULL where N is 0, as the text of an empty string is; memcpy(3) may not have it. */
void str_add(struct str *s, const char *text, size_t n);
void str_puts(struct str *s, const char *text);
void str_putc(struct str *s, char c);
/* In decimal. */
void str_put_u64(struct str *s, uint64_t value);
/* Makes room for N more bytes at once, where that many are known to come. */
void str_reserve(struct str *s, size_t n);
__attribute__((format(printf, 2, 3)))
void str_printf(struct str *s, const char *format, ...);

static inline bool streq(const char *a, const char *b) { return strcmp(a, b) == 0; }

/* The rest of TEXT behind PREFIX, or NULL. */
static inline const char *str_after(const char *text, const char *prefix) {
        size_t n = strlen(prefix);

        return strncmp(text, prefix, n) == 0 ? text + n : NULL;
}

/* Is the absolute PATH TOP, or does it lie below it? By their names only; neither ends with a slash, but for "/" itself. */
static inline bool path_is_below(const char *path, const char *top) {
        const char *rest = str_after(path, top);

        return rest && (*rest == '\0' || *rest == '/' || streq(top, "/"));
}

/* A whole string of decimal digits, no sign, no blank, not above MAX, as the number it says. 0 or -EINVAL / -ERANGE. */
int str_to_u64(const char *text, uint64_t max, uint64_t *ret);
/* "8:0 …" as two numbers, BETWEEN what stands between them. True if TEXT begins so. sscanf(3) would be 128 KiB more of a launch's memory
 * (src/rare.ld). */
bool str_two_numbers(const char *text, char between, unsigned *ret_first, unsigned *ret_second);
/* The same as str_to_u64() with an optional leading '-'. */
int str_to_i64(const char *text, int64_t *ret);

#define ELEMENTSOF(a) (sizeof(a) / sizeof((a)[0]))

static inline void *take_pointer(void *p) {
        void **at = p, *taken = *at;

        *at = NULL;
        return taken;
}
#define take_ptr(p) ((__typeof__(p))take_pointer(&(p)))
