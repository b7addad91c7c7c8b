/* Memory that is freed all at once. A decoded document, a plan, a request: many small pieces, one life.
 *
 * Allocation never fails to the caller: when the kernel has no memory left the runtime says so and exits (nothing was
 * applied yet where arenas are used: the child between clone and exec allocates nothing). */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct arena_block;

struct arena {
        struct arena_block *last;
        char *next, *end;
};

/* Zeroed, aligned for any type. */
void *arena_alloc(struct arena *arena, size_t size);
/* Not zeroed: for what is written in full, and for room of which only the beginning may be needed. Pages that nobody writes cost nothing. */
void *arena_alloc_raw(struct arena *arena, size_t size);
/* TEXT may be NULL where N is 0. */
char *arena_strndup(struct arena *arena, const char *text, size_t n);
char *arena_strdup(struct arena *arena, const char *text);
__attribute__((format(printf, 2, 3)))
char *arena_printf(struct arena *arena, const char *format, ...);
void arena_free(struct arena *arena);

#define _cleanup_arena_ __attribute__((cleanup(arena_free)))
#define arena_new(arena, type) ((type *)arena_alloc((arena), sizeof(type)))
#define arena_array(arena, type, n) ((type *)arena_alloc((arena), arena_product(sizeof(type), (n))))
#define arena_array_raw(arena, type, n) ((type *)arena_alloc_raw((arena), arena_product(sizeof(type), (n))))

/* SIZE × N, or a size that no allocator can serve when that overflows. */
size_t arena_product(size_t size, size_t n);
