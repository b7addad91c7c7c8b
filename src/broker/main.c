/* sage-egress-broker: lets the processes of one sandbox out to the destinations that its network policy names, and nowhere else. */
#define _GNU_SOURCE
#include "base/fd.h"
#include "base/file.h"
#include "broker/broker.h"
#include "broker/listener.h"
#include "broker/lockdown.h"
#include "version.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>

#define POLICY_MAX (1u << 20)
#define MAX_LISTENERS 8
/* Beside two a connection: standard streams, epoll, signals, dialer, audit, listeners, pipes, and some to spare. */
#define OTHER_DESCRIPTORS (64 + 2 * PIPES_MAX)
#define NOBODY 65534u
#define STREAM_MAX (1u << 20) /* what may be added to a file that is standard output or standard error */

struct options {
        const char *policy, *audit, *programs, *user, *listen[MAX_LISTENERS];
        bool standalone, version, help;
};

static const struct option_row {
        const char *name, *value; /* value: what it is called in the help; NULL: a flag */
        size_t offset;
        unsigned times;
        const char *help;
} option_rows[] = {
        { "standalone", NULL, offsetof(struct options, standalone), 1, "serve whoever connects to the addresses of --listen" },
        { "policy", "FILE|fd:N", offsetof(struct options, policy), 1, "sage.sandbox.network: what may be reached" },
        { "listen", "ADDRESS:PORT", offsetof(struct options, listen), MAX_LISTENERS, "where clients come in; may be given again" },
        { "audit", "FILE|fd:N", offsetof(struct options, audit), 1, "a JSON line a connection; FILE.1 keeps the older ones" },
        { "user", "UID[:GID]", offsetof(struct options, user), 1, "who to become when started as root; 65534 by default" },
        { "programs", "DIR", offsetof(struct options, programs), 1, "where the helper programs are" },
        { "version", NULL, offsetof(struct options, version), 1, "print the version" },
        { "help", NULL, offsetof(struct options, help), 1, "print this help" },
};

static int take_option(const struct option_row *row, const char *value, struct options *into, struct error *err) {
        void *at = (char *)into + row->offset;
        const char **texts = at;

        if (!row->value) {
                *(bool *)at = true;
                return 0;
        }
        if (!value)
                return fail(err, CODE_USAGE, EINVAL, "", "option --%s needs a value: %s", row->name, row->value);
        for (unsigned i = 0; i < row->times; i++)
                if (!texts[i]) {
                        texts[i] = value;
                        return 0;
                }
        return fail(err, CODE_USAGE, EINVAL, "", "option --%s was given more than %u times", row->name, row->times);
}

