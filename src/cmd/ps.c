#define _GNU_SOURCE
#include "cmd/command.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/file.h"
#include "base/process.h"
#include "base/signals.h"
#include "base/str.h"
#include "cmd/ps_table.h"
#include "life/processes.h"

enum { PS_OUTPUT_MAX = 64 << 20 };

struct ps_options {
        const char *format;
};

static const struct option_row options[] = {
        { "format", 'f', OPTION_TEXT, offsetof(struct ps_options, format), "table or json" },
};
extern const struct command command_ps;

struct pid_list {
        struct arena *arena;
        pid_t *pids;
        size_t n, room;
};

static void add_pid(pid_t pid, void *data) {
        struct pid_list *list = data;

        if (list->n == list->room) {
                pid_t *grown = arena_array(list->arena, pid_t, list->room = list->room ? 2 * list->room : 64);

                if (list->n)
                        memcpy(grown, list->pids, list->n * sizeof *grown);
                list->pids = grown;
        }
        list->pids[list->n++] = pid;
}

static int compare(const void *a, const void *b) {
        pid_t x = *(const pid_t *)a, y = *(const pid_t *)b;

        return (x > y) - (x < y);
}

static int list_processes(struct invocation *invocation, const char *id, struct pid_list *list, struct error *err) {
        _cleanup_container_ struct container container = CONTAINER_CLOSED;
        int r;

        if ((r = container_open(invocation->arena, invocation->root, id, CONTAINER_UNLOCKED, &container, err)) < 0 ||
                (r = container_processes(invocation->arena, &container, add_pid, list, err)) < 0)
                return r;
        if (list->n)
                qsort(list->pids, list->n, sizeof *list->pids, compare);
        return 0;
}

static void print_json(const struct pid_list *list, struct str *out) {
        str_putc(out, '[');
        for (size_t i = 0; i < list->n; i++)
                str_printf(out, "%s%d", i ? "," : "", list->pids[i]);
        str_puts(out, "]\n");
}

static void print_column(const struct pid_list *list, struct str *out) {
        str_puts(out, "PID\n");
        for (size_t i = 0; i < list->n; i++)
                str_printf(out, "%d\n", list->pids[i]);
}

__attribute__((noreturn)) static void become_ps(char **argv, int output) {
        (void)signals_reset();
        if (dup2(output, STDOUT_FILENO) >= 0)
                execvp(argv[0], argv);
        dprintf(STDERR_FILENO, "sage-runtime: cannot execute ps: %m\n");
        _exit(127);
}

/* What ps of the host prints with these options. ARGV[0] is "ps". */
static int run_ps(char **argv, struct str *out, struct error *err) {
        _cleanup_close_ int in = -1, ps_end = -1, pidfd = -1;
        int ends[2], r, reaped, status = 0;
        pid_t pid;

        if (pipe2(ends, O_CLOEXEC) < 0)
                return fail_errno(err, CODE_INTERNAL, errno, "", "cannot make a pipe");
        in = ends[0];
        ps_end = ends[1];
        pid = process_clone(0, -1, &pidfd);
        if (pid == 0)
                become_ps(argv, ps_end);
        if (pid < 0)
                return fail_errno(err, CODE_INTERNAL, -pid, "", "cannot make a process for ps");
        close_fd(&ps_end);
        r = file_read_fd(in, PS_OUTPUT_MAX, out);
        close_fd(&in);
        reaped = process_reap(pidfd, &status);
        if (r < 0 || (r = reaped) < 0)
                return fail_errno(err, CODE_INTERNAL, -r, "ps", "cannot read what ps prints");
        return status ? fail(err, CODE_USAGE, EINVAL, "ps", "ps of the host failed with exit status %d", status) : 0;
}

static int print_table(char **argv, const struct pid_list *list, struct str *out, struct error *err) {
        _cleanup_str_ struct str table = { 0 };
        int r = run_ps(argv, &table, err);

        return r < 0 ? r : ps_table_filter(table.text ? table.text : "", list->pids, list->n, out, err);
}

static int run(struct invocation *invocation, int argc, char **argv, int *ret_status, struct error *err) {
        struct pid_list list = { .arena = invocation->arena };
        _cleanup_str_ struct str out = { 0 };
        struct ps_options o = { .format = "table" };
        const char *id;
        char **operands;
        int n, r;

        if ((r = command_parse(invocation, &command_ps, argc, argv, &o, 1, -1, &operands, &n, err)) < 0)
                return r;
        if (!streq(o.format, "json") && !streq(o.format, "table"))
                return fail(err, CODE_USAGE, EINVAL, "--format", "expected table or json, found `%s`", o.format);
        id = operands[0];
        if ((r = list_processes(invocation, id, &list, err)) < 0)
                return r;
        operands[0] = "ps"; /* the words behind the id are its own */
        if (streq(o.format, "json"))
                print_json(&list, &out);
        else if (n == 1)
                print_column(&list, &out);
        else if ((r = print_table(operands, &list, &out, err)) < 0)
                return r;
        *ret_status = 0;
        return command_print(&out, "the processes", err);
}

const struct command command_ps = { "ps", "ID [PS-OPTION…]", "list the processes of a container", run, options, ELEMENTSOF(options), 1,
        OPTIONS_BEFORE_OPERAND };
