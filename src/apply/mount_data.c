#define _GNU_SOURCE
#include "apply/mounts.h"

#include <errno.h>
#include <stdio.h>

#include "base/str.h"

bool mount_data_has(const char *data, const char *name) {
        while (data && *data) {
                const char *rest = str_after(data, name);

                if (rest && *rest == '=')
                        return true;
                data = strchr(data, ',');
                data = data ? data + 1 : NULL;
        }
        return false;
}

/* The kernel's own views take no context= (runtime-spec config-linux.md, mountLabel; selinux: they have genfs contexts). */
static bool takes_label(const char *type) {
        static const char *const without[] = { "proc", "sysfs", "mqueue", "cgroup", "cgroup2" };

        for (size_t i = 0; i < ELEMENTSOF(without); i++)
                if (streq(type, without[i]))
                        return false;
        return true;
}

int mount_data(const char *type, const char *data, int mode, const struct plan_rootfs *rootfs, char *buffer, size_t size, const char **ret_data) {
        const char *label = rootfs->mount_label, *context = rootfs->mount_context ? rootfs->mount_context : "context";
        char more[32] = "";
        int n;

        if (label && (!takes_label(type) || mount_data_has(data, context)))
                label = NULL;
        if (mode < 0 && !label) {
                *ret_data = data;
                return 0;
        }
        if (mode >= 0)
                snprintf(more, sizeof more, ",mode=%o", (unsigned)mode);
        n = snprintf(buffer, size, "%s%s", data ? data : "", more);
        if (n >= 0 && (size_t)n < size && label)
                n += snprintf(buffer + n, size - (size_t)n, ",%s=\"%s\"", context, label);
        if (n < 0 || (size_t)n >= size)
                return -E2BIG;
        *ret_data = buffer[0] == ',' ? buffer + 1 : buffer;
        return 0;
}
