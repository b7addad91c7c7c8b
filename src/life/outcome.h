/* How a supervised command ended, and what that is called (schemas/result.json). Pure. */
#pragma once

#include <stdbool.h>

#include "apply/cgroup_usage.h"
#include "apply/relay.h"
#include "base/arena.h"
#include "base/error.h"
#include "base/process.h"
#include "life/lost.h"
#include "spec/result.h"

/* What put an end to it. */
enum end_reason { END_ITSELF, END_TIMEOUT, END_CANCELLED };

struct ending {
        bool launched; /* its program ran */
        enum end_reason reason;
        int cancelled_by; /* the signal */
        struct process_end process;
        uint64_t wall_us;
        const struct output_budget *output; /* NULL: it was not counted */
        bool counted;                       /* the next two are known */
        uint32_t killed, left;              /* processes: that the runtime had to kill, that did not die */
        /* What its own cgroup counts, all of it the command's; and what the cgroups around it do, before and after: there others may have had a
         * part. Empty where there is none. */
        struct cgroup_usage own, before, after;
        const struct sage_disk *disk;     /* NULL: no quota */
        struct loss *loss;                /* how the sandbox was lost; NULL: it is not */
        const struct sage_limits *limits; /* NULL: there are none of Sage's */
};

/* The record of it. err: what failed, or NULL. ARENA: for what RET points to. */
void outcome_record(struct arena *arena, const char *id, const struct ending *ending, const struct error *err, struct sage_result *ret);

/* What the runtime exits with: 124 for a timeout, 128 + signal for a cancel, else what the command did. */
int outcome_status(const struct ending *ending);
