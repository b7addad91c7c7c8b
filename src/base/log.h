/* Where messages go: --log, --log-format, --log-level. Libraries do not log; cmd/ and life/ do.
 *
 * podman reads the whole --log file as one JSON object, so with json format a failing command writes exactly one line. */
#pragma once

#include <stdbool.h>

#include "base/error.h"

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARNING, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };

/* to: a file that is appended to ("file:PATH" means the same), journald:NAME or syslog:NAME, or NULL for stderr. 0 or a negative errno. */
int log_open(const char *to, bool json, enum log_level level, struct error *err);

/* In a child that has given up the descriptors of its parent: the log's number may be anything by now, so nothing is logged any more. */
void log_close(void);

bool log_wants(enum log_level level);

/* What is being done, for a person who looks for what went wrong. Costs a comparison as long as nobody does. */
#define log_debug(...) \
        do { \
                if (log_wants(LOG_LEVEL_DEBUG)) \
                        log_message(LOG_LEVEL_DEBUG, __VA_ARGS__); \
        } while (0)

__attribute__((format(printf, 2, 3)))
void log_message(enum log_level level, const char *format, ...);

/* The one report of a failed command: text on stderr always, and one JSON line to --log in json format:
 * {"level":"error","msg":…,"time":…,"code":…,"field":…,"line":…,"errno":…,"effect":…,"remedy":…}; what an error has none of is left out. */
void log_error(const struct error *err);
