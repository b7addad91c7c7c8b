#include "cmd/command.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"
#include "base/str.h"
#include "life/gc.h"
#include "life/private_bundle.h"
#include "life/state.h"

enum {
        PATIENCE_MS = 1000, /* for processes of a killed runtime, which keep its lock until they have noticed */
        STEP_MS = 10,
};

struct gc_options {
        bool dry_run;
};

static const struct option_row options[] = {
        { "dry-run", 'n', OPTION_FLAG, offsetof(struct gc_options, dry_run), "only say what would be released" },
};
extern const struct command command_gc;

struct sweep {
        struct invocation *invocation;
        bool dry_run;
        unsigned failed;
        struct error first;
};

/* One that cannot be released does not keep the others. A container that was released was the last that its private bundle waited for. */
static bool is_settled(struct sweep *sweep, const char *entry) {
        const char *bundle = private_bundle_id(entry), *id = bundle ?: entry, *what = bundle ? "the bundle of " : "";
        enum gc_verdict verdict;
        struct error err;

        if ((bundle ? gc_private_bundle : gc_container)(
                    sweep->invocation->arena, sweep->invocation->root, id, sweep->dry_run, &verdict, &err) < 0) {
                log_message(LOG_LEVEL_WARNING, "%s%s: %s", what, id, err.text);
                if (sweep->failed++ == 0)
                        sweep->first = err;
                return true;
        }
        if (gc_dead(verdict))
                printf("%s%s: %s\n", what, id, gc_reason(verdict));
        else
                log_debug("%s%s: %s", what, id, gc_reason(verdict));
        return verdict != GC_BUSY;
}

static int is_ours(const struct dirent *entry) {
        return state_id_valid(entry->d_name) || private_bundle_id(entry->d_name);
}

/* Containers before private bundles, which wait for them; by name. */
static int in_turn(const struct dirent **a, const struct dirent **b) {
        bool first = private_bundle_id((*a)->d_name), second = private_bundle_id((*b)->d_name);

        return first != second ? first - second : strcmp((*a)->d_name, (*b)->d_name);
}

/* Those that are busy are looked at again, all of them together for no longer than PATIENCE_MS. */
static void sweep_all(struct sweep *sweep, struct dirent **entries, int n) {
        int left = n;

        for (int ms = 0; left && ms <= PATIENCE_MS; ms += STEP_MS) {
                if (ms)
                        usleep(STEP_MS * 1000);
                for (int i = 0; i < n; i++)
                        if (entries[i] && is_settled(sweep, entries[i]->d_name)) {
                                free(entries[i]);
                                entries[i] = NULL;
                                left--;
                        }
        }
        for (int i = 0; i < n; i++)
                free(entries[i]);
}

static int run(struct invocation *invocation, int argc, char **argv, int *ret_status, struct error *err) {
        struct sweep sweep = { .invocation = invocation };
        struct dirent **entries = NULL;
        struct gc_options o = { 0 };
        char **operands;
        int n, r;

        if ((r = command_parse(invocation, &command_gc, argc, argv, &o, 0, 0, &operands, NULL, err)) < 0)
                return r;
        sweep.dry_run = o.dry_run;
        n = scandir(invocation->root, &entries, is_ours, in_turn);
        if (n < 0 && errno != ENOENT)
                return fail_errno(err, CODE_INTERNAL, errno, invocation->root, "cannot read the state directory");
        if (n > 0)
                sweep_all(&sweep, entries, n);
        free(entries);
        *ret_status = 0;
        if (sweep.failed)
                return fail(err, sweep.first.code, sweep.first.errnum, sweep.first.where,
                        "%u containers could not be released, the first: %s", sweep.failed, sweep.first.text);
        return 0;
}

const struct command command_gc = { "gc", "", "release what crashed hosts and killed runtimes left of containers", run, options,
        ELEMENTSOF(options), 1, OPTIONS_ANYWHERE };
