#define _GNU_SOURCE
#include "monitor/volume.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "apply/tree.h"
#include "base/str.h"

enum {
        BLOCK_BYTES = 512, /* of st_blocks (stat(3type)) */
        INODE_BYTES = 4096,
        TURN_NAMES = 256,
};

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

/* What was found so far, and who is told. */
struct sum {
        uint64_t bytes;
        uint64_t inode_bytes; /* INODE_BYTES for each name, a part of it for one of several */
        uint64_t seen;
        volume_turn turn;
        void *data;
};

static uint64_t total(const struct sum *sum) {
        return sum->bytes > sum->inode_bytes ? sum->bytes : sum->inode_bytes;
}

static int tell(struct sum *sum) {
        return sum->turn && ++sum->seen % TURN_NAMES == 0 ? sum->turn(total(sum), sum->data) : 0;
}

static void add_file(struct sum *sum, const struct stat *st) {
        const uint64_t links = st->st_nlink ? st->st_nlink : 1, size = (uint64_t)st->st_size, kept = (uint64_t)st->st_blocks * BLOCK_BYTES;
        const uint64_t unit = st->st_blksize > 0 ? (uint64_t)st->st_blksize : 1;

        sum->bytes += (kept > 2 * (size / unit + 1) * unit ? kept : size) / links;
        sum->inode_bytes += INODE_BYTES / links;
}

static int look_at(int fd, const struct dirent *entry, struct names *names, struct sum *sum) {
        struct stat st;

        if (streq(entry->d_name, ".") || streq(entry->d_name, ".."))
                return 0;
        if (entry->d_type == DT_DIR)
                str_add(&names->text, entry->d_name, strlen(entry->d_name) + 1);
        if ((entry->d_type == DT_REG || entry->d_type == DT_UNKNOWN) && fstatat(fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
                S_ISREG(st.st_mode))
                add_file(sum, &st);
        else
                sum->inode_bytes += INODE_BYTES;
        return tell(sum);
}

/* Adds the files of the directory that TREE stands in, and its directories to a new level of NAMES. */
static int look(const struct tree *tree, struct names *names, struct sum *sum) {
        int fd = openat(tree->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), r = 0;
        DIR *entries = fd < 0 ? NULL : fdopendir(fd);

        begin_level(names);
        if (!entries) {
                if (fd >= 0)
                        close(fd);
                return 0;
        }
        for (struct dirent *entry; r == 0 && (entry = readdir(entries));)
                r = look_at(fd, entry, names, sum);
        closedir(entries);
        return r;
}

static int measure(int top, struct sum *sum) {
        __attribute__((cleanup(names_free))) struct names names = { 0 };
        _cleanup_tree_ struct tree tree = TREE_NOTHING;
        int r = tree_begin(&tree, top);

        if (r < 0 || (r = look(&tree, &names, sum)) != 0)
                return r;
        while (names.n > 0) {
                const char *name = take_name(&names);

                if (!name) {
                        names.n--;
                        if (names.n > 0 && (r = tree_leave(&tree)) < 0)
                                return r;
                        continue;
                }
                if (tree_enter(&tree, name) == 0 && (r = look(&tree, &names, sum)) != 0)
                        return r;
        }
        return 0;
}

int volume_measure(const int *tops, size_t n, volume_turn turn, void *data, uint64_t *ret_bytes) {
        struct sum sum = { .turn = turn, .data = data };
        int r = 0;

        for (size_t i = 0; r == 0 && i < n; i++)
                r = measure(tops[i], &sum);
        if (r == 0 || r == -ESTALE)
                *ret_bytes = total(&sum);
        return r;
}

uint64_t volume_used(int fd) {
        struct statfs fs;

        return fstatfs(fd, &fs) < 0 ? 0 : (uint64_t)(fs.f_blocks - fs.f_bfree) * (uint64_t)fs.f_bsize;
}
