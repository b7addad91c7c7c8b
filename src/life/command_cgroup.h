/* A cgroup for one supervised command of exec, below its container's: what is in it is the command, whatever became of its first process, and
 * ends with it. It has no limits and asks for no controller, so whoever watches the container's cgroup sees the same numbers as before. It
 * needs no claim of its own: the container's covers all that is below its cgroup. */
#pragma once

#include "base/arena.h"
#include "base/error.h"

struct command_cgroup {
        int fd;           /* O_PATH directory; -1: the container has no cgroup */
        int container;    /* of what the command's was made below */
        const char *path; /* absolute, on the host */
};
#define COMMAND_CGROUP_NONE \
        { .fd = -1, .container = -1 }

/* container: O_PATH descriptor of the cgroup to make it in, or -1 for none; it is RET's from here on. */
int command_cgroup_make(struct arena *arena, int container, struct command_cgroup *ret, struct error *err);

/* Removes it, which must be empty, and closes RET. */
int command_cgroup_remove(struct command_cgroup *cgroup, struct error *err);
void command_cgroup_close(struct command_cgroup *cgroup);
#define _cleanup_command_cgroup_ __attribute__((cleanup(command_cgroup_close)))
