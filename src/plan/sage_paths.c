/* Paths of a request: each in its shortest form, and those refused that do not go together. Names only; whether they lead where they seem
 * to is looked at by descriptors, when they are opened. */
#include "plan/sage_draft.h"

#include <stdio.h>
#include <stdlib.h>
#include <uninorm.h>

/* Where the sandbox has its own: the specification names those down to /tmp, and the others are mounted as well. */
static const char *const own[] = { "/usr", "/bin", "/sbin", "/lib", "/lib64", "/dev", "/proc", "/sys", "/tmp", "/run", "/etc" };
/* What no path of the host may bring in, whole or in part. */
static const char *const kernel[] = { "/proc", "/sys", "/dev", "/run/sage" };
/* And what nobody inside may write. */
static const char *const system_[] = { "/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc", "/boot" };

const char *sage_shortest(struct arena *arena, const char *path) {
        char *copy = arena_strdup(arena, path), *to = copy;

        for (const char *from = path; *from; from++)
                if (*from != '/' || (from[1] && from[1] != '/'))
                        *to++ = *from;
        if (to == copy)
                *to++ = '/';
        *to = '\0';
        return copy;
}

static const char *meets(const char *path, const char *const *list, size_t n, bool contains) {
        for (size_t i = 0; i < n; i++)
                if (path_is_below(path, list[i]) || (contains && path_is_below(list[i], path)))
                        return list[i];
        return NULL;
}

static int check_root(struct sage_draft *d, const struct sage_filesystem *f) {
        const char *hit = meets(f->workspace_root, own, ELEMENTSOF(own), false);
        const struct oci_config *config = d->config;

        if (streq(f->workspace_root, "/"))
                return SAGE_REFUSE(d, SAGE_FILESYSTEM, "workspace_root", -1, "expected a directory below /, found /");
        if (hit)
                return SAGE_REFUSE(d, SAGE_FILESYSTEM, "workspace_root", -1, "%s is or lies below %s, which the sandbox has for itself",
                        f->workspace_root, hit);
        for (size_t i = 0; i < config->n_mounts; i++)
                if (config->mounts[i].destination && path_is_below(f->workspace_root, config->mounts[i].destination) &&
                        !streq(config->mounts[i].destination, "/"))
                        return SAGE_REFUSE(d, SAGE_FILESYSTEM, "workspace_root", -1, "%s lies on mounts[%zu], %s", f->workspace_root, i,
                                config->mounts[i].destination);
        return 0;
}

/* ---- read_paths and write_paths ---------------------------------------------------------------------------------------- */

/* In place: the shortest form of each, the first of those that are the same. */
static void shorten_list(struct arena *arena, const char ***list, size_t *n) {
        const char **kept = arena_array(arena, const char *, *n + 1);
        size_t k = 0;

        for (size_t i = 0; i < *n; i++) {
                const char *path = sage_shortest(arena, (*list)[i]);
                size_t j = 0;

                while (j < k && !streq(kept[j], path))
                        j++;
                if (j == k)
                        kept[k++] = path;
        }
        *list = kept;
        *n = k;
}

static int check_path(struct sage_draft *d, const struct sage_filesystem *f, const char *member, const char *path) {
        const char *hit = meets(path, kernel, ELEMENTSOF(kernel), true);

        if (hit)
                return SAGE_REFUSE(d, SAGE_FILESYSTEM, member, -1, "%s would bring in what is in %s", path, hit);
        if (f->workspace_root && (path_is_below(path, f->workspace_root) || path_is_below(f->workspace_root, path)) &&
                !(f->workspace && path_is_below(path, f->workspace)))
                return SAGE_REFUSE(
                        d, SAGE_FILESYSTEM, member, -1, "%s and workspace_root, %s, would lie on each other", path, f->workspace_root);
        return 0;
}

static int check_write_path(struct sage_draft *d, const struct sage_filesystem *f, const char *path) {
        const char *hit = meets(path, system_, ELEMENTSOF(system_), true);

        if (hit)
                return SAGE_REFUSE(d, SAGE_FILESYSTEM, "write_paths", -1, "%s would make the system's files in %s writable", path, hit);
        if (f->workspace && path_is_below(f->workspace, path))
                return SAGE_REFUSE(d, SAGE_FILESYSTEM, "write_paths", -1, "%s holds the workspace %s, which could be moved away under it",
                        path, f->workspace);
        for (size_t i = 0; i < f->n_read_paths; i++)
                if (streq(path, f->read_paths[i]))
                        return SAGE_REFUSE(d, SAGE_FILESYSTEM, "write_paths", -1, "%s is one of read_paths as well", path);
        return 0;
}

