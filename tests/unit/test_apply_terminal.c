#define _GNU_SOURCE
#include "bundle.h"

#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <termios.h>

#include "apply/terminal.h"
#include "base/fd.h"

CHILD_TEST(the_container_gets_a_terminal_and_a_console, CLONE_NEWIPC) {
        struct plan_plan *plan = default_plan(scratch);
        int root, master, slave, other, status;
        struct stat a, b;
        struct winsize size;
        char text[8];

        CHECK_OK(rootfs_prepare(plan, &root, &err));
        CHECK_OK(mounts_attach(plan, root, NULL, &err));
        CHECK_OK(dev_populate(plan, root, NULL, &err));
        CHECK_OK(terminal_open(root, 91, 33, &master, &slave, &err));
        CHECK_OK(terminal_own(slave, 77, &err));
        CHECK_OK(rootfs_enter(plan, root, &err));
        CHECK(fstat(slave, &a) == 0 && stat("/dev/console", &b) == 0 && a.st_rdev == b.st_rdev && stat("/dev/pts/0", &b) == 0 &&
                a.st_rdev == b.st_rdev);
        CHECK(b.st_uid == 77 && ioctl(slave, TIOCGWINSZ, &size) == 0 && size.ws_col == 91 && size.ws_row == 33);
        if (fork_child() == 0) {
                CHECK(setsid() > 0);
                CHECK_OK(terminal_become(slave, &err));
                CHECK(isatty(0) && isatty(1) && isatty(2) && fcntl(0, F_GETFD) == 0);
                other = open("/dev/tty", O_RDWR | O_CLOEXEC);
                CHECK(other >= 0 && write(other, "hello", 5) == 5);
                _exit(0);
        }
        CHECK(wait(&status) > 0 && status == 0);
        CHECK(read(master, text, sizeof text) == 5);
        CHECK_OK(terminal_open_pair(AT_FDCWD, 0, 0, &master, &slave, &err)); /* exec, inside */
        CHECK(isatty(slave));
}

/* CVE-2025-52565: what looks like a terminal in an image's /dev/pts is none. */
CHILD_TEST(only_a_devpts_gives_terminals, 0) {
        struct plan_plan *plan = bare_plan(scratch, NULL, 0);
        int root, master = -7, slave = -7;

        CHECK_OK(rootfs_prepare(plan, &root, &err));
        CHECK(terminal_open(root, 0, 0, &master, &slave, &err) == -ENOENT);
        CHECK(mkdir("root/dev", 0755) == 0 && mkdir("root/dev/pts", 0755) == 0 &&
                mknod("root/dev/pts/ptmx", S_IFCHR | 0666, 5 << 8 | 2) == 0);
        CHECK(terminal_open(root, 0, 0, &master, &slave, &err) == -ENODEV && master == -7 && slave == -7);
        CHECK(mkdir("root/real", 0755) == 0 && mount("p", "root/real", "devpts", 0, "newinstance,ptmxmode=0666") == 0);
        CHECK(umount2("root/real", 0) == 0 && rename("root/dev/pts", "root/dev/old") == 0 && symlink("../real", "root/dev/pts") == 0);
        CHECK(terminal_open(root, 0, 0, &master, &slave, &err) == -ELOOP);
}

/* A console that the image has as a symlink: the terminal goes over the link, not where it leads. */
CHILD_TEST(a_console_that_is_a_link_is_covered, CLONE_NEWIPC) {
        struct plan_plan *plan = default_plan(scratch);
        int root, master, slave;
        struct stat st;

        CHECK_OK(rootfs_prepare(plan, &root, &err));
        CHECK_OK(mounts_attach(plan, root, NULL, &err));
        CHECK(chdir(scratch) == 0);
        write_text("outside", "mine");
        CHECK(symlink("../outside", "root/dev/console") == 0);
        CHECK_OK(terminal_open(root, 0, 0, &master, &slave, &err));
        CHECK(stat("outside", &st) == 0 && st.st_size == 4 && access("root/outside", F_OK) < 0);
        CHECK_OK(rootfs_enter(plan, root, &err));
        CHECK(stat("/dev/console", &st) == 0 && S_ISCHR(st.st_mode));
}

