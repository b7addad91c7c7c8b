#define _GNU_SOURCE
#include "broker/vet.h"

static bool is_among(const struct address *a, const struct addresses *list) {
        for (size_t i = 0; list && i < list->n; i++)
                if (address_equal(a, &list->list[i]))
                        return true;
        return false;
}

struct vetting vet(const struct policy *policy, enum host_kind kind, const struct addresses *addresses, uint32_t own,
        const struct addresses *upstream) {
        for (size_t i = 0; i < addresses->n; i++) {
                const struct address *a = &addresses->list[i];
                const struct address_host host = {
                        .own = a,
                        .n_own = own >> i & 1,
                        .nat64 = policy->nat64,
                        .n_nat64 = policy->n_nat64,
                };
                struct address_class class = address_classify(a, &host);
                enum refusal refusal = policy_decide_address(policy, kind, &class);

                if (!refusal && (is_among(a, upstream) || (class.has_embedded && is_among(&class.embedded, upstream))))
                        return (struct vetting){ REFUSAL_POLICY_UPSTREAM, *a, { .name = "the upstream proxy" } };
                if (refusal)
                        return (struct vetting){ refusal, *a, class };
        }
        return (struct vetting){ .refusal = addresses->n ? REFUSAL_NONE : REFUSAL_DNS_NO_ADDRESS };
}