static int check_lists(struct sage_draft *d, struct sage_filesystem *f) {
        size_t kept = 0;
        int r;

        if (f->read_paths)
                shorten_list(d->arena, &f->read_paths, &f->n_read_paths);
        if (f->write_paths)
                shorten_list(d->arena, &f->write_paths, &f->n_write_paths);
        for (size_t i = 0; i < f->n_read_paths; i++) {
                if ((r = check_path(d, f, "read_paths", f->read_paths[i])) < 0)
                        return r;
                if (!f->workspace || !path_is_below(f->read_paths[i], f->workspace)) /* what is in the workspace is there already */
                        f->read_paths[kept++] = f->read_paths[i];
        }
        if (f->read_paths)
                f->read_paths[kept] = NULL;
        f->n_read_paths = kept;
        for (size_t i = 0; i < f->n_write_paths; i++)
                if ((r = check_path(d, f, "write_paths", f->write_paths[i])) < 0 || (r = check_write_path(d, f, f->write_paths[i])) < 0)
                        return r;
        return 0;
}

/* ---- protected_paths ------------------------------------------------------------------------------------------------- */

/* Unicode Standard Annex 15. ASCII, as nearly all paths are, is in every normal form. A name in another one would be another file on Linux,
 * and to rewrite it would leave the file that was named without protection. */
static bool is_nfc(const char *text) {
        size_t n = strlen(text), size = 0;
        uint8_t *normal;
        bool same = true;

        for (const char *p = text; same && *p; p++)
                same = !(*p & 0x80);
        if (same)
                return true;
        normal = u8_normalize(UNINORM_NFC, (const uint8_t *)text, n, NULL, &size);
        same = normal && size == n && memcmp(normal, text, n) == 0;
        free(normal);
        return same;
}

/* posixpath.normpath() of a relative path, after its backslashes became slashes. NULL: it leads out, or nowhere. */
static const char *normal(struct arena *arena, const char *path) {
        char *copy = arena_strdup(arena, path), *to = copy;

        for (char *p = copy; *p; p++)
                if (*p == '\\')
                        *p = '/';
        if (*copy == '/')
                return NULL;
        for (const char *from = copy; *from;) {
                size_t n = strcspn(from, "/");

                if (n == 2 && from[0] == '.' && from[1] == '.') {
                        if (to == copy)
                                return NULL;
                        while (to > copy && *--to != '/')
                                ;
                } else if (n && !(n == 1 && *from == '.')) {
                        if (to > copy)
                                *to++ = '/';
                        memmove(to, from, n);
                        to += n;
                }
                from += n + (from[n] == '/');
        }
        *to = '\0';
        return *copy ? copy : NULL;
}

static int by_text(const void *a, const void *b) {
        return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int normalise_protected(struct sage_draft *d, struct sage_filesystem *f) {
        const char **paths = arena_array(d->arena, const char *, f->n_protected_paths + 1);
        size_t n = 0;

        for (size_t i = 0; i < f->n_protected_paths; i++) {
                const char *said = f->protected_paths[i];

                if (!is_nfc(said))
                        return SAGE_REFUSE(
                                d, SAGE_FILESYSTEM, "protected_paths", (int)i, "expected Unicode's normal form C, found \"%s\"", said);
                paths[i] = normal(d->arena, said);
                if (!paths[i])
                        return SAGE_REFUSE(
                                d, SAGE_FILESYSTEM, "protected_paths", (int)i, "expected a path below the workspace, found \"%s\"", said);
        }
        if (f->n_protected_paths)
                qsort(paths, f->n_protected_paths, sizeof *paths, by_text);
        for (size_t i = 0; i < f->n_protected_paths; i++)
                if (i == 0 || !streq(paths[i], paths[n - 1]))
                        paths[n++] = paths[i];
        paths[n] = NULL;
        f->protected_paths = paths;
        f->n_protected_paths = n;
        return 0;
}

int sage_paths(struct sage_draft *d) {
        struct sage_filesystem *f = d->layer->request->filesystem;
        int r;

        if (!f)
                return 0;
        if (f->workspace)
                f->workspace = sage_shortest(d->arena, f->workspace);
        if (f->workspace && streq(f->workspace, "/"))
                return SAGE_REFUSE(d, SAGE_FILESYSTEM, "workspace", -1, "expected a directory below /, found /");
        if (f->has & SAGE_FILESYSTEM_HAS_WORKSPACE_ST_INO && !f->workspace)
                return SAGE_REFUSE(d, SAGE_FILESYSTEM, "workspace_st_ino", -1, "workspace is missing: whose number would this be?");
        if (f->workspace_root) {
                f->workspace_root = sage_shortest(d->arena, f->workspace_root);
                if ((r = check_root(d, f)) < 0)
                        return r;
        }
        if ((r = check_lists(d, f)) < 0)
                return r;
        return f->protected_paths ? normalise_protected(d, f) : 0;
}
