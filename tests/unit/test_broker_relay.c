/* A socket in the loop, and bytes that are counted. Everything over a pair of Unix sockets. */
#include "unit.h"

#include "broker/relay.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

struct pair {
        struct loop loop;
        struct side side;
        int peer;
};

static int opened(void **state) {
        struct pair *p = calloc(1, sizeof *p);
        struct error err;
        int fds[2];

        assert_non_null(p);
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
        assert_int_equal(loop_open(&p->loop, &err), 0);
        p->side.fd = fds[0];
        p->side.witness = -1;
        p->peer = fds[1];
        assert_int_equal(side_watch(&p->side, &p->loop), 0);
        *state = p;
        return 0;
}

static int closed(void **state) {
        struct pair *p = *state;

        side_close(&p->side, false);
        close(p->peer);
        loop_close(&p->loop);
        free(p);
        return 0;
}

/* What the loop would do: how many events, and those of the side noted. */
static int wait(struct pair *p) {
        struct epoll_event event;
        int n = epoll_wait(p->loop.epoll, &event, 1, 0);

        if (n == 1)
                side_ready(&p->side, event.events);
        return n;
}

/* epoll(7), Q6: closing one descriptor of a socket that another process has too leaves it watched, and the pointer with it. */
static void a_closed_side_is_out_of_the_loop_whoever_else_has_its_socket(void **state) {
        struct pair *p = *state;
        int other = fcntl(p->side.fd, F_DUPFD_CLOEXEC, 3);

        assert_true(other >= 0);
        p->side.shared = true;
        side_close(&p->side, true);
        assert_int_equal(p->side.fd, -1);
        assert_int_equal(write(p->peer, "x", 1), 1);
        assert_int_equal(wait(p), 0);
        close(other);
}

static void no_byte_beyond_the_limit_is_read(void **state) {
        struct pair *p = *state;
        struct flow flow = { .limit = 5 };
        char buffer[16], left[16];

        assert_int_equal(flow_read(&flow, &p->side, buffer, sizeof buffer), -EAGAIN);
        assert_int_equal(write(p->peer, "123456", 6), 6);
        assert_int_equal(wait(p), 1);
        assert_int_equal(flow_read(&flow, &p->side, buffer, sizeof buffer), 5);
        assert_int_equal(flow.seen, 5);
        assert_true(p->side.readable);
        assert_int_equal(flow_read(&flow, &p->side, buffer, sizeof buffer), -EFBIG);
        assert_int_equal(flow.seen, 5);
        assert_int_equal(recv(p->side.fd, left, sizeof left, 0), 1);
}

static void an_end_right_at_the_limit_is_an_end(void **state) {
        struct pair *p = *state;
        struct flow flow = { .limit = 5 };
        char buffer[16];

        assert_int_equal(write(p->peer, "12345", 5), 5);
        assert_int_equal(wait(p), 1);
        assert_int_equal(flow_read(&flow, &p->side, buffer, sizeof buffer), 5);
        assert_int_equal(flow_read(&flow, &p->side, buffer, sizeof buffer), -EAGAIN);
        shutdown(p->peer, SHUT_WR);
        assert_int_equal(wait(p), 1);
        assert_int_equal(flow_read(&flow, &p->side, buffer, sizeof buffer), 0);
        assert_true(flow.ended);
}

static void what_is_not_taken_is_held_and_goes_out_in_order(void **state) {
        struct pair *p = *state;
        static char data[1 << 20], got[1 << 20];
        struct flow flow = { .limit = UINT64_MAX };
        size_t at = 0;

        for (size_t i = 0; i < sizeof data; i++)
                data[i] = (char)(i * 7 % 251);
        assert_int_equal(flow_send(&flow, &p->side, data, sizeof data / 2), 0);
        assert_true(flow_is_held(&flow));
        assert_false(p->side.writable);
        assert_int_equal(flow_send(&flow, &p->side, data + sizeof data / 2, sizeof data / 2), 0);
        while (at < sizeof got) {
                ssize_t n = recv(p->peer, got + at, sizeof got - at, MSG_DONTWAIT);

                if (n > 0)
                        at += (size_t)n;
                /* The first time it was full the side began to watch for room. */
                while (wait(p) == 1)
                        ;
                assert_true(flow_flush(&flow, &p->side) != -EPIPE);
        }
        assert_false(flow_is_held(&flow));
        assert_memory_equal(data, got, sizeof data);
        flow_end(&flow);
}

static void a_peer_that_is_gone_fails_what_is_sent(void **state) {
        struct pair *p = *state;
        struct flow flow = { .limit = UINT64_MAX };

        close(p->peer);
        p->peer = -1;
        assert_int_equal(flow_send(&flow, &p->side, "x", 1), -EPIPE);
        assert_true(p->side.failed);
        assert_true(side_ended_in_order(&p->side));
        p->side.error = ECONNRESET;
        assert_false(side_ended_in_order(&p->side));
}

