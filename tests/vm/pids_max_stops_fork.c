/* The pids controller is there and hard: at pids.max 4 a process can have three children, and the fourth fork fails with EAGAIN. */
#include "program.h"

#include <signal.h>

#define LIMIT "4"
#define CHILDREN 3

/* Forks until it fails. Returns how many children there were, or -1 when the failure is not the one that pids.max makes. */
static int fork_until_stopped(void) {
        pid_t children[CHILDREN + 1];
        int made = 0;

        while (made <= CHILDREN && (children[made] = fork()) >= 0) {
                if (children[made] == 0) {
                        pause();
                        _exit(0);
                }
                made++;
        }
        if (made <= CHILDREN && errno != EAGAIN)
                return -1;
        for (int i = 0; i < made; i++) {
                kill(children[i], SIGKILL);
                waitpid(children[i], NULL, 0);
        }
        return made;
}

int main(void) {
        struct test_cgroup cgroup = cgroup_make("pids.max", LIMIT);
        pid_t forker = cgroup_fork(&cgroup);
        int status;

        if (forker == 0)
                _exit(fork_until_stopped());
        if (waitpid(forker, &status, 0) != forker)
                fail_test("cannot wait: %s", strerror(errno));
        if (!WIFEXITED(status) || WEXITSTATUS(status) != CHILDREN)
                fail_test("expected %d children, wait status %#x", CHILDREN, (unsigned)status);
        if (cgroup_count(&cgroup, "pids.events", "max") < 1)
                fail_test("pids.events does not count the refusal");
        cgroup_remove(&cgroup);
        return 0;
}
