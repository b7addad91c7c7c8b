#include "base/arena.h"

#include <stdarg.h>
#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A default bundle's config and plan take about 12 KiB; the first block comes from a page-sized malloc and later ones double. */
#define FIRST_BLOCK 8192u
#define LARGEST_BLOCK (1u << 20)

struct arena_block {
        struct arena_block *before;
        size_t size;
        alignas(max_align_t) char data[];
};

__attribute__((noreturn))
static void out_of_memory(void) {
        static const char text[] = "sage-runtime: out of memory\n";

        (void)!write(STDERR_FILENO, text, sizeof text - 1);
        _exit(1);
}

size_t arena_product(size_t size, size_t n) {
        size_t product;

        return __builtin_mul_overflow(size, n, &product) ? SIZE_MAX / 2 : product;
}

static void add_block(struct arena *arena, size_t need) {
        size_t size = arena->last ? arena->last->size * 2 : FIRST_BLOCK;
        struct arena_block *block;

        if (size > LARGEST_BLOCK)
                size = LARGEST_BLOCK;
        if (size < need)
                size = need;
        if (size >= SIZE_MAX / 2 || !(block = malloc(sizeof *block + size)))
                out_of_memory();
        *block = (struct arena_block){ .before = arena->last, .size = size };
        arena->last = block;
        arena->next = block->data;
        arena->end = block->data + size;
}

void *arena_alloc_raw(struct arena *arena, size_t size) {
        const size_t align = alignof(max_align_t);
        size_t rounded = (size + align - 1) & ~(align - 1);
        void *p;

        if (rounded < size)
                out_of_memory();
        if (!arena->last || (size_t)(arena->end - arena->next) < rounded)
                add_block(arena, rounded);
        p = arena->next;
        arena->next += rounded;
        return p;
}

void *arena_alloc(struct arena *arena, size_t size) {
        return memset(arena_alloc_raw(arena, size), 0, size);
}

char *arena_strndup(struct arena *arena, const char *text, size_t n) {
        char *copy = arena_alloc_raw(arena, n + 1);

        if (n > 0)
                memcpy(copy, text, n);
        copy[n] = '\0';
        return copy;
}

char *arena_strdup(struct arena *arena, const char *text) {
        return arena_strndup(arena, text, strlen(text));
}

char *arena_printf(struct arena *arena, const char *format, ...) {
        va_list ap, again;
        char *text;
        int n;

        va_start(ap, format);
        va_copy(again, ap);
        n = vsnprintf(NULL, 0, format, ap);
        va_end(ap);
        if (n < 0)
                out_of_memory();
        text = arena_alloc(arena, (size_t)n + 1);
        vsnprintf(text, (size_t)n + 1, format, again);
        va_end(again);
        return text;
}

void arena_free(struct arena *arena) {
        struct arena_block *block = arena->last;

        while (block) {
                struct arena_block *before = block->before;

                free(block);
                block = before;
        }
        *arena = (struct arena){ 0 };
}
