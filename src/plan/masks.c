#include "plan/masks.h"

/* "/", "//", "/proc/..": what is mounted there is seen by nobody whose root lies below, so it would be left out silently. */
static bool is_root(const char *path) {
        size_t depth = 0, n;

        for (path += strspn(path, "/"); *path; path += n + strspn(path + n, "/")) {
                n = strcspn(path, "/");
                if (n == 2 && path[0] == '.' && path[1] == '.')
                        depth -= depth > 0;
                else if (n != 1 || path[0] != '.')
                        depth++;
        }
        return depth == 0;
}

static int check(struct compilation *c, const char *field, const char *const *paths, size_t n) {
        for (size_t i = 0; i < n; i++)
                if (paths[i][0] != '/' || is_root(paths[i]))
                        return INVALID(
                                c->err, FIELD(c->arena, "%s[%zu]", field, i), "expected an absolute path below /, found \"%s\"", paths[i]);
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
