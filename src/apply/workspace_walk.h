/* Looks at every name in a workspace, and in whatever else a sandbox may write, before one begins there: nothing in it may escape the
 * project's accounting, or lead out of it. Names are judged, files never opened. What is found holds for the moment; that it stays so is
 * the kernel's doing: it links and renames nothing from one project into another. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/signals.h"

struct walk_top {
        int fd;           /* directory (O_PATH will do); best the detached clone of its mount that is going to be mounted */
        const char *path; /* on the host, for messages */
};

struct walk_rules {
        bool in_project; /* all of it belongs to PROJECT, is going to, and has no names elsewhere; XFS, and CAP_SYS_ADMIN on the host */
        uint32_t project;
        bool allow_symlinks;
        struct interruption *interruption; /* NULL: signals end us at once */
};

struct walk_sum {
        uint64_t names, directories;
};

/* Refuses, as CODE_WORKSPACE_INVALID with the path in err->where: a mount, another device; a file or directory of another project; a
 * directory that does not pass its project on; files in the realtime section, which limits do not count; a regular file that has a name
 * outside of TOPS; a symlink, unless they are allowed. A top that lies in another one is walked once. RET may be NULL. */
int workspace_walk(const struct walk_top *tops, size_t n, const struct walk_rules *rules, struct walk_sum *ret, struct error *err);
