#define _GNU_SOURCE
#include "life/disk_usage.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "apply/project_quota.h"
#include "base/fd.h"

int disk_usage(const struct status_disk_claim *disk, struct sage_disk *ret) {
        _cleanup_close_ int mount = open(disk->mount, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        return mount < 0 ? -errno : project_quota_usage(mount, disk->project, ret);
}