static int receive_fd(int listener) {
        union {
                struct cmsghdr header;
                char space[CMSG_SPACE(sizeof(int))];
        } control;
        char data[64];
        struct iovec iov = { data, sizeof data };
        struct msghdr message = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control };
        int connection = accept4(listener, NULL, NULL, SOCK_CLOEXEC), fd = -1;

        CHECK(connection >= 0 && recvmsg(connection, &message, MSG_CMSG_CLOEXEC) > 0);
        CHECK(CMSG_FIRSTHDR(&message) && CMSG_FIRSTHDR(&message)->cmsg_type == SCM_RIGHTS);
        memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof fd);
        close(connection);
        return fd;
}

CHILD_TEST(the_master_is_sent_to_a_socket_of_any_length_of_path, 0) {
        struct sockaddr_un address = { .sun_family = AF_UNIX, .sun_path = "s" };
        char path[512], part[101];
        int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), master, received;

        memset(part, 'd', sizeof part - 1);
        part[sizeof part - 1] = '\0';
        snprintf(path, sizeof path, "%s/%s/%s/s", scratch, part, part);
        CHECK(mkdir(part, 0755) == 0 && chdir(part) == 0 && mkdir(part, 0755) == 0 && chdir(part) == 0);
        CHECK(bind(listener, (struct sockaddr *)&address, sizeof address) == 0 && listen(listener, 1) == 0 && chdir("/") == 0);
        master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
        CHECK(master >= 0 && strlen(path) > 200);
        CHECK_OK(terminal_send(path, master, &err));
        received = receive_fd(listener);
        CHECK(received >= 0 && isatty(received));
        close(listener);
        CHECK(terminal_send(path, master, &err) == -ECONNREFUSED && strstr(err.text, "console socket"));
        path[strlen(path) - 1] = 'x';
        CHECK(terminal_send(path, master, &err) == -ENOENT);
}

/* ---- the relay ---- */

struct pair {
        int master, slave;
};

static struct pair open_pair(void) {
        struct pair p;
        int unlock = 0;

