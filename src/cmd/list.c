#include "cmd/command.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/fd.h"
#include "base/str.h"
#include "libocispec/spec.h"
#include "life/state.h"

struct list_options {
        bool quiet;
        const char *format;
};

static const struct option_row options[] = {
        { "quiet", 'q', OPTION_FLAG, offsetof(struct list_options, quiet), "ids only" },
        { "format", 'f', OPTION_TEXT, offsetof(struct list_options, format), "table or json" },
};
extern const struct command command_list;

/* Prints one container. first: whether it is the first of a JSON array. */
typedef int (*print_function)(const struct oci_state *state, bool first, struct error *err);

static int print_id(const struct oci_state *state, bool first, struct error *err) {
        (void)first, (void)err;
        printf("%s\n", state->id);
        return 0;
}

static int print_row(const struct oci_state *state, bool first, struct error *err) {
        (void)first, (void)err;
        printf("%-24s %-10d %-10s %-40s %-32s %s\n", state->id, state->pid, spec_enum_name(&oci_status_enum, state->status), state->bundle,
                state->created ? state->created : "", state->owner ? state->owner : "");
        return 0;
}

static int print_json(const struct oci_state *state, bool first, struct error *err) {
        _cleanup_str_ struct str text = { 0 };
        int r = spec_encode(&oci_state_type, state, &text, 0, err);

        if (r == 0)
                printf("%s%s", first ? "" : ",", text.text);
        return r;
}

/* One that is being deleted meanwhile, or is no container of ours, is passed over. */
static int print_one(struct invocation *invocation, const char *id, print_function print, bool *first, struct error *err) {
        _cleanup_container_ struct container container = CONTAINER_CLOSED;
        struct oci_state state;
        enum oci_status status;
        int r;

        if (!state_id_valid(id) || container_open(invocation->arena, invocation->root, id, CONTAINER_UNLOCKED, &container, err) < 0 ||
                container_state(&container, &status, NULL, err) < 0)
                return 0;
        state = container_describe(invocation->arena, &container, status);
        r = print(&state, *first, err);
        *first = false;
        return r;
}

static int not_hidden(const struct dirent *entry) {
        return entry->d_name[0] != '.';
}

static int run(struct invocation *invocation, int argc, char **argv, int *ret_status, struct error *err) {
        struct list_options o = { .format = "table" };
        struct dirent **entries = NULL;
        print_function print;
        bool json, first = true;
        char **operands;
        int n, r;

        if ((r = command_parse(invocation, &command_list, argc, argv, &o, 0, 0, &operands, NULL, err)) < 0)
                return r;
        json = streq(o.format, "json");
        if (!json && !streq(o.format, "table"))
                return fail(err, CODE_USAGE, EINVAL, "--format", "expected table or json, found `%s`", o.format);
        print = o.quiet ? print_id : json ? print_json : print_row;

        n = scandir(invocation->root, &entries, not_hidden, alphasort);
        if (n < 0 && errno != ENOENT)
                return fail_errno(err, CODE_INTERNAL, errno, invocation->root, "cannot read the state directory");
        if (print == print_row)
                printf("%-24s %-10s %-10s %-40s %-32s %s\n", "ID", "PID", "STATUS", "BUNDLE", "CREATED", "OWNER");
        if (print == print_json)
                putchar('[');
        for (int i = 0; i < n; i++) {
                if (r == 0)
                        r = print_one(invocation, entries[i]->d_name, print, &first, err);
                free(entries[i]);
        }
        free(entries);
        if (print == print_json)
                printf("]\n");
        *ret_status = 0;
        return r;
}

const struct command command_list = { "list", "", "print the containers of --root", run, options, ELEMENTSOF(options), 1,
        OPTIONS_ANYWHERE };
