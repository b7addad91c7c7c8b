/* Which scheduling priorities this process may give away without CAP_SYS_NICE. */
#define _GNU_SOURCE
#include "facts/probe.h"

#include <errno.h>
#include <sys/resource.h>

int probe_priorities(struct arena *arena, struct facts_priorities **ret, struct error *err) {
        struct facts_priorities *priorities = arena_new(arena, struct facts_priorities);
        struct rlimit nice, realtime;

        if (getrlimit(RLIMIT_NICE, &nice) < 0 || getrlimit(RLIMIT_RTPRIO, &realtime) < 0)
                return fail_errno(err, CODE_INTERNAL, errno, NULL, "cannot ask for our own limits");
        /* getrlimit(2): a limit of N allows nice values down to 20 - N. */
        priorities->nice = nice.rlim_cur >= 40 ? -20 : 20 - (int32_t)nice.rlim_cur;
        priorities->realtime = realtime.rlim_cur >= 99 ? 99 : (uint32_t)realtime.rlim_cur;
        *ret = priorities;
        return 0;
}
