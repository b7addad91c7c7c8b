#include "life/listener.h"

#include <errno.h>

#include "base/fd_send.h"
#include "libocispec/spec.h"

static int encode_state(struct arena *arena, const struct plan_filter *filter, const struct container *container, pid_t pid, struct str *ret,
                        struct error *err) {
        static const char *fds[] = { "seccompFd", NULL };
        struct oci_state state = container_describe(arena, container, OCI_STATUS_CREATING);
        const struct oci_container_process_state process_state = {
                .oci_version = state.oci_version, .fds = fds, .n_fds = 1, .pid = pid, .metadata = filter->listener_metadata, .state = &state,
        };

        return spec_encode(&oci_container_process_state_type, &process_state, ret, 0, err);
}

int listener_send(struct arena *arena, const struct plan_filter *filter, const struct container *container, pid_t pid, int fd, struct error *err) {
        _cleanup_str_ struct str text = { 0 };
        int r;

        if (!filter || !filter->listener_path)
                return fail(err, CODE_INTERNAL, EINVAL, "linux.seccomp.listenerPath", "a listener came that nobody asked for");
        if ((r = encode_state(arena, filter, container, pid, &text, err)) < 0)
                return r;
        return fd_send(filter->listener_path, "the seccomp agent", "linux.seccomp.listenerPath", text.text, text.size, fd, err);
}
