/* The memory controller is there and hard: a process that touches eight times memory.max is killed, and the kill is counted. */
#include "program.h"

#include <signal.h>
#include <sys/mman.h>

#define LIMIT "8388608"
#define APPETITE (64u << 20)

static void touch_memory(void) {
        char *memory = mmap(NULL, APPETITE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        if (memory == MAP_FAILED)
                fail_test("cannot map memory: %s", strerror(errno));
        for (size_t i = 0; i < APPETITE; i += 4096)
                ((volatile char *)memory)[i] = 1;
}

int main(void) {
        struct test_cgroup cgroup = cgroup_make("memory.max", LIMIT);
        pid_t hog = cgroup_fork(&cgroup);
        int status;

        if (hog == 0) {
                touch_memory();
                _exit(0);
        }
        if (waitpid(hog, &status, 0) != hog)
                fail_test("cannot wait: %s", strerror(errno));
        if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL)
                fail_test("the hog was not killed: wait status %#x", (unsigned)status);
        if (cgroup_count(&cgroup, "memory.events", "oom_kill") != 1)
                fail_test("memory.events does not count the kill");
        cgroup_remove(&cgroup);
        return 0;
}
