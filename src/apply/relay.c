#include "apply/relay.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"

/* O_NONBLOCK belongs to the open file description, which the shell that started us shares; a runtime that is killed would leave it behind.
 * So terminals and pipes are opened again through /proc (proc(5), /proc/PID/fd), which gives a description of our own. A regular file would
 * get an offset of its own by that, and neither it nor a device such as /dev/null blocks. What cannot be opened again, a socket or another
 * user's terminal, is switched and switched back. */
void relay_end_open(struct relay_end *end, int fd, int access) {
        struct stat st;
        int flags;

        *end = (struct relay_end){ .fd = fd, .saved_flags = -1 };
        if (fstat(fd, &st) < 0) {
                end->fd = -1;
                return;
        }
        if (S_ISREG(st.st_mode) || (S_ISCHR(st.st_mode) && !isatty(fd)))
                return;
        if (!S_ISSOCK(st.st_mode)) {
                int own = open(fd_path(fd).path, access | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

                if (own >= 0) {
                        end->fd = own;
                        end->opened = true;
                        return;
                }
        }
        flags = fcntl(fd, F_GETFL);
        if (flags >= 0 && !(flags & O_NONBLOCK) && fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0)
                end->saved_flags = flags;
}

void relay_end_close(struct relay_end *end, int standard) {
        if (end->opened)
                close_fd(&end->fd);
        if (end->saved_flags >= 0)
                fcntl(standard, F_SETFL, end->saved_flags);
        *end = (struct relay_end)RELAY_END_NONE;
}

void relay_end_stop(struct relay_end *end) {
        if (end->opened)
                close(end->fd);
        end->fd = -1;
        end->opened = false;
}

int relay_fill(struct relay_buffer *b, int fd) {
        ssize_t n = read(fd, b->data + b->end, sizeof b->data - b->end);

        if (n < 0)
                return errno == EAGAIN || errno == EINTR ? 1 : -errno;
        b->end += (size_t)n;
        return n > 0;
}

int relay_drain(struct relay_buffer *b, int fd) {
        ssize_t n = write(fd, b->data + b->start, b->end - b->start);

        if (n < 0)
                return errno == EAGAIN || errno == EINTR ? 1 : -errno;
        b->start += (size_t)n;
        if (b->start == b->end)
                b->start = b->end = 0;
        return 1;
}

void output_budget_charge(struct output_budget *budget, struct relay_buffer *b, size_t from) {
        size_t came = b->end - from;

        budget->total += came;
        if (came > budget->left) {
                budget->over = true;
                b->end = from + (size_t)budget->left;
                came = (size_t)budget->left;
        }
        budget->left -= came;
        if (b->start == b->end)
                b->start = b->end = 0;
}
