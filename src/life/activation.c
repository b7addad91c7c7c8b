#include "life/activation.h"

#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/str.h"

/* Beyond that it is no number of descriptors (proc_sys_fs(5), nr_open). */
enum { FDS_MAX = 1 << 20 };

static const char *variable(const char *name) {
        const char *value = getenv(name);

        return value && *value ? value : NULL;
}

/* systemd sets LISTEN_PID always, conmon and crun's callers not. */
static bool for_us(void) {
        const char *pid = variable("LISTEN_PID");
        uint64_t number;

        return !pid || (str_to_u64(pid, INT32_MAX, &number) == 0 && (pid_t)number == getpid());
}

struct activation activation_read(void) {
        const char *fds = variable("LISTEN_FDS"), *notify = variable("NOTIFY_SOCKET");
        struct activation activation = { .notify = notify && (notify[0] == '/' || notify[0] == '@') ? notify : NULL };
        uint64_t n;

        if (fds && for_us() && str_to_u64(fds, FDS_MAX, &n) == 0 && n > 0) {
                activation.n_fds = (unsigned)n;
                activation.names = variable("LISTEN_FDNAMES");
        }
        return activation;
}

void activation_tell(struct arena *arena, const struct activation *activation, struct payload *payload) {
        if (activation->n_fds == 0)
                return;
        payload_add_variable(payload, arena_printf(arena, "LISTEN_FDS=%u", activation->n_fds));
        if (activation->names)
                payload_add_variable(payload, arena_printf(arena, "LISTEN_FDNAMES=%s", activation->names));
        payload->listen_pid = arena_alloc(arena, PAYLOAD_LISTEN_PID_SIZE);
        memcpy(payload->listen_pid, "LISTEN_PID=", sizeof "LISTEN_PID=");
        if (!payload_add_variable(payload, payload->listen_pid))
                payload->listen_pid = NULL;
}
