/* What a crashed host, or a runtime that was killed, left of a container. */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/error.h"

enum gc_verdict {
        GC_LIVES,    /* its process runs, or waits for start: it is left alone */
        GC_BUSY,     /* another command is at work on it, and knows better */
        GC_GONE,     /* deleted meanwhile */
        GC_UNMADE,   /* its create was killed midway */
        GC_REBOOTED, /* from before the host was started: nothing of it can live */
        GC_ENDED,    /* its process has ended, and nobody deleted it */
        GC_ORPHANED, /* the runtime that it was for was killed */
};

/* "its process has ended" */
const char *gc_reason(enum gc_verdict verdict);
/* Is the container to be given back? */
bool gc_dead(enum gc_verdict verdict);

/* Judges the container ID below ROOT (a path), and gives back what a dead one holds, hooks and all, unless LOOK. It never waits for another
 * command, and kills nothing but what an unfinished create left behind. A failure leaves the claims for the next try. */
int gc_container(struct arena *arena, const char *root, const char *id, bool look, enum gc_verdict *ret, struct error *err);

/* The same for the private bundle of the sandbox ID (life/private_bundle.h): it and its workspace go when neither its runtime nor its container
 * is there any more. */
int gc_private_bundle(struct arena *arena, const char *root, const char *id, bool look, enum gc_verdict *ret, struct error *err);
