#define _GNU_SOURCE
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/file.h"
#include "base/str.h"
#include "base/time.h"

/* Where messages go, and for the two daemons the name they go under. Without one it is stderr. */
static enum { TO_STDERR, TO_FILE, TO_JOURNAL, TO_SYSLOG } log_to = TO_STDERR;
static int log_fd = STDERR_FILENO;
static const char *log_name;
static bool log_json;
static enum log_level log_level = LOG_LEVEL_WARNING;

static const char *const level_names[] = { "error", "warning", "info", "debug" };
static const char *const text_prefixes[] = { "", "warning: ", "", "debug: " };

/* syslog(3): LOG_ERR, LOG_WARNING, LOG_INFO, LOG_DEBUG. */
static const unsigned char priorities[] = { 3, 4, 6, 7 };
enum { FACILITY_USER = 1 << 3 };

/* A daemon that is not there, or not any more, is no reason to keep a container from its work; errors are told on stderr, too. */
static void open_daemon(const char *path) {
        struct sockaddr_un address = { .sun_family = AF_UNIX };

        log_fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        strcpy(address.sun_path, path);
        if (log_fd >= 0 && connect(log_fd, (struct sockaddr *)&address, sizeof address) < 0) {
                close(log_fd);
                log_fd = -1;
        }
}

static int open_file(const char *path, struct error *err) {
        int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);

        if (fd < 0)
                return fail_errno(err, CODE_USAGE, errno, "--log", "cannot open the log file %s", path);
        log_fd = fd;
        log_to = TO_FILE;
        return 0;
}

int log_open(const char *to, bool json, enum log_level level, struct error *err) {
        const char *rest;

        log_json = json;
        log_level = level;
        if (!to)
                return 0;
        if ((rest = str_after(to, "journald:")) || (rest = str_after(to, "syslog:"))) {
                log_to = *to == 'j' ? TO_JOURNAL : TO_SYSLOG;
                log_name = *rest ? rest : "sage-runtime";
                open_daemon(log_to == TO_JOURNAL ? "/run/systemd/journal/socket" : "/dev/log");
                return 0;
        }
        rest = str_after(to, "file:");
        return open_file(rest ? rest : to, err);
}

void log_close(void) {
        log_fd = -1;
        log_level = LOG_LEVEL_ERROR;
}

bool log_wants(enum log_level level) {
        return level <= log_level;
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

/* What Sage's hosts look for in the refusal of a sandbox. */
static void add_missing_limits(struct str *line, const struct error *err) {
        const char *comma = "";

        str_puts(line, ",\"missing_limits\":[");
        for (unsigned i = 0; i < ERROR_LIMITS; i++)
                if (err->limits >> i & 1) {
                        str_printf(line, "%s\"%s\"", comma, error_limit_name(i));
                        comma = ",";
                }
        str_puts(line, "]");
        add_member(line, "side_effect_state", error_effect_name(err->effect));
}

static void add_json(struct str *line, enum log_level level, const char *text, const struct error *err) {
        str_printf(line, "{\"level\":\"%s\",\"msg\":", level_names[level]);
        add_json_string(line, text);
        add_member(line, "time", time_rfc3339(time_realtime_ns()).text);
        if (err) {
                const char *remedy = error_code(err->code)->remedy;

                add_member(line, "code", error_code(err->code)->name);
                if (err->where[0])
                        add_member(line, "field", err->where);
                if (err->line)
                        str_printf(line, ",\"line\":%u", err->line);
                if (err->errnum)
                        str_printf(line, ",\"errno\":%d", err->errnum);
                add_member(line, "effect", error_effect_name(err->effect));
                if (err->limits)
                        add_missing_limits(line, err);
                if (remedy)
                        add_member(line, "remedy", remedy);
        }
        str_puts(line, "}\n");
}

/* journal's native protocol (systemd.journal-fields(7)): a field a line, so a message is one line. */
static void add_journal(struct str *entry, enum log_level level, const char *text, const struct error *err) {
        str_printf(entry, "PRIORITY=%u\nSYSLOG_IDENTIFIER=%s\nMESSAGE=", priorities[level], log_name);
        for (; *text; text++)
                str_putc(entry, *text == '\n' ? ' ' : *text);
        if (err)
                str_printf(entry, "\nSAGE_CODE=%s\nSAGE_FIELD=%s", error_code(err->code)->name, err->where);
        str_putc(entry, '\n');
}

static void emit(enum log_level level, const char *text, const struct error *err) {
        _cleanup_str_ struct str line = { 0 };

        if (log_to == TO_JOURNAL)
                add_journal(&line, level, text, err);
        else if (log_to == TO_SYSLOG)
                str_printf(&line, "<%u>%s[%d]: %s", FACILITY_USER | priorities[level], log_name, getpid(), text);
        else if (log_json)
                add_json(&line, level, text, err);
        else
                str_printf(&line, "sage-runtime: %s%s\n", text_prefixes[level], text);
        (void)file_write_all(log_fd, line.text, line.size);
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

        /* Wherever the log is, engines still capture stderr (conmon matches words in it), so a person sees the text there too. */
        if (log_to != TO_STDERR)
                dprintf(STDERR_FILENO, "sage-runtime: %s\n", text.text);
}
