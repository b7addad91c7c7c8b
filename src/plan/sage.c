#include "plan/sage.h"

#include <sha2.h>

#include "plan/annotations.h"
#include "plan/sage_draft.h"

static int check_strict(struct sage_draft *d) {
        const struct sage_request *request = d->layer->request;

        if (request->has & SAGE_REQUEST_HAS_PROFILE && !request->filesystem->workspace)
                return SAGE_REFUSE(d, SAGE_FILESYSTEM, "workspace", -1, "a strict sandbox needs a workspace: a directory of the host");
        return 0;
}

static int lay_policies(struct sage_draft *d) {
        const struct sage_sources *sources = d->sources;
        struct sage_layer layer;
        int r = 0;

        if (sources->command_line) {
                layer = sage_policy_layer(d, sources->command_line, SAGE_COMMAND_LINE);
                r = sage_overlay(d, &layer);
        }
        if (r == 0 && sources->named) {
                layer = sage_policy_layer(d, sources->named, SAGE_NAMED);
                r = sage_overlay(d, &layer);
        }
        return r;
}

static int lay_annotations(struct sage_draft *d) {
        struct sage_layer layer;
        int r = sage_annotations(d, &layer);

        return r < 0 ? r : sage_overlay(d, &layer);
}

/* FIPS 180-4. */
static const char *fingerprint(struct arena *arena, const struct str *text) {
        char digest[SHA256_DIGEST_STRING_LENGTH];

        return arena_printf(arena, "sha256:%s", SHA256Data((const uint8_t *)text->text, text->size, digest));
}

static int finish(struct sage_draft *d, struct sage_asked *ret) {
        struct sage_asked asked = { .request = d->layer->request, .field = "--sandbox-policy" };
        _cleanup_str_ struct str text = { 0 };
        int r = spec_encode(&sage_request_type, asked.request, &text, 0, d->err);

        if (r < 0)
                return r;
        for (size_t i = d->config->n_annotations; i-- > 0;)
                if (str_after(d->config->annotations[i].key, "sage."))
                        asked.field = sage_annotation_field(d->arena, d->config->annotations[i].key);
        asked.canonical = arena_strndup(d->arena, text.text, text.size);
        asked.fingerprint = fingerprint(d->arena, &text);
        *ret = asked;
        return 0;
}

/* Policies first, then what must only make them tighter; what the author of a pod said is judged before defaults say anything; the host's
 * bounds also hold for defaults. Paths come before whatever compares them. */
static int (*const steps[])(struct sage_draft *) = {
        lay_policies,
        lay_annotations,
        sage_trust_request,
        sage_host_settings,
        sage_defaults,
        sage_paths,
        check_strict,
        sage_network,
        sage_host_bounds,
        sage_limits,
};

int sage_compile(struct arena *arena, const struct oci_config *config, const struct sage_sources *sources, struct sage_asked *ret,
        struct error *err) {
        struct sage_layer layer = { .request = arena_new(arena, struct sage_request) };
        struct sage_draft d = { .arena = arena, .err = err, .config = config, .sources = sources, .layer = &layer };

        if (sage_pause(config)) {
                *ret = (struct sage_asked){ 0 };
                return 0;
        }
        d.untrusted = sage_untrusted(config);
        for (size_t i = 0; i < ELEMENTSOF(steps); i++) {
                int r = steps[i](&d);

                if (r < 0)
                        return r;
        }
        return finish(&d, ret);
}
