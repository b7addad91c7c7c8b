#include "cmd/signals.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <strings.h>

#include "base/str.h"

/* clang-format off */
static const struct { const char *name; int number; } names[] = {
        { "ABRT", SIGABRT }, { "ALRM", SIGALRM },     { "BUS", SIGBUS },   { "CHLD", SIGCHLD }, { "CLD", SIGCHLD },   { "CONT", SIGCONT },
        { "FPE", SIGFPE },   { "HUP", SIGHUP },       { "ILL", SIGILL },   { "INT", SIGINT },   { "IO", SIGIO },      { "IOT", SIGIOT },
        { "KILL", SIGKILL }, { "PIPE", SIGPIPE },     { "POLL", SIGPOLL }, { "PROF", SIGPROF }, { "PWR", SIGPWR },    { "QUIT", SIGQUIT },
        { "SEGV", SIGSEGV }, { "STKFLT", SIGSTKFLT }, { "STOP", SIGSTOP }, { "SYS", SIGSYS },   { "TERM", SIGTERM },  { "TRAP", SIGTRAP },
        { "TSTP", SIGTSTP }, { "TTIN", SIGTTIN },     { "TTOU", SIGTTOU }, { "URG", SIGURG },   { "USR1", SIGUSR1 },  { "USR2", SIGUSR2 },
        { "WINCH", SIGWINCH }, { "XCPU", SIGXCPU },   { "XFSZ", SIGXFSZ }, { "VTALRM", SIGVTALRM },
};
/* clang-format on */

/* signal(7), "Real-time signals": 34 and 64 as programs see them; the C library keeps 32 and 33 for itself. */
enum { RT_FIRST = 34, RT_LAST = 64 };

/* RTMIN, RTMIN+n, RTMAX, RTMAX-n. */
static int parse_realtime(const char *name, int *ret) {
        bool from_first = strncasecmp(name, "RTMIN", 5) == 0;
        uint64_t distance = 0;

        if (!from_first && strncasecmp(name, "RTMAX", 5) != 0)
                return -EINVAL;
        if (name[5] && (name[5] != (from_first ? '+' : '-') || str_to_u64(name + 6, RT_LAST - RT_FIRST, &distance) < 0))
                return -EINVAL;
        *ret = from_first ? RT_FIRST + (int)distance : RT_LAST - (int)distance;
        return 0;
}

int signal_parse(const char *text, int *ret, struct error *err) {
        const char *name = strncasecmp(text, "SIG", 3) == 0 ? text + 3 : text;
        uint64_t number;

        if (str_to_u64(text, RT_LAST, &number) == 0) {
                *ret = (int)number;
                return 0;
        }
        for (size_t i = 0; i < ELEMENTSOF(names); i++)
                if (strcasecmp(name, names[i].name) == 0) {
                        *ret = names[i].number;
                        return 0;
                }
        if (parse_realtime(name, ret) == 0)
                return 0;
        return fail(err, CODE_USAGE, EINVAL, "signal", "unknown signal `%s`: expected a name such as TERM or a number from 0 to 64", text);
}
