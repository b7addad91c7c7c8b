/* The id ranges that a user may map beside his own (subuid(5), subgid(5)). A static program has no NSS: the files are read as they are. */
#define _GNU_SOURCE
#include "facts/probe.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"

#define FILE_MAX_BYTES (4u << 20)

/* One line, "NAME-OR-ID:START:COUNT", of an owner that is ours. */
static bool parse_span(const char *line, size_t size, const char *name, uint32_t id, struct facts_id_span *ret) {
        char copy[256], own[16], *rest = copy, *owner, *start, *count;
        uint64_t first, n;

        if (size >= sizeof copy)
                return false;
        memcpy(copy, line, size);
        copy[size] = '\0';
        snprintf(own, sizeof own, "%u", id);
        owner = strsep(&rest, ":");
        start = strsep(&rest, ":");
        count = strsep(&rest, ":");
        if (!count || rest || !(streq(owner, own) || (name && streq(owner, name))))
                return false;
        if (str_to_u64(start, UINT32_MAX, &first) < 0 || str_to_u64(count, UINT32_MAX, &n) < 0 || n == 0)
                return false;
        *ret = (struct facts_id_span){ .start = (uint32_t)first, .count = (uint32_t)n };
        return true;
}

struct facts_id_span *probe_subids_text(struct arena *arena, const char *text, const char *name, uint32_t id, size_t *ret_n) {
        struct facts_id_span found, *spans;
        size_t lines = 1, n = 0;

        for (const char *at = text; (at = strchr(at, '\n')); at++)
                lines++;
        spans = arena_array(arena, struct facts_id_span, lines);
        for (const char *line = text; *line; line += strspn(line, "\n")) {
                size_t size = strcspn(line, "\n");

                if (parse_span(line, size, name, id, &found))
                        spans[n++] = found;
                line += size;
        }
        *ret_n = n;
        return spans;
}

/* The name of user ID in /etc/passwd, or NULL. */
static const char *user_name(struct arena *arena, uint32_t id) {
        _cleanup_str_ struct str passwd = { 0 };
        char *text, *line;

        if (file_read(AT_FDCWD, "/etc/passwd", FILE_MAX_BYTES, &passwd) < 0)
                return NULL;
        for (text = passwd.text; (line = strsep(&text, "\n"));) {
                const char *name = strsep(&line, ":");
                const char *uid = (strsep(&line, ":"), strsep(&line, ":"));
                uint64_t number;

                if (uid && str_to_u64(uid, UINT32_MAX, &number) == 0 && number == id)
                        return arena_strdup(arena, name);
        }
        return NULL;
}

static struct facts_id_span *read_spans(struct arena *arena, const char *path, const char *name, uint32_t id, size_t *ret_n) {
        _cleanup_str_ struct str text = { 0 };

        if (file_read(AT_FDCWD, path, FILE_MAX_BYTES, &text) < 0)
                str_puts(&text, "");
        return probe_subids_text(arena, text.text, name, id, ret_n);
}

/* We run them by these paths only: PATH belongs to the caller. */
static bool helpers_installed(void) {
        return access("/usr/bin/newuidmap", X_OK) == 0 && access("/usr/bin/newgidmap", X_OK) == 0;
}

int probe_subids(struct arena *arena, const struct facts_identity *identity, struct facts_subids **ret, struct error *err) {
        struct facts_subids *subids = arena_new(arena, struct facts_subids);
        const char *name = user_name(arena, identity->euid);

        (void)err;
        /* Both files name the user: a line of subgid(5) gives group ids to a user. */
        subids->uids = read_spans(arena, "/etc/subuid", name, identity->euid, &subids->n_uids);
        subids->gids = read_spans(arena, "/etc/subgid", name, identity->euid, &subids->n_gids);
        subids->helpers = helpers_installed();
        *ret = subids;
        return 0;
}
