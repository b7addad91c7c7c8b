#define _GNU_SOURCE
#include "cmd/sandbox_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/str.h"
#include "cmd/sandbox_env.h"

#define SYSTEM_CACHES "/var/cache/sage-runtime"

/* Where a program is told to keep what it downloads or makes. */
static const struct {
        const char *name, *variable, *below;
} known[] = {
        { "cargo", "CARGO_HOME", "" },
        { "ccache", "CCACHE_DIR", "" },
        { "go", "GOCACHE", "/build" },
        { "go", "GOMODCACHE", "/mod" },
        { "npm", "npm_config_cache", "" },
        { "pip", "PIP_CACHE_DIR", "" },
};

/* A name is one component, and no hidden one. */
static bool is_name(const char *name) {
        return *name && *name != '.' && *name != '-' &&
                strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-") == strlen(name) && strlen(name) <= 64;
}

int sandbox_caches(struct arena *arena, const struct text_list *names, const char *home, uint32_t uid, struct text_list *ret_paths,
        struct text_list *ret_env, struct error *err) {
        const char *top = home ? arena_printf(arena, "%s/.cache/sage-runtime", home) : arena_printf(arena, SYSTEM_CACHES "/%u", uid);

        for (size_t i = 0; i < names->n; i++) {
                const char *name = names->items[i], *path = arena_printf(arena, "%s/%s", top, name);

                if (!is_name(name))
                        return fail(err, CODE_USAGE, EINVAL, "--cache",
                                "expected at most 64 of a-z A-Z 0-9 _ . -, beginning with none of the last two, found `%s`", name);
                text_list_add(arena, ret_paths, path);
                for (size_t k = 0; k < ELEMENTSOF(known); k++)
                        if (streq(known[k].name, name))
                                text_list_add(arena, ret_env, arena_printf(arena, "%s=%s%s", known[k].variable, path, known[k].below));
        }
        return 0;
}

/* Below FD, which is root's or the caller's; it is replaced. No symlink is followed: another user may have planted one in his own directory,
 * which the last but one is for root. */
static int step(int *fd, const char *name, mode_t mode, bool *ret_made) {
        int next;

        *ret_made = mkdirat(*fd, name, mode) == 0;
        if (!*ret_made && errno != EEXIST)
                return -errno;
        next = openat(*fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (next < 0)
                return -errno;
        close_fd(fd);
        *fd = next;
        return 0;
}

int sandbox_cache_make(const char *path, uint32_t uid, uint32_t gid, struct error *err) {
        _cleanup_close_ int fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        bool made = false;
        int r = fd < 0 ? -errno : 0;

        for (const char *at = path; r == 0 && *(at += strspn(at, "/"));) {
                size_t n = strcspn(at, "/");
                char name[NAME_MAX + 1];

                if (n >= sizeof name) {
                        r = -ENAMETOOLONG;
                        break;
                }
                memcpy(name, at, n);
                name[n] = '\0';
                at += n;
                r = step(&fd, name, *at ? 0755 : 0700, &made);
        }
        if (r == 0 && made && geteuid() == 0 && fchown(fd, uid, gid) < 0)
                r = -errno;
        return r < 0 ? fail_errno(err, CODE_USAGE, -r, "--cache", "cannot make %s", path) : 0;
}
