#define _GNU_SOURCE
#include "broker/helper_process.h"

#include "base/fd.h"
#include "base/process.h"
#include "broker/calls.h"

#include <fcntl.h>
#include <link.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define IDLE_NS 10000000000ull

static const char *const names[HELPER_KINDS] = {
        [HELPER_RESOLVER] = "sage-egress-resolver",
        [HELPER_TLS] = "sage-egress-tls",
};

const char *helper_name(enum helper_kind kind) {
        return names[kind];
}

/* SIZE bytes at OFFSET of FD, of which FIRST holds the first N. Nearly always all of it is among these. */
static bool read_at(int fd, const char *first, size_t n, uint64_t offset, void *ret, size_t size) {
        if (offset < n && size <= n - offset) {
                memcpy(ret, first + offset, size);
                return true;
        }
        return offset <= INT64_MAX && pread(fd, ret, size, (off_t)offset) == (ssize_t)size;
}

int helper_loader(const char *program, char *ret, size_t size) {
        _cleanup_close_ int fd = open(program, O_RDONLY | O_CLOEXEC);
        char first[2048];
        ElfW(Ehdr) header;
        ElfW(Phdr) part;
        ssize_t n;

        if (fd < 0)
                return -errno;
        n = read(fd, first, sizeof first);
        if (n < (ssize_t)sizeof header || memcmp(first, ELFMAG, SELFMAG) != 0)
                return -ENOEXEC;
        memcpy(&header, first, sizeof header);
        ret[0] = '\0';
        for (unsigned i = 0; i < header.e_phnum; i++) {
                if (!read_at(fd, first, (size_t)n, header.e_phoff + i * sizeof part, &part, sizeof part))
                        return -ENOEXEC;
                if (part.p_type != PT_INTERP)
                        continue;
                if (part.p_filesz == 0 || part.p_filesz > size || !read_at(fd, first, (size_t)n, part.p_offset, ret, part.p_filesz))
                        return -ENOEXEC;
                ret[part.p_filesz - 1] = '\0';
        }
        return 0;
}

int helpers_open(struct helpers *helpers, const char *directory, bool tls, struct error *err) {
        _cleanup_close_ int folder = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);

        if (folder < 0)
                return fail_errno(err, CODE_LAUNCH_FAILED, errno, directory, "cannot open the directory of the broker's helper programs");
        for (int kind = 0; kind < HELPER_KINDS; kind++) {
                struct stat st;
                bool needed = kind != HELPER_TLS || tls;

                helpers->programs[kind] = needed ? openat(folder, names[kind], O_PATH | O_CLOEXEC) : -1;
                if (needed && helpers->programs[kind] < 0)
                        return fail_errno(err, CODE_LAUNCH_FAILED, errno, names[kind], "cannot open this program in %s", directory);
                if (needed && (fstat(helpers->programs[kind], &st) < 0 || !S_ISREG(st.st_mode)))
                        return fail(err, CODE_LAUNCH_FAILED, 0, names[kind], "this is no regular file in %s", directory);
        }
        helpers->null = open("/dev/null", O_RDWR | O_CLOEXEC);
        return helpers->null < 0 ? fail_errno(err, CODE_LAUNCH_FAILED, errno, "/dev/null", "cannot open") : 0;
}

pid_t helper_fork(int *ret_pidfd) {
        int pidfd = -1;
        /* clone(2): with CLONE_PIDFD the third argument is where the descriptor goes, on every architecture. */
        pid_t pid = (pid_t)syscall(SYS_clone, CLONE_PIDFD | SIGCHLD, NULL, &pidfd, NULL, NULL);

        if (pid > 0)
                *ret_pidfd = pidfd;
        return pid < 0 ? -errno : pid;
}

