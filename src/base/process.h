/* Processes, named so that a reused pid is never mistaken for ours: by pidfd, and across runtime calls by pid and start time. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* clone3(2) as a copy-on-write fork with FLAGS (CLONE_*; CLONE_PIDFD and CLONE_CLEAR_SIGHAND are added).
 *
 * cgroup     directory of the cgroup2 cgroup to be born in (CLONE_INTO_CGROUP), or -1
 * ret_pidfd  in the parent: close-on-exec descriptor of the child
 *
 * Returns the child's pid in the parent, 0 in the child, or a negative errno. The child has no handlers (but where a filter forbids
 * clone3), and the parent's mask. */
pid_t process_clone(uint64_t flags, int cgroup, int *ret_pidfd);

/* fork(2) that makes a sibling: our parent is its parent (CLONE_PARENT). By clone(2), which seccomp filters let through that know no
 * clone3(2); a filter must let pass SYS_clone with PROCESS_SIBLING. Returns as process_clone(). */
#define PROCESS_SIBLING (0x8000u /* CLONE_PARENT */ | 17u /* SIGCHLD */)
pid_t process_sibling(void);

/* In the parent: takes over PID, which a child says it has made so. -ECHILD when it is no child of ours. */
int process_adopt(pid_t pid, int *ret_pidfd);

/* Sends SIGNAL (0 probes) by pidfd. 0 or a negative errno; -ESRCH when it is gone and reaped. */
int process_signal(int pidfd, int signal);

/* Opens PID if it is still the process that began at START_TIME; -ESRCH when that one is gone. */
int process_open(pid_t pid, uint64_t start_time, int *ret_pidfd);

/* proc_pid_stat(5) field 22, in clock ticks since boot, and whether the process is a zombie ('Z' or 'X' in field 3). */
int process_start_time(pid_t pid, uint64_t *ret, bool *ret_dead);

/* Waits until the process has ended, at most TIMEOUT_MS (-1: for ever). 0, -ETIMEDOUT, or a negative errno. Reaps nothing. */
int process_wait_end(int pidfd, int timeout_ms);

/* How a process ended. signal: 0 where it exited by itself. */
struct process_end { int exit_code, signal; };

/* Reaps a child of ours. */
int process_reap_end(int pidfd, struct process_end *ret);
/* The same; ret_status as a shell would say it: exit code, or 128 + signal. */
int process_reap(int pidfd, int *ret_status);
static inline int process_end_status(struct process_end end) { return end.signal ? 128 + end.signal : end.exit_code; }

/* /proc/sys/kernel/random/boot_id, 36 characters and NUL. */
int process_boot_id(char ret[37]);

/* The number of PID in the PID namespace directly below ours that it is in, or below which it is. -ENODATA where it is in ours. */
int process_number_inside(pid_t pid, pid_t *ret);

/* The path of PID's cgroup (0: ours) in the unified hierarchy, as our cgroup namespace shows it: it begins with "/". -ENODATA where the
 * host has no such hierarchy. */
int process_cgroup(pid_t pid, char *path, size_t size);
