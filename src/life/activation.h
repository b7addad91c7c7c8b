/* What a service manager gave the runtime for the container's program: sockets it listens on (sd_listen_fds(3)), and where to say that it is
 * ready (sd_notify(3), life/notify.h). */
#pragma once

#include "base/arena.h"
#include "life/payload.h"

struct activation {
        unsigned n_fds;     /* descriptors from 3 on that are the program's, before those of --preserve-fds */
        const char *names;  /* LISTEN_FDNAMES, or NULL */
        const char *notify; /* NOTIFY_SOCKET, or NULL */
};

/* Reads our environment. Descriptors whose LISTEN_PID names another process are that one's. */
struct activation activation_read(void);

/* Tells the program of its descriptors, unless its environment speaks of them already: LISTEN_FDS, LISTEN_FDNAMES, and LISTEN_PID, which is
 * filled in by payload_settle(), as only the child knows what it is called inside. */
void activation_tell(struct arena *arena, const struct activation *activation, struct payload *payload);
