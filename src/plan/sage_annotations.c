/* Both spellings: an object as JSON, and an annotation a member. */
#include "plan/sage_draft.h"

#include <stdio.h>

#include "libocispec/suggest.h"
#include "libocispec/validators.h"
#include "plan/annotations.h"

#define PREFIX "sage.sandbox."

/* What an annotation's name means. */
struct target {
        enum { OBJECT, MEMBER, PROFILE, POLICY } kind;
        enum sage_group group;
        unsigned member;
};

static int unknown(struct sage_draft *d, const char *key, const char *near, const char *prefix) {
        const char *where = sage_annotation_field(d->arena, key);

        if (near)
                return fail(d->err, CODE_CONFIG_INVALID, EINVAL, where, "there is no such annotation; did you mean %s%s?", prefix, near);
        return fail(d->err, CODE_CONFIG_INVALID, EINVAL, where, "there is no such annotation (docs/annotations.md lists them)");
}

static int find_target(struct sage_draft *d, const char *key, struct target *ret) {
        const char *word = str_after(key, PREFIX), *member;
        size_t n;

        if (!word)
                return unknown(d, key, NULL, NULL);
        if (streq(word, "profile") || streq(word, "policy")) {
                *ret = (struct target){ .kind = streq(word, "profile") ? PROFILE : POLICY };
                return 0;
        }
        n = strcspn(word, ".");
        member = word[n] ? word + n + 1 : NULL;
        for (unsigned g = 0; g < SAGE_GROUPS; g++) {
                const struct spec_type *type = sage_groups[g].type;
                int i;

                if (strlen(sage_groups[g].name) != n || memcmp(sage_groups[g].name, word, n) != 0)
                        continue;
                if (member && (i = spec_member_find(type, member, strlen(member))) < 0)
                        return unknown(d, key, spec_suggest_member(type, member, strlen(member)),
                                arena_printf(d->arena, PREFIX "%s.", sage_groups[g].name));
                *ret = member ? (struct target){ MEMBER, g, (unsigned)i } : (struct target){ OBJECT, g, 0 };
                return 0;
        }
        return unknown(d, key, spec_suggest_member(&sage_request_type, word, n), PREFIX);
}

/* The decoder's place, which is one within the text, behind that of the annotation. */
static int within(struct sage_draft *d, const struct string_pair *pair, enum sage_group group, bool member, int r) {
        const char *path = d->err->where, *inside = member ? path + strcspn(path, "[") : path;
        struct error said = *d->err;

        r = fail(d->err, sage_code(group, path), said.errnum,
                arena_printf(d->arena, "annotations[\"%s\"]%s%s", pair->key, *inside && !member ? "." : "", inside), "%s", said.text);
        return r;
}

/* Takes what GROUP's object FROM has into the layer. */
static int take(
        struct sage_draft *d, struct sage_layer *layer, enum sage_group group, const void *from, enum sage_origin origin, const char *key) {
        void *into = sage_group_make(d->arena, layer->request, group);
        const struct spec_type *type = sage_groups[group].type;

        for (unsigned i = 0; i < spec_members(type); i++) {
                if (!spec_member_given(type, i, from))
                        continue;
                if (layer->origin[group][i] != SAGE_NOBODY)
                        return fail(d->err, sage_code(group, spec_member_name(type, i)), EINVAL, sage_annotation_field(d->arena, key),
                                "%s is given twice: here and in annotations[\"" PREFIX "%s\"]", spec_member_name(type, i),
                                sage_groups[group].name);
                spec_member_take(type, i, into, from);
                layer->origin[group][i] = origin;
        }
        return 0;
}

static int read_value(struct sage_draft *d, struct sage_layer *layer, const struct string_pair *pair, const struct target *target) {
        const struct spec_type *type = sage_groups[target->group].type;
        bool member = target->kind == MEMBER;
        union sage_value value;
        int r = member ? spec_member_decode(d->arena, type, target->member, pair->value, &value, d->err)
                       : spec_decode_inside(d->arena, type, pair->key, pair->value, strlen(pair->value), &value, d->err);

        if (r < 0)
                return within(d, pair, target->group, member, r);
        return take(d, layer, target->group, &value, member ? SAGE_MEMBER : SAGE_OBJECT, pair->key);
}

static int read_profile(struct sage_draft *d, struct sage_layer *layer, const struct string_pair *pair) {
        int profile = spec_enum_find(&sage_profile_enum, pair->value, strlen(pair->value));

        if (!profile)
                return fail(d->err, CODE_CONFIG_INVALID, EINVAL, sage_annotation_field(d->arena, pair->key),
                        "expected strict, found \"%s\"", pair->value);
        layer->request->profile = (enum sage_profile)profile;
        layer->request->has |= SAGE_REQUEST_HAS_PROFILE;
        layer->profile_origin = SAGE_MEMBER;
        return 0;
}

int sage_annotations(struct sage_draft *d, struct sage_layer *ret) {
        struct sage_layer layer = { .request = arena_new(d->arena, struct sage_request) };

        for (size_t i = 0; i < d->config->n_annotations; i++) {
                const struct string_pair *pair = &d->config->annotations[i];
                struct target target = { .kind = POLICY };
                int r;

                if (!str_after(pair->key, "sage."))
                        continue;
                if ((r = find_target(d, pair->key, &target)) < 0 || (r = sage_trust_annotation(d, pair->key)) < 0)
                        return r;
                if (target.kind == OBJECT || target.kind == MEMBER)
                        r = read_value(d, &layer, pair, &target);
                else if (target.kind == PROFILE)
                        r = read_profile(d, &layer, pair);
                if (r < 0)
                        return r;
        }
        *ret = layer;
        return 0;
}

int sage_policy_name(struct arena *arena, const struct oci_config *config, const char **ret, struct error *err) {
        const char *name = sage_pause(config) ? NULL : annotation_find(config->annotations, config->n_annotations, PREFIX "policy");
        const char *expected = name ? spec_validate(SPEC_VALID_POLICY_NAME, name, strlen(name)) : NULL;

        if (expected)
                return fail(err, CODE_CONFIG_INVALID, EINVAL, sage_annotation_field(arena, PREFIX "policy"), "expected %s, found \"%s\"",
                        expected, name);
        *ret = name;
        return 0;
}
