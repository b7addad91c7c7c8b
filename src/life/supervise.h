/* Supervision: the runtime stays with a command to its end and sees to that end. What was asked for says when it comes: after a time, when
 * its caller is gone, when somebody asks the runtime to stop; what is known afterwards is in struct ending. A supervised command ends with all
 * its processes: none that its first one leaves behind lives on.
 *
 *     supervise_begin()   before anything of the command is there
 *     launch() or join(), with supervisor.foreground.interruption, .guard and .output
 *     supervise_wait()    to the end, and until nothing of it is left
 *     supervise_finish()  the exit status, and the record
 *
 * Where nothing was asked for it is foreground_begin() and foreground_wait(), and costs nothing more. */
#pragma once

#include "apply/output_relay.h"
#include "base/arena.h"
#include "life/guard.h"
#include "life/outcome.h"
#include "life/state.h"
#include "life/wait.h"

struct supervision {
        bool any;             /* something is asked for */
        uint64_t timeout_us;  /* from supervise_begin() on; 0: none */
        uint64_t max_output;  /* bytes; 0: as many as it likes, and they are not counted */
        bool die_with_parent; /* it ends when the runtime is killed, and when CALLER is gone */
        pid_t caller;         /* getppid(2) when the runtime began */
        int record;           /* where the record goes; -1: nowhere */
};

struct supervisor {
        struct supervision asked;
        struct foreground foreground;
        struct guard guard;
        struct output_relay *output; /* NULL: the command has our own streams */
        struct output_budget shown;  /* of a terminal, which has no relay but its own */
        uint64_t began_us;
        bool told;               /* how its program ended, by its init */
        struct ending ending;
        const struct status_disk_claim *disk; /* where to ask what the sandbox keeps on disk; NULL: nowhere */
        struct sage_disk used;
};
#define SUPERVISOR_NOT \
        { .asked = { .record = -1 }, .foreground = FOREGROUND_NOT, .guard = GUARD_NONE }

/* The command, as it runs. */
struct supervised {
        int pidfd;
        int console;           /* -1: none */
        struct notify *notify; /* NULL: none */
        int cgroup;            /* whose processes are all the command's; -1: there is none */
        bool by_init;          /* that is an init of ours, which exits with 128 + signal where its program died of one */
        int around;            /* the cgroup of the container, for what only that counts; -1: none, or it is CGROUP */
};

/* What the functions below do when something is asked for. Apart, because a launch without that has none of it in memory (src/rare.ld). */
int supervise_begin_asked(struct supervisor *s, struct arena *arena, bool terminal, int first_fd, struct error *err);
int supervise_wait_asked(struct supervisor *s, const struct supervised *command, int *ret_status, struct error *err);
int supervise_finish_asked(struct supervisor *s, struct arena *arena, const char *id, int result, int *ret_status, struct error *err);
void supervise_close_asked(struct supervisor *s);

/* terminal: the command has one, so its output is not in pipes. first_fd: as for output_relay_open(). */
static inline int supervise_begin(struct supervisor *s, struct arena *arena, bool terminal, int first_fd, struct error *err) {
        return s->asked.any ? supervise_begin_asked(s, arena, terminal, first_fd, err) : foreground_begin(&s->foreground, err);
}

/* What the cgroup AROUND counts before the command; -1: none. */
void supervise_note_before(struct supervisor *s, int around);

/* What the record tells of the sandbox CONTAINER; nothing where PLAN is none. What both point to stays until
 * supervise_finish(). */
static inline void supervise_note_sandbox(struct supervisor *s, const struct container *container, const struct plan_plan *plan) {
        if (plan->sandbox) {
                s->ending.limits = plan->sandbox->limits;
                s->disk = container->status.disk;
        }
}

/* To the end of COMMAND, which is a child of ours. ret_status: as outcome_status(). CODE_LOST when a process of it does not die. */
static inline int supervise_wait(struct supervisor *s, const struct supervised *command, int *ret_status, struct error *err) {
        return s->asked.any ? supervise_wait_asked(s, command, ret_status, err)
                            : foreground_wait(&s->foreground, command->pidfd, command->console, command->notify, ret_status, err);
}

/* RESULT is what came of it all, with ERR; returns it, or 0 where what failed is our timeout. Writes the record. id: the container's. */
static inline int supervise_finish(
        struct supervisor *s, struct arena *arena, const char *id, int result, int *ret_status, struct error *err) {
        return s->asked.any ? supervise_finish_asked(s, arena, id, result, ret_status, err) : result;
}

static inline void supervise_close(struct supervisor *s) {
        if (s->asked.any)
                supervise_close_asked(s);
        foreground_end(&s->foreground);
}
#define _cleanup_supervisor_ __attribute__((cleanup(supervise_close)))
