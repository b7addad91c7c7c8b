/* What a front may want when it is not ours any more. */
#define _GNU_SOURCE
#include "tests/egress/probe_attacks.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/str.h"

static int tunnel, listener;

static const struct sockaddr_in loopback = { .sin_family = AF_INET, .sin_port = 0x5000, .sin_addr = { 0x0100007f } };

static long open_file(void) {
        return open("/etc/passwd", O_RDONLY | O_CLOEXEC);
}
static long open_proc(void) {
        return syscall(SYS_openat, AT_FDCWD, "/proc/self/status", O_RDONLY | O_CLOEXEC);
}
static long open_how(void) {
        const uint64_t how[3] = { O_RDONLY | O_CLOEXEC };
        return syscall(SYS_openat2, AT_FDCWD, "/etc/passwd", how, sizeof how);
}
static long make_file(void) {
        return open("/tmp/probe", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
}
static long run_program(void) {
        return execve("/bin/true", (char *[]){ "true", NULL }, (char *[]){ NULL });
}
static long run_descriptor(void) {
        return syscall(SYS_execveat, tunnel, "", (char *[]){ "x", NULL }, (char *[]){ NULL }, AT_EMPTY_PATH);
}
static long make_process(void) {
        return fork();
}
static long make_thread(void) {
        return syscall(SYS_clone, CLONE_VM | CLONE_THREAD | CLONE_SIGHAND, NULL, NULL, NULL, NULL);
}
static long trace(void) {
        return ptrace(PTRACE_ATTACH, 1, NULL, NULL);
}
static long read_memory(void) {
        char c;
        struct iovec local = { &c, 1 }, remote = { &c, 1 };
        return process_vm_readv(getppid(), &local, 1, &remote, 1, 0);
}
static long kill_all(void) {
        return kill(-1, SIGKILL);
}
static long open_process(void) {
        return syscall(SYS_pidfd_open, 1, 0);
}
static long take_descriptor(void) {
        return syscall(SYS_pidfd_getfd, 0, 0, 0);
}
static long socket_inet(void) {
        return socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
}
static long socket_inet6(void) {
        return socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
}
static long socket_unix(void) {
        return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
}
static long socket_netlink(void) {
        return socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, 0);
}
static long socket_packet(void) {
        return socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
}
static long socket_vsock(void) {
        return socket(AF_VSOCK, SOCK_STREAM | SOCK_CLOEXEC, 0);
}
static long socket_pair(void) {
        int pair[2];
        return socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, pair);
}
static long connect_again(void) {
        return connect(listener, (const struct sockaddr *)&loopback, sizeof loopback);
}
static long connect_nowhere(void) {
        const struct sockaddr none = { .sa_family = AF_UNSPEC };
        return connect(tunnel, &none, sizeof none);
}
static long connect_by_sending(void) {
        return sendto(listener, "x", 1, MSG_FASTOPEN, (const struct sockaddr *)&loopback, sizeof loopback);
}
static long connect_by_message(void) {
        struct iovec data = { "x", 1 };
        const struct msghdr message = { .msg_name = (void *)&loopback, .msg_namelen = sizeof loopback, .msg_iov = &data, .msg_iovlen = 1 };
        return sendmsg(listener, &message, MSG_FASTOPEN);
}
static long send_many(void) {
        return sendmmsg(listener, NULL, 0, MSG_FASTOPEN);
}
/* Without an address given to the call that is allowed, a listener that was shut down is a socket that leads nowhere. */
static long connect_shut_down(void) {
        shutdown(listener, SHUT_RDWR);
        return sendto(listener, "x", 1, MSG_NOSIGNAL, (const struct sockaddr *)&loopback, sizeof loopback);
}
static long bind_port(void) {
        return bind(listener, (const struct sockaddr *)&loopback, sizeof loopback);
}
static long listen_more(void) {
        return listen(tunnel, 1);
}
static long fast_open(void) {
        const int on = 1;
        return setsockopt(listener, IPPROTO_TCP, TCP_FASTOPEN_CONNECT, &on, sizeof on);
}
static long layer_protocol(void) {
        return setsockopt(tunnel, IPPROTO_TCP, TCP_ULP, "tls", 3);
}
static long attach_filter(void) {
        const char c[16] = "";
        return setsockopt(tunnel, SOL_SOCKET, SO_ATTACH_FILTER, c, sizeof c);
}
static long mount_something(void) {
        return mount("none", "/", "tmpfs", 0, NULL);
}
static long open_mount(void) {
        return syscall(SYS_fsopen, "tmpfs", 1);
}
static long leave_root(void) {
        return chroot(".");
}
static long new_namespace(void) {
        return unshare(CLONE_NEWUSER);
}
static long join_namespace(void) {
        return setns(0, 0);
}
static long become_root(void) {
        return setresuid(0, 0, 0);
}
static long take_capabilities(void) {
        return syscall(SYS_capset, NULL, NULL);
}
static long load_bpf(void) {
        return syscall(SYS_bpf, 0, NULL, 0);
}
static long use_uring(void) {
        return syscall(SYS_io_uring_setup, 8, NULL);
}
static long use_perf(void) {
        return syscall(SYS_perf_event_open, NULL, 0, 0, 0, 0);
}
static long use_keys(void) {
        return syscall(SYS_keyctl, 0, 0, 0, 0, 0);
}
static long watch_faults(void) {
        return syscall(SYS_userfaultfd, O_CLOEXEC);
}
static long be_dumpable(void) {
        return prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
}
static long run_memory(void) {
        return (long)mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}
