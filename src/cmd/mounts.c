#include "cmd/command.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/file.h"
#include "base/log.h"
#include "base/str.h"
#include "facts/facts.h"
#include "libocispec/spec.h"
#include "life/live_mounts.h"
#include "plan/live_mounts.h"
#include "spec/live-mounts.h"

extern const struct command command_mounts;

/* The array becomes the one member of an object, in the same line, so that lines and fields are told as they are in the file. */
static int read_mounts(struct invocation *invocation, const char *path, struct live_mounts *ret, struct error *err) {
        _cleanup_str_ struct str text = { 0 }, object = { 0 };
        const char *slash = strrchr(path, '/');
        int r = streq(path, "-") ? file_read_fd(STDIN_FILENO, SPEC_SIZE_MAX, &text) : file_read(AT_FDCWD, path, SPEC_SIZE_MAX, &text);

        if (r < 0)
                return fail_errno(err, CODE_CONFIG_INVALID, -r, path, "cannot read this file");
        str_puts(&object, "{\"mounts\":");
        str_add(&object, text.text, text.size);
        str_putc(&object, '}');
        return spec_decode(invocation->arena, &live_mounts_type, slash ? slash + 1 : path, object.text, object.size, ret, err);
}

static int add(struct invocation *invocation, const struct container *container, int init, const struct plan_plan *plan,
        const struct live_mounts *asked, struct error *err) {
        struct host host = { .arena = invocation->arena };
        struct plan_mount *mounts;
        const char **warnings;
        int r;

        if ((r = facts_need(&host, FACTS_KERNEL | FACTS_IDENTITY, err)) < 0 ||
                (r = live_mounts_compile(invocation->arena, asked->mounts, asked->n_mounts, plan, &host.facts, &mounts, &warnings, err)) <
                        0 ||
                (r = live_mounts_add(invocation->arena, container, init, plan, mounts, asked->n_mounts, err)) < 0)
                return r;
        for (; warnings && *warnings; warnings++)
                log_message(LOG_LEVEL_WARNING, "%s", *warnings);
        return 0;
}

static int change(struct invocation *invocation, const char *what, const char *id, const struct live_mounts *asked, struct error *err) {
        _cleanup_container_ struct container container = CONTAINER_CLOSED;
        _cleanup_close_ int init = -1;
        enum oci_status status;
        struct plan_plan plan;
        int r;

        if ((r = container_open(invocation->arena, invocation->root, id, CONTAINER_LOCKED, &container, err)) < 0 ||
                (r = container_state(&container, &status, &init, err)) < 0)
                return r;
        if (status != OCI_STATUS_CREATED && status != OCI_STATUS_RUNNING && status != OCI_STATUS_PAUSED)
                return fail(err, CODE_INVALID_STATE, EINVAL, "",
                        "container not running: cannot change the mounts of a container that is %s",
                        spec_enum_name(&oci_status_enum, status));
        if ((r = container_load_plan(invocation->arena, &container, &plan, err)) < 0)
                return r;
        if (plan.sandbox)
                return fail(err, CODE_INVALID_STATE, EINVAL, "", "a strict sandbox is never changed in place: its mounts stay what they are");
        if (streq(what, "add"))
                return add(invocation, &container, init, &plan, asked, err);
        return live_mounts_remove(
                &container, init, &plan, live_mounts_destinations(invocation->arena, asked->mounts, asked->n_mounts), asked->n_mounts, err);
}

static int run(struct invocation *invocation, int argc, char **argv, int *ret_status, struct error *err) {
        struct live_mounts asked;
        char **operands;
        int r;

        if ((r = command_parse(invocation, &command_mounts, argc, argv, NULL, 3, 3, &operands, NULL, err)) < 0)
                return r;
        if (!streq(operands[0], "add") && !streq(operands[0], "remove"))
                return fail(err, CODE_USAGE, EINVAL, "", "expected add or remove, found `%s`", operands[0]);
        if ((r = read_mounts(invocation, operands[2], &asked, err)) < 0)
                return r;
        *ret_status = 0;
        return change(invocation, operands[0], operands[1], &asked, err);
}

const struct command command_mounts = {
        "mounts",
        "add|remove ID FILE",
        "change the mounts of a container; FILE is a JSON array as in config.json, - for stdin",
        run,
        NULL,
        0,
        1,
        OPTIONS_ANYWHERE,
};
