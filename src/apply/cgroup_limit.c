#define _GNU_SOURCE
#include "apply/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "apply/cgroup_delegate.h"
#include "apply/cgroup_devices.h"
#include "apply/cgroup_file.h"
#include "base/fd.h"
#include "base/str.h"

#define NO_LIMIT UINT64_MAX /* "max" */

/* The next word of *TEXT as a number or "max"; -EINVAL for any other, -ENODATA for none. */
static int next_number(const char **text, uint64_t *ret) {
        const char *word = *text + strspn(*text, " \n");
        size_t n = strcspn(word, " \n");
        char copy[24];

        *text = word + n;
        if (n == 0)
                return -ENODATA;
        if (n >= sizeof copy)
                return -EINVAL;
        memcpy(copy, word, n);
        copy[n] = '\0';
        if (streq(copy, "max")) {
                *ret = NO_LIMIT;
                return 0;
        }
        return str_to_u64(copy, NO_LIMIT - 1, ret) < 0 ? -EINVAL : 0;
}

/* May the kernel have kept FOUND for WANTED? It counts memory in pages, rounding down, up to LONG_MAX bytes, and huge pages in theirs. */
static bool is_rounded(const char *file, uint64_t wanted, uint64_t found) {
        uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

        if (str_after(file, "memory."))
                return found == NO_LIMIT ? wanted >= INT64_MAX / page * page : found <= wanted && wanted - found < page;
        return str_after(file, "hugetlb.") && found <= wanted;
}

/* Compares what was written with what the file says now, number by number. Files of other words (sets of CPUs, lines a device) pass. */
static bool is_kept(const char *file, const char *wanted, const char *found) {
        uint64_t w, f;

        while (next_number(&wanted, &w) == 0 && next_number(&found, &f) == 0)
                if (w != f && !is_rounded(file, w, f))
                        return false;
        return true;
}

static int refused(const struct plan_cgroup_write *write, const char *file, const char *value, int errnum, struct error *err) {
        bool by_value = errnum == EINVAL || errnum == ERANGE || errnum == ENODEV || errnum == EOPNOTSUPP;

        return fail_errno(err, by_value ? CODE_CONFIG_INVALID : CODE_RESOURCE_LIMITS_UNSUPPORTED, errnum, write->field,
                          "the kernel refuses \"%s\" for %s", value, file);
}

/* -ENOENT, without ERR, when there is no such file. */
static int write_limit(int fd, const struct plan_cgroup_write *limit, const char *file, const char *value, struct error *err) {
        _cleanup_close_ int f = -1;
        char found[CGROUP_FILE_SIZE];
        ssize_t n;

        if (strchr(file, '/')) /* linux.resources.unified takes any key */
                return fail(
                        err, CODE_CONFIG_INVALID, EINVAL, limit->field, "expected the name of a file of the cgroup, found \"%s\"", file);
        f = openat(fd, file, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
        if (f < 0 && errno == EACCES)
                f = openat(fd, file, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
        if (f < 0)
                return errno == ENOENT ? -ENOENT : refused(limit, file, value, errno, err);
        n = write(f, value, strlen(value));
        if (n < 0)
                return refused(limit, file, value, errno, err);
        if (cgroup_file_read_fd(f, found) == 0 && !is_kept(file, value, found))
                return fail(err, CODE_RESOURCE_LIMITS_UNSUPPORTED, EOPNOTSUPP, limit->field,
                        "wrote \"%s\" to %s, where the kernel keeps \"%.*s\"", value, file, (int)strcspn(found, "\n"), found);
        return 0;
}

int cgroup_limit_one(int fd, const struct plan_cgroup_write *limit, struct error *err) {
        int r = write_limit(fd, limit, limit->file, limit->value, err);

        if (r == -ENOENT && limit->else_file)
                r = write_limit(fd, limit, limit->else_file, limit->else_value, err);
        if (r != -ENOENT)
                return r;
        if (limit->optional)
                return 0;
        return fail(err, CODE_RESOURCE_LIMITS_UNSUPPORTED, ENOENT, limit->field, "cgroup v2 of this host has no file %s here", limit->file);
}

/* memory.checkBeforeUpdate: a limit below what is in use would make the kernel reclaim, and kill where it cannot. */
int cgroup_check_memory(int fd, const struct plan_cgroup *cgroup, struct error *err) {
        if (!cgroup->check_memory)
                return 0;
        for (size_t i = 0; i < cgroup->n_writes; i++) {
                const char *limit = cgroup->writes[i].value, *usage;
                char current[CGROUP_FILE_SIZE];
                uint64_t wanted, used;

                if (!streq(cgroup->writes[i].file, "memory.max") || next_number(&limit, &wanted) < 0)
                        continue;
                usage = current;
                if (cgroup_file_read(fd, "memory.current", current) == 0 && next_number(&usage, &used) == 0 && used > wanted)
                        return fail(err, CODE_CONFIG_INVALID, EBUSY, cgroup->writes[i].field, "%" PRIu64 " bytes are in use already", used);
        }
        return 0;
}

/* Who is not root of the host may not be able to; the specification only allows it ("Cgroup ownership"). */
static int give(int fd, uint32_t owner, struct error *err) {
        int r = cgroup_give(fd, owner, UINT32_MAX);

        return r < 0 && r != -EPERM ? fail_errno(err, CODE_LAUNCH_FAILED, -r, "linux.cgroupsPath", "cannot give the cgroup to the container") : 0;
}

int cgroup_limit(int fd, const struct plan_cgroup *cgroup, struct error *err) {
        int r;

        if ((r = cgroup_check_memory(fd, cgroup, err)) < 0)
                return r;
        for (size_t i = 0; i < cgroup->n_writes; i++) {
                r = cgroup_limit_one(fd, &cgroup->writes[i], err);
                if (r < 0)
                        return r;
        }
        if (cgroup->has & PLAN_CGROUP_HAS_OWNER && (r = give(fd, cgroup->owner, err)) < 0)
                return r;
        return cgroup->limit_devices ? cgroup_devices_attach(fd, cgroup->devices, cgroup->n_devices, err) : 0;
}
