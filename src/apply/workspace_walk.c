#define _GNU_SOURCE
#include "apply/workspace_walk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "apply/tree.h"
#include "apply/workspace_inodes.h"
#include "apply/workspace_links.h"
#include "base/arena.h"
#include "base/fd.h"
#include "base/str.h"
#include "facts/quota.h"

#define BUFFER_SIZE 32768u
/* struct linux_dirent64: 19 bytes and a name of at least one, rounded up to 8 (getdents(2)). */
#define BUFFER_ENTRIES (BUFFER_SIZE / 24)
/* A signal is looked for once in so many readings of a directory: a workspace may have millions of names. */
#define CHECK_EVERY 64u
/* Names of so many suspicious inodes are kept, to tell one of them. */
#define SUSPECTS 16u

/* A directory on the way from the top to where we are: what of it is left to do. */
struct level {
        off_t next;     /* where to read on */
        size_t pending; /* what begins here in walk.pending are names of directories in it that were read and not yet entered */
        size_t path;    /* length of the path of its parent */
};

struct suspect {
        uint64_t inode;
        char *path;
};

struct walk {
        const struct walk_top *tops;
        size_t n_tops;
        const struct walk_rules *rules;
        const struct walk_top *top; /* the one that we are in */
        uint64_t device;            /* of it, and of all of them in a project */
        struct tree tree;
        struct level *levels; /* of tree.depth + 1 */
        size_t room;
        struct str pending, path;
        struct workspace_links links;
        struct suspect *suspects; /* in the second */
        struct arena *arena;
        struct walk_sum sum;
        unsigned reads;
        struct workspace_entry *entries; /* BUFFER_ENTRIES */
        char *buffer;
        uint64_t *roots; /* inodes of TOPS */
        struct error *err;
};

__attribute__((format(printf, 4, 5))) static int refuse(struct walk *w, const char *name, int errnum, const char *text, ...) {
        struct str where = { 0 };
        char message[sizeof w->err->text];
        va_list ap;
        int r;

        va_start(ap, text);
        vsnprintf(message, sizeof message, text, ap);
        va_end(ap);
        str_printf(&where, "%s%s%s%s", w->top->path, w->path.text ? w->path.text : "", name ? "/" : "", name ? name : "");
        r = fail(w->err, CODE_WORKSPACE_INVALID, errnum, where.text, "%s", message);
        str_free(&where);
        return r;
}

static int cannot(struct walk *w, const char *name, int errnum, const char *what) {
        return refuse(w, name, errnum, "cannot %s: %s", what, strerror(errnum));
}

/* ---- judging --------------------------------------------------------------------------------------------------------------- */

static int judge_symlink(struct walk *w, const char *name) {
        if (w->rules->allow_symlinks)
                return 0;
        return refuse(w, name, ELOOP, "a symlink, and allow_symlinks is false");
}

static int judge_project(struct walk *w, const char *name, uint32_t project) {
        if (project == w->rules->project)
                return 0;
        return refuse(w, name, EXDEV, "belongs to project %u, the workspace to %u: its size would not count", project, w->rules->project);
}

static int judge_realtime(struct walk *w, const char *name) {
        return refuse(w, name, EINVAL, "its blocks lie in the realtime section, which the project's limit does not count");
}

/* The directory that we stand in. */
static int judge_directory(struct walk *w) {
        struct quota_attributes attributes;
        int r;

        w->sum.directories++;
        if (w->tree.device != w->device)
                return refuse(w, NULL, EXDEV, "lies on another file system");
        if (!w->rules->in_project)
                return 0;
        if ((r = quota_attributes(w->tree.fd, &attributes)) < 0)
                return cannot(w, NULL, -r, "ask for its project");
        if ((r = judge_project(w, NULL, attributes.project)) < 0)
                return r;
        if (!attributes.inherits)
                return refuse(w, NULL, EINVAL, "what is made in this directory would not become project %u's (FS_XFLAG_PROJINHERIT)",
                        w->rules->project);
        return attributes.realtime ? judge_realtime(w, NULL) : 0;
}

/* Keeps the path of a name whose inode had too few in the first round. */
static void suspect(struct walk *w, const char *name, uint64_t inode) {
        for (size_t i = 0; w->suspects && i < SUSPECTS && w->suspects[i].inode; i++)
                if (w->suspects[i].inode == inode && !w->suspects[i].path)
                        w->suspects[i].path = arena_printf(w->arena, "%s%s/%s", w->top->path, w->path.text ? w->path.text : "", name);
}

static int judge_file(struct walk *w, const struct workspace_entry *entry) {
        int r = judge_project(w, entry->name, entry->project);

        if (r < 0)
                return r;
        if (entry->flags & FS_XFLAG_REALTIME)
                return judge_realtime(w, entry->name);
        if (entry->links < 2)
                return 0;
        suspect(w, entry->name, entry->inode);
        r = workspace_links_count(&w->links, entry->inode, entry->links);
        return r < 0 ? cannot(w, entry->name, -r, "remember its names") : 0;
}

