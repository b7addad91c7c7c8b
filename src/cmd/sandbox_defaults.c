/* A sandbox's request as a whole: what was said, a policy under it, and what a sandbox is when neither says. */
#include "cmd/sandbox_request.h"

#include "base/str.h"
#include "plan/sage_draft.h"

static void lay(struct arena *arena, const struct sage_request *from, struct sage_request *into) {
        for (unsigned g = 0; from && g < SAGE_GROUPS; g++) {
                const struct spec_type *type = sage_groups[g].type;
                const void *value = sage_group(from, g);
                void *at = value ? sage_group_make(arena, into, g) : NULL;

                for (unsigned i = 0; value && i < spec_members(type); i++)
                        if (spec_member_given(type, i, value))
                                spec_member_take(type, i, at, value);
        }
}

static bool says(const struct sage_request *request, enum sage_group group, const char *member) {
        const void *value = request ? sage_group(request, group) : NULL;
        const struct spec_type *type = sage_groups[group].type;

        return value && spec_member_given(type, (unsigned)spec_member_find(type, member, strlen(member)), value);
}

/* Also by the policy that the administrator's command line lays over every bundle: what it says may not be widened by a default. */
static bool said(const struct sandbox_found *found, const struct sage_request *request, enum sage_group group, const char *member) {
        return says(request, group, member) || says(found->sources.command_line, group, member);
}

static bool host_has_limits(const struct sandbox_found *found, const struct sage_request *request) {
        const struct sage_host_policy *policy = found->sources.host;

        return (policy && policy->linux_cgroup_root && policy->linux_quota_mount) ||
                (said(found, request, SAGE_HOST, "linux_cgroup_root") && said(found, request, SAGE_HOST, "linux_quota_mount"));
}

static void fill_network(const struct sandbox_found *found, struct sage_request *request) {
        static const char *schemes[] = { "http", "https", NULL };
        struct sage_network *network = request->network;

        if (!network || !(network->has & SAGE_NETWORK_HAS_MODE))
                return;
        if (network->mode == SAGE_NETWORK_MODE_UNRESTRICTED && !said(found, request, SAGE_NETWORK, "deny_private_networks"))
                network->has |= SAGE_NETWORK_HAS_DENY_PRIVATE_NETWORKS; /* false: that is what the mode is */
        if ((network->mode == SAGE_NETWORK_MODE_ALLOWLIST || network->mode == SAGE_NETWORK_MODE_PROXY) &&
                !said(found, request, SAGE_NETWORK, "allowed_schemes")) {
                network->allowed_schemes = schemes;
                network->n_allowed_schemes = ELEMENTSOF(schemes) - 1;
        }
}

void sandbox_request_fill(
        struct arena *arena, const struct sandbox_found *found, const struct sage_request *asked, struct sage_request *ret) {
        struct sage_request request = { .has = SAGE_REQUEST_HAS_PROFILE, .profile = SAGE_PROFILE_STRICT };
        const struct sage_network *network = asked->network;
        struct sage_filesystem *f;
        struct sage_resources *resources;
        struct sage_process *process;

        lay(arena, found->policy, &request);
        if (network && network->has & SAGE_NETWORK_HAS_MODE && network->mode == SAGE_NETWORK_MODE_NONE)
                request.network = NULL; /* turned off, with all that the policy says of it */
        lay(arena, asked, &request);

        f = sage_group_make(arena, &request, SAGE_FILESYSTEM);
        if (!said(found, &request, SAGE_FILESYSTEM, "allow_symlinks")) {
                f->allow_symlinks = true;
                f->has |= SAGE_FILESYSTEM_HAS_ALLOW_SYMLINKS;
        }
        resources = sage_group_make(arena, &request, SAGE_RESOURCES);
        if (!said(found, &request, SAGE_RESOURCES, "require_hard_limits")) {
                resources->require_hard_limits = host_has_limits(found, &request);
                resources->has |= SAGE_RESOURCES_HAS_REQUIRE_HARD_LIMITS;
        }
        process = sage_group_make(arena, &request, SAGE_PROCESS);
        if (!said(found, &request, SAGE_PROCESS, "allow_shell")) {
                process->allow_shell = true;
                process->has |= SAGE_PROCESS_HAS_ALLOW_SHELL;
        }
        fill_network(found, &request);
        *ret = request;
}

static int annotate(
        struct arena *arena, const struct sage_request *request, enum sage_group group, struct oci_config *config, struct error *err) {
        _cleanup_str_ struct str text = { 0 };
        int r = spec_encode(sage_groups[group].type, sage_group(request, group), &text, 0, err);

        if (r < 0)
                return r;
        config->annotations[config->n_annotations++] = (struct string_pair){
                .key = arena_printf(arena, "sage.sandbox.%s", sage_groups[group].name),
                .value = arena_strndup(arena, text.text, text.size),
        };
        return 0;
}

int sandbox_request_annotate(struct arena *arena, const struct sage_request *request, struct oci_config *config, struct error *err) {
        /* in the order of their names, as maps are */
        static const uint8_t before[] = { SAGE_FILESYSTEM, SAGE_HOST, SAGE_NETWORK, SAGE_PROCESS };
        int r;

        config->annotations = arena_array(arena, struct string_pair, SAGE_GROUPS + 1);
        config->n_annotations = 0;
        for (size_t i = 0; i < ELEMENTSOF(before); i++)
                if (sage_group(request, before[i]) && (r = annotate(arena, request, before[i], config, err)) < 0)
                        return r;
        config->annotations[config->n_annotations++] = (struct string_pair){ "sage.sandbox.profile", "strict" };
        return request->resources ? annotate(arena, request, SAGE_RESOURCES, config, err) : 0;
}
