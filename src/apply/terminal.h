/* process.terminal: a pseudo-terminal of the container's own devpts, and what happens to its master. */
#pragma once

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <termios.h>

#include "apply/relay.h"
#include "base/error.h"

/* In the child, between dev_populate() and rootfs_enter(): opens a pair in the devpts that is mounted at /dev/pts below ROOT, and binds the
 * slave on /dev/console. width, height: characters; 0: left as the kernel has it. Both descriptors are close-on-exec. */
int terminal_open(int root, uint16_t width, uint16_t height, int *ret_master, int *ret_slave, struct error *err);

/* The same without /dev/console, which belongs to the container's first process: for exec, with the container's root as ROOT. */
int terminal_open_pair(int root, uint16_t width, uint16_t height, int *ret_master, int *ret_slave, struct error *err);

/* Gives the slave to UID, so that the payload can open /dev/pts/N and /dev/stdout again. Before credentials_set(). */
int terminal_own(int slave, uid_t uid, struct error *err);

/* Makes SLAVE the controlling terminal of the calling session leader (setsid(2) is the caller's) and its fds 0 to 2. SLAVE stays open
 * unless it is one of them. */
int terminal_become(int slave, struct error *err);

/* After the container's tree has moved (rootfs_move()): fd 0 to 2, which are its terminal, once more from the /dev/pts that is there now. What
 * they are has not changed, but where: the C library could not tell their name (ttyname(3)). */
int terminal_reopen(struct error *err);

/* In the parent: hands MASTER to whoever listens on SOCKET_PATH (--console-socket), of any length. */
int terminal_send(const char *socket_path, int master, struct error *err);

/* In the parent: gives MASTER the size of the terminal that is one of our fds 0 to 2, if any is. */
void terminal_take_size(int master);

/* In the parent, before the program runs: its terminal as the relay will want it. A pipe or file for stdout gets lines as the program ended
 * them, "\n" and not "\r\n", as with runc; a terminal there needs both. */
void terminal_settle(int master);

/* In the parent, when it came to nothing: what a hook or the loader wrote to the terminal before goes to our stderr. */
void terminal_show_rest(int master);

/* Foreground use without a console socket: fds 0 and 1 on one side, the master on the other, whatever 0 and 1 are. The caller polls:
 *
 *     terminal_relay_start(&r, master, err);
 *     for (;;) { terminal_relay_pollfds(&r, fds); poll(fds and others); SIGWINCH: terminal_relay_resize(&r);
 *                terminal_relay_step(&r, fds, err) == 1, or the payload ended: break; }
 *     terminal_relay_stop(&r);
 *
 * Nothing in it blocks but terminal_relay_stop(), and that for as long as somebody reads our output. */
struct terminal_relay {
        int master;               /* the caller's; -1 once its other side is closed for good */
        struct relay_end in, out; /* our fds 0 and 1 */
        struct relay_buffer typed, shown;
        bool raw; /* SAVED is what fd 0 was like before */
        struct termios saved;
        char last_typed;
        bool ended;          /* fd 0 has, and the payload was told so while */
        tcflag_t ended_mode; /* the terminal had this for ICANON */
        struct output_budget *budget; /* of what is shown; NULL, as after terminal_relay_start(): no limit */
        int patience_ms;              /* how long terminal_relay_stop() waits for a reader that does not read; -1: for ever */
};

/* Puts fd 0 into raw mode where it is a terminal, and takes over its size. MASTER becomes non-blocking. */
int terminal_relay_start(struct terminal_relay *r, int master, struct error *err);

/* Fills all three FDS (unused ones get fd -1) and returns 3. */
size_t terminal_relay_pollfds(struct terminal_relay *r, struct pollfd fds[3]);

/* Moves what can be moved. 0: go on, 1: the terminal has ended and all of its output is written, negative errno: an error. */
int terminal_relay_step(struct terminal_relay *r, const struct pollfd fds[3], struct error *err);

void terminal_relay_resize(struct terminal_relay *r);

/* Writes what the terminal still holds and puts fds 0 and 1 back as they were. May be called twice, after a failed start, and for one that
 * was never started but begins as TERMINAL_RELAY_NONE. */
void terminal_relay_stop(struct terminal_relay *r);
#define TERMINAL_RELAY_NONE { .master = -1, .in = RELAY_END_NONE, .out = RELAY_END_NONE }
#define _cleanup_terminal_relay_ __attribute__((cleanup(terminal_relay_stop)))
