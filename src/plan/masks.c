#include "plan/masks.h"

static int check(struct compilation *c, const char *field, const char *const *paths, size_t n) {
        for (size_t i = 0; i < n; i++)
                if (paths[i][0] != '/')
                        return INVALID(c->err, FIELD(c->arena, "%s[%zu]", field, i), "expected an absolute path, found \"%s\"", paths[i]);
        return 0;
}

int masks_compile(struct compilation *c) {
        const struct oci_linux *linux = c->request->config->linux;
        int r;

        if ((r = check(c, "linux.maskedPaths", linux->masked_paths, linux->n_masked_paths)) < 0 ||
            (r = check(c, "linux.readonlyPaths", linux->readonly_paths, linux->n_readonly_paths)) < 0)
                return r;
        c->plan->masked_paths = linux->masked_paths;
        c->plan->n_masked_paths = linux->n_masked_paths;
        c->plan->readonly_paths = linux->readonly_paths;
        c->plan->n_readonly_paths = linux->n_readonly_paths;
        return 0;
}
