#define _GNU_SOURCE
#include "life/listener.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/fd.h"
#include "libocispec/spec.h"

/* An agent that does not answer must not keep the container locked. */
enum { AGENT_WAIT_S = 10 };

static int encode_state(struct arena *arena, const struct plan_filter *filter, const struct container *container, pid_t pid, struct str *ret,
                        struct error *err) {
        static const char *fds[] = { "seccompFd", NULL };
        struct oci_state state = container_describe(arena, container, OCI_STATUS_CREATING);
        const struct oci_container_process_state process_state = {
                .oci_version = state.oci_version, .fds = fds, .n_fds = 1, .pid = pid, .metadata = filter->listener_metadata, .state = &state,
        };

        return spec_encode(&oci_container_process_state_type, &process_state, ret, 0, err);
}

static int connect_to(const char *path, int *ret, struct error *err) {
        _cleanup_close_ int socket_fd = fd_impatient_socket(AGENT_WAIT_S);
        struct sockaddr_un address = { .sun_family = AF_UNIX };

        if (strlen(path) >= sizeof address.sun_path)
                return fail(err, CODE_CONFIG_INVALID, ENAMETOOLONG, "linux.seccomp.listenerPath", "expected at most %zu bytes",
                            sizeof address.sun_path - 1);
        strcpy(address.sun_path, path);
        if (socket_fd < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, -socket_fd, "linux.seccomp.listenerPath", "cannot make a socket");
        if (connect(socket_fd, (struct sockaddr *)&address, sizeof address) < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, "linux.seccomp.listenerPath", "cannot connect to %s", path);
        *ret = take_fd(&socket_fd);
        return 0;
}

int listener_send(struct arena *arena, const struct plan_filter *filter, const struct container *container, pid_t pid, int fd, struct error *err) {
        union { char space[CMSG_SPACE(sizeof(int))]; struct cmsghdr align; } control = { 0 };
        struct msghdr header = { .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control };
        _cleanup_close_ int agent = -1;
        _cleanup_str_ struct str text = { 0 };
        struct cmsghdr *rights;
        struct iovec iov;
        int r;

        if (!filter || !filter->listener_path)
                return fail(err, CODE_INTERNAL, EINVAL, "linux.seccomp.listenerPath", "a listener came that nobody asked for");
        if ((r = encode_state(arena, filter, container, pid, &text, err)) < 0 || (r = connect_to(filter->listener_path, &agent, err)) < 0)
                return r;
        iov = (struct iovec){ .iov_base = text.text, .iov_len = text.size };
        header.msg_iov = &iov;
        rights = CMSG_FIRSTHDR(&header);
        *rights = (struct cmsghdr){ .cmsg_len = CMSG_LEN(sizeof fd), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS };
        memcpy(CMSG_DATA(rights), &fd, sizeof fd);
        if (sendmsg(agent, &header, MSG_NOSIGNAL) != (ssize_t)text.size)
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, "linux.seccomp.listenerPath", "cannot send the listener to %s", filter->listener_path);
        return 0;
}
