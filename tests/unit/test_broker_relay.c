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

#define TEST(function) cmocka_unit_test_setup_teardown(function, opened, closed)

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(a_closed_side_is_out_of_the_loop_whoever_else_has_its_socket),
                TEST(no_byte_beyond_the_limit_is_read),
                TEST(an_end_right_at_the_limit_is_an_end),
                TEST(what_is_not_taken_is_held_and_goes_out_in_order),
                TEST(a_peer_that_is_gone_fails_what_is_sent),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
