#define _GNU_SOURCE
#include "life/lost.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/file.h"
#include "base/str.h"

#define LOST "lost"

int lost_open(const struct container *container, int *ret, struct error *err) {
        *ret = openat(container->dir, LOST, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
        return *ret < 0 ? fail_errno(err, CODE_LAUNCH_FAILED, errno, LOST, "cannot make this file of the container's state") : 0;
}

/* "memory 123 100" */
static void parse(const char *text, struct loss *ret) {
        size_t n = strcspn(text, " \n");
        char *at;

        *ret = (struct loss){ 0 };
        if (n == 0 || n >= sizeof ret->limit)
                return;
        memcpy(ret->limit, text, n);
        ret->used = strtoull(text + n, &at, 10);
        ret->allowed = strtoull(at, NULL, 10);
}

bool lost_is(const struct container *container, struct loss *ret) {
        _cleanup_str_ struct str text = { 0 };

        if (ret)
                *ret = (struct loss){ 0 };
        if (file_read(container->dir, LOST, 4096, &text) == 0 && text.size > 0) {
                if (ret)
                        parse(text.text, ret);
                return true;
        }
        return container->status.lost;
}

int lost_fail(const struct loss *loss, struct error *err) {
        if (!*loss->limit)
                return fail(err, CODE_LOST, EBUSY, "", "a process of an earlier command did not die: the sandbox takes no more; delete it");
        return fail(err, CODE_LOST, EBUSY, "",
                "the sandbox is lost: it used more than its limit on %s (%llu of %llu), which is sampled; delete it", loss->limit,
                (unsigned long long)loss->used, (unsigned long long)loss->allowed);
}

void lost_mark_disk(const struct container *container, uint64_t used, uint64_t allowed) {
        _cleanup_close_ int fd = -1;
        struct error ignored;
        char text[64];
        int n = snprintf(text, sizeof text, "disk %llu %llu\n", (unsigned long long)used, (unsigned long long)allowed);

        if (lost_open(container, &fd, &ignored) == 0)
                (void)file_write_all(fd, text, (size_t)n);
}