void helper_become(int program, int null_fd, int socket, pid_t parent) {
        char *const argv[] = { (char *)"sage-egress", NULL }, *const envp[] = { NULL };
        sigset_t none;

        sigemptyset(&none);
        if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) == 0 && getppid() == parent && dup2(socket, STDIN_FILENO) >= 0 &&
                dup2(null_fd, STDOUT_FILENO) >= 0 && (CALLS_SANITIZED || dup2(null_fd, STDERR_FILENO) >= 0) &&
                syscall(SYS_close_range, 3, ~0u, 4u /* CLOSE_RANGE_CLOEXEC */) == 0 && sigprocmask(SIG_SETMASK, &none, NULL) == 0)
                syscall(SYS_execveat, program, "", argv, envp, AT_EMPTY_PATH);
        _exit(127);
}

enum refusal helper_addresses(const struct lookup_answer *answer, struct addresses *ret) {
        struct addresses found = { .n = answer->n };

        if (answer->refusal >= REFUSAL_DNS_NXDOMAIN && answer->refusal <= REFUSAL_DNS_LIMIT)
                return (enum refusal)answer->refusal;
        if (answer->refusal != REFUSAL_NONE || answer->n == 0 || answer->n > VET_ADDRESSES_MAX)
                return REFUSAL_DIALER_HELPER;
        for (size_t i = 0; i < answer->n; i++)
                found.list[i] = address_from_bytes(answer->addresses[i].v6, answer->addresses[i].bytes);
        *ret = found;
        return REFUSAL_NONE;
}

static int watch(const struct helpers *helpers, size_t number) {
        const struct helper *h = &helpers->list[number];
        struct epoll_event event = { .events = EPOLLIN, .data.u64 = helpers->data + 2 * number };

        if (epoll_ctl(helpers->epoll, EPOLL_CTL_ADD, h->socket, &event) < 0)
                return -errno;
        event.data.u64++;
        return epoll_ctl(helpers->epoll, EPOLL_CTL_ADD, h->pidfd, &event) < 0 ? -errno : 0;
}

static int start(struct helpers *helpers, size_t number, enum helper_kind kind) {
        _cleanup_close_ int ours = -1, theirs = -1;
        pid_t parent = getpid(), pid;
        int pair[2], pidfd, r;

        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
                return -errno;
        ours = pair[0];
        theirs = pair[1];
        pid = helper_fork(&pidfd);
        if (pid < 0)
                return pid;
        if (pid == 0) {
                (void)sched_setaffinity(0, sizeof helpers->processors, &helpers->processors);
                helper_become(helpers->programs[kind], helpers->null, theirs, parent);
        }

        helpers->list[number] = (struct helper){ .kind = kind, .state = HELPER_IDLE, .pidfd = pidfd, .socket = take_fd(&ours) };
        helpers->list[number].deadline_ns = UINT64_MAX;
        if (number >= helpers->n)
                helpers->n = number + 1;
        if ((r = watch(helpers, number)) < 0)
                helpers_kill(helpers, number);
        return r;
}

/* Where a new helper of KIND may go: -EAGAIN when as many as may be are alive. */
static int free_slot(const struct helpers *helpers, enum helper_kind kind) {
        size_t alive = 0, most = kind == HELPER_RESOLVER ? HELPERS_RESOLVERS_MAX : helpers->max_tls, number = helpers->n;

        for (size_t i = helpers->n; i-- > 0;) {
                if (helpers->list[i].state == HELPER_NONE)
                        number = i;
                else
                        alive += helpers->list[i].kind == kind;
        }
        return alive < most && number < HELPERS_MAX ? (int)number : -EAGAIN;
}

static bool any_alive(const struct helpers *helpers, enum helper_kind kind) {
        for (size_t i = 0; i < helpers->n; i++)
                if (helpers->list[i].state != HELPER_NONE && helpers->list[i].kind == kind)
                        return true;
        return false;
}

static int find_idle(const struct helpers *helpers, enum helper_kind kind) {
        for (size_t i = 0; i < helpers->n; i++)
                if (helpers->list[i].state == HELPER_IDLE && helpers->list[i].kind == kind)
                        return (int)i;
        return -ENOENT;
}