/* ---- reading --------------------------------------------------------------------------------------------------------------- */

static void put_off(struct walk *w, const char *name) {
        str_add(&w->pending, name, strlen(name) + 1);
}

static int by_inode(const void *a, const void *b) {
        const struct workspace_entry *one = a, *other = b;

        return one->inode < other->inode ? -1 : one->inode > other->inode;
}

static int judge_mode(struct walk *w, const struct workspace_entry *entry) {
        if (S_ISDIR(entry->mode))
                put_off(w, entry->name);
        else if (S_ISLNK(entry->mode))
                return judge_symlink(w, entry->name);
        else if (S_ISREG(entry->mode) && w->rules->in_project)
                return judge_file(w, entry);
        return 0;
}

/* What the directory does not tell itself: without a project only the type, on file systems that do not tell that. */
static int look(struct walk *w, struct workspace_entry *entries, size_t n) {
        if (w->rules->in_project) {
                qsort(entries, n, sizeof *entries, by_inode);
                return workspace_inodes_look(w->tree.fd, entries, n);
        }
        for (size_t i = 0; i < n; i++) {
                struct stat st;

                if (fstatat(w->tree.fd, entries[i].name, &st, AT_SYMLINK_NOFOLLOW) == 0)
                        entries[i].mode = st.st_mode;
                else if (errno != ENOENT)
                        return -errno;
        }
        return 0;
}

static int judge_entries(struct walk *w, size_t n) {
        int r = look(w, w->entries, n);

        if (r < 0)
                return cannot(w, NULL, -r, "look at the files in it");
        for (size_t i = 0; i < n; i++)
                if ((r = judge_mode(w, &w->entries[i])) < 0)
                        return r;
        return 0;
}

/* Judges the next names of the directory that we stand in, and puts its directories off. 1: there are no more. */
static int read_names(struct walk *w, struct level *level) {
        ssize_t size;
        size_t n = 0;
        int r;

        if (w->reads++ % CHECK_EVERY == 0 && (r = interruption_check(w->rules->interruption, w->err)) < 0)
                return r;
        if (lseek(w->tree.fd, level->next, SEEK_SET) < 0)
                return cannot(w, NULL, errno, "read this directory");
        size = syscall(SYS_getdents64, w->tree.fd, w->buffer, BUFFER_SIZE);
        if (size <= 0) /* ENOENT: it was removed meanwhile */
                return size < 0 && errno != ENOENT ? cannot(w, NULL, errno, "read this directory") : 1;
        for (ssize_t at = 0; at < size;) {
                const struct dirent64 *entry = (const struct dirent64 *)(w->buffer + at);

                at += entry->d_reclen;
                level->next = entry->d_off;
                if (streq(entry->d_name, ".") || streq(entry->d_name, ".."))
                        continue;
                w->sum.names++;
                if (entry->d_type == DT_DIR)
                        put_off(w, entry->d_name);
                else if (entry->d_type == DT_LNK && (r = judge_symlink(w, entry->d_name)) < 0)
                        return r;
                else if (entry->d_type == DT_UNKNOWN || (entry->d_type == DT_REG && w->rules->in_project))
                        w->entries[n++] = (struct workspace_entry){ .name = entry->d_name, .inode = entry->d_ino };
        }
        return n ? judge_entries(w, n) : 0;
}

/* ---- going ----------------------------------------------------------------------------------------------------------------- */

static int open_level(struct walk *w, size_t path) {
        if (w->tree.depth >= w->room) {
                size_t room = w->room ? 2 * w->room : 64;
                struct level *levels = reallocarray(w->levels, room, sizeof *levels);

                if (!levels)
                        return cannot(w, NULL, ENOMEM, "walk as deep as this");
                w->levels = levels;
                w->room = room;
        }
        w->levels[w->tree.depth] = (struct level){ .pending = w->pending.size, .path = path };
        return judge_directory(w);
}

/* The last name that was put off in this directory, taken away; NULL: none is left. It stays readable until the next one is put off. */
static const char *next_pending(struct walk *w, const struct level *level) {
        size_t end = w->pending.size;

        if (end == level->pending)
                return NULL;
        for (end--; end > level->pending && w->pending.text[end - 1];)
                end--;
        w->pending.size = end;
        return w->pending.text + end;
}

static bool is_a_top(const struct walk *w) {
        for (size_t i = 0; i < w->n_tops; i++)
                if (w->tree.inode == w->roots[i])
                        return true;
        return false;
}

/* Into NAME, unless it is gone, or is walked as a top by itself. */
static int go_down(struct walk *w, const char *name) {
        size_t path = w->path.size;
        int r = tree_enter(&w->tree, name);

        if (r == -ENOENT || r == -ENOTDIR || r == -ELOOP)
                return 0;
        if (r == -EXDEV)
                return refuse(w, name, EXDEV, "something is mounted on this directory");
        if (r < 0)
                return cannot(w, name, -r, "open this directory");
        str_printf(&w->path, "/%s", name);
        r = open_level(w, path);
        if (r < 0 || !is_a_top(w))
                return r;
        w->levels[w->tree.depth].next = INT64_MAX; /* nothing is there to be read */
        return 0;
}

