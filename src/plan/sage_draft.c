#include "plan/sage_draft.h"

#include <stdarg.h>
#include <stdio.h>

const struct sage_group_row sage_groups[SAGE_GROUPS] = {
        [SAGE_RESOURCES] = { "resources", &sage_resources_type, offsetof(struct sage_request, resources), sage_resources_rules,
                sage_resources_defaults },
        [SAGE_NETWORK] = { "network", &sage_network_type, offsetof(struct sage_request, network), sage_network_rules,
                sage_network_defaults },
        [SAGE_PROCESS] = { "process", &sage_process_type, offsetof(struct sage_request, process), sage_process_rules,
                sage_process_defaults },
        [SAGE_FILESYSTEM] = { "filesystem", &sage_filesystem_type, offsetof(struct sage_request, filesystem), sage_filesystem_rules,
                sage_filesystem_defaults },
        [SAGE_HOST] = { "host", &sage_host_type, offsetof(struct sage_request, host), sage_host_rules, sage_host_defaults },
};

#define FITS(rules) _Static_assert(ELEMENTSOF(rules) <= SAGE_MEMBERS_MAX, #rules)
FITS(sage_resources_rules);
FITS(sage_network_rules);
FITS(sage_process_rules);
FITS(sage_filesystem_rules);
FITS(sage_host_rules);

static const size_t sizes[SAGE_GROUPS] = {
        sizeof(struct sage_resources),
        sizeof(struct sage_network),
        sizeof(struct sage_process),
        sizeof(struct sage_filesystem),
        sizeof(struct sage_host),
};

static void **place(const struct sage_request *request, enum sage_group group) {
        return (void **)((char *)request + sage_groups[group].offset);
}

void *sage_group(const struct sage_request *request, enum sage_group group) {
        return *place(request, group);
}

void *sage_group_make(struct arena *arena, struct sage_request *request, enum sage_group group) {
        if (!*place(request, group))
                *place(request, group) = arena_alloc(arena, sizes[group]);
        return *place(request, group);
}

const char *sage_annotation_field(struct arena *arena, const char *key) {
        return arena_printf(arena, "annotations[\"%s\"]", key);
}

enum sage_origin sage_origin(const struct sage_layer *layer, enum sage_group group, const char *member) {
        int i = spec_member_find(sage_groups[group].type, member, strcspn(member, "[."));

        return i < 0 ? SAGE_NOBODY : layer->origin[group][i];
}

const char *sage_who(const struct sage_draft *d, enum sage_origin origin) {
        switch (origin) {
        case SAGE_HOST_POLICY:
                return arena_printf(d->arena, "the host policy %s", d->sources->host_path);
        case SAGE_COMMAND_LINE:
                return arena_printf(d->arena, "the policy %s", d->sources->command_line_path);
        case SAGE_NAMED:
                return arena_printf(d->arena, "the policy %s", d->sources->named_path);
        case SAGE_NOBODY:
                return "the default";
        case SAGE_OBJECT:
        case SAGE_MEMBER:
                break;
        }
        return "the annotation";
}

const char *sage_field(const struct sage_draft *d, const struct sage_layer *layer, enum sage_group group, const char *member) {
        const char *name = sage_groups[group].name, *element = member + strcspn(member, "[.");

        switch (sage_origin(layer, group, member)) {
        case SAGE_HOST_POLICY:
                return arena_printf(d->arena, "%s: %s", d->sources->host_path, member);
        case SAGE_COMMAND_LINE:
                return arena_printf(d->arena, "%s: %s.%s", d->sources->command_line_path, name, member);
        case SAGE_NAMED:
                return arena_printf(d->arena, "%s: %s.%s", d->sources->named_path, name, member);
        case SAGE_OBJECT:
                return arena_printf(d->arena, "annotations[\"sage.sandbox.%s\"].%s", name, member);
        case SAGE_MEMBER:
                return arena_printf(d->arena, "annotations[\"sage.sandbox.%s.%.*s\"]%s", name, (int)(element - member), member, element);
        case SAGE_NOBODY:
                break;
        }
        return arena_printf(d->arena, "sage.sandbox.%s.%s", name, member);
}

enum code sage_code(enum sage_group group, const char *member) {
        if (group == SAGE_NETWORK)
                return CODE_NETWORK_POLICY_INVALID;
        if (group == SAGE_HOST && str_after(member, "linux_execution_"))
                return CODE_IDENTITY_INVALID;
        return group == SAGE_FILESYSTEM && str_after(member, "workspace") ? CODE_WORKSPACE_INVALID : CODE_CONFIG_INVALID;
}

int sage_refuse(
        struct sage_draft *d, const struct sage_layer *layer, enum sage_group group, const char *member, int index, const char *text, ...) {
        char said[sizeof d->err->text];
        const char *where = sage_field(d, layer, group, member);
        va_list ap;

        va_start(ap, text);
        vsnprintf(said, sizeof said, text, ap);
        va_end(ap);
        if (index >= 0)
                where = arena_printf(d->arena, "%s[%d]", where, index);
        return fail(d->err, sage_code(group, member), EINVAL, where, "%s", said);
}