static long make_memory_code(void) {
        void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        return mprotect(p, 4096, PROT_READ | PROT_EXEC);
}
static long memory_file(void) {
        return memfd_create("x", MFD_CLOEXEC);
}
static long push_input(void) {
        return syscall(SYS_ioctl, 0, 0x5412 /* TIOCSTI */, "x");
}
static long duplicate(void) {
        return fcntl(tunnel, F_DUPFD_CLOEXEC, 0);
}
static long read_file_of_the_host(void) {
        return open("/proc/1/environ", O_RDONLY | O_CLOEXEC);
}
static long read_home(void) {
        return open("/root", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}
static long run_any_program(void) {
        int fd = open("/bin/true", O_PATH | O_CLOEXEC);
        return syscall(SYS_execveat, fd, "", (char *[]){ "true", NULL }, (char *[]){ NULL }, AT_EMPTY_PATH);
}
static long connect_port(uint16_t port) {
        const struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(port), .sin_addr = { 0x0100007f } };
        _cleanup_close_ int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        return connect(fd, (const struct sockaddr *)&a, sizeof a);
}
static long connect_other_port(void) {
        return connect_port(7);
}
static long connect_policy_port(void) {
        return connect_port(443);
}
static long connect_name_server(void) {
        return connect_port(53);
}
static long serve(void) {
        const struct sockaddr_in any = { .sin_family = AF_INET };
        _cleanup_close_ int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        return bind(fd, (const struct sockaddr *)&any, sizeof any) < 0 ? -1 : listen(fd, 1);
}
static long listen_unbound(void) {
        _cleanup_close_ int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        return listen(fd, 1);
}
static long socket_raw(void) {
        return socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_ICMP);
}
static long new_namespace_by_clone(void) {
        return syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, NULL, NULL, NULL, NULL);
}
static long new_namespace_by_clone3(void) {
        const uint64_t args[11] = { CLONE_NEWUSER, [4] = SIGCHLD };
        return syscall(SYS_clone3, args, sizeof args);
}
static long raise_limit(void) {
        return syscall(SYS_prlimit64, 0, 7, NULL, NULL);
}

#if defined(__x86_64__)
static long foreign_call(void) {
        long r;
        __asm__ volatile("int $0x80" : "=a"(r) : "a"(20 /* getpid of i386 */) : "memory");
        return r;
}
static long x32_call(void) {
        return syscall(0x40000000 + SYS_getpid);
}
#endif

static const struct {
        const char *name;
        long (*run)(void);
} attacks[] = {
#define ATTACK(name) \
        { #name, name }
        ATTACK(open_file),
        ATTACK(open_proc),
        ATTACK(open_how),
        ATTACK(make_file),
        ATTACK(run_program),
        ATTACK(run_descriptor),
        ATTACK(make_process),
        ATTACK(make_thread),
        ATTACK(trace),
        ATTACK(read_memory),
        ATTACK(kill_all),
        ATTACK(open_process),
        ATTACK(take_descriptor),
        ATTACK(socket_inet),
        ATTACK(socket_inet6),
        ATTACK(socket_unix),
        ATTACK(socket_netlink),
        ATTACK(socket_packet),
        ATTACK(socket_vsock),
        ATTACK(socket_pair),
        ATTACK(connect_again),
        ATTACK(connect_nowhere),
        ATTACK(connect_by_sending),
        ATTACK(connect_by_message),
        ATTACK(send_many),
        ATTACK(connect_shut_down),
        ATTACK(bind_port),
        ATTACK(listen_more),
        ATTACK(fast_open),
        ATTACK(layer_protocol),
        ATTACK(attach_filter),
        ATTACK(mount_something),
        ATTACK(open_mount),
        ATTACK(leave_root),
        ATTACK(new_namespace),
        ATTACK(join_namespace),
        ATTACK(become_root),
        ATTACK(take_capabilities),
        ATTACK(load_bpf),
        ATTACK(use_uring),
        ATTACK(use_perf),
        ATTACK(use_keys),
        ATTACK(watch_faults),
        ATTACK(be_dumpable),
        ATTACK(run_memory),
        ATTACK(make_memory_code),
        ATTACK(memory_file),
        ATTACK(push_input),
        ATTACK(duplicate),
        ATTACK(raise_limit),
        ATTACK(read_file_of_the_host),
        ATTACK(read_home),
        ATTACK(run_any_program),
        ATTACK(connect_other_port),
        ATTACK(connect_policy_port),
        ATTACK(connect_name_server),
        ATTACK(serve),
        ATTACK(listen_unbound),
        ATTACK(socket_raw),
        ATTACK(new_namespace_by_clone),
        ATTACK(new_namespace_by_clone3),
#if defined(__x86_64__)
        ATTACK(foreign_call),
        ATTACK(x32_call),
#endif
};

void attack(const char *name, int tunnel_fd, int listener_fd) {
        tunnel = tunnel_fd;
        listener = listener_fd;
        if (streq(name, "names")) {
                for (size_t i = 0; i < ELEMENTSOF(attacks); i++)
                        printf("%s ", attacks[i].name);
                printf("\n");
                return;
        }
        for (size_t i = 0; i < ELEMENTSOF(attacks); i++) {
                long r;

                if (!streq(attacks[i].name, name))
                        continue;
                errno = 0;
                r = attacks[i].run();
                printf("%s %ld %d\n", name, r, errno);
                return;
        }
        printf("%s unknown\n", name);
}
