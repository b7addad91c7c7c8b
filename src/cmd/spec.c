#define _GNU_SOURCE
#include "cmd/command.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/file.h"
#include "base/str.h"
#include "cmd/spec_default.h"
#include "libocispec/spec.h"

struct spec_options {
        const char *bundle, *file;
        bool rootless;
};

static const struct option_row options[] = {
        { "bundle", 'b', OPTION_TEXT, offsetof(struct spec_options, bundle),
                "directory to write config.json into (default: the current one)" },
        { "file", 'f', OPTION_TEXT, offsetof(struct spec_options, file), "another file, relative to the bundle" },
        { "rootless", 0, OPTION_FLAG, offsetof(struct spec_options, rootless), "a config that an ordinary user can run" },
};
extern const struct command command_spec;

static int run(struct invocation *invocation, int argc, char **argv, int *ret_status, struct error *err) {
        struct spec_options o = { .bundle = ".", .file = "config.json" };
        _cleanup_close_ int dir = -1, fd = -1;
        _cleanup_str_ struct str text = { 0 };
        struct oci_config *config;
        char **operands;
        int r;

        if ((r = command_parse(invocation, &command_spec, argc, argv, &o, 0, 0, &operands, NULL, err)) < 0 ||
                (r = spec_default(invocation->arena, o.rootless, &config, err)) < 0 ||
                (r = spec_encode(&oci_config_type, config, &text, SPEC_PRETTY, err)) < 0)
                return r;
        str_putc(&text, '\n');

        /* O_EXCL: somebody's config is worth more than our default. */
        dir = open(o.bundle, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (dir < 0)
                return fail_errno(err, CODE_USAGE, errno, o.bundle, "cannot open the directory for the file");
        fd = openat(dir, o.file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
        if (fd < 0 && errno == EEXIST)
                return fail(err, CODE_EXISTS, EEXIST, o.file, "there is one already; remove it first");
        r = fd < 0 ? -errno : file_write_all(fd, text.text, text.size);
        *ret_status = 0;
        return r < 0 ? fail_errno(err, CODE_INTERNAL, -r, o.file, "cannot write the file") : 0;
}

const struct command command_spec = { "spec", "", "write a default config.json", run, options, ELEMENTSOF(options), 1, OPTIONS_ANYWHERE };
