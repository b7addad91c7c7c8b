/* Private room for a sandbox's /tmp and /dev/shm that counts against the project of its workspace: nobody may give a directory a project
 * ("checked, never set"), but what is made in the workspace has the workspace's, and keeps it when it is moved out.
 *
 *   MOUNT/.sage/ID.TOKEN/{tmp,shm}               where an administrator has made MOUNT/.sage for it (root's, nobody else's to write)
 *   WORKSPACE/.sage-sandbox/ID.TOKEN/{tmp,shm}   else; every sandbox of the workspace has an empty directory in its place
 *
 * ID.TOKEN is our uid's alone (0700): the directories are mounted by descriptor, and on the host nobody gets at them by path. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/arena.h"
#include "base/error.h"
#include "spec/status.h"

#define SCRATCH_IN_WORKSPACE ".sage-sandbox"

struct scratch_request {
        const char *id; /* of the container */
        int workspace;  /* directory, O_PATH will do; through whatever mount */
        const char *workspace_path;
        int mount; /* directory at which the file system is mounted; not O_PATH */
        const char *mount_path;
        uint32_t project;
        uid_t uid; /* whom tmp and shm belong to */
        gid_t gid;
};

/* Descriptors of directories, close-on-exec, the caller's. */
struct scratch {
        int tmp, shm;
};
#define SCRATCH_CLOSED \
        { -1, -1 }

/* Chooses the place and its name. The claim, to be saved before scratch_make() is called, lives in ARENA; nothing is made yet. */
int scratch_claim(struct arena *arena, const struct scratch_request *request, struct status_scratch_claim **ret, struct error *err);

/* Makes what was claimed. After a failure scratch_remove() takes away what there is of it. */
int scratch_make(const struct scratch_request *request, const struct status_scratch_claim *claim, struct scratch *ret, struct error *err);

void scratch_close(struct scratch *scratch);
#define _cleanup_scratch_ __attribute__((cleanup(scratch_close)))

/* Removes all of it, whatever is there of it, when nobody runs in the sandbox any more. NULL, and what is gone already, are success. */
int scratch_remove(const struct status_scratch_claim *claim, struct error *err);
