/* The cpu controller is there and hard: a process that spins under cpu.max of a tenth of one CPU is throttled, and cpu.stat says so.
 * How much it is throttled is a matter of the host's speed and not asked. */
#include "program.h"

#include <signal.h>

#define LIMIT "10000 100000"

int main(void) {
        struct test_cgroup cgroup = cgroup_make("cpu.max", LIMIT);
        pid_t spinner = cgroup_fork(&cgroup);

        if (spinner == 0)
                for (volatile unsigned i = 0;; i++)
                        ;
        /* Without an end of its own: a spinner that is never throttled is ended, with us, by the driver's time limit. */
        while (cgroup_count(&cgroup, "cpu.stat", "nr_throttled") < 1 || cgroup_count(&cgroup, "cpu.stat", "throttled_usec") < 1)
                usleep(20000);
        kill(spinner, SIGKILL);
        waitpid(spinner, NULL, 0);
        cgroup_remove(&cgroup);
        return 0;
}