        p.master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
        CHECK(p.master >= 0 && ioctl(p.master, TIOCSPTLCK, &unlock) == 0);
        p.slave = ioctl(p.master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
        CHECK(p.slave >= 0);
        return p;
}

/* Runs PAYLOAD with the inner terminal as its streams, and the relay with IN and OUT as ours, until the payload ends. */
static void relay(int in, int out, void (*payload)(void)) {
        struct terminal_relay r;
        struct pair inner = open_pair();
        struct pollfd fds[4];
        int result = 0, pipe_[2];
        pid_t pid;

        CHECK(pipe2(pipe_, O_CLOEXEC) == 0 && dup2(in, 0) == 0 && dup2(out, 1) == 1);
        CHECK_OK(terminal_relay_start(&r, inner.master, &err));
        pid = fork_child();
        if (pid == 0) {
                CHECK(setsid() > 0);
                close(inner.master);
                CHECK_OK(terminal_become(inner.slave, &err));
                close(inner.slave);
                payload();
                _exit(0);
        }
        close(inner.slave);
        close(pipe_[1]); /* the child's copy says when it ended, as a pidfd does */
        while (result == 0) {
                terminal_relay_pollfds(&r, fds);
                fds[3] = (struct pollfd){ .fd = pipe_[0], .events = POLLIN };
                CHECK(poll(fds, 4, -1) > 0);
                result = terminal_relay_step(&r, fds, &err);
                if (fds[3].revents)
                        break;
        }
        CHECK(result >= 0);
        terminal_relay_stop(&r);
        terminal_relay_stop(&r);
        kill(pid, SIGKILL);
        CHECK(waitpid(pid, NULL, 0) == pid);
}

static size_t drain_fd(int fd, char *last, unsigned slow_us) {
        char chunk[4096];
        size_t total = 0;
        ssize_t n;

        while ((n = read(fd, chunk, sizeof chunk)) > 0) {
                total += (size_t)n;
                *last = chunk[n - 1];
                if (slow_us)
                        usleep(slow_us);
        }
        return total;
}

#define LINES 20000

static void print_much(void) {
        for (int i = 0; i < LINES; i++)
                printf("%09d\n", i);
        fflush(stdout);
        _exit(0);
}

static int null_input(void) {
        return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

/* crun#1838, runc PR2535: all of the output, with a slow reader, at the moment that the payload ends, and with no terminal on our side. */
CHILD_TEST(no_output_is_lost_to_a_slow_reader, 0) {
        char last = 0;
        int out[2];

        (void)scratch;
        CHECK(pipe2(out, O_CLOEXEC) == 0);
        if (fork_child() == 0) {
                close(out[0]);
                relay(null_input(), out[1], print_much);
                _exit(0);
        }
        close(out[1]);
        CHECK(drain_fd(out[0], &last, 500) == LINES * 11 && last == '\n'); /* the terminal makes \r\n of \n */
}

CHILD_TEST(a_reader_that_leaves_does_not_stop_the_payload, 0) {
        char byte;
        int out[2], status;

        (void)scratch;
        CHECK(pipe2(out, O_CLOEXEC) == 0);
        if (fork_child() == 0) {
                signal(SIGPIPE, SIG_IGN);
                close(out[0]);
                relay(null_input(), out[1], print_much);
                _exit(0);
        }
        close(out[1]);
        CHECK(read(out[0], &byte, 1) == 1);
        close(out[0]);
        CHECK(wait(&status) > 0 && status == 0);
}

CHILD_TEST(output_goes_to_a_file_at_its_offset, 0) {
        int out = open("out", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        struct stat st;

        CHECK(write(out, "before", 6) == 6);
        relay(null_input(), out, print_much);
        CHECK(fstat(out, &st) == 0 && st.st_size == 6 + LINES * 11);
        CHECK(write(1, "after", 5) == 5 && fstat(out, &st) == 0 && st.st_size == 6 + LINES * 11 + 5);
}

static void copy_input(void) {
        char line[64];
        ssize_t n;
        struct termios t;

        CHECK(tcgetattr(0, &t) == 0);
        t.c_lflag &= ~(tcflag_t)ECHO;
        CHECK(tcsetattr(0, TCSANOW, &t) == 0);
        CHECK(write(1, "ready\n", 6) == 6);
        while ((n = read(0, line, sizeof line)) > 0)
                CHECK(write(1, line, (size_t)n) == n);
        CHECK(write(1, "end\n", 4) == 4);
}

CHILD_TEST(the_end_of_a_pipe_is_the_end_of_the_payloads_input, 0) {
        int in[2], out[2];
        char text[128] = "";
        size_t n = 0;
        ssize_t got;

        (void)scratch;
        CHECK(pipe2(in, O_CLOEXEC) == 0 && pipe2(out, O_CLOEXEC) == 0);
        if (fork_child() == 0) {
                close(in[1]);
                close(out[0]);
                relay(in[0], out[1], copy_input);
                _exit(0);
        }
        close(in[0]);
        close(out[1]);
        for (; !strstr(text, "ready\r\n"); n += (size_t)got)
                CHECK((got = read(out[0], text + n, sizeof text - 1 - n)) > 0);
        memset(text, 0, sizeof text);
        n = 0;
        CHECK(write(in[1], "one\ntwo", 7) == 7);
        close(in[1]);
        while ((got = read(out[0], text + n, sizeof text - 1 - n)) > 0)
                n += (size_t)got;
        text[n] = '\0';
        CHECK(strcmp(text, "one\r\ntwoend\r\n") == 0);
}

static void show_size(void) {
        struct winsize size;
        char byte;

        CHECK(ioctl(0, TIOCGWINSZ, &size) == 0);
        printf("%dx%d\n", size.ws_col, size.ws_row);
        fflush(stdout);
        CHECK(read(0, &byte, 1) == 1);
}

/* Raw while it runs, as it was afterwards, and no flag of the description that a shell would share with us is left changed. */
CHILD_TEST(our_own_terminal_is_raw_and_then_as_before, 0) {
        struct winsize size = { .ws_col = 123, .ws_row = 45 };
        struct pair outer = open_pair();
        struct termios before = { 0 }, during, after = { 0 }; /* compared with their padding, which tcgetattr(3) leaves alone */
        char text[256];
        int flags, status;
        ssize_t n;
        pid_t pid;

        (void)scratch;
        CHECK(ioctl(outer.slave, TIOCSWINSZ, &size) == 0 && tcgetattr(outer.slave, &before) == 0);
        flags = fcntl(outer.slave, F_GETFL);
        pid = fork_child();
        if (pid == 0) {
                close(outer.master);
                relay(outer.slave, outer.slave, show_size);
                _exit(0);
        }
        n = read(outer.master, text, sizeof text - 1);
        CHECK(n > 0);
        text[n] = '\0';
        CHECK(strstr(text, "123x45") && tcgetattr(outer.slave, &during) == 0 && !(during.c_lflag & (ICANON | ECHO | ISIG)));
        CHECK(fcntl(outer.slave, F_GETFL) == flags);
        CHECK(write(outer.master, "\n", 1) == 1 && waitpid(pid, &status, 0) == pid && status == 0);
        CHECK(tcgetattr(outer.slave, &after) == 0 && memcmp(&before, &after, sizeof before) == 0 && fcntl(outer.slave, F_GETFL) == flags);
}

CHILD_TEST(a_socket_is_made_non_blocking_only_meanwhile, 0) {
        int ends[2], flags;
        char last;
        pid_t pid;

        (void)scratch;
        CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
        flags = fcntl(ends[0], F_GETFL);
        pid = fork_child();
        if (pid == 0) {
                close(ends[1]);
                relay(null_input(), ends[0], print_much);
                CHECK(fcntl(ends[0], F_GETFL) == flags);
                _exit(0);
        }
        close(ends[0]);
        CHECK(drain_fd(ends[1], &last, 0) == LINES * 11);
}

/* The payload left something behind that holds its terminal: we do not wait for that. */
static void leave_a_child(void) {
        if (fork() == 0) {
                alarm(15);
                signal(SIGHUP, SIG_IGN);
                for (int fd = 3; fd < 64; fd++)
                        close(fd);
                pause();
                _exit(0);
        }
        CHECK(write(1, "done\n", 5) == 5);
}

CHILD_TEST(a_process_left_behind_does_not_keep_us, 0) {
        char last = 0;
        int out[2], status;

        (void)scratch;
        CHECK(pipe2(out, O_CLOEXEC) == 0);
        if (fork_child() == 0) {
                close(out[0]);
                alarm(5);
                relay(null_input(), out[1], leave_a_child);
                _exit(0);
        }
        close(out[1]);
        CHECK(drain_fd(out[0], &last, 0) == 6 && wait(&status) > 0 && status == 0);
}

CHILD_TEST(closed_streams_are_no_error, 0) {
        struct terminal_relay r, none = TERMINAL_RELAY_NONE;
        struct pair inner = open_pair();
        struct pollfd fds[3];

        (void)scratch;
        terminal_relay_stop(&none);
        close(0);
        close(1);
        CHECK_OK(terminal_relay_start(&r, inner.master, &err));
        CHECK(write(inner.slave, "x", 1) == 1 && terminal_relay_pollfds(&r, fds) == 3 && poll(fds, 3, -1) == 1);
        CHECK(terminal_relay_step(&r, fds, &err) == 0);
        close(inner.slave);
        CHECK(terminal_relay_pollfds(&r, fds) == 3 && poll(fds, 3, -1) == 1 && terminal_relay_step(&r, fds, &err) == 1);
        terminal_relay_stop(&r);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(the_container_gets_a_terminal_and_a_console),
                cmocka_unit_test(only_a_devpts_gives_terminals),
                cmocka_unit_test(a_console_that_is_a_link_is_covered),
                cmocka_unit_test(the_master_is_sent_to_a_socket_of_any_length_of_path),
                cmocka_unit_test(no_output_is_lost_to_a_slow_reader),
                cmocka_unit_test(a_reader_that_leaves_does_not_stop_the_payload),
                cmocka_unit_test(output_goes_to_a_file_at_its_offset),
                cmocka_unit_test(the_end_of_a_pipe_is_the_end_of_the_payloads_input),
                cmocka_unit_test(our_own_terminal_is_raw_and_then_as_before),
                cmocka_unit_test(a_socket_is_made_non_blocking_only_meanwhile),
                cmocka_unit_test(a_process_left_behind_does_not_keep_us),
                cmocka_unit_test(closed_streams_are_no_error),
        };

        return RUN_TESTS(tests);
}