/* From the peer of P->side to that of TO, as much as one turn of the loop carries. */
static enum relay pump(struct pair *p, struct flow *flow, struct pair *to, size_t size) {
        static char buffer[1 << 18];

        while (wait(p) == 1 || wait(to) == 1)
                ;
        return flow_pump(flow, &p->side, &to->side, buffer, size);
}

static void fill(char *data, size_t n) {
        for (size_t i = 0; i < n; i++)
                data[i] = (char)(i * 7 % 251);
}

static void much_goes_through_a_pipe_and_ends_at_the_limit(void **state) {
        struct pair *p = *state, *to;
        static char data[3 * RELAY_MUCH], got[sizeof data];
        struct pipes pipes = { 0 };
        struct flow flow = { .limit = sizeof data - 5, .pipes = &pipes };

        opened((void **)&to);
        fill(data, sizeof data);
        assert_int_equal(write(p->peer, data, RELAY_MUCH), RELAY_MUCH);
        assert_int_not_equal(pump(p, &flow, to, RELAY_MUCH), RELAY_LIMIT);
        assert_int_equal(pipes.n, 0); /* the first read was a copy: nobody knew how much there was */
        assert_int_equal(write(p->peer, data + RELAY_MUCH, 2 * RELAY_MUCH), 2 * RELAY_MUCH);
        assert_int_equal(pump(p, &flow, to, 4 * RELAY_MUCH), RELAY_AGAIN);
        assert_int_equal(pipes.n, 1);
        assert_int_equal(pipes.n_spare, 1);
        assert_int_equal(flow.seen, flow.limit);
        assert_int_equal(pump(p, &flow, to, 4 * RELAY_MUCH), RELAY_LIMIT);
        assert_int_equal(recv(to->peer, got, sizeof got, MSG_WAITALL | MSG_DONTWAIT), sizeof data - 5);
        assert_memory_equal(data, got, sizeof data - 5);
        flow_end(&flow);
        pipes_close(&pipes);
        closed((void **)&to);
}

/* Until nothing goes in any more, and then out again. */
static void what_a_pipe_holds_waits_for_room_and_is_lost_with_its_flow(void **state) {
        struct pair *p = *state, *to;
        static char data[RELAY_MUCH], got[RELAY_MUCH];
        struct pipes pipes = { 0 };
        struct flow flow = { .limit = UINT64_MAX, .pipes = &pipes, .much = true };

        opened((void **)&to);
        fill(data, sizeof data);
        for (int i = 0; i < 64 && !flow.piped; i++) {
                assert_int_equal(write(p->peer, data, sizeof data), sizeof data);
                assert_int_not_equal(pump(p, &flow, to, sizeof data), RELAY_TO_FAILED);
        }
        assert_true(flow_is_held(&flow));
        assert_int_equal(pump(p, &flow, to, sizeof data), RELAY_WAIT);
        for (uint64_t at = 0; at < flow.seen; at += sizeof got) {
                /* Room in the socket makes an event; what waits goes before anything else. */
                if (flow.piped)
                        pump(p, &flow, to, sizeof data);
                assert_int_equal(recv(to->peer, got, sizeof got, MSG_WAITALL | MSG_DONTWAIT), sizeof got);
                assert_memory_equal(data, got, sizeof got);
        }
        assert_int_equal(pipes.n_spare, 1);
        for (int i = 0; i < 64 && !flow.piped; i++) {
                assert_int_equal(write(p->peer, data, sizeof data), sizeof data);
                pump(p, &flow, to, sizeof data);
        }
        flow_end(&flow);
        assert_int_equal(pipes.n, 0);
        closed((void **)&to);
}

static void there_are_so_many_pipes_and_no_more(void **state) {
        struct pipes pipes = { 0 };
        struct pipe taken[PIPES_MAX], one_more;

        (void)state;
        for (unsigned i = 0; i < PIPES_MAX; i++)
                assert_true(pipes_take(&pipes, &taken[i]));
        assert_false(pipes_take(&pipes, &one_more));
        for (unsigned i = 0; i < PIPES_MAX; i++)
                pipes_give(&pipes, &taken[i], true);
        assert_true(pipes_take(&pipes, &one_more));
        pipes_give(&pipes, &one_more, false);
        pipes_close(&pipes);
        assert_int_equal(pipes.n, 0);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, opened, closed)

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(a_closed_side_is_out_of_the_loop_whoever_else_has_its_socket),
                TEST(no_byte_beyond_the_limit_is_read),
                TEST(an_end_right_at_the_limit_is_an_end),
                TEST(what_is_not_taken_is_held_and_goes_out_in_order),
                TEST(a_peer_that_is_gone_fails_what_is_sent),
                TEST(much_goes_through_a_pipe_and_ends_at_the_limit),
                TEST(what_a_pipe_holds_waits_for_room_and_is_lost_with_its_flow),
                TEST(there_are_so_many_pipes_and_no_more),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
