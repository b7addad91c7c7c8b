#define _GNU_SOURCE
#include "cmd/sandbox_policy.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/str.h"
#include "facts/facts.h"
#include "facts/trusted_file.h"
#include "libocispec/validators.h"

#define POLICY_MAX (1u << 20)

static int read_policy(struct arena *arena, const char *path, bool callers, const struct spec_type *type, void *ret, struct error *err) {
        _cleanup_str_ struct str text = { 0 };
        int r = trusted_file_read(path, callers, POLICY_MAX, &text, err);

        return r < 0 ? r : spec_decode(arena, type, path, text.text, text.size, ret, err);
}

static int read_host(const struct invocation *invocation, const char *path, struct sage_sources *sources, struct error *err) {
        struct sage_host_policy *policy = arena_new(invocation->arena, struct sage_host_policy);
        int r = read_policy(invocation->arena, path, false, &sage_host_policy_type, policy, err);

        if (r < 0)
                return r == -ENOENT && err->code == CODE_NOT_FOUND && !invocation->host_policy ? 0 : r;
        sources->host = policy;
        sources->host_path = path;
        return 0;
}

/* A relative path is one of the caller's directory. */
static const char *absolute(struct arena *arena, const char *path) {
        char *cwd = *path == '/' ? NULL : getcwd(NULL, 0);

        if (cwd)
                path = arena_printf(arena, "%s/%s", cwd, path);
        free(cwd);
        return path;
}

static const char *named_path(struct arena *arena, const char *host_path, const char *name) {
        const char *slash = strrchr(host_path, '/');

        return arena_printf(arena, "%.*s/policies/%s.json", (int)(slash - host_path), host_path, name);
}

static int read_command_line(const struct invocation *invocation, const char *host_path, struct sage_sources *sources, struct error *err) {
        struct sage_request *policy = arena_new(invocation->arena, struct sage_request);
        const char *name = invocation->sandbox_policy, *expected;
        bool path = strchr(name, '/');
        int r;

        if (!path && (expected = spec_validate(SPEC_VALID_POLICY_NAME, name, strlen(name))))
                return fail(err, CODE_USAGE, EINVAL, "--sandbox-policy", "expected a path with a slash in it, or %s, found `%s`", expected,
                        name);
        sources->command_line_path = path ? absolute(invocation->arena, name) : named_path(invocation->arena, host_path, name);
        r = read_policy(invocation->arena, sources->command_line_path, path, &sage_request_type, policy, err);
        sources->command_line = policy;
        return r;
}

static int read_named(
        const struct invocation *invocation, const char *host_path, const char *name, struct sage_sources *sources, struct error *err) {
        struct sage_request *policy = arena_new(invocation->arena, struct sage_request);

        sources->named = policy;
        sources->named_path = named_path(invocation->arena, host_path, name);
        return read_policy(invocation->arena, sources->named_path, false, &sage_request_type, policy, err);
}

int sandbox_policies(const struct invocation *invocation, const struct oci_config *config, struct sage_sources *ret, struct error *err) {
        const char *host_path = invocation->host_policy ? absolute(invocation->arena, invocation->host_policy) : facts_policy_path();
        struct sage_sources sources = { 0 };
        const char *name;
        int r;

        if ((r = read_host(invocation, host_path, &sources, err)) < 0 ||
                (invocation->sandbox_policy && (r = read_command_line(invocation, host_path, &sources, err)) < 0) ||
                (r = sage_policy_name(invocation->arena, config, &name, err)) < 0 ||
                (name && (r = read_named(invocation, host_path, name, &sources, err)) < 0))
                return r;
        *ret = sources;
        return 0;
}
