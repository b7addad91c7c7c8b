#define _GNU_SOURCE
#include "cmd/bundle.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "libocispec/spec.h"

int bundle_decode(struct invocation *invocation, const char *path, const struct spec_type *type, void *ret, struct error *err) {
        _cleanup_str_ struct str text = { 0 };
        const char *slash = strrchr(path, '/');
        int r = streq(path, "-") ? file_read_fd(STDIN_FILENO, SPEC_SIZE_MAX, &text) : file_read(AT_FDCWD, path, SPEC_SIZE_MAX, &text);

        if (r < 0)
                return fail_errno(err, CODE_CONFIG_INVALID, -r, path, "cannot read this file");
        return spec_decode(invocation->arena, type, slash ? slash + 1 : path, text.text, text.size, ret, err);
}

int bundle_plan(struct invocation *invocation, const struct bundle_options *options, const char *id, struct host *host, struct plan_plan **ret,
                struct error *err) {
        struct oci_config *config = arena_new(invocation->arena, struct oci_config);
        const char *dir = options->bundle ? options->bundle : ".", *joined;
        char absolute[PATH_MAX];
        struct request request;
        int r;

        if (!realpath(dir, absolute))
                return fail_errno(err, CODE_CONFIG_INVALID, errno, dir, "cannot find the bundle");
        r = bundle_decode(invocation, options->config ? options->config : arena_printf(invocation->arena, "%s/config.json", absolute), &oci_config_type,
                          config, err);
        if (r < 0)
                return r;
        request = (struct request){
                .id = id,
                .bundle = arena_strdup(invocation->arena, absolute),
                .config = config,
                .manager = invocation->cgroup_manager,
                .no_pivot = options->no_pivot,
                .no_new_keyring = options->no_new_keyring,
        };
        joined = compile_joined_userns(config);
        if ((r = facts_need(host, compile_needs(&request), err)) < 0 || (joined && (r = facts_join(host, joined, err)) < 0))
                return r;
        return compile(invocation->arena, &request, &host->facts, ret, err);
}
