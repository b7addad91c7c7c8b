/* Bytes from one side of a connection to the other: counted as they are read, and never read beyond a limit or faster than they leave.
 *
 * Bytes are copied through one buffer that all connections share; a flow has memory of its own only while the other side does not take
 * what was read for it. A flow that has much to carry does so through a pipe (pipes.h), which costs a quarter (tests/bench). */
#pragma once

#include "base/str.h"
#include "broker/loop.h"
#include "broker/pipes.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/types.h>

#define RELAY_CHUNK (512u << 10) /* half as fast again as 64 KiB: a read of all there is costs fewer wake-ups than reads of parts */
#define RELAY_CHUNK_LEAST 4096u
#define RELAY_MUCH (32u << 10)     /* at once: more calls for fewer copies */
#define RELAY_HELD_MAX (16u << 20) /* what all flows may hold, were all stalled at once, up to the number at which chunks are the least */

/* One socket. It is watched once for all (EPOLLET), so what is ready is remembered here. */
struct side {
        struct source source;
        int fd, epoll;
        bool shared; /* another process may hold the socket for a moment longer than we do */
        bool ends;   /* the next send is the last, and an end follows it */
        int witness; /* of a Unix socket, which knows no reset: what a byte there says is helper.h's; else -1 */
        bool readable, writable;
        bool watches_output; /* since it was full for the first time; most never are */
        bool hung_up;        /* what is read may be the last: read until it says so */
        bool failed;         /* it was reset, or cannot be reached any more */
        int error;           /* why, as far as the socket has told: it tells once, and whoever reads on is told of a regular end */
        bool urgent;         /* TCP urgent data has come, which would be lost or reordered */
        bool delays;         /* TCP_NODELAY is not set yet */
        bool has_sent;       /* something, ever */
};

/* Begins to watch SIDE, of which source and fd are set. 0 or a negative errno. */
int side_watch(struct side *side, const struct loop *loop);

void side_ready(struct side *side, uint32_t events);

/* reset: what was not sent yet is dropped, and the peer is told that this is no regular end (socket(7), SO_LINGER). */
void side_close(struct side *side, bool reset);

/* Closes where all that may be said has been said: the peer, if it has not ended its own side yet, has nothing to tell that we would read. As a
 * reset, once it has all that we sent: whoever ends a connection first keeps its port for a minute (tcp(7), TIME_WAIT), and one sandbox could
 * use up those of the host. */
void side_leave(struct side *side);

struct flow {
        uint64_t seen, limit; /* bytes read, and how many may be */
        struct str held;      /* was read and not sent yet, from HELD_AT on */
        uint32_t held_at;
        uint32_t piped;      /* likewise, in PIPE, behind HELD; 0: there is no pipe */
        struct pipe pipe;    /* of PIPES */
        struct pipes *pipes; /* NULL: this flow copies */
        bool much;           /* the last read brought so much that a pipe is worth its calls */
        bool ended;          /* nothing more will be read */
        bool shut;           /* and the other side was told */
};

static inline bool flow_is_held(const struct flow *flow) {
        return flow->held.size > flow->held_at || flow->piped;
}

enum relay {
        RELAY_WAIT,  /* for a socket */
        RELAY_AGAIN, /* there is more to do at once, but others may be waiting */
        RELAY_OVER,  /* all has gone through, and the end as well */
        RELAY_LIMIT, /* there is a byte more than may be */
        RELAY_FROM_FAILED,
        RELAY_TO_FAILED,
};

/* Reads once, at most N bytes: more than 0, or 0 at the end, or -EAGAIN, -EFBIG when there is a byte beyond the limit, or what the socket
 * says. To be called once an event at most: a second read would step over urgent data before epoll tells of it (relay.c). */
ssize_t flow_read(struct flow *flow, struct side *from, char *buffer, size_t n);

/* Sends DATA behind what is held, and holds what TO does not take. 0 or a negative errno. */
int flow_send(struct flow *flow, struct side *to, const char *data, size_t n);

/* Sends what is held: 0 when nothing is left, -EAGAIN, or what the socket says. */
int flow_flush(struct flow *flow, struct side *to);

/* An end was read: did the peer end its side in order before it failed? Then what was read of it is all there was. Asked once: a witness
 * says it once. */
bool side_ended_in_order(const struct side *side);

/* Forgets what is held, and that there could be more. */
void flow_end(struct flow *flow);

/* One turn of plain relaying, of at most SIZE bytes. */
enum relay flow_pump(struct flow *flow, struct side *from, struct side *to, char *buffer, size_t size);
