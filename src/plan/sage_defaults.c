/* Defaults, and the members that must be theirs. */
#include "plan/sage_draft.h"

/* As generate.py wrote them; a schema whose defaults it would refuse itself does not get past the tests. */
static int decode_defaults(struct sage_draft *d, enum sage_group group, void *ret) {
        return spec_decode(d->arena, sage_groups[group].type, "defaults", sage_groups[group].defaults, strlen(sage_groups[group].defaults),
                ret, d->err);
}

static int check_fixed(struct sage_draft *d, enum sage_group group, const void *value, const void *defaults) {
        const struct spec_type *type = sage_groups[group].type;

        for (unsigned i = 0; i < spec_members(type); i++)
                if (sage_groups[group].rules[i].class == SPEC_CLASS_DEFAULT && spec_member_given(type, i, value) &&
                        !spec_member_equal(type, i, value, defaults))
                        return SAGE_REFUSE(d, group, spec_member_name(type, i), -1,
                                "expected the default: nothing else can be enforced (docs/annotations.md)");
        return 0;
}

/* The broker takes no ports as 80 and 443, but a mode without a broker has none. */
static void fill_ports(struct sage_network *network) {
        static uint16_t ports[] = { 80, 443 };

        if (network->n_allowed_ports == 0 && (network->mode == SAGE_NETWORK_MODE_ALLOWLIST || network->mode == SAGE_NETWORK_MODE_PROXY)) {
                network->allowed_ports = ports;
                network->n_allowed_ports = ELEMENTSOF(ports);
        }
}

/* All defaults where ALL; of resources at least the one that says how the others are meant. */
static void fill(enum sage_group group, void *value, const void *defaults, bool all) {
        const struct spec_type *type = sage_groups[group].type;

        for (unsigned i = 0; i < spec_members(type); i++) {
                bool wanted = all || (group == SAGE_RESOURCES && streq(spec_member_name(type, i), "require_hard_limits"));

                if (wanted && spec_member_given(type, i, defaults) && !spec_member_given(type, i, value))
                        spec_member_take(type, i, value, defaults);
        }
        if (group == SAGE_NETWORK)
                fill_ports(value);
}

int sage_defaults(struct sage_draft *d) {
        bool strict = d->layer->request->has & SAGE_REQUEST_HAS_PROFILE;
        int r;

        for (unsigned g = 0; g < SAGE_GROUPS; g++) {
                union sage_value defaults;
                void *value = strict ? sage_group_make(d->arena, d->layer->request, g) : sage_group(d->layer->request, g);

                if (!value)
                        continue;
                if ((r = decode_defaults(d, g, &defaults)) < 0 || (r = check_fixed(d, g, value, &defaults)) < 0)
                        return r;
                fill(g, value, &defaults, strict || g == SAGE_NETWORK);
        }
        return 0;
}
