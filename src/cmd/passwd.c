#include "cmd/passwd.h"

#include <fcntl.h>

#include "base/file.h"
#include "base/str.h"

enum { PASSWD_MAX = 16 << 20, FIELDS = 7 }; /* name:password:UID:GID:GECOS:directory:shell */

static bool split(char *line, char *fields[FIELDS]) {
        for (int i = 0; i < FIELDS; i++) {
                fields[i] = line;
                line = strchr(line, ':');
                if (!line)
                        return i == FIELDS - 1;
                *line++ = '\0';
        }
        return false;
}

static bool matches(char *fields[FIELDS], const char *name, uint32_t uid, struct passwd_entry *ret) {
        uint64_t u, g;

        if (str_to_u64(fields[2], UINT32_MAX - 1, &u) < 0 || str_to_u64(fields[3], UINT32_MAX - 1, &g) < 0 ||
                (name ? !streq(fields[0], name) : u != uid))
                return false;
        *ret = (struct passwd_entry){ .uid = (uint32_t)u, .gid = (uint32_t)g, .home = fields[5] };
        return true;
}

bool passwd_find_in(struct arena *arena, const char *text, const char *name, uint32_t uid, struct passwd_entry *ret) {
        while (*text) {
                size_t n = strcspn(text, "\n");
                char *fields[FIELDS], *line = arena_strndup(arena, text, n);

                if (split(line, fields) && matches(fields, name, uid, ret))
                        return true;
                text += n + (text[n] == '\n');
        }
        return false;
}

bool passwd_find(struct arena *arena, const char *name, uint32_t uid, struct passwd_entry *ret) {
        _cleanup_str_ struct str text = { 0 };

        return file_read(AT_FDCWD, "/etc/passwd", PASSWD_MAX, &text) == 0 && passwd_find_in(arena, text.text, name, uid, ret);
}
