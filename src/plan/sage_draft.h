/* A request in the making, shared by the files sage_*.c: what it holds so far, and who said each member of it. */
#pragma once

#include <errno.h>

#include "libocispec/member.h"
#include "plan/sage.h"

enum sage_group { SAGE_RESOURCES, SAGE_NETWORK, SAGE_PROCESS, SAGE_FILESYSTEM, SAGE_HOST, SAGE_GROUPS };

#define SAGE_MEMBERS_MAX 32

/* Later ones are less to be trusted. */
enum sage_origin {
        SAGE_NOBODY, /* absent, or the default */
        SAGE_HOST_POLICY,
        SAGE_COMMAND_LINE,
        SAGE_NAMED,
        SAGE_OBJECT, /* the object as JSON in one annotation */
        SAGE_MEMBER, /* an annotation of its own */
};

struct sage_group_row {
        const char *name; /* of the member of a request; sage.sandbox.NAME */
        const struct spec_type *type;
        size_t offset; /* of the pointer in struct sage_request */
        const struct spec_rule *rules;
        const char *defaults; /* as JSON */
};
extern const struct sage_group_row sage_groups[SAGE_GROUPS];

/* Room for the object of any group. */
union sage_value {
        struct sage_resources resources;
        struct sage_network network;
        struct sage_process process;
        struct sage_filesystem filesystem;
        struct sage_host host;
};

/* The object of GROUP in REQUEST; NULL: there is none. sage_group_make() makes an empty one. */
void *sage_group(const struct sage_request *request, enum sage_group group);
void *sage_group_make(struct arena *arena, struct sage_request *request, enum sage_group group);

struct sage_layer {
        struct sage_request *request;
        uint8_t origin[SAGE_GROUPS][SAGE_MEMBERS_MAX];
        uint8_t profile_origin;
};

struct sage_draft {
        struct arena *arena;
        struct error *err;
        const struct oci_config *config;
        const struct sage_sources *sources;
        bool untrusted;
        struct sage_layer *layer; /* the request, in the end */
};

/* "annotations["KEY"]", the place of an error. */
const char *sage_annotation_field(struct arena *arena, const char *key);

/* A member is wrong: fills d->err with its place in whatever said it, and the code of its part. index: of the element, or -1. Returns
 * -EINVAL. */
__attribute__((format(printf, 6, 7))) int sage_refuse(
        struct sage_draft *d, const struct sage_layer *layer, enum sage_group group, const char *member, int index, const char *text, ...);
#define SAGE_REFUSE(d, group, member, index, ...) sage_refuse((d), (d)->layer, (group), (member), (index), __VA_ARGS__)

/* Which code an error about MEMBER has. */
enum code sage_code(enum sage_group group, const char *member);
/* "annotations["sage.sandbox.resources"].memory_mb", "/etc/…/a.json: resources.memory_mb" */
const char *sage_field(const struct sage_draft *d, const struct sage_layer *layer, enum sage_group group, const char *member);
/* Who says MEMBER, in a sentence: "the policy /etc/…/a.json". */
const char *sage_who(const struct sage_draft *d, enum sage_origin origin);
enum sage_origin sage_origin(const struct sage_layer *layer, enum sage_group group, const char *member);

/* Each step, in the order in which sage_compile() takes them. */

/* sage_trust.c: whose annotations these are. */
bool sage_untrusted(const struct oci_config *config);
bool sage_pause(const struct oci_config *config);
/* The author of the bundle may set the annotation KEY. */
int sage_trust_annotation(struct sage_draft *d, const char *key);
/* What widens a sandbox is the default or a policy's. */
int sage_trust_request(struct sage_draft *d);

/* sage_annotations.c: what they say, as a layer. */
int sage_annotations(struct sage_draft *d, struct sage_layer *ret);

/* sage_policy.c: LAYER, which is to be trusted less, over what d->layer holds; it may only make that tighter. */
int sage_overlay(struct sage_draft *d, const struct sage_layer *layer);
struct sage_layer sage_policy_layer(struct sage_draft *d, const struct sage_request *policy, enum sage_origin origin);

/* sage_host.c: what the host policy gives, and what it allows. */
int sage_host_settings(struct sage_draft *d);
int sage_host_bounds(struct sage_draft *d);

/* sage_defaults.c */
int sage_defaults(struct sage_draft *d);

/* PATH, which is clean (validators.h), without the slashes that say nothing. */
const char *sage_shortest(struct arena *arena, const char *path);

/* sage_paths.c: paths in their shortest form, and which of them go together. */
int sage_paths(struct sage_draft *d);

/* sage_network.c */
int sage_network(struct sage_draft *d);

/* sage_limits.c: what config.json says of the same limits. */
int sage_limits(struct sage_draft *d);
