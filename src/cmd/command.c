#include "cmd/command.h"

#include <errno.h>
#include <unistd.h>

#include "base/file.h"
#include "base/str.h"

extern const struct command command_create, command_run, command_start, command_exec, command_kill, command_delete, command_state,
        command_list, command_ps, command_pause, command_resume, command_update, command_mounts, command_events, command_spec,
        command_features, command_plan, command_check, command_egress, command_sandbox, command_gc;

const struct command *const commands[] = {
        &command_create,
        &command_start,
        &command_run,
        &command_exec,
        &command_kill,
        &command_delete,
        &command_state,
        &command_list,
        &command_ps,
        &command_pause,
        &command_resume,
        &command_update,
        &command_mounts,
        &command_events,
        &command_spec,
        &command_features,
        &command_plan,
        &command_check,
        &command_egress,
        &command_sandbox,
        &command_gc,
};
const unsigned n_commands = ELEMENTSOF(commands);

int command_parse(struct invocation *invocation, const struct command *command, int argc, char **argv, void *into, int min, int max,
        char ***ret_operands, int *ret_n, struct error *err) {
        char **operands;
        int n, r;

        r = options_parse(invocation->arena, command->options, command->n_options, command->order, argc, argv, into, &operands, &n, err);
        if (r < 0)
                return r;
        if (n < min || (max >= 0 && n > max))
                return fail(err, CODE_USAGE, EINVAL, "", "usage: sage-runtime %s%s%s%s", command->name,
                        command->n_options ? " [options]" : "", *command->operands ? " " : "", command->operands);
        *ret_operands = operands;
        if (ret_n)
                *ret_n = n;
        return 0;
}

int command_print(const struct str *text, const char *what, struct error *err) {
        int r = file_write_all(STDOUT_FILENO, text->text, text->size);

        return r < 0 ? fail_errno(err, CODE_INTERNAL, -r, "", "cannot print %s", what) : 0;
}
