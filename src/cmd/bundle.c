#define _GNU_SOURCE
#include "cmd/bundle.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "cmd/sandbox_policy.h"
#include "libocispec/spec.h"
#include "plan/sandbox.h"

int bundle_decode(struct invocation *invocation, const char *path, const struct spec_type *type, void *ret, struct error *err) {
        _cleanup_str_ struct str text = { 0 };
        const char *slash = strrchr(path, '/');
        int r = streq(path, "-") ? file_read_fd(STDIN_FILENO, SPEC_SIZE_MAX, &text) : file_read(AT_FDCWD, path, SPEC_SIZE_MAX, &text);

        if (r < 0)
                return fail_errno(err, CODE_CONFIG_INVALID, -r, path, "cannot read this file");
        return spec_decode(invocation->arena, type, slash ? slash + 1 : path, text.text, text.size, ret, err);
}

/* Reads config.json. *ret_dir is the bundle's absolute path. */
static int read_config(struct invocation *invocation, const struct bundle_options *options, struct oci_config *ret, const char **ret_dir,
        struct error *err) {
        const char *dir = options->bundle ? options->bundle : ".";
        char absolute[PATH_MAX];

        if (!realpath(dir, absolute))
                return fail_errno(err, CODE_CONFIG_INVALID, errno, dir, "cannot find the bundle");
        *ret_dir = arena_strdup(invocation->arena, absolute);
        return bundle_decode(invocation, options->config ? options->config : arena_printf(invocation->arena, "%s/config.json", absolute),
                &oci_config_type, ret, err);
}

/* Few bundles have any rules of Sage's; the others touch no file for it. */
static int policies_if_any(
        struct invocation *invocation, const struct oci_config *config, const struct sage_sources **ret, struct error *err) {
        struct sage_sources *sources;
        int r;

        if (!sandbox_asked(invocation, config))
                return 0;
        sources = arena_new(invocation->arena, struct sage_sources);
        r = sandbox_policies(invocation, config, sources, err);
        if (r == 0)
                *ret = sources;
        return r;
}

/* Facts about cgroups and disks are about these from now on. */
static void look_at_host(struct host *host, const struct plan_plan *plan) {
        const struct sage_request *sage = plan->sage;

        if (sage && sage->host)
                host->cgroup_root = sage->host->linux_cgroup_root;
        if (sage && sage->host && sage->host->linux_quota_mount) {
                host->quota_mount = sage->host->linux_quota_mount;
                host->workspace = sage->filesystem ? sage->filesystem->workspace : NULL;
        }
}

/* What a strict sandbox is asked for says what of the host has to be looked at. */
static int look_if_any(struct invocation *invocation, struct host *host, struct request *request, struct error *err) {
        struct sage_asked *asked;
        struct facts_look *looks;
        uint32_t uid = 0, gid = 0;
        size_t n;
        int r;

        if (!request->sage)
                return 0;
        asked = arena_new(invocation->arena, struct sage_asked);
        if ((r = sage_compile(invocation->arena, request->config, request->sage, asked, err)) < 0)
                return r;
        request->asked = asked;
        sandbox_looks(invocation->arena, request->config, asked, host->facts.identity, &looks, &n, &uid, &gid);
        return n ? facts_look(host, looks, n, uid, gid, err) : 0;
}

int bundle_plan(struct invocation *invocation, const struct bundle_options *options, const char *id, struct host *host,
        struct plan_plan **ret, struct error *err) {
        struct oci_config *config = arena_new(invocation->arena, struct oci_config);
        const char *dir, *joined;
        struct request request;
        int r = read_config(invocation, options, config, &dir, err);

        if (r < 0)
                return r;
        request = (struct request){
                .id = id,
                .bundle = dir,
                .config = config,
                .manager = invocation->cgroup_manager,
                .no_pivot = options->no_pivot,
                .no_new_keyring = options->no_new_keyring,
        };
        joined = compile_joined_userns(config);
        if ((r = policies_if_any(invocation, config, &request.sage, err)) < 0 || (r = facts_need(host, compile_needs(&request), err)) < 0 ||
                (joined && (r = facts_join(host, joined, err)) < 0) || (r = look_if_any(invocation, host, &request, err)) < 0)
                return r;
        if ((r = compile(invocation->arena, &request, &host->facts, ret, err)) < 0)
                return r;
        look_at_host(host, *ret);
        return 0;
}

int bundle_request(struct invocation *invocation, const struct bundle_options *options, struct sage_asked *ret, struct error *err) {
        struct oci_config *config = arena_new(invocation->arena, struct oci_config);
        const struct sage_sources *sources = NULL;
        const char *dir;
        int r;

        if ((r = read_config(invocation, options, config, &dir, err)) < 0 || (r = policies_if_any(invocation, config, &sources, err)) < 0)
                return r;
        if (sources)
                return sage_compile(invocation->arena, config, sources, ret, err);
        *ret = (struct sage_asked){ 0 };
        return 0;
}
