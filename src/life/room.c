#define _GNU_SOURCE
#include "life/room.h"

#include <errno.h>
#include <unistd.h>

#include "apply/cgroup_room.h"
#include "base/fd.h"
#include "base/log.h"
#include "life/cgroup_claim.h"

static int note(struct container *container, bool room, uint64_t limit) {
        struct status_status *status = &container->status;
        struct error err;

        status->has = (status->has & ~(uint64_t)STATUS_STATUS_HAS_ROOM) | (room ? STATUS_STATUS_HAS_ROOM : 0);
        status->room = limit;
        return container_save(container, &err);
}

int room_begin(struct container *container, int *ret_cgroup) {
        _cleanup_close_ int fd = -1;
        uint64_t limit;
        int r;

        if ((r = cgroup_claim_open(container, &fd)) < 0 || (r = cgroup_room_read(fd, &limit)) < 0 || (r = note(container, true, limit)) < 0)
                return r;
        if ((r = cgroup_room_write(fd, limit + 1)) < 0) {
                (void)note(container, false, 0);
                return r;
        }
        *ret_cgroup = take_fd(&fd);
        return 0;
}

int room_end(struct container *container, int cgroup) {
        int r = cgroup_room_write(cgroup, container->status.room);

        return r < 0 ? r : note(container, false, 0);
}

void room_mend(struct container *container) {
        _cleanup_close_ int fd = -1;
        uint64_t limit, now;

        if (!(container->status.has & STATUS_STATUS_HAS_ROOM))
                return;
        limit = container->status.room;
        if (cgroup_claim_open(container, &fd) == 0 && cgroup_room_read(fd, &now) == 0 && now == limit + 1 &&
                cgroup_room_write(fd, limit) < 0)
                return;
        log_debug("%s: pids.max is what it was before a runtime was killed", container->id);
        (void)note(container, false, 0);
}
