#define _GNU_SOURCE
#include "apply/cgroup_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/str.h"

int cgroup_file_read_fd(int file, char text[CGROUP_FILE_SIZE]) {
        ssize_t n = pread(file, text, CGROUP_FILE_SIZE - 1, 0);

        if (n < 0)
                return -errno;
        text[n] = '\0';
        return 0;
}

int cgroup_file_read(int fd, const char *name, char text[CGROUP_FILE_SIZE]) {
        _cleanup_close_ int file = openat(fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

        return file < 0 ? -errno : cgroup_file_read_fd(file, text);
}

bool cgroup_has_word(const char *text, const char *word) {
        size_t n = strlen(word);

        for (const char *at = text; *(at += strspn(at, " \n"));) {
                size_t length = strcspn(at, " \n");

                if (length == n && strncmp(at, word, n) == 0)
                        return true;
                at += length;
        }
        return false;
}

bool cgroup_event(const char *text, const char *event) {
        for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
                const char *value = str_after(line, event);

                if (value && *value == ' ')
                        return value[1] == '1';
        }
        return false;
}
