#define _GNU_SOURCE
#include "apply/idmap.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/file.h"
#include "base/str.h"

static int write_file(pid_t pid, const char *name, const char *text, size_t size, struct error *err) {
        char path[64];
        int r;

        snprintf(path, sizeof path, "/proc/%d/%s", pid, name);
        r = file_write(AT_FDCWD, path, text, size);
        return r < 0 ? fail_errno(err, CODE_LAUNCH_FAILED, -r, path, "cannot write the id map") : 0;
}

static int write_map(pid_t pid, const char *name, const struct plan_id_range *ranges, size_t n, struct error *err) {
        _cleanup_str_ struct str text = { 0 };

        for (size_t i = 0; i < n; i++)
                str_printf(&text, "%u %u %u\n", ranges[i].inside, ranges[i].outside, ranges[i].count);
        return text.size ? write_file(pid, name, text.text, text.size, err) : 0;
}

int idmap_write(pid_t pid, const struct plan_ids *ids, struct error *err) {
        int r;

        /* A process that may drop a supplementary group could open what "group may not" forbids: CVE-2014-8989. */
        if (ids->deny_setgroups && (r = write_file(pid, "setgroups", "deny", 4, err)) < 0)
                return r;
        if ((r = write_map(pid, "uid_map", ids->uid_map, ids->n_uid_map, err)) < 0)
                return r;
        return write_map(pid, "gid_map", ids->gid_map, ids->n_gid_map, err);
}

static bool maps_zero(const struct plan_id_range *ranges, size_t n) {
        for (size_t i = 0; i < n; i++)
                if (ranges[i].inside == 0)
                        return true;
        return false;
}

int idmap_become_root(const struct plan_ids *ids, struct error *err) {
        /* The raw calls: the C library's would signal other threads, and there are none. */
        if (maps_zero(ids->gid_map, ids->n_gid_map) && syscall(SYS_setresgid, 0, 0, 0) < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, "linux.gidMappings", "cannot become gid 0 of the user namespace");
        if (maps_zero(ids->uid_map, ids->n_uid_map) && syscall(SYS_setresuid, 0, 0, 0) < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, "linux.uidMappings", "cannot become uid 0 of the user namespace");
        return 0;
}