/* --name value, --name=value. */
static int parse_options(int argc, char **argv, struct options *into, struct error *err) {
        for (int i = 1; i < argc; i++) {
                const char *name = str_after(argv[i], "--"), *sign = name ? strchr(name, '=') : NULL;
                size_t n = !name ? 0 : sign ? (size_t)(sign - name) : strlen(name);
                const struct option_row *row = NULL;
                int r;

                for (size_t k = 0; name && k < ELEMENTSOF(option_rows); k++)
                        if (strlen(option_rows[k].name) == n && strncmp(option_rows[k].name, name, n) == 0)
                                row = &option_rows[k];
                if (!row || (sign && !row->value))
                        return fail(err, CODE_USAGE, EINVAL, "", "unknown option `%s`; --help lists them", argv[i]);
                r = take_option(row, sign ? sign + 1 : row->value && i + 1 < argc ? argv[++i] : NULL, into, err);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int print_help(void) {
        printf("usage: sage-egress-broker --standalone --policy FILE --listen ADDRESS:PORT [options]\n\n");
        for (size_t i = 0; i < ELEMENTSOF(option_rows); i++) {
                int width = printf("  --%s %s", option_rows[i].name, option_rows[i].value ? option_rows[i].value : "");

                printf("%*s%s\n", width < 28 ? 28 - width : 1, "", option_rows[i].help);
        }
        return 0;
}

static int check_options(const struct options *options, struct error *err) {
        if (!options->standalone)
                return fail(err, CODE_USAGE, EINVAL, "", "expected --standalone");
        if (!options->policy)
                return fail(err, CODE_USAGE, EINVAL, "--policy", "expected a file: without a policy nothing may be reached");
        if (!options->listen[0])
                return fail(err, CODE_USAGE, EINVAL, "--listen", "expected an address to listen on, such as 127.0.0.1:3128");
        return 0;
}

static int parse_user(const char *text, uid_t *ret_uid, gid_t *ret_gid, struct error *err) {
        const char *colon = text ? strchr(text, ':') : NULL;
        char uid[16] = "";
        uint64_t u = NOBODY, g;

        if (text)
                snprintf(uid, sizeof uid, "%.*s", colon ? (int)(colon - text) : 15, text);
        if (text && (str_to_u64(uid, UINT32_MAX - 1, &u) < 0 || u == 0))
                return fail(err, CODE_USAGE, EINVAL, "--user", "expected UID or UID:GID, not root, found `%s`", text);
        g = u;
        if (colon && (str_to_u64(colon + 1, UINT32_MAX - 1, &g) < 0 || g == 0))
                return fail(err, CODE_USAGE, EINVAL, "--user", "expected UID or UID:GID, not root, found `%s`", text);
        *ret_uid = (uid_t)u;
        *ret_gid = (gid_t)g;
        return 0;
}

static int load_policy(struct arena *arena, const char *where, struct policy *ret, struct error *err) {
        const char *number = str_after(where, "fd:");
        _cleanup_str_ struct str text = { 0 };
        uint64_t fd;
        int r;

        if (number && str_to_u64(number, INT_MAX, &fd) < 0)
                return fail(err, CODE_USAGE, EINVAL, "--policy", "expected a path or fd:N, found `%s`", where);
        r = number ? file_read_fd((int)fd, POLICY_MAX, &text) : file_read(AT_FDCWD, where, POLICY_MAX, &text);
        if (r < 0)
                return fail_errno(err, CODE_USAGE, -r, "--policy", "cannot read %s", where);
        r = policy_load(arena, where, text.text ? text.text : "", text.size, ret, err);
        if (r < 0)
                return r;
        if (ret->mode != SAGE_NETWORK_MODE_ALLOWLIST && ret->mode != SAGE_NETWORK_MODE_PROXY)
                return fail(err, CODE_NETWORK_POLICY_INVALID, 0, "mode", "expected allowlist or proxy: other modes have no broker");
        return 0;
}

/* ret_said: what is to be said once all is ready. */
static int listen_all(const struct options *options, struct listeners *listeners, struct str *ret_said, struct error *err) {
        for (size_t i = 0; i < MAX_LISTENERS && options->listen[i]; i++) {
                struct listener_name name;
                int r = listeners_add(listeners, options->listen[i], &name, err);

                if (r < 0)
                        return r;
                str_printf(ret_said, "listening on %s\n", name.text);
        }
        return 0;
}

/* What two sockets a connection take, and one more behind a TLS program. Where the hard limit is lower, clients wait (listener.c). */
static void raise_descriptors(const struct policy *policy) {
        struct rlimit limit;
        rlim_t need = (policy->proxy_tls ? 3 : 2) * (rlim_t)policy->max_connections + OTHER_DESCRIPTORS;

        if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= need)
                return;
        limit.rlim_cur = need < limit.rlim_max ? need : limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
}

/* Whatever becomes of the front, it fills no disk: the audit's files are as long as they may be at most, and of the streams that it was
 * started with, where these are files, not much is left. It is told by EFBIG then (setrlimit(2)), and not by a signal. */
static void limit_files(void) {
        struct rlimit limit = { AUDIT_FILE_MAX, AUDIT_FILE_MAX }, given;
        struct stat st;

        for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO; fd++)
                if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && (rlim_t)st.st_size + STREAM_MAX > limit.rlim_cur)
                        limit.rlim_cur = limit.rlim_max = (rlim_t)st.st_size + STREAM_MAX;
        if (getrlimit(RLIMIT_FSIZE, &given) == 0 && given.rlim_max < limit.rlim_cur)
                limit.rlim_cur = limit.rlim_max = given.rlim_max;
        (void)signal(SIGXFSZ, SIG_IGN);
        (void)setrlimit(RLIMIT_FSIZE, &limit);
}

static int lock_down(struct broker *broker, struct error *err) {
        int keep[MAX_LISTENERS + 4] = { broker->loop.epoll, broker->signals, broker->audit.fd, broker->audit.older };
        size_t n = 4;

        for (size_t i = 0; i < broker->listeners->n; i++)
                keep[n++] = broker->listeners->items[i].fd;
        return lockdown_front(&broker->dialer, keep, n, err);
}

/* In this order: what needs names and rights first; then the dialer stays behind with them, and this process gives them up. */
static int serve(struct arena *arena, const struct options *options, struct error *err) {
        _cleanup_str_ struct str said = { 0 };
        struct listeners listeners = { 0 };
        struct broker broker = { .listeners = &listeners };
        struct policy policy;
        struct dialer_options dialer = { .policy = &policy, .programs = options->programs };
        int r;

        if ((r = parse_user(options->user, &dialer.uid, &dialer.gid, err)) < 0 ||
                (r = load_policy(arena, options->policy, &policy, err)) < 0 || (r = audit_open(options->audit, &broker.audit, err)) < 0 ||
                (r = listen_all(options, &listeners, &said, err)) < 0)
                return r;
        raise_descriptors(&policy);
        if ((r = dialer_start(&dialer, &broker.dialer, err)) < 0)
                return r;
        limit_files();
        broker.policy = &policy;
        if ((r = broker_open(&broker, err)) < 0 || (r = lock_down(&broker, err)) < 0)
                return r;
        if (lockdown_missing())
                fprintf(stderr, "sage-egress-broker: warning: this host does not give the broker: %s\n", lockdown_missing());
        /* Not by stdio, which asks a character device whether it is a terminal: a call that is not allowed any more. */
        (void)file_write_all(STDOUT_FILENO, said.text, said.size);
        return broker_run(&broker, err);
}

int main(int argc, char **argv) {
        _cleanup_arena_ struct arena arena = { 0 };
        struct options options = { 0 };
        struct error err = { 0 };
        int r = parse_options(argc, argv, &options, &err);

        if (r == 0 && options.help)
                return print_help();
        if (r == 0 && options.version)
                return printf("sage-egress-broker version %s\ncommit: %s\n", SAGE_VERSION, SAGE_COMMIT), 0;
        if (r == 0 && (r = check_options(&options, &err)) == 0)
                r = serve(&arena, &options, &err);
        if (r < 0)
                fprintf(stderr, "sage-egress-broker: %s%s%s (%s)\n", err.where, err.where[0] ? ": " : "", err.text,
                        error_code(err.code)->name);
        return r < 0 ? 1 : 0;
}
