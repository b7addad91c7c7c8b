/* The only opener of paths that a container's image or processes may have shaped. Everything else in apply/ works on the descriptors
 * that come from here.
 *
 * Every path is resolved as the container will see it: symlinks, ".." and absolute targets stay below ROOT (openat2(2),
 * RESOLVE_IN_ROOT) and magic links (proc(5), /proc/PID/fd …) are refused, so that an image that plants /proc -> /../../etc reaches
 * only itself.
 *
 * root     O_PATH descriptor of the container's root (or of a directory in it that takes its place)
 * path     absolute or not, always taken from ROOT
 * ret_fd   close-on-exec, owned by the caller; untouched on failure */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

/* For callers that expect some paths to be absent and have no use for a text: a descriptor or a negative errno.
 * resolve: more RESOLVE_* of openat2(2), such as RESOLVE_NO_SYMLINKS; 0 for none. */
int container_path_try(int root, const char *path, int flags, uint64_t resolve);

/* flags: of open(2), O_PATH as a rule; O_CLOEXEC is added. */
int container_path_open(int root, const char *path, int flags, int *ret_fd, struct error *err);

/* Opens PATH with O_PATH, after making what is missing: its parents as directories 0755, itself as TYPE (S_IFDIR, 0755, or S_IFREG,
 * empty, 0644; the umask is the caller's affair). A dangling symlink is followed, and its target made, inside ROOT. What exists
 * already is opened whatever its type is. flags and resolve are added as above: O_NOFOLLOW, RESOLVE_NO_SYMLINKS.
 * Returns 1 when it was made, 0 when it existed. */
int container_path_make_with(int root, const char *path, mode_t type, int flags, uint64_t resolve, int *ret_fd, struct error *err);

static inline int container_path_make(int root, const char *path, mode_t type, int *ret_fd, struct error *err) {
        int r = container_path_make_with(root, path, type, 0, 0, ret_fd, err);

        return r < 0 ? r : 0;
}
