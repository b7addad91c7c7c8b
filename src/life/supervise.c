#define _GNU_SOURCE
#include "life/supervise.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/signalfd.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "apply/cgroup.h"
#include "apply/cgroup_processes.h"
#include "apply/terminal.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/log.h"
#include "base/time.h"
#include "libocispec/spec.h"
#include "life/disk_usage.h"
#include "monitor/sample.h"

enum {
        DYING_MS = 2000,    /* how long killed processes may take to die (uninterruptible sleep) before we say so */
        PATIENCE_MS = 1000, /* how long a command that was ended early waits for a reader of what it had written */
};

/* ---- the beginning ---- */

/* The clock is a timer of this process, so that it ends whatever we wait for as a signal would, the launch included. */
static int start_clock(struct supervisor *s, struct error *err) {
        const struct itimerval timer = {
                .it_value = { .tv_sec = (time_t)(s->asked.timeout_us / 1000000), .tv_usec = (suseconds_t)(s->asked.timeout_us % 1000000) },
        };
        int r;

        s->began_us = time_monotonic_us();
        if (!s->asked.timeout_us)
                return 0;
        if ((r = interruption_add_alarm(&s->foreground.interruption, err)) < 0)
                return r;
        return setitimer(ITIMER_REAL, &timer, NULL) < 0 ? fail_errno(err, CODE_INTERNAL, errno, "--timeout", "cannot start the clock") : 0;
}

int supervise_begin_asked(struct supervisor *s, struct arena *arena, bool terminal, int first_fd, struct error *err) {
        int r = foreground_begin(&s->foreground, err);

        if (r < 0)
                return r;
        if (s->asked.die_with_parent && (r = guard_begin(&s->guard, s->asked.caller, err)) < 0)
                return r;
        if (s->asked.max_output && terminal) {
                s->shown = (struct output_budget){ .left = s->asked.max_output };
                s->ending.output = &s->shown;
        } else if (s->asked.max_output) {
                s->output = arena_new(arena, struct output_relay);
                if ((r = output_relay_open(s->output, s->asked.max_output, first_fd, err)) < 0) {
                        s->output = NULL;
                        return r;
                }
                s->ending.output = &s->output->budget;
        }
        return start_clock(s, err);
}

void supervise_note_before(struct supervisor *s, int around) {
        if (around >= 0)
                cgroup_usage_read(around, &s->ending.before);
}

/* ---- while it runs ---- */

static bool is_our_alarm(const struct supervisor *s, int signal) {
        return signal == SIGALRM && s->asked.timeout_us && time_monotonic_us() - s->began_us >= s->asked.timeout_us;
}

static void take_signals(struct supervisor *s, const struct supervised *command, struct terminal_relay *relay) {
        struct signalfd_siginfo info;

        while (read(s->foreground.signals, &info, sizeof info) == sizeof info) {
                int signal = (int)info.ssi_signo;

                if (is_our_alarm(s, signal))
                        s->ending.reason = s->ending.reason ? s->ending.reason : END_TIMEOUT;
                else if (!signal_interrupts(signal))
                        foreground_pass_signal(command->pidfd, relay, signal);
                else if (!s->ending.reason) {
                        s->ending.reason = END_CANCELLED;
                        s->ending.cancelled_by = signal;
                }
        }
}

/* What the init says of its program before it ends with it: we end what is left, and that may be the init before it has. Nothing: it was
 * killed. */
static void hear_end(struct supervisor *s) {
        int status;

        if (read(s->foreground.ended, &status, sizeof status) != sizeof status)
                return;
        s->told = true;
        s->ending.process = (struct process_end){ .signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0,
                .exit_code = WIFSIGNALED(status) ? 0 : WEXITSTATUS(status) };
}

