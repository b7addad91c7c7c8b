#define _GNU_SOURCE
#include "facts/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"

int probe_read(const char *path, char *buffer, size_t size) {
        _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
        ssize_t n;

        if (fd < 0)
                return -errno;
        do
                n = read(fd, buffer, size);
        while (n < 0 && errno == EINTR);
        if (n < 0)
                return -errno;
        if ((size_t)n == size)
                return -EFBIG;
        if (n > 0 && buffer[n - 1] == '\n')
                n--;
        buffer[n] = '\0';
        return (int)n;
}

int probe_number(const char *path, uint64_t *ret) {
        char text[32];
        int r = probe_read(path, text, sizeof text);

        return r < 0 ? r : str_to_u64(text, UINT64_MAX, ret);
}

const char **probe_words(struct arena *arena, const char *text, const char *separators, size_t *ret_n) {
        const char **words;
        size_t n = 0;

        for (const char *at = text + strspn(text, separators); *at; at += strspn(at, separators), n++)
                at += strcspn(at, separators);
        words = arena_array(arena, const char *, n + 1);
        n = 0;
        for (const char *at = text + strspn(text, separators); *at; at += strspn(at, separators)) {
                size_t length = strcspn(at, separators);

                words[n++] = arena_strndup(arena, at, length);
                at += length;
        }
        *ret_n = n;
        return words;
}

/* \040 and the like stand for blank, tab, newline and backslash. */
static char *unescape(char *text) {
        char *to = text;

        for (const char *from = text; *from; to++) {
                if (from[0] == '\\' && from[1] >= '0' && from[1] <= '3' && from[2] >= '0' && from[2] <= '7' && from[3] >= '0' &&
                        from[3] <= '7') {
                        *to = (char)((from[1] - '0') << 6 | (from[2] - '0') << 3 | (from[3] - '0'));
                        from += 4;
                } else {
                        *to = *from++;
                }
        }
        *to = '\0';
        return text;
}

/* "36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue"; what stands before the lone dash varies in number. */
static bool parse_mount(char *line, struct probe_mount *ret) {
        enum { ID, PARENT, DEVICE, ROOT, POINT, FIXED };
        char *fields[FIXED], *tail = strstr(line, " - "), *type, *options;

        if (!tail)
                return false;
        *tail = '\0';
        for (size_t i = 0; i < FIXED; i++)
                if (!(fields[i] = strsep(&line, " ")))
                        return false;
        tail += strlen(" - ");
        type = strsep(&tail, " ");
        (void)strsep(&tail, " ");
        options = tail;
        *ret = (struct probe_mount){
                .id = (unsigned)strtoul(fields[ID], NULL, 10),
                .parent = (unsigned)strtoul(fields[PARENT], NULL, 10),
                .root = unescape(fields[ROOT]),
                .point = unescape(fields[POINT]),
                .type = type,
                .super_options = options ? options : "",
        };
        return true;
}

void probe_mountinfo(char *text, bool (*visit)(const struct probe_mount *mount, void *data), void *data) {
        char *line;

        while ((line = strsep(&text, "\n"))) {
                struct probe_mount mount;

                if (parse_mount(line, &mount) && !visit(&mount, data))
                        return;
        }
}
