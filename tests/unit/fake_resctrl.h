/* A directory tree that behaves as the resctrl file system does, as far as the runtime uses it: a new directory has its files at once, rmdir
 * takes them along, "tasks" collects pids, "schemata" keeps a line a resource, and what is refused says why in info/last_cmd_status. The
 * test's program must be linked with --wrap for the three calls. */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

static char fake_root[256];
static int fake_classes = 4; /* so many more can be made */
static char fake_log[4096];  /* what was written, "PATH=TEXT" a write, the path below the root */

int __real_mkdir(const char *path, mode_t mode);
int __wrap_mkdir(const char *path, mode_t mode);
int __real_rmdir(const char *path);
int __wrap_rmdir(const char *path);
int __real_file_write(int dir, const char *path, const void *data, size_t n);
int __wrap_file_write(int dir, const char *path, const void *data, size_t n);

static inline const char *fake_below(const char *path) {
        return *fake_root ? str_after(path, fake_root) : NULL;
}

/* NAME in DIRECTORY; an empty NAME is DIRECTORY itself. */
static inline char *fake_path(char *buffer, size_t size, const char *directory, const char *name) {
        if (snprintf(buffer, size, "%s%s%s", directory, *name ? "/" : "", name) >= (int)size)
                abort();
        return buffer;
}

static inline void fake_put(const char *directory, const char *name, const char *text, const char *mode) {
        char path[512];
        FILE *file = fopen(fake_path(path, sizeof path, directory, name), mode);

        if (!file || fputs(text, file) < 0 || fclose(file) != 0)
                abort();
}

static inline void fake_get(const char *directory, const char *name, char *text, size_t size) {
        char path[512];
        FILE *file = fopen(fake_path(path, sizeof path, directory, name), "re");
        size_t n = file ? fread(text, 1, size - 1, file) : 0;

        text[n] = '\0';
        if (file)
                fclose(file);
}

static inline void fake_fill(const char *directory, bool can_monitor) {
        char path[512];

        fake_put(directory, "tasks", "", "we");
        if (!can_monitor)
                return;
        fake_put(directory, "schemata", "    MB:0=100;1=100\n    L3:0=fffff;1=fffff\n", "we");
        __real_mkdir(fake_path(path, sizeof path, directory, "mon_groups"), 0755);
}

/* ROOT is an empty directory. */
static inline void fake_resctrl(const char *root) {
        char path[512];

        snprintf(fake_root, sizeof fake_root, "%s", root);
        fake_fill(root, true);
        __real_mkdir(fake_path(path, sizeof path, root, "info"), 0755);
        __real_mkdir(fake_path(path, sizeof path, root, "info/L3"), 0755);
        __real_mkdir(fake_path(path, sizeof path, root, "info/MB"), 0755);
        fake_put(root, "info/MB/bandwidth_gran", "10\n", "we");
        fake_put(root, "info/last_cmd_status", "ok\n", "we");
        fake_classes = 4;
        *fake_log = '\0';
}

int __wrap_mkdir(const char *path, mode_t mode) {
        int r;

        if (!fake_below(path))
                return __real_mkdir(path, mode);
        if (fake_classes == 0) {
                fake_put(fake_root, "info/last_cmd_status", "Out of CLOSIDs\n", "we");
                errno = ENOSPC;
                return -1;
        }
        r = __real_mkdir(path, mode);
        if (r == 0) {
                fake_classes--;
                fake_fill(path, !strstr(path, "/mon_groups/"));
        }
        return r;
}

int __wrap_rmdir(const char *path) {
        static const char *const files[] = { "tasks", "schemata" };
        char below[512];

        if (!fake_below(path))
                return __real_rmdir(path);
        for (size_t i = 0; i < 2; i++)
                unlink(fake_path(below, sizeof below, path, files[i]));
        __real_rmdir(fake_path(below, sizeof below, path, "mon_groups"));
        if (__real_rmdir(path) < 0)
                return -1;
        fake_classes++;
        return 0;
}

/* Replaces the line of each resource that TEXT names. A number that has a 'g' is none. */
static inline int fake_schemata(const char *path, const char *text) {
        char copy[1024], kept[1024], *save;
        FILE *file;

        if (strchr(text, 'g')) {
                fake_put(fake_root, "info/last_cmd_status", "Non-hex character in the mask\n", "we");
                return -EINVAL;
        }
        fake_get(path, "", kept, sizeof kept);
        file = fopen(path, "we");
        if (!file)
                return -errno;
        snprintf(copy, sizeof copy, "%s", text);
        for (char *line = strtok_r(kept, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
                const char *name = line + strspn(line, " "), *at;
                char begin[64];

                snprintf(begin, sizeof begin, "%.*s", (int)(strcspn(name, ":") + 1), name);
                at = strstr(copy, begin);
                fprintf(file, "%6.*s\n", at ? (int)strcspn(at, "\n") : (int)strlen(name), at ? at : name);
        }
        return fclose(file) == 0 ? 0 : -errno;
}

int __wrap_file_write(int dir, const char *path, const void *data, size_t n) {
        const char *below = fake_below(path), *name = strrchr(path, '/');
        char text[1024];
        size_t used = strlen(fake_log);

        if (!below)
                return __real_file_write(dir, path, data, n);
        if (access(path, W_OK) < 0)
                return -errno;
        snprintf(text, sizeof text, "%.*s", (int)n, (const char *)data);
        snprintf(fake_log + used, sizeof fake_log - used, "%s=%s%s", below + 1, text, text[n - 1] == '\n' ? "" : "\n");
        if (strcmp(name, "/schemata") == 0)
                return fake_schemata(path, text);
        if (n > 0 && n < sizeof text - 1)
                strcat(text, "\n");
        fake_put(path, "", text, "ae");
        return 0;
}