static void cut_path(struct walk *w, size_t size) {
        w->path.size = size;
        if (w->path.text)
                w->path.text[size] = '\0';
}

static int go_up(struct walk *w) {
        size_t path = w->levels[w->tree.depth].path;
        int r = tree_leave(&w->tree);

        if (r == -ESTALE)
                return refuse(w, NULL, EBUSY, "this directory was moved while the workspace was looked at; try again");
        if (r < 0)
                return cannot(w, NULL, -r, "go back from this directory");
        cut_path(w, path);
        return 0;
}

static int walk_top(struct walk *w, const struct walk_top *top) {
        int r;

        w->top = top;
        cut_path(w, 0);
        tree_end(&w->tree);
        if ((r = tree_begin(&w->tree, top->fd)) < 0)
                return cannot(w, NULL, -r, "open this directory");
        w->pending.size = 0;
        if (top == w->tops || !w->rules->in_project)
                w->device = w->tree.device;
        if ((r = open_level(w, 0)) < 0)
                return r;
        for (;;) {
                struct level *level = &w->levels[w->tree.depth];
                const char *name = next_pending(w, level);

                if (name)
                        r = go_down(w, name);
                else if (level->next == INT64_MAX || (r = read_names(w, level)) == 1)
                        r = w->tree.depth ? go_up(w) : 1;
                if (r)
                        return r < 0 ? r : 0;
        }
}

static int find_roots(struct walk *w) {
        for (size_t i = 0; i < w->n_tops; i++) {
                struct stat st;

                w->top = &w->tops[i];
                if (fstat(w->tops[i].fd, &st) < 0)
                        return cannot(w, NULL, errno, "look at this directory");
                w->roots[i] = st.st_ino;
        }
        return 0;
}

static bool again(const struct walk *w, size_t n) {
        for (size_t i = 0; i < n; i++)
                if (w->roots[i] == w->roots[n])
                        return true;
        return false;
}

static int walk_tops(struct walk *w) {
        int r = find_roots(w);

        for (size_t i = 0; r == 0 && i < w->n_tops; i++)
                if (!again(w, i))
                        r = walk_top(w, &w->tops[i]);
        return r;
}

/* ---- names outside --------------------------------------------------------------------------------------------------------- */

static void list_suspects(struct walk *w, const struct workspace_links *links) {
        size_t n = 0;

        w->suspects = arena_array(w->arena, struct suspect, SUSPECTS);
        for (size_t i = 0; i < links->room && n < SUSPECTS; i++)
                if (links->places[i].inode && links->places[i].seen < links->places[i].links)
                        w->suspects[n++].inode = links->places[i].inode;
}

static int tell_name_outside(struct walk *w, const struct workspace_link *found) {
        const char *path = NULL;

        for (size_t i = 0; i < SUSPECTS; i++)
                if (w->suspects[i].inode == found->inode)
                        path = w->suspects[i].path;
        if (!path)
                path = arena_printf(w->arena, "%s (inode %llu)", w->tops[0].path, (unsigned long long)found->inode);
        return fail(w->err, CODE_WORKSPACE_INVALID, EMLINK, path,
                "this file has %u names (hard links), and only %u are in what the sandbox may write", found->links, found->seen);
}

/* A sandbox that lives in this workspace may have made or taken away a name between our looking at two directories (git makes its objects
 * by link and unlink): only what is found twice counts. */
static int check_names_outside(struct walk *w) {
        struct workspace_links first = w->links;
        const struct workspace_link *found;
        int r = 0;

        if (!workspace_links_missing(&first, NULL))
                return 0;
        w->links = (struct workspace_links){ 0 };
        list_suspects(w, &first);
        r = walk_tops(w);
        found = r < 0 ? NULL : workspace_links_missing(&w->links, &first);
        if (found)
                r = tell_name_outside(w, found);
        workspace_links_free(&first);
        return r;
}

int workspace_walk(const struct walk_top *tops, size_t n, const struct walk_rules *rules, struct walk_sum *ret, struct error *err) {
        _cleanup_arena_ struct arena arena = { 0 };
        struct walk w = {
                .tops = tops,
                .n_tops = n,
                .rules = rules,
                .arena = &arena,
                .tree = TREE_NOTHING,
                .err = err,
                .entries = arena_array_raw(&arena, struct workspace_entry, BUFFER_ENTRIES),
                .buffer = arena_alloc_raw(&arena, BUFFER_SIZE),
                .roots = arena_array(&arena, uint64_t, n),
        };
        int r = walk_tops(&w);

        if (ret)
                *ret = w.sum;
        if (r == 0)
                r = check_names_outside(&w);
        tree_end(&w.tree);
        free(w.levels);
        str_free(&w.pending);
        str_free(&w.path);
        workspace_links_free(&w.links);
        return r;
}
