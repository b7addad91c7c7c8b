#include "cmd/ps_table.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

static const char blanks[] = " \t";

/* The word number COLUMN of the line at *AT, and its length; 0 where the line has fewer. */
static size_t word(const char *line, size_t column, const char **ret) {
        for (;; column--) {
                size_t n;

                line += strspn(line, blanks);
                n = strcspn(line, " \t\n");
                if (n == 0 || column == 0) {
                        *ret = line;
                        return n;
                }
                line += n;
        }
}

static int find_column(const char *header, size_t *ret) {
        const char *at;

        for (size_t column = 0, n; (n = word(header, column, &at)) > 0; column++)
                if (n == 3 && memcmp(at, "PID", 3) == 0) {
                        *ret = column;
                        return 0;
                }
        return -ENOENT;
}

static bool is_listed(const char *line, size_t column, const pid_t *pids, size_t n) {
        char number[24] = "";
        const char *at;
        uint64_t pid;
        size_t length = word(line, column, &at);

        if (length >= sizeof number)
                return false;
        memcpy(number, at, length);
        if (str_to_u64(number, INT32_MAX, &pid) < 0)
                return false;
        for (size_t i = 0; i < n; i++)
                if ((uint64_t)pids[i] == pid)
                        return true;
        return false;
}

int ps_table_filter(const char *text, const pid_t *pids, size_t n, struct str *out, struct error *err) {
        size_t column;

        if (find_column(text, &column) < 0)
                return fail(err, CODE_USAGE, EINVAL, "", "expected options with which ps prints a column PID");
        for (const char *line = text, *next; *line; line = next) {
                size_t length = strcspn(line, "\n");

                next = line + length + (line[length] == '\n');
                if (line == text || is_listed(line, column, pids, n)) {
                        str_add(out, line, length);
                        str_putc(out, '\n');
                }
        }
        return 0;
}
