#define _GNU_SOURCE
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/str.h"
#include "base/time.h"

static int log_fd = -1; /* the --log file; -1 while there is none */
static bool log_json;
static enum log_level log_level = LOG_LEVEL_WARNING;

static const char *const level_names[] = { "error", "warning", "info", "debug" };
static const char *const text_prefixes[] = { "", "warning: ", "", "debug: " };

int log_open(const char *path, bool json, enum log_level level, struct error *err) {
        const char *file = path ? str_after(path, "file:") : NULL;

        log_json = json;
        log_level = level;
        if (!path)
                return 0;
        log_fd = open(file ? file : path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
        if (log_fd < 0)
                return fail_errno(err, CODE_USAGE, errno, "--log", "cannot open the log file %s", file ? file : path);
        return 0;
}

/* JSON string escapes (RFC 8259 section 7). Bytes above 0x7f pass: what we print of others is UTF-8 or escaped already. */
static void add_json_string(struct str *out, const char *text) {
        str_putc(out, '"');
        for (; *text; text++) {
                unsigned char c = (unsigned char)*text;

                if (c == '"' || c == '\\')
                        str_putc(out, '\\');
                if (c < 0x20)
                        str_printf(out, "\\u%04x", c);
                else
                        str_putc(out, (char)c);
        }
        str_putc(out, '"');
}

static void add_member(struct str *out, const char *name, const char *value) {
        str_printf(out, ",\"%s\":", name);
        add_json_string(out, value);
}

static void emit(enum log_level level, const char *text, const struct error *err) {
        _cleanup_str_ struct str line = { 0 };
        int fd = log_fd >= 0 ? log_fd : STDERR_FILENO;

        if (log_json) {
                str_printf(&line, "{\"level\":\"%s\",\"msg\":", level_names[level]);
                add_json_string(&line, text);
                add_member(&line, "time", time_rfc3339(time_realtime_ns()).text);
                if (err) {
                        add_member(&line, "code", error_code(err->code)->name);
                        if (err->where[0])
                                add_member(&line, "field", err->where);
                        add_member(&line, "effect", error_effect_name(err->effect));
                }
                str_puts(&line, "}\n");
        } else {
                str_printf(&line, "sage-runtime: %s%s\n", text_prefixes[level], text);
        }
        (void)file_write_all(fd, line.text, line.size);
}

void log_message(enum log_level level, const char *format, ...) {
        _cleanup_str_ struct str text = { 0 };
        char raw[1024];
        va_list ap;

        if (level > log_level)
                return;
        va_start(ap, format);
        vsnprintf(raw, sizeof raw, format, ap);
        va_end(ap);
        str_puts(&text, raw);
        emit(level, text.text, NULL);
}

void log_error(const struct error *err) {
        const char *remedy = error_code(err->code)->remedy;
        _cleanup_str_ struct str text = { 0 };

        if (err->where[0])
                str_printf(&text, "%s: ", err->where);
        str_puts(&text, err->text);
        if (remedy)
                str_printf(&text, " (%s)", remedy);
        emit(LOG_LEVEL_ERROR, text.text, err);

        /* With a log file, engines still capture stderr (conmon matches words in it), so a person sees the text there too. */
        if (log_fd >= 0)
                dprintf(STDERR_FILENO, "sage-runtime: %s\n", text.text);
}
