#include "apply/cgroup_room.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "apply/cgroup_file.h"
#include "base/file.h"
#include "base/str.h"

int cgroup_room_read(int fd, uint64_t *ret_limit) {
        char text[CGROUP_FILE_SIZE];
        int r = cgroup_file_read(fd, "pids.max", text);

        if (r < 0)
                return r == -ENOENT ? -ENOSPC : r;
        text[strcspn(text, "\n")] = '\0';
        return str_to_u64(text, INT32_MAX, ret_limit) < 0 ? -ENOSPC : 0; /* "max": another limit is in the way */
}

int cgroup_room_write(int fd, uint64_t limit) {
        char text[24];
        int n = snprintf(text, sizeof text, "%" PRIu64, limit);

        return file_write(fd, "pids.max", text, (size_t)n);
}
