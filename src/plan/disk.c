#include "plan/disk.h"

#define MIB (UINT64_C(1) << 20)

uint64_t disk_limit(const struct sage_request *request) {
        const struct sage_resources *resources = request->resources;
        const struct sage_filesystem *filesystem = request->filesystem;
        uint64_t bytes = resources && resources->has & SAGE_RESOURCES_HAS_DISK_MB ? resources->disk_mb * MIB : 0;

        if (filesystem && filesystem->has & SAGE_FILESYSTEM_HAS_MAX_TOTAL_BYTES && (bytes == 0 || filesystem->max_total_bytes < bytes))
                bytes = filesystem->max_total_bytes;
        return bytes;
}