/* One round of waiting and of what came. *RET_ENDED is set when the command's first process has. */
static int step(struct supervisor *s, const struct supervised *command, struct terminal_relay *relay, bool *ret_ended, struct error *err) {
        struct pollfd fds[3 + 3 + OUTPUT_POLLFDS + 1] = {
                { .fd = command->pidfd, .events = POLLIN },
                { .fd = s->foreground.signals, .events = POLLIN },
                { .fd = command->notify ? command->notify->inside : -1, .events = POLLIN },
        };
        size_t n = 3 + (relay ? terminal_relay_pollfds(relay, fds + 3) : 0);
        int r;

        if (s->output) {
                output_relay_pollfds(s->output, fds + n);
                n += OUTPUT_POLLFDS;
        }
        fds[n] = (struct pollfd){ .fd = s->foreground.ended, .events = POLLIN };
        if (poll(fds, n + 1, -1) < 0 && errno != EINTR)
                return fail_errno(err, CODE_INTERNAL, errno, "", "cannot wait for the command");
        if (fds[1].revents)
                take_signals(s, command, relay);
        if (fds[2].revents)
                (void)notify_step(command->notify);
        if (relay && (r = terminal_relay_step(relay, fds + 3, err)) < 0)
                return r;
        if (s->output)
                output_relay_step(s->output, fds + n - OUTPUT_POLLFDS);
        if (fds[n].revents)
                hear_end(s);
        *ret_ended = fds[0].revents || fds[n].revents;
        return 0;
}

/* ---- the end ---- */

static void count_one(pid_t pid, void *count) {
        (void)pid;
        ++*(uint32_t *)count;
}

static uint32_t count_processes(int cgroup) {
        uint32_t n = 0;

        (void)cgroup_processes(fd_path(cgroup).path, count_one, &n);
        return n;
}

struct others {
        int proc;
        uint32_t n;
};

/* An init of ours ends by itself. Its name tells nothing: any process takes what name it likes. */
static void count_other(pid_t pid, void *data) {
        struct others *others = data;

        if (!sample_is_init(others->proc, pid))
                others->n++;
}

/* How many a command has left that has not ended with all of its processes. */
static uint32_t count_left_behind(const struct supervised *command) {
        _cleanup_close_ int proc = -1;
        struct others others = { 0 };

        if (!command->by_init)
                return count_processes(command->cgroup);
        others.proc = proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        (void)cgroup_processes(fd_path(command->cgroup).path, count_other, &others);
        return others.n;
}

/* Nothing of the command is left when this returns 0. */
static int end_all(struct supervisor *s, const struct supervised *command, struct error *err) {
        struct ending *e = &s->ending;
        bool populated = false;
        int r;

        if (command->cgroup >= 0) {
                e->counted = true;
                if ((r = cgroup_populated(command->cgroup, &populated, err)) < 0)
                        return r;
                e->killed = populated ? count_left_behind(command) : 0;
        }
        if ((r = process_signal(command->pidfd, SIGKILL)) < 0 && r != -ESRCH)
                return fail_errno(err, CODE_INTERNAL, -r, "", "cannot kill the command");
        if (populated && (r = cgroup_kill(command->cgroup, err)) < 0)
                return r;
        if ((r = process_wait_end(command->pidfd, DYING_MS)) == 0 && command->cgroup >= 0)
                r = cgroup_wait_empty(command->cgroup, DYING_MS);
        if (r == 0)
                return 0;
        e->left = command->cgroup >= 0 ? count_processes(command->cgroup) : 1;
        e->counted = true;
        return fail_errno(
                err, CODE_LOST, -r, "", "a process of the command does not die; it may wait for a file system that does not answer");
}

/* What the command had written is passed on. One that has ended by itself waits for its readers as long as anything of ours may take; one
 * that was ended does not hold anybody up. */
static void flush(struct supervisor *s, const struct supervised *command) {
        bool patient = !s->ending.reason;
        uint64_t deadline = time_monotonic_us() + 1000 * PATIENCE_MS;

        output_relay_end(s->output);
        for (;;) {
                struct pollfd fds[1 + OUTPUT_POLLFDS] = { { .fd = s->foreground.signals, .events = POLLIN } };
                struct supervisor later = *s;

                if (output_relay_done(s->output) || (!patient && time_monotonic_us() >= deadline))
                        return;
                output_relay_pollfds(s->output, fds + 1);
                if (poll(fds, 1 + OUTPUT_POLLFDS, patient ? -1 : PATIENCE_MS) < 0 && errno != EINTR)
                        return;
                output_relay_step(s->output, fds + 1);
                if (!fds[0].revents)
                        continue;
                take_signals(&later, command, NULL);
                if (patient && later.ending.reason) { /* the command itself is none of those any more */
                        patient = false;
                        deadline = 0;
                }
        }
}

static void note_usage(struct supervisor *s, const struct supervised *command) {
        if (command->cgroup >= 0)
                cgroup_usage_read(command->cgroup, &s->ending.own);
        if (command->around >= 0)
                cgroup_usage_read(command->around, &s->ending.after);
        if (s->disk && disk_usage(s->disk, &s->used) == 0)
                s->ending.disk = &s->used;
}

