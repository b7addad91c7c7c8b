/* Messages that descriptors go along with (unix(7), SCM_RIGHTS). */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#define PASSING_MAX 3

/* SIZE bytes of DATA as one message, and the N descriptors in FDS, which stay the caller's. Does not wait. 0 or a negative errno. */
int passing_send(int socket, const void *data, size_t size, const int *fds, size_t n);

/* One message, of at most SIZE bytes, and into FDS the N descriptors that come with it, close-on-exec. Where there are fewer (or more, or
 * no room for all of them: RLIMIT_NOFILE) there are none: FDS are all -1. flags: of recvmsg(2). Its length, or a negative errno. */
ssize_t passing_receive(int socket, void *data, size_t size, int *fds, size_t n, int flags);
