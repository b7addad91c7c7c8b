#define _GNU_SOURCE
#include "cmd/command.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/file.h"
#include "base/str.h"
#include "cmd/sandbox_lookup.h"
#include "cmd/spec_default.h"
#include "libocispec/spec.h"

struct spec_options {
        struct sandbox_options sandbox; /* first: SANDBOX_OPTION_ROWS */
        const char *bundle, *file;
        bool rootless, is_sandbox;
};

static const struct option_row options[] = {
        { "bundle", 'b', OPTION_TEXT, offsetof(struct spec_options, bundle),
                "directory to write config.json into (default: the current one)" },
        { "file", 'f', OPTION_TEXT, offsetof(struct spec_options, file), "another file, relative to the bundle" },
        { "rootless", 0, OPTION_FLAG, offsetof(struct spec_options, rootless), "a config that an ordinary user can run" },
        { "sandbox", 0, OPTION_FLAG, offsetof(struct spec_options, is_sandbox),
                "the config of a strict sandbox, as `sandbox` makes it; the options below and COMMAND are for that" },
        SANDBOX_OPTION_ROWS,
};
extern const struct command command_spec;

/* ---- --sandbox ---------------------------------------------------------------------------------------------------------- */

/* What is about a run has no place in a bundle: whoever runs it says so then. */
static int refuse_options_of_a_run(const struct sandbox_options *o, struct error *err) {
        const struct {
                const char *option;
                bool given;
        } run[] = {
                { "--result", o->result },
                { "--egress-log", o->egress_log },
                { "--id", o->id },
                { "--die-with-parent", o->die_with_parent },
                { "--keep", o->keep },
                { "--quiet", o->quiet },
        };

        for (size_t i = 0; i < ELEMENTSOF(run); i++)
                if (run[i].given)
                        return fail(err, CODE_USAGE, EINVAL, run[i].option, "this is about a run, and has no place in a bundle");
        return 0;
}

/* The options of a sandbox make no sense without --sandbox. */
static int refuse_options_of_a_sandbox(const struct spec_options *o, struct error *err) {
        static const struct sandbox_options none;

        if (memcmp(&o->sandbox, &none, sizeof none) == 0)
                return 0;
        return fail(err, CODE_USAGE, EINVAL, "--sandbox", "one of these options is about a sandbox: say --sandbox with it");
}

/* DIRECTORY of the bundle, for what the config names there: made where it is not there yet. */
static int make_directory(int bundle, const char *directory, const struct sandbox_found *found, struct error *err) {
        _cleanup_close_ int fd = -1;

        if (mkdirat(bundle, directory, found ? 0700 : 0755) < 0)
                return errno == EEXIST ? 0 : fail_errno(err, CODE_USAGE, errno, directory, "cannot make this directory of the bundle");
        fd = found && geteuid() == 0 ? openat(bundle, directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
        if (fd >= 0 && fchown(fd, found->uid, found->gid) < 0)
                return fail_errno(err, CODE_USAGE, errno, directory, "cannot give this directory of the bundle to uid %u", found->uid);
        return 0;
}

/* Where no workspace is named, it is a directory of the bundle. */
static int make_sandbox(struct invocation *invocation, const struct spec_options *o, int bundle, char *const *command,
        struct oci_config **ret, struct error *err) {
        struct sandbox_found found;
        char path[PATH_MAX];
        int r;

        if ((r = refuse_options_of_a_run(&o->sandbox, err)) < 0)
                return r;
        if (o->rootless)
                return fail(err, CODE_USAGE, EINVAL, "--rootless", "the config of a sandbox is the same for every user");
        if (!realpath(o->bundle, path))
                return fail_errno(err, CODE_USAGE, errno, o->bundle, "cannot find this directory");
        if ((r = sandbox_look_up(invocation, &o->sandbox, arena_printf(invocation->arena, "%s/workspace", path), &found, err)) < 0 ||
                (r = spec_sandbox(invocation->arena, &o->sandbox, &found, command, ret, err)) < 0 ||
                (r = sandbox_make_caches(&found, err)) < 0 || (r = make_directory(bundle, "rootfs", NULL, err)) < 0)
                return r;
        return found.workspace_ino ? 0 : make_directory(bundle, "workspace", &found, err);
}

/* ---- both --------------------------------------------------------------------------------------------------------------- */

static int make_config(struct invocation *invocation, const struct spec_options *o, int bundle, char *const *command,
        struct oci_config **ret, struct error *err) {
        int r;

        if (o->is_sandbox)
                return make_sandbox(invocation, o, bundle, command, ret, err);
        if (*command)
                return fail(err, CODE_USAGE, EINVAL, "", "expected no command without --sandbox, found `%s`", *command);
        r = refuse_options_of_a_sandbox(o, err);
        return r < 0 ? r : spec_default(invocation->arena, o->rootless, ret, err);
}

static int already_there(const char *file, struct error *err) {
        return fail(err, CODE_EXISTS, EEXIST, file, "there is one already; remove it first");
}

static int write_config(int bundle, const struct spec_options *o, const struct oci_config *config, struct error *err) {
        _cleanup_str_ struct str text = { 0 };
        _cleanup_close_ int fd = -1;
        int r = spec_encode(&oci_config_type, config, &text, SPEC_PRETTY, err);

        if (r < 0) {
                err->code = CODE_USAGE; /* a word of the command line that JSON cannot hold */
                return r;
        }
        str_putc(&text, '\n');
        /* O_EXCL: somebody's config is worth more than our default. That of a sandbox may hold secrets (--env-file). */
        fd = openat(bundle, o->file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, o->is_sandbox ? 0600 : 0644);
        if (fd < 0 && errno == EEXIST)
                return already_there(o->file, err);
        r = fd < 0 ? -errno : file_write_all(fd, text.text, text.size);
        return r < 0 ? fail_errno(err, CODE_INTERNAL, -r, o->file, "cannot write the file") : 0;
}

static int run(struct invocation *invocation, int argc, char **argv, int *ret_status, struct error *err) {
        struct spec_options *o = arena_new(invocation->arena, struct spec_options); /* all zeros, for refuse_options_of_a_sandbox() */
        _cleanup_close_ int bundle = -1;
        struct oci_config *config;
        char **command;
        int r;

        o->bundle = ".";
        o->file = "config.json";
        if ((r = command_parse(invocation, &command_spec, argc, argv, o, 0, -1, &command, NULL, err)) < 0)
                return r;
        bundle = open(o->bundle, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (bundle < 0)
                return fail_errno(err, CODE_USAGE, errno, o->bundle, "cannot open the directory for the file");
        if (faccessat(bundle, o->file, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
                return already_there(o->file, err);
        *ret_status = 0;
        r = make_config(invocation, o, bundle, command, &config, err);
        return r < 0 ? r : write_config(bundle, o, config, err);
}

const struct command command_spec = { "spec", "[COMMAND…]", "write a default config.json", run, options, ELEMENTSOF(options), 1,
        OPTIONS_BEFORE_OPERAND };