static int reap(struct supervisor *s, const struct supervised *command, struct error *err) {
        struct process_end end;
        int r = process_reap_end(command->pidfd, &end);

        if (r == 0 && command->by_init && !end.signal && end.exit_code > 128)
                end = (struct process_end){ .signal = end.exit_code - 128 };
        if (r == 0 && !s->told)
                s->ending.process = end;
        return r < 0 ? fail_errno(err, CODE_INTERNAL, -r, "", "cannot take the command's exit status") : 0;
}

/* Also where the waiting itself fails: a command that nobody supervises any more does not go on. */
static int wait_to_the_end(struct supervisor *s, const struct supervised *command, struct terminal_relay *relay, struct error *err) {
        bool ended = false;
        struct error second;
        int r = 0, end;

        while (r == 0 && !ended && !s->ending.reason)
                r = step(s, command, relay, &ended, err);
        s->ending.wall_us = time_monotonic_us() - s->began_us;
        if (ended) /* that was first */
                s->ending.reason = END_ITSELF;
        if (command->notify)
                notify_finish(command->notify);
        end = end_all(s, command, r < 0 ? &second : err);
        note_usage(s, command);
        return r < 0 || (r = end) < 0 ? r : reap(s, command, err);
}

int supervise_wait_asked(struct supervisor *s, const struct supervised *command, int *ret_status, struct error *err) {
        _cleanup_terminal_relay_ struct terminal_relay relay = TERMINAL_RELAY_NONE;
        bool console = command->console >= 0;
        int r;

        s->ending.launched = true;
        if (console && (r = terminal_relay_start(&relay, command->console, err)) < 0)
                return r;
        if (console && s->asked.max_output)
                relay.budget = &s->shown;
        if (s->output)
                output_relay_given(s->output);
        r = wait_to_the_end(s, command, console ? &relay : NULL, err);
        relay.patience_ms = s->ending.reason ? PATIENCE_MS : -1;
        if (s->output)
                flush(s, command);
        guard_end(&s->guard);
        if (r < 0)
                return r;
        *ret_status = outcome_status(&s->ending);
        return 0;
}

/* ---- afterwards ---- */

static void write_record(struct supervisor *s, struct arena *arena, const char *id, const struct error *failure) {
        _cleanup_str_ struct str text = { 0 };
        struct sage_result record;
        struct error err;
        int r;

        if (s->asked.record < 0)
                return;
        outcome_record(arena, id, &s->ending, failure, &record);
        r = spec_encode(&sage_result_type, &record, &text, 0, &err);
        if (r == 0) {
                str_putc(&text, '\n');
                r = file_write_all(s->asked.record, text.text, text.size);
        }
        if (r < 0)
                log_message(LOG_LEVEL_ERROR, "--result: cannot write the record: error %d", -r);
}

int supervise_finish_asked(struct supervisor *s, struct arena *arena, const char *id, int result, int *ret_status, struct error *err) {
        struct ending *e = &s->ending;

        if (result < 0 && err->code == CODE_INTERRUPTED && is_our_alarm(s, s->foreground.interruption.signal)) {
                e->reason = END_TIMEOUT;
                result = 0;
        }
        write_record(s, arena, id, result < 0 ? err : NULL);
        if (result < 0)
                return result;
        *ret_status = outcome_status(e);
        if (e->reason == END_TIMEOUT && s->asked.record < 0)
                log_message(LOG_LEVEL_WARNING, "%s: ended after %u.%03u s (--timeout)", id, (unsigned)(s->asked.timeout_us / 1000000),
                        (unsigned)(s->asked.timeout_us / 1000 % 1000));
        return 0;
}

/* It may have gone off behind the end of the command, while that was cleared away: a pending signal would end us as soon as it is let through.
 * One that is ignored is not pending any more (sigaction(2)). */
static void stop_clock(const struct supervisor *s) {
        const struct itimerval none = { 0 };

        if (!s->asked.timeout_us)
                return;
        (void)setitimer(ITIMER_REAL, &none, NULL);
        (void)signal(SIGALRM, SIG_IGN);
        (void)signal(SIGALRM, SIG_DFL);
}

void supervise_close_asked(struct supervisor *s) {
        stop_clock(s);
        guard_end(&s->guard);
        if (s->output)
                output_relay_close(s->output);
        s->output = NULL;
        close_fd(&s->asked.record);
}
