/* What processes use at a moment, from /proc/PID/stat (proc_pid_stat(5)). */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct sample {
        uint64_t cpu_us;       /* of those that live, and of their children that have been waited for */
        uint64_t memory_bytes; /* the sum of what is resident: what two share counts twice */
        uint64_t tasks;        /* threads, as pids.max counts */
};

/* Adds what process PID uses. proc: directory /proc. One that is gone adds nothing. */
void sample_add(int proc, pid_t pid, struct sample *sample);

/* Is PID the first process of a PID namespace below ours? In a sandbox those are inits of our own: nobody else can make one. And does it stand
 * still by a signal? False for one that is gone. */
bool sample_is_init(int proc, pid_t pid);
bool sample_is_stopped(int proc, pid_t pid);
