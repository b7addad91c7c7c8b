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

bool annotation_begins(const struct string_pair *pairs, size_t n, const char *prefix) {
        for (size_t i = 0; i < n; i++)
                if (str_after(pairs[i].key, prefix))
                        return true;
        return false;
}

static int check_none(struct compilation *c, const char *field, const char *value) {
        return *value && !streq(value, "none") ? UNSUPPORTED(c->err, field, "there is no handler \"%s\"", value) : 0;
}

static int check_cannot(struct compilation *c, const char *field, const char *value) {
        return *value ? UNSUPPORTED(c->err, field, "this is not supported") : 0;
}

/* They are opened or connected to by commands that run in other directories than this one. */
static int check_absolute(struct compilation *c, const char *field, const char *value) {
        return *value != '/' ? INVALID(c->err, field, "expected an absolute path, found \"%s\"", value) : 0;
}

/* mount(8), "selinux": which context the label of linux.mountLabel is. */
static int check_context(struct compilation *c, const char *field, const char *value) {
        static const char *const types[] = { "context", "fscontext", "defcontext", "rootcontext" };

        for (size_t i = 0; i < ELEMENTSOF(types); i++)
                if (streq(value, types[i]))
                        return 0;
        return INVALID(c->err, field, "expected context, fscontext, defcontext or rootcontext, found \"%s\"", value);
}

/* A cgroup below the container's own. */
static int check_below(struct compilation *c, const char *field, const char *value) {
        for (const char *at = value; *(at += strspn(at, "/")); at += strcspn(at, "/"))
                if (strcspn(at, "/") == 2 && at[0] == '.' && at[1] == '.')
                        return INVALID(c->err, field, "expected a path below the container's cgroup, found \"%s\"", value);
        if (*value && c->request->manager == PLAN_CGROUP_MANAGER_DISABLED)
                return INVALID(c->err, field, "the container has no cgroup");
        return 0;
}

/* Those of crun(1) that ask for something; others that begin with run.oci. are for engines. What would change how the program is run or
 * confined, and cannot, is refused: krun is a virtual machine, and the two for seccomp stand in for linux.seccomp. */
static const struct {
        const char *key;
        int (*check)(struct compilation *c, const char *field, const char *value);
} known[] = {
        { "run.oci.handler", check_none },
        { "run.oci.seccomp.plugins", check_cannot },
        { "run.oci.seccomp_bpf_data", check_cannot },
        { "run.oci.systemd.force_cgroup_v1", check_cannot },
        { "run.oci.seccomp.receiver", check_absolute },
        { "run.oci.pidfd_receiver", check_absolute },
        { "run.oci.hooks.stdout", check_absolute },
        { "run.oci.hooks.stderr", check_absolute },
        { "run.oci.mount_context_type", check_context },
        { "run.oci.delegate-cgroup", check_below },
};

static int check(struct compilation *c, const struct string_pair *pair) {
        for (size_t i = 0; i < ELEMENTSOF(known); i++)
                if (streq(pair->key, known[i].key))
                        return known[i].check(c, FIELD(c->arena, "annotations[\"%s\"]", pair->key), pair->value);
        return 0;
}

int annotations_compile(struct compilation *c) {
        const struct oci_config *config = c->request->config;
        int r;

        for (size_t i = 0; i < config->n_annotations; i++) {
                const struct string_pair *pair = &config->annotations[i];

                if (!*pair->key)
                        return INVALID(c->err, "annotations", "an annotation's key must not be empty");
                if (str_after(pair->key, "run.oci.") && (r = check(c, pair)) < 0)
                        return r;
        }
        c->plan->annotations = config->annotations;
        c->plan->n_annotations = config->n_annotations;
        return 0;
}
