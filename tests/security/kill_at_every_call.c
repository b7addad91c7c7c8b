/* kill_at_every_call RUNTIME ROOT BUNDLE [USHER]...: kills the runtime with SIGKILL before each of the system calls that create, run, start,
 * exec, kill and delete make, one after the other. After each, `list` must succeed, and `delete --force` must leave nothing: no state, no
 * cgroup, no mount, no process. The same for the process that create, run and exec make in the container, up to its program's exec: there
 * the runtime must also end by itself, and leave nothing where it says that it failed; and for the runtime killed while that process stands
 * before each of its calls. Or, with USHERs (among create, run and exec), these
 * commands, whose child is an usher, and what that makes. With GC in the environment, `gc` in the place of `delete --force`: it must leave
 * alone what lives, and take what does not. Prints TAP. calls.h says what it needs. */
#define _GNU_SOURCE
#include "calls.h"

static bool killed_before(pid_t pid, int n, bool until_exec) {
        bool in_main;

        if (!reaches(pid, n, until_exec, &in_main))
                return false;
        kill(pid, SIGKILL);
        waitpid(pid, NULL, __WALL);
        return true;
}

static void complain(const char *command, int n, const char *what, const char *detail) {
        if (failures++ < FAILURES_MAX)
                printf("# %s killed before call %d: %s%s\n", command, n, what, detail);
}

/* What is left of a command lives if it does what a container of its kind is for. */
static bool is_alive(const char *command) {
        static const char *const start[] = { "start", ID, NULL }, *const exec[] = { "exec", ID, "true", NULL };

        return run(strcmp(command, "create") == 0 ? start : exec) == 0;
}

/* Those that ran before their command began, or that it has made. A container whose start is killed may end with it. */
static bool must_live(const char *command, bool killed) {
        return strcmp(command, "exec") == 0 ||
                (!killed && (strcmp(command, "create") == 0 || strcmp(command, "run") == 0 || strcmp(command, "start") == 0));
}

/* A process that has lost its runtime may need a moment to see it, and then a second `gc` finds it. */
static void collect(const char *command, int n, bool killed) {
        static const char *const gc[] = { "gc", NULL }, *const end[] = { "kill", ID, "KILL", NULL };
        int status = run(gc);
        bool alive = status == 0 && !is_empty(root) && is_alive(command);

        if (must_live(command, killed) && !alive)
                complain(command, n, "gc touches what lives", "");
        if (alive)
                run(end);
        for (int tries = 0; status == 0 && !is_empty(root) && tries < 200; tries++) {
                pause_ms(5);
                status = run(gc);
        }
        if (status != 0)
                complain(command, n, status < 0 ? "gc hangs" : "gc fails", "");
}

/* What a sandbox makes beside its state. */
static bool has_workspace(void) {
        DIR *dir = opendir("/var/tmp");
        bool has = false;

        for (struct dirent *entry; dir && (entry = readdir(dir));)
                has |= strncmp(entry->d_name, "sage-sandbox-", 13) == 0;
        if (dir)
                closedir(dir);
        return has;
}

static void delete(const char *command, int n) {
        static const char *const delete[] = { "delete", "--force", ID, NULL };
        int status = run(delete);

        if (status != 0)
                complain(command, n, status < 0 ? "delete --force hangs" : "delete --force fails", "");
}

static void check(const char *command, int n, bool killed, int mounts_before) {
        static const char *const list[] = { "list", NULL };
        char text[256];

        if (run(list) != 0)
                complain(command, n, "list fails", "");
        if (getenv("GC"))
                collect(command, n, killed);
        else
                delete(command, n);
        if (!is_empty(root))
                complain(command, n, "state is left in ", root);
        if (has_workspace())
                complain(command, n, "a workspace is left", "");
        if (access("/sys/fs/cgroup/" ID, F_OK) == 0)
                complain(command, n, "the cgroup is left", "");
        if (mounts() != mounts_before)
                complain(command, n, "a mount is left", "");
        if (!nobody_is_left(text, sizeof text))
                complain(command, n, "a process is left", "");
}

/* The child of the command in its place. An exec that fails leaves its container. */
static bool child_killed_before(const struct command *command, int n) {
        pid_t runtime_pid, child = start_generation(command, &runtime_pid);
        bool killed = child > 0 && killed_before(child, n, true);
        int status = status_of(runtime_pid);

        if (status < 0)
                complain(command->name, n, "the runtime does not notice", "");
        else if (status != 0 && !command->before[0] && !is_empty(root))
                complain(command->name, n, "the runtime leaves state in ", root);
        return killed;
}

/* The runtime in its place, while the child stands before call N: nobody is there any more to end it, or to answer. */
static bool orphaned_before(const struct command *command, int n) {
        pid_t runtime_pid, child = start_generation(command, &runtime_pid);
        bool in_main, there = child > 0 && reaches(child, n, true, &in_main);

        kill(runtime_pid, SIGKILL);
        waitpid(runtime_pid, NULL, 0);
        if (there)
                ptrace(PTRACE_DETACH, child, NULL, NULL);
        return there;
}

static bool one_killed_before(const struct command *command, int n, bool orphans) {
        if (orphans)
                return orphaned_before(command, n);
        return command->generation ? child_killed_before(command, n) : killed_before(start_traced(command->words), n, false);
}

static int kill_everywhere(const struct command *command, bool orphans) {
        const int mounts_before = mounts();

        for (int n = 1;; n++) {
                bool killed;

                if (command->before[0] && run(command->before) != 0) {
                        complain(command->name, n, "cannot prepare for it", "");
                        return n;
                }
                killed = one_killed_before(command, n, orphans);
                check(command->name, n, killed, mounts_before);
                if (!killed || failures > FAILURES_MAX)
                        return n - 1;
        }
}

/* True: as it has to be. */
static bool holds(const struct command *command, bool orphans, int number) {
        int calls;

        failures = 0;
        calls = kill_everywhere(command, orphans);
        printf("%sok %d - %s, %s before each of its %d system calls, leaves nothing that %s does not take\n", failures ? "not " : "",
                number, command->name, orphans ? "orphaned" : "killed", calls, getenv("GC") ? "gc" : "delete --force");
        return failures == 0 && calls >= (helper ? 3 : command->generation ? 4 : 20);
}

int main(int argc, char **argv) {
        const int n = sizeof commands / sizeof *commands;
        int failed = 0, number = 0;

        if (argc < 4)
                return 2;
        set_up(argv);
        print_plan(argv + 4, true);
        for (int i = 0; i < n; i++) {
                if (!is_wanted(&commands[i], argv + 4))
                        continue;
                failed |= !holds(&commands[i], false, ++number);
                if (commands[i].generation)
                        failed |= !holds(&commands[i], true, ++number);
        }
        return failed;
}
