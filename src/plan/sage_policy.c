/* One layer over another: what is to be trusted less may only make the request tighter. */
#include "plan/sage_draft.h"

#include <stdio.h>

/* Sage's models write out lists that are empty by default, and mean by it the default, or what a policy says. */
static void drop_empty(struct sage_layer *layer) {
        struct sage_network *network = layer->request->network;

        if (network && network->n_allowed_hosts == 0)
                network->allowed_hosts = NULL;
        if (network && network->n_allowed_ports == 0)
                network->allowed_ports = NULL;
}

struct sage_layer sage_policy_layer(struct sage_draft *d, const struct sage_request *policy, enum sage_origin origin) {
        struct sage_layer layer = { .request = arena_new(d->arena, struct sage_request) };

        layer.request->profile = policy->profile;
        layer.request->has = policy->has;
        if (policy->has & SAGE_REQUEST_HAS_PROFILE)
                layer.profile_origin = origin;
        for (unsigned g = 0; g < SAGE_GROUPS; g++) {
                const struct spec_type *type = sage_groups[g].type;
                const void *from = sage_group(policy, g);
                void *into = from ? sage_group_make(d->arena, layer.request, g) : NULL;

                for (unsigned i = 0; from && i < spec_members(type); i++)
                        if (spec_member_given(type, i, from)) {
                                spec_member_take(type, i, into, from);
                                layer.origin[g][i] = origin;
                        }
        }
        return layer;
}

/* allowlist and proxy are two ways out; neither is the other's part. */
static unsigned width(enum sage_network_mode mode) {
        return mode == SAGE_NETWORK_MODE_NONE ? 0 : mode == SAGE_NETWORK_MODE_UNRESTRICTED ? 2 : 1;
}

/* PATTERN covers all that HOST does. */
static bool covers(const char *pattern, const char *host) {
        const char *suffix = str_after(pattern, "*."), *name = str_after(host, "*.") ?: host;
        size_t n = strlen(name), m = suffix ? strlen(suffix) : 0;

        if (strcasecmp(pattern, host) == 0)
                return true;
        return suffix && n > m && name[n - m - 1] == '.' && strcasecmp(name + n - m, suffix) == 0;
}

static bool covered(const struct spec_type *type, unsigned i, const void *above, const char *host) {
        for (size_t k = 0; k < spec_member_length(type, i, above); k++)
                if (covers(spec_member_string(type, i, above, k), host))
                        return true;
        return false;
}

/* The first element of A that is not among B's, or -1. */
static int stranger(const struct spec_type *type, unsigned i, const void *a, const void *b, bool hosts) {
        for (size_t k = 0; k < spec_member_length(type, i, a); k++)
                if (hosts ? !covered(type, i, b, spec_member_string(type, i, a, k)) : !spec_member_holds(type, i, b, a, k))
                        return (int)k;
        return -1;
}

struct verdict {
        bool tighter;
        int index;            /* of the element that is not, or -1 */
        const char *expected; /* else */
};

/* Is what BELOW says at most what ABOVE says? */
static struct verdict judge(const struct spec_type *type, unsigned i, enum spec_tighter how, const void *below, const void *above) {
        int index;

        switch (how) {
        case SPEC_TIGHTER_EQUAL:
                return (struct verdict){ false, -1, "the same" };
        case SPEC_TIGHTER_LESS:
                return (struct verdict){ spec_member_compare(type, i, below, type, i, above) <= 0, -1, "no more" };
        case SPEC_TIGHTER_TRUE:
                return (struct verdict){ spec_member_compare(type, i, below, type, i, above) >= 0, -1, "true" };
        case SPEC_TIGHTER_FALSE:
                return (struct verdict){ spec_member_compare(type, i, below, type, i, above) <= 0, -1, "false" };
        case SPEC_TIGHTER_SUBSET_OR_ANY:
                if (spec_member_length(type, i, above) == 0)
                        return (struct verdict){ true, -1, NULL };
                if (spec_member_length(type, i, below) == 0)
                        return (struct verdict){ false, -1, "some of the same" };
                break;
        case SPEC_TIGHTER_SUPERSET:
                index = stranger(type, i, above, below, false);
                return (struct verdict){ index < 0, -1, "at least the same" };
        case SPEC_TIGHTER_MODE:
                return (struct verdict){ width(((const struct sage_network *)below)->mode) <
                                width(((const struct sage_network *)above)->mode),
                        -1, "the same mode or a tighter one" };
        case SPEC_TIGHTER_SUBSET:
        case SPEC_TIGHTER_HOSTS:
                break;
        }
        index = stranger(type, i, below, above, how == SPEC_TIGHTER_HOSTS);
        return (struct verdict){ index < 0, index, "nothing but what is there" };
}

static int lay_member(
        struct sage_draft *d, const struct sage_layer *layer, enum sage_group group, unsigned i, const void *below, void *above) {
        const struct sage_group_row *row = &sage_groups[group];
        enum sage_origin was = d->layer->origin[group][i];
        struct verdict verdict;

        if (was != SAGE_NOBODY && row->rules[i].class == SPEC_CLASS_ENFORCED) {
                if (spec_member_equal(row->type, i, below, above))
                        return 0;
                verdict = judge(row->type, i, row->rules[i].tighter, below, above);
                if (!verdict.tighter)
                        return sage_refuse(d, layer, group, spec_member_name(row->type, i), verdict.index,
                                "expected %s as in %s, which can only be made tighter", verdict.expected, sage_who(d, was));
        }
        spec_member_take(row->type, i, above, below);
        d->layer->origin[group][i] = layer->origin[group][i];
        return 0;
}

/* Networking that is turned off takes along what the policy said of it. */
static void turn_off(struct sage_draft *d, const struct sage_layer *layer) {
        struct sage_network *below = layer->request->network, *above = d->layer->request->network;

        if (!below || !above || !(below->has & SAGE_NETWORK_HAS_MODE) || below->mode != SAGE_NETWORK_MODE_NONE)
                return;
        *above = (struct sage_network){ 0 };
        memset(d->layer->origin[SAGE_NETWORK], 0, sizeof d->layer->origin[SAGE_NETWORK]);
}

int sage_overlay(struct sage_draft *d, const struct sage_layer *given) {
        struct sage_layer layer = *given;

        drop_empty(&layer);
        turn_off(d, &layer);
        if (layer.request->has & SAGE_REQUEST_HAS_PROFILE && !(d->layer->request->has & SAGE_REQUEST_HAS_PROFILE)) {
                d->layer->request->profile = layer.request->profile;
                d->layer->request->has |= SAGE_REQUEST_HAS_PROFILE;
                d->layer->profile_origin = layer.profile_origin;
        }
        for (unsigned g = 0; g < SAGE_GROUPS; g++) {
                const void *below = sage_group(layer.request, g);
                void *above = below ? sage_group_make(d->arena, d->layer->request, g) : NULL;
                int r;

                for (unsigned i = 0; below && i < spec_members(sage_groups[g].type); i++)
                        if (spec_member_given(sage_groups[g].type, i, below) && (r = lay_member(d, &layer, g, i, below, above)) < 0)
                                return r;
        }
        return 0;
}
