/* Containers on this host: one directory each below --root, with a lock, a status file and the plan.
 *
 *   ROOT/ID/            0700; flock(2) on it serialises create, start, exec, pause, update and delete (kill needs a pidfd only)
 *   ROOT/ID/status.json what it is and holds (schemas/status.json), replaced by rename
 *   ROOT/ID/plan.json   what was decided; start, exec and delete read it, never config.json again
 *   ROOT/ID/filter      the built seccomp program, for exec
 *   ROOT/ID/start       a listening Unix socket while the container waits for `start`; its presence is "created"
 */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"
#include "plan/filter.h"
#include "spec/plan.h"
#include "spec/state.h"
#include "spec/status.h"

struct container {
        int root;       /* directory --root */
        int dir;        /* ROOT/ID, -1 while closed */
        const char *id;
        struct status_status status;
};

#define CONTAINER_CLOSED { .root = -1, .dir = -1 }

/* 1 to 255 of [a-zA-Z0-9_+.-], not beginning with '.' or '-': it becomes a file name, and argv of hooks' programs. */
bool state_id_valid(const char *id);
/* The same as an error, CODE_USAGE, that says what an id looks like. */
int state_check_id(const char *id, struct error *err);

/* Opens the state directory ROOT, which must be nobody else's to write to; MAKE: makes it, 0700, where it is not there. */
int state_open_root(const char *root, bool make, int *ret, struct error *err);

/* Makes ROOT/ID (and ROOT, 0700) and locks it. CODE_EXISTS when there is one already; then nothing was changed. CODE_NOT_FOUND when
 * somebody deleted it before it was locked, again and again. */
int container_create(const char *root, const char *id, struct container *ret, struct error *err);

enum container_lock { CONTAINER_UNLOCKED, CONTAINER_LOCKED, CONTAINER_LOCKED_AT_ONCE /* or CODE_BUSY */ };

/* Opens ROOT/ID and reads its status into ARENA. CODE_NOT_FOUND with the text engines match on. A directory that was made but
 * never got its status (its runtime was killed in between) opens with status.schema 0. */
int container_open(struct arena *arena, const char *root, const char *id, enum container_lock lock, struct container *ret, struct error *err);

/* The same without its status. */
int container_open_unread(const char *root, const char *id, enum container_lock lock, struct container *ret, struct error *err);

void container_close(struct container *container);
#define _cleanup_container_ __attribute__((cleanup(container_close)))

/* Lets others at it while this runtime goes on (a foreground run, a start whose hooks take long). They may delete it: CODE_NOT_FOUND from
 * container_lock(), and then its claims are somebody else's by now, of a new container of the same id perhaps. */
void container_unlock(struct container *container);
int container_lock(struct container *container, struct error *err);

/* Writes container->status. */
int container_save(struct container *container, struct error *err);

int container_save_plan(struct container *container, const struct plan_plan *plan, const struct filter_program *filter, struct error *err);
/* The plan alone, for one whose filter is the same as before. */
int container_replace_plan(struct container *container, const struct plan_plan *plan, struct error *err);
int container_load_plan(struct arena *arena, const struct container *container, struct plan_plan *ret, struct error *err);
int container_load_filter(struct arena *arena, const struct container *container, struct filter_program *ret, struct error *err);

/* Was it made since this host was started? What it holds is gone otherwise, and numbers that named it name others. */
bool container_is_of_this_boot(const struct container *container);

/* Where it is in its life, asked of the kernel now. ret_pidfd (may be NULL) is init's, or -1 when it has ended. */
int container_state(const struct container *container, enum oci_status *ret, int *ret_pidfd, struct error *err);

/* Removes the files and the directory. The container must hold nothing else any more. */
int container_remove(struct container *container, struct error *err);

/* The OCI state document of STATUS (runtime-spec runtime.md, "State"). pid 0 once stopped. Lives in ARENA. */
struct oci_state container_describe(struct arena *arena, const struct container *container, enum oci_status status);
