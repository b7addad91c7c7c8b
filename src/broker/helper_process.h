/* The dialer's helper programs: started ahead, handed work, and ended, by descriptors alone. */
#pragma once

#include "broker/helper.h"

#include <sched.h>
#include <stdbool.h>
#include <sys/types.h>

enum helper_kind { HELPER_RESOLVER, HELPER_TLS, HELPER_KINDS };

/* How many may be alive or not yet reaped; whoever needs one more waits until one of them ends, or its own deadline comes. Blackholed name
 * servers hold a resolver each until the deadline; a tunnel through an https:// upstream holds a TLS program, of which there are besides no
 * more than connections (max_tls). With front and dialer that is all the processes of a broker (docs/architecture.md); none has threads. */
#define HELPERS_RESOLVERS_MAX 8u
#define HELPERS_TLS_MAX 1024u
#define HELPERS_RETRY_NS 1000000000ull /* after one that ended before it was asked anything */
#define HELPERS_MAX (HELPERS_RESOLVERS_MAX + HELPERS_TLS_MAX)

struct helper {
        enum helper_kind kind;
        enum helper_state {
                HELPER_NONE,
                HELPER_IDLE,
                HELPER_BUSY,
                HELPER_ENDING, /* killed, not yet reaped */
        } state;
        int pidfd, socket;
        uint32_t owner;       /* of a busy one: whom its answer is for */
        uint64_t deadline_ns; /* of a busy one: when it is killed; of an idle one: from when on it may go */
};

struct helpers {
        int programs[HELPER_KINDS]; /* -1: this policy needs none */
        int null;                   /* /dev/null */
        cpu_set_t processors;       /* where they may run, whatever we may at the moment */
        int epoll;
        uint64_t data;     /* of epoll events: DATA + 2 × the helper's number for its socket, one more for its pidfd */
        size_t n, max_tls; /* n: the slots that were ever used */
        uint64_t retry_ns; /* one ended before it had anything to do: until then none is started ahead */
        struct helper list[HELPERS_MAX];
};

/* fork(2) with a pidfd, by the one form of the call that a filter can tell from every other: no thread, no namespace. Nothing is done about
 * handlers and masks. The child's pid, 0 in the child, or a negative errno. */
pid_t helper_fork(int *ret_pidfd);

/* In the child: PROGRAM, with SOCKET as its standard input, NULL_FD as the other two streams, and nothing else. PARENT is who forked it. */
__attribute__((noreturn)) void helper_become(int program, int null_fd, int socket, pid_t parent);

/* A resolver's answer, taken apart as what strangers send: REFUSAL_NONE with RET filled, REFUSAL_DNS_*, or REFUSAL_DIALER_HELPER when it is none. */
enum refusal helper_addresses(const struct lookup_answer *answer, struct addresses *ret);

const char *helper_name(enum helper_kind kind);

/* The loader that PROGRAM asks for (elf(5), PT_INTERP), "" for a static one. 0 or a negative errno. */
int helper_loader(const char *program, char *ret, size_t size);

/* Opens the programs in DIRECTORY: all that can be started from then on. tls: whether that one is needed. */
int helpers_open(struct helpers *helpers, const char *directory, bool tls, struct error *err);

/* An idle helper of KIND, or a new one; it becomes busy for OWNER, and is killed at DEADLINE_NS. Returns its number, -EAGAIN when all that may
 * be are busy (the end of one is worth waiting for), or another negative errno when none could be started. */
int helpers_take(struct helpers *helpers, enum helper_kind kind, uint32_t owner, uint64_t deadline_ns);

/* Its work is done and it may have more. */
void helpers_give_back(struct helpers *helpers, size_t number, uint64_t now_ns);

/* Ends it, whatever it does. */
void helpers_kill(struct helpers *helpers, size_t number);

/* Ends and reaps them all. */
void helpers_end(struct helpers *helpers);

/* Its pidfd is readable: it has ended, and the slot is free. Returns the state it was in. */
enum helper_state helpers_reap(struct helpers *helpers, size_t number, uint64_t now_ns);

/* Between events: keeps one of each kind ready, and lets go of resolvers that nobody needed for a while. */
void helpers_tend(struct helpers *helpers, uint64_t now_ns);

/* When to call helpers_tend() again at the latest, UINT64_MAX: never. */
uint64_t helpers_next_deadline(const struct helpers *helpers);
