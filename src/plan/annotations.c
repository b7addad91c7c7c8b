#include "plan/annotations.h"

#include <stdlib.h>

static int compare(const void *key, const void *pair) {
        return strcmp(key, ((const struct string_pair *)pair)->key);
}

const char *annotation_find(const struct string_pair *pairs, size_t n, const char *key) {
        const struct string_pair *pair = n ? bsearch(key, pairs, n, sizeof *pairs, compare) : NULL;

        return pair ? pair->value : NULL;
}

bool annotation_true(const struct string_pair *pairs, size_t n, const char *key) {
        const char *value = annotation_find(pairs, n, key);

        return value && (streq(value, "1") || streq(value, "true"));
}

int annotations_compile(struct compilation *c) {
        const struct oci_config *config = c->request->config;

        for (size_t i = 0; i < config->n_annotations; i++) {
                const struct string_pair *pair = &config->annotations[i];

                if (!*pair->key)
                        return INVALID(c->err, "annotations", "an annotation's key must not be empty");
                /* A rule that is read and not enforced would be worse than none. */
                if (str_after(pair->key, "sage."))
                        return UNSUPPORTED(c->err, FIELD(c->arena, "annotations[\"%s\"]", pair->key),
                                           "the rules of sage.* annotations are not supported yet");
                /* The handler runs the payload in something that is no ordinary process (krun: a virtual machine). */
                if (streq(pair->key, "run.oci.handler") && *pair->value)
                        return UNSUPPORTED(c->err, "annotations[\"run.oci.handler\"]", "there is no handler \"%s\"", pair->value);
        }
        c->plan->annotations = config->annotations;
        c->plan->n_annotations = config->n_annotations;
        return 0;
}
