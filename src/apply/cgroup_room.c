#include "apply/cgroup_room.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "apply/cgroup_file.h"
#include "base/file.h"
#include "base/str.h"

static int write_limit(int fd, uint64_t limit) {
        char text[24];
        int n = snprintf(text, sizeof text, "%" PRIu64, limit);

        return file_write(fd, "pids.max", text, (size_t)n);
}

int cgroup_room_begin(int fd, uint64_t *ret_before) {
        char text[CGROUP_FILE_SIZE];
        uint64_t before;
        int r = cgroup_file_read(fd, "pids.max", text);

        if (r < 0)
                return r == -ENOENT ? -ENOSPC : r;
        text[strcspn(text, "\n")] = '\0';
        if (str_to_u64(text, INT32_MAX, &before) < 0) /* "max": another limit is in the way */
                return -ENOSPC;
        r = write_limit(fd, before + 1);
        if (r == 0)
                *ret_before = before;
        return r;
}

int cgroup_room_end(int fd, uint64_t before) {
        return write_limit(fd, before);
}
