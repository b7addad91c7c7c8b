#define _GNU_SOURCE
#include "monitor/volume.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "apply/tree.h"
#include "base/str.h"

/* Names of directories that are still to be entered, for each level of the tree: the place where a level's begin is on a stack of its own. */
struct names {
        struct str text; /* one behind the other, each with its NUL */
        size_t *levels;
        size_t n, room;
};

static void names_free(struct names *names) {
        str_free(&names->text);
        free(names->levels);
}

static void begin_level(struct names *names) {
        if (names->n == names->room) {
                names->room = names->room ? 2 * names->room : 64;
                names->levels = realloc(names->levels, names->room * sizeof *names->levels);
                if (!names->levels)
                        abort();
        }
        names->levels[names->n++] = names->text.size;
}

/* The last name of the level, taken off; NULL: there is none. Valid until the next is added. */
static const char *take_name(struct names *names) {
        size_t level = names->levels[names->n - 1], end = names->text.size;

        if (end == level)
                return NULL;
        for (end--; end > level && names->text.text[end - 1] != '\0'; end--)
                ;
        names->text.size = end;
        return names->text.text + end;
}

/* Adds the files of the directory that TREE stands in, and its directories to a new level of NAMES. */
static void look(const struct tree *tree, struct names *names, uint64_t *bytes) {
        int fd = openat(tree->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        DIR *entries = fd < 0 ? NULL : fdopendir(fd);
        struct stat st;

        begin_level(names);
        if (!entries) {
                if (fd >= 0)
                        close(fd);
                return;
        }
        for (struct dirent *entry; (entry = readdir(entries));) {
                if (streq(entry->d_name, ".") || streq(entry->d_name, ".."))
                        continue;
                if (entry->d_type == DT_DIR)
                        str_add(&names->text, entry->d_name, strlen(entry->d_name) + 1);
                else if ((entry->d_type == DT_REG || entry->d_type == DT_UNKNOWN) &&
                        fstatat(fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode))
                        *bytes += (uint64_t)st.st_size / (st.st_nlink ? st.st_nlink : 1);
        }
        closedir(entries);
}

static int measure(int top, uint64_t *bytes) {
        __attribute__((cleanup(names_free))) struct names names = { 0 };
        _cleanup_tree_ struct tree tree = TREE_NOTHING;
        int r = tree_begin(&tree, top);

        if (r < 0)
                return r;
        look(&tree, &names, bytes);
        while (names.n > 0) {
                const char *name = take_name(&names);

                if (!name) {
                        names.n--;
                        if (names.n > 0 && (r = tree_leave(&tree)) < 0)
                                return r == -ESTALE ? 0 : r; /* somebody moves what we count */
                        continue;
                }
                if (tree_enter(&tree, name) == 0)
                        look(&tree, &names, bytes);
        }
        return 0;
}

int volume_measure(const int *tops, size_t n, uint64_t *ret_bytes) {
        uint64_t bytes = 0;

        for (size_t i = 0; i < n; i++) {
                int r = measure(tops[i], &bytes);

                if (r < 0)
                        return r;
        }
        *ret_bytes = bytes;
        return 0;
}
