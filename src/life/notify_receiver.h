/* The process that takes what a program writes to its notify socket.
 *
 * Datagrams carry descriptors, and whoever drops the last one of an open file waits for whatever its close waits for: a TCP connection with
 * SO_LINGER as many seconds as its owner likes, a file system of the container's own for its answer. That is nothing for a runtime that has
 * signals to pass on, so they end in a process that holds nothing else and may wait. */
#pragma once

/* Starts it. bound: the socket, which holds what has not been passed on yet. ret_inside: gives the text of one datagram after the other (SOCK_SEQPACKET); what is sent back there, a
 * byte, says that it has been passed on: only then is the next taken, so that the end of its descriptors is the answer to BARRIER=1
 * (sd_notify_barrier(3)). 0, or a negative errno. */
int notify_receiver_start(int bound, int *ret_inside, int *ret_pidfd);

/* NOTIFY_DATAGRAM_MAX bytes of a datagram are taken; sd_notify(3) messages are lines of a few dozen. */
enum { NOTIFY_DATAGRAM_MAX = 4096 };

/* Ends and reaps it, unless it waits in a close that no signal ends. */
void notify_receiver_stop(int *pidfd);