int helpers_take(struct helpers *helpers, enum helper_kind kind, uint32_t owner, uint64_t deadline_ns) {
        int number = find_idle(helpers, kind), r;

        if (number < 0) {
                number = free_slot(helpers, kind);
                if (number < 0)
                        return number;
                r = start(helpers, (size_t)number, kind);
                /* clone(2): no more processes for this user or cgroup. Where another helper lives, its end is worth waiting for. */
                if (r < 0)
                        return r == -EAGAIN && !any_alive(helpers, kind) ? -EBUSY : r;
        }
        helpers->list[number].state = HELPER_BUSY;
        helpers->list[number].owner = owner;
        helpers->list[number].deadline_ns = deadline_ns;
        return number;
}

void helpers_give_back(struct helpers *helpers, size_t number, uint64_t now_ns) {
        helpers->list[number].state = HELPER_IDLE;
        helpers->list[number].deadline_ns = now_ns + IDLE_NS;
}

void helpers_kill(struct helpers *helpers, size_t number) {
        struct helper *h = &helpers->list[number];

        if (h->state == HELPER_NONE || h->state == HELPER_ENDING)
                return;
        process_signal(h->pidfd, SIGKILL);
        close_fd(&h->socket);
        h->state = HELPER_ENDING;
}

void helpers_end(struct helpers *helpers) {
        siginfo_t info;

        for (size_t i = 0; i < helpers->n; i++)
                helpers_kill(helpers, i);
        for (size_t i = 0; i < helpers->n; i++)
                if (helpers->list[i].state == HELPER_ENDING)
                        waitid(P_PIDFD, (id_t)helpers->list[i].pidfd, &info, WEXITED);
}

enum helper_state helpers_reap(struct helpers *helpers, size_t number, uint64_t now_ns) {
        struct helper *h = &helpers->list[number];
        enum helper_state state = h->state;
        siginfo_t info = { 0 };

        /* An event that was in the same batch as the end of the one before in this slot. */
        if (state == HELPER_NONE || waitid(P_PIDFD, (id_t)h->pidfd, &info, WEXITED | WNOHANG) < 0 || info.si_pid == 0)
                return HELPER_NONE;
        close_fd(&h->socket);
        close_fd(&h->pidfd);
        h->state = HELPER_NONE;
        if (state == HELPER_IDLE)
                helpers->retry_ns = now_ns + HELPERS_RETRY_NS;
        return state;
}

/* Of the idle resolvers the first one stays. */
static bool may_go(const struct helper *h, size_t *idle) {
        return h->state == HELPER_IDLE && h->kind == HELPER_RESOLVER && (*idle)++ > 0;
}

void helpers_tend(struct helpers *helpers, uint64_t now_ns) {
        size_t idle = 0;
        int number;

        for (size_t i = 0; i < helpers->n; i++) {
                struct helper *h = &helpers->list[i];

                if ((h->state == HELPER_BUSY || may_go(h, &idle)) && now_ns >= h->deadline_ns)
                        helpers_kill(helpers, i);
        }
        for (int kind = 0; kind < HELPER_KINDS && now_ns >= helpers->retry_ns; kind++)
                if (helpers->programs[kind] >= 0 && find_idle(helpers, kind) < 0 && (number = free_slot(helpers, kind)) >= 0)
                        start(helpers, (size_t)number, kind);
}

uint64_t helpers_next_deadline(const struct helpers *helpers) {
        uint64_t first = UINT64_MAX;
        size_t idle = 0;

        for (size_t i = 0; i < helpers->n; i++) {
                const struct helper *h = &helpers->list[i];

                if ((h->state == HELPER_BUSY || may_go(h, &idle)) && h->deadline_ns < first)
                        first = h->deadline_ns;
        }
        return first;
}
