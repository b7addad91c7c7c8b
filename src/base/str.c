#include "base/str.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

void str_free(struct str *s) {
        free(s->text);
        *s = (struct str){ 0 };
}

/* And for the NUL. Out of memory ends the runtime, as in arena.c. */
void str_reserve(struct str *s, size_t n) {
        static const char text[] = "sage-runtime: out of memory\n";
        size_t need, room = s->room ? s->room : 64;
        char *grown;

        if (!__builtin_add_overflow(s->size, n + 1, &need)) {
                if (need <= s->room)
                        return;
                while (room < need && room < SIZE_MAX / 2)
                        room *= 2;
                if ((grown = realloc(s->text, room))) {
                        s->text = grown;
                        s->room = room;
                        return;
                }
        }
        (void)!write(STDERR_FILENO, text, sizeof text - 1);
        _exit(1);
}

void str_add(struct str *s, const char *text, size_t n) {
        str_reserve(s, n);
        if (n > 0)
                memcpy(s->text + s->size, text, n);
        s->size += n;
        s->text[s->size] = '\0';
}

void str_puts(struct str *s, const char *text) {
        str_add(s, text, strlen(text));
}

void str_putc(struct str *s, char c) {
        if (s->room - s->size < 2) /* also where there is none yet */
                str_reserve(s, 1);
        s->text[s->size++] = c;
        s->text[s->size] = '\0';
}

void str_put_u64(struct str *s, uint64_t value) {
        char text[20], *p = text + sizeof text;

        do
                *--p = (char)('0' + value % 10);
        while (value /= 10);
        str_add(s, p, (size_t)(text + sizeof text - p));
}

void str_printf(struct str *s, const char *format, ...) {
        va_list ap, again;
        int n;

        va_start(ap, format);
        va_copy(again, ap);
        n = vsnprintf(NULL, 0, format, ap);
        va_end(ap);
        if (n > 0) {
                str_reserve(s, (size_t)n);
                vsnprintf(s->text + s->size, (size_t)n + 1, format, again);
                s->size += (size_t)n;
        }
        va_end(again);
}

int str_to_u64(const char *text, uint64_t max, uint64_t *ret) {
        uint64_t value = 0;

        if (!*text)
                return -EINVAL;
        for (; *text; text++) {
                if (*text < '0' || *text > '9')
                        return -EINVAL;
                if (__builtin_mul_overflow(value, 10u, &value) || __builtin_add_overflow(value, (uint64_t)(*text - '0'), &value))
                        return -ERANGE;
        }
        if (value > max)
                return -ERANGE;
        *ret = value;
        return 0;
}

bool str_two_numbers(const char *text, char between, unsigned *ret_first, unsigned *ret_second) {
        unsigned numbers[2] = { 0 };

        for (unsigned i = 0; i < 2; i++) {
                const char *start = text;

                for (; *text >= '0' && *text <= '9'; text++)
                        if (__builtin_mul_overflow(numbers[i], 10u, &numbers[i]) ||
                            __builtin_add_overflow(numbers[i], (unsigned)(*text - '0'), &numbers[i]))
                                return false;
                if (text == start || (i == 0 && *text++ != between))
                        return false;
        }
        *ret_first = numbers[0];
        *ret_second = numbers[1];
        return true;
}

int str_to_i64(const char *text, int64_t *ret) {
        bool negative = *text == '-';
        uint64_t value;
        int r = str_to_u64(text + negative, (uint64_t)INT64_MAX + negative, &value);

        if (r < 0)
                return r;
        *ret = negative ? (int64_t)(0 - value) : (int64_t)value;
        return 0;
}
