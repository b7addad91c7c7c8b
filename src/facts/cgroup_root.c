/* The cgroup that an administrator has set aside for sandboxes, and whether cpu, memory and pids get as far as to the cgroups below it. */
#define _GNU_SOURCE
#include "facts/probe.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

static const char *const controllers[] = { "cpu", "memory", "pids" };

static bool has(const char *text, const char *word) {
        size_t n = strlen(word);

        for (const char *at = text; (at = strstr(at, word)); at += n)
                if ((at == text || at[-1] == ' ') && (at[n] == ' ' || at[n] == '\n' || at[n] == '\0'))
                        return true;
        return false;
}

static int read_in(const char *directory, const char *file, char *text, size_t size) {
        char path[PATH_MAX + 64];
        int r;

        snprintf(path, sizeof path, "%s/%s", directory, file);
        r = probe_read(path, text, size);
        if (r < 0)
                text[0] = '\0';
        return r;
}

/* cgroup-v2.rst, "No Internal Process Constraint": the hierarchy's root, which has no cgroup.type, is free of it. The first byte is enough. */
static bool is_occupied(const char *directory) {
        char text[64];

        if (read_in(directory, "cgroup.type", text, sizeof text) < 0)
                return false;
        return read_in(directory, "cgroup.procs", text, sizeof text) != 0;
}

static bool may_write(const char *directory, const char *file) {
        char path[PATH_MAX + 64];

        snprintf(path, sizeof path, "%s/%s", directory, file);
        return faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) == 0;
}

/* What keeps DIRECTORY from handing CONTROLLER on; 0: nothing, or it does. */
static enum facts_controller_obstacle obstacle(const char *directory, const char *controller, const char *available, const char *enabled) {
        if (has(enabled, controller))
                return 0;
        if (!has(available, controller))
                return FACTS_CONTROLLER_OBSTACLE_ABSENT;
        if (is_occupied(directory))
                return FACTS_CONTROLLER_OBSTACLE_OCCUPIED;
        return may_write(directory, "cgroup.subtree_control") ? 0 : FACTS_CONTROLLER_OBSTACLE_DENIED;
}

/* What DIRECTORY adds to the list. A controller that can be switched on above it is not in its cgroup.controllers yet, which is no lack:
 * FIRST is the hierarchy's root, where that file has all there are. */
static void look_at(struct arena *arena, const char *directory, bool first, char known[1024], struct facts_cgroup_root *root) {
        char available[1024], enabled[1024];

        read_in(directory, "cgroup.controllers", available, sizeof available);
        read_in(directory, "cgroup.subtree_control", enabled, sizeof enabled);
        if (first)
                snprintf(known, 1024, "%s", available);
        for (size_t i = 0; i < sizeof controllers / sizeof *controllers; i++) {
                enum facts_controller_obstacle why = obstacle(directory, controllers[i], known, enabled);
                bool told = false;

                for (size_t k = 0; k < root->n_lacks; k++)
                        told |= streq(root->lacks[k].controller, controllers[i]);
                if (why && !told)
                        root->lacks[root->n_lacks++] = (struct facts_controller_lack){
                                .controller = controllers[i], .at = arena_strdup(arena, directory), .why = why
                        };
        }
}

static enum facts_cgroup_root_state state_of(const char *path) {
        struct stat mount, st;
        struct statfs fs;
        char type[64];

        if (stat(path, &st) < 0 || statfs(path, &fs) < 0)
                return FACTS_CGROUP_ROOT_STATE_MISSING;
        if (!S_ISDIR(st.st_mode) || (unsigned long)fs.f_type != CGROUP2_SUPER_MAGIC || stat(facts_cgroup_mount(), &mount) < 0 ||
                mount.st_dev != st.st_dev)
                return FACTS_CGROUP_ROOT_STATE_FOREIGN;
        if (read_in(path, "cgroup.type", type, sizeof type) > 0 && !has(type, "domain"))
                return FACTS_CGROUP_ROOT_STATE_THREADED;
        return strstr(type, "invalid") || strstr(type, "threaded") ? FACTS_CGROUP_ROOT_STATE_THREADED : FACTS_CGROUP_ROOT_STATE_USABLE;
}

int probe_cgroup_root(struct arena *arena, const char *path, struct facts_cgroup_root **ret, struct error *err) {
        struct facts_cgroup_root *root = arena_new(arena, struct facts_cgroup_root);
        size_t mount = strlen(facts_cgroup_mount());
        char at[PATH_MAX], known[1024];

        (void)err;
        root->path = path;
        root->state = strlen(path) < sizeof at ? state_of(path) : FACTS_CGROUP_ROOT_STATE_MISSING;
        root->lacks = arena_array(arena, struct facts_controller_lack, sizeof controllers / sizeof *controllers);
        *ret = root;
        if (root->state != FACTS_CGROUP_ROOT_STATE_USABLE || !path_is_below(path, facts_cgroup_mount()))
                return 0;
        root->writable = may_write(path, ".");
        strcpy(at, path);
        for (char *end = at + mount;; end = strchr(end + 1, '/') ?: at + strlen(at)) {
                char saved = *end;

                *end = '\0';
                look_at(arena, at, end == at + mount, known, root);
                *end = saved;
                if (!saved)
                        return 0;
        }
}
