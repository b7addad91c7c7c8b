/* rename_at_every_call RUNTIME ROOT BUNDLE FILE ONE OTHER: `mounts add FILE`, a mount for a directory in ONE; before one of the system calls of
 * its child, each in its turn, ONE and OTHER are exchanged. The container of BUNDLE has mounts of the source "victim" in both; FILE adds one of
 * the source "mine". Whichever directory that gets into, it must be read-only, noexec and shared, and nothing else may be. Prints TAP.
 * calls.h says what it needs. */
#define _GNU_SOURCE
#include "calls.h"

static pid_t first_process(void) {
        FILE *file = fopen("/sys/fs/cgroup/" ID "/cgroup.procs", "re");
        int pid = 0;

        if (!file || fscanf(file, "%d", &pid) != 1)
                not_here("no container");
        fclose(file);
        return pid;
}

/* Id, options and propagation of the container's mounts of SOURCE. */
static void mounts_of(pid_t pid, const char *source, char *text, size_t size) {
        char path[64], line[1024], separated[64], options[128], next[128];
        FILE *file;
        int id;

        snprintf(path, sizeof path, "/proc/%d/mountinfo", pid);
        snprintf(separated, sizeof separated, " %s ", source);
        file = fopen(path, "re");
        *text = '\0';
        while (file && fgets(line, sizeof line, file))
                if (strstr(line, separated) && sscanf(line, "%d %*s %*s %*s %*s %127s %127s", &id, options, next) == 3) {
                        size_t used = strlen(text);

                        if (strcmp(source, "mine") == 0)
                                id = 0;
                        snprintf(text + used, size - used, "%d %s %.7s;", id, options, next);
                }
        if (file)
                fclose(file);
}

static void complain(int n, const char *what, const char *found) {
        if (failures++ < FAILURES_MAX)
                printf("# renamed before call %d: %s: %s\n", n, what, found);
}

/* False: there were fewer calls. */
static bool rename_before(const char *const *words, int n, const char *one, const char *other) {
        char before[1024], after[1024], mine[1024];
        const pid_t init = first_process();
        pid_t runtime_pid, child;
        bool in_main, reached;

        mounts_of(init, "victim", before, sizeof before);
        runtime_pid = start_traced(words);
        child = child_of(runtime_pid, 0, false);
        reached = child > 0 && reaches(child, n, true, &in_main);
        if (reached && renameat2(AT_FDCWD, one, AT_FDCWD, other, RENAME_EXCHANGE) < 0)
                not_here("cannot rename");
        if (reached)
                ptrace(PTRACE_DETACH, child, NULL, NULL);
        if (status_of(runtime_pid) != 0)
                complain(n, "mounts add failed", "");
        mounts_of(init, "victim", after, sizeof after);
        mounts_of(init, "mine", mine, sizeof mine);
        if (strcmp(before, after) != 0)
                complain(n, "another mount was changed", after);
        if (strcmp(mine, "0 ro,noexec,relatime shared:;") != 0)
                complain(n, "the mount is not what was asked for", mine);
        return reached;
}

int main(int argc, char **argv) {
        static const char *const start[] = { "run", "--detach", "--bundle", "", ID, NULL },
                                 *const end[] = { "delete", "--force", ID, NULL };
        const char *words[] = { "mounts", "add", ID, argc == 7 ? argv[4] : NULL, NULL };
        bool reached = true;
        int n = 0;

        if (argc != 7)
                return 2;
        set_up(argv);
        while (reached && failures < FAILURES_MAX) {
                if (run(start) != 0)
                        not_here("cannot start a container");
                reached = rename_before(words, ++n, argv[5], argv[6]);
                run(end);
        }
        printf("1..1\n%sok 1 - what leads to a new mount is exchanged before each of %d system calls\n", failures ? "not " : "", n - 1);
        return failures || n < 10;
}
