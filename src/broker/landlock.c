#define _GNU_SOURCE
#include "broker/landlock.h"

#include "base/fd.h"

#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

/* linux/landlock.h of Linux 6.12; Debian 12 has that of 6.1, which ends after the first member. */
struct ruleset {
        uint64_t handled_access_fs, handled_access_net, scoped;
};

struct port_rule {
        uint64_t allowed_access, port;
};

enum {
        RULE_NET_PORT = 2,
        NET_BIND_TCP = 1,
        NET_CONNECT_TCP = 2,
        SCOPE_ABSTRACT_UNIX_SOCKET = 1,
        SCOPE_SIGNAL = 2,
};

/* All file system rights that version ABI knows: 13 at first, REFER, TRUNCATE and IOCTL_DEV since. */
static uint64_t fs_rights(int abi) {
        return (UINT64_C(1) << (abi < 2 ? 13 : abi < 3 ? 14 : abi < 5 ? 15 : 16)) - 1;
}

static size_t ruleset_size(int abi) {
        return abi < 4 ? offsetof(struct ruleset, handled_access_net) : abi < 6 ? offsetof(struct ruleset, scoped) : sizeof(struct ruleset);
}

static bool add_path(int ruleset, int fd, uint64_t access) {
        const struct landlock_path_beneath_attr rule = { .allowed_access = access, .parent_fd = fd };

        return syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) == 0;
}

/* landlock_add_rule(2): EINVAL when a right for directories is given for what is none. */
static int allow_path(int ruleset, const char *path, uint64_t access) {
        _cleanup_close_ int fd = open(path, O_PATH | O_CLOEXEC);

        if (fd < 0)
                return errno == ENOENT || errno == EACCES ? 0 : -errno;
        if (add_path(ruleset, fd, access) || (errno == EINVAL && add_path(ruleset, fd, access & ~(uint64_t)LANDLOCK_ACCESS_FS_READ_DIR)))
                return 0;
        return -errno;
}

static int allow_port(int ruleset, uint16_t port) {
        struct port_rule rule = { NET_CONNECT_TCP, port };

        return syscall(SYS_landlock_add_rule, ruleset, RULE_NET_PORT, &rule, 0) < 0 ? -errno : 0;
}

static int allow_all(int ruleset, int abi, const struct landlock_allowed *allowed) {
        int r = 0;

        for (size_t i = 0; i < allowed->n_read && r == 0; i++)
                r = allow_path(ruleset, allowed->read[i], LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR);
        for (size_t i = 0; i < allowed->n_execute && r == 0; i++)
                r = allow_path(ruleset, allowed->execute[i], LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_EXECUTE);
        if (allowed->n_read && r == 0)
                r = allow_path(ruleset, "/dev/null", LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE);
        for (size_t i = 0; i < allowed->n_connect && r == 0 && abi >= 4; i++)
                r = allow_port(ruleset, allowed->connect[i]);
        return r;
}

int landlock_only(const struct landlock_allowed *allowed) {
        int abi = (int)syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION), r;
        struct ruleset attributes = {
                .handled_access_fs = fs_rights(abi),
                .handled_access_net = NET_BIND_TCP | NET_CONNECT_TCP,
                .scoped = SCOPE_ABSTRACT_UNIX_SOCKET | (allowed->signals ? 0 : SCOPE_SIGNAL),
        };
        _cleanup_close_ int ruleset = -1;

        if (abi < 0)
                return -errno;
        ruleset = (int)syscall(SYS_landlock_create_ruleset, &attributes, ruleset_size(abi), 0);
        if (ruleset < 0)
                return -errno;
        if ((r = allow_all(ruleset, abi, allowed)) < 0)
                return r;
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || syscall(SYS_landlock_restrict_self, ruleset, 0) < 0)
                return -errno;
        return abi;
}
