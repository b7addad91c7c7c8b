/* floor: what the default bundle costs when nothing but the kernel's work is left.
 *
 * Started like a runtime (fork and exec by tests/bench/timer) it does, with every name and number compiled in, all that the bundle
 * tests/bench/config.json asks of the kernel: a new cgroup with a device program, the namespaces, the seven mounts, devices, masked and
 * read-only paths, pivot_root, credentials, exec, wait, rmdir. There is no JSON, no state, no second opinion about a path, and the steps
 * come one after the other. `run` of a runtime is measured against it: the rest is what the runtime itself costs.
 *
 * floor [PAYLOAD [FILTER]]: with FILTER, a file of instructions for seccomp(2), that program is loaded, too. What it then takes longer is
 * the kernel's share of a seccomp profile.
 *
 * Where the bundle leaves something open (loopback up, a session keyring, close-on-exec of strangers' descriptors) it does what runc
 * and crun do, because a runtime that left it out would be a worse one, not a faster one. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/bpf.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/keyctl.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <net/if.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROOTFS "/run/bench/rootfs"
#define CGROUP "/sys/fs/cgroup/floor"
#define ARRAY_SIZE(a) (sizeof(a) / sizeof *(a))

/* Ends the program when a step failed, naming it: a floor that skips work would make every runtime look bad. Returns RESULT. */
static long must(long result, const char *step) {
        if (result >= 0)
                return result;
        fprintf(stderr, "floor: %s: %s\n", step, strerror(errno));
        _exit(1);
}

/* ---- cgroup and its device program ------------------------------------------------------------------------------------ */

/* Instructions of linux/bpf.h, "eBPF instruction set": 64-bit arithmetic, a 32-bit load from the context in r1, jumps over OFF. */
#define MOVE_REG(d, s) { .code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = d, .src_reg = s }
#define MOVE(d, i) { .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = d, .imm = i }
#define AND(d, i) { .code = BPF_ALU64 | BPF_AND | BPF_K, .dst_reg = d, .imm = i }
#define SHIFT_RIGHT(d, i) { .code = BPF_ALU64 | BPF_RSH | BPF_K, .dst_reg = d, .imm = i }
#define LOAD(d, m) { .code = BPF_LDX | BPF_MEM | BPF_W, .dst_reg = d, .src_reg = 1, .off = offsetof(struct bpf_cgroup_dev_ctx, m) }
#define UNLESS(d, i, o) { .code = BPF_JMP | BPF_JNE | BPF_K, .dst_reg = d, .off = o, .imm = i }
#define EXIT() { .code = BPF_JMP | BPF_EXIT }

enum { RESULT = 0, SCRATCH = 1, TYPE = 2, ACCESS = 3, MAJOR = 4, MINOR = 5 }; /* the registers, once the context is loaded */

#define ALLOW_MKNOD(type) \
        UNLESS(TYPE, type, 5), MOVE_REG(SCRATCH, ACCESS), AND(SCRATCH, ~BPF_DEVCG_ACC_MKNOD), UNLESS(SCRATCH, 0, 2), MOVE(RESULT, 1), EXIT()
#define ALLOW_CHAR(major, minor) \
        UNLESS(TYPE, BPF_DEVCG_DEV_CHAR, 4), UNLESS(MAJOR, major, 3), UNLESS(MINOR, minor, 2), MOVE(RESULT, 1), EXIT()
#define ALLOW_CHAR_MAJOR(major) UNLESS(TYPE, BPF_DEVCG_DEV_CHAR, 3), UNLESS(MAJOR, major, 2), MOVE(RESULT, 1), EXIT()

/* The bundle denies everything; a runtime adds what config-linux.md lists as default devices, and lets nodes be made. Rule by rule, as a
 * runtime translates them: what a cleverer program saves in the kernel's verifier is a merit of whoever writes it. */
static const struct bpf_insn device_program[] = {
        LOAD(TYPE, access_type),
        MOVE_REG(ACCESS, TYPE),
        AND(TYPE, 0xffff),
        SHIFT_RIGHT(ACCESS, 16),
        LOAD(MAJOR, major),
        LOAD(MINOR, minor),
        ALLOW_MKNOD(BPF_DEVCG_DEV_CHAR),
        ALLOW_MKNOD(BPF_DEVCG_DEV_BLOCK),
        ALLOW_CHAR(1, 3),      /* null */
        ALLOW_CHAR(1, 5),      /* zero */
        ALLOW_CHAR(1, 7),      /* full */
        ALLOW_CHAR(1, 8),      /* random */
        ALLOW_CHAR(1, 9),      /* urandom */
        ALLOW_CHAR(5, 0),      /* tty */
        ALLOW_CHAR(5, 1),      /* console */
        ALLOW_CHAR(5, 2),      /* ptmx */
        ALLOW_CHAR_MAJOR(136), /* pts */
        MOVE(RESULT, 0),
        EXIT(),
};

/* Makes the cgroup, allows it the default devices only, and returns a descriptor of it. */
static int make_cgroup(void) {
        union bpf_attr load = {
                .prog_type = BPF_PROG_TYPE_CGROUP_DEVICE,
                .insns = (uintptr_t)device_program,
                .insn_cnt = ARRAY_SIZE(device_program),
                .license = (uintptr_t)"MIT",
        };
        union bpf_attr attach = { .attach_type = BPF_CGROUP_DEVICE, .attach_flags = BPF_F_ALLOW_MULTI };
        int cgroup, program;

        must(mkdir(CGROUP, 0755), "mkdir " CGROUP);
        cgroup = must(open(CGROUP, O_RDONLY | O_DIRECTORY | O_CLOEXEC), "open " CGROUP);
        program = must(syscall(SYS_bpf, BPF_PROG_LOAD, &load, sizeof load), "load the device program");
        attach.target_fd = cgroup;
        attach.attach_bpf_fd = program;
        must(syscall(SYS_bpf, BPF_PROG_ATTACH, &attach, sizeof attach), "attach the device program");
        close(program);
        return cgroup;
}

/* ---- the file system --------------------------------------------------------------------------------------------------- */

static const struct {
        const char *target, *type, *source, *data;
        unsigned long flags;
        int create; /* the target is not in the image but on a file system that a line above mounted */
} mounts[] = {
        { "proc", "proc", "proc", NULL, 0, 0 },
        { "dev", "tmpfs", "tmpfs", "mode=755,size=65536k", MS_NOSUID | MS_STRICTATIME, 0 },
        { "dev/pts", "devpts", "devpts", "newinstance,ptmxmode=0666,mode=0620,gid=5", MS_NOSUID | MS_NOEXEC, 1 },
        { "dev/shm", "tmpfs", "shm", "mode=1777,size=65536k", MS_NOSUID | MS_NOEXEC | MS_NODEV, 1 },
        { "dev/mqueue", "mqueue", "mqueue", NULL, MS_NOSUID | MS_NOEXEC | MS_NODEV, 1 },
        { "sys", "sysfs", "sysfs", NULL, MS_NOSUID | MS_NOEXEC | MS_NODEV | MS_RDONLY, 0 },
        { "sys/fs/cgroup", "cgroup2", "cgroup", NULL, MS_NOSUID | MS_NOEXEC | MS_NODEV | MS_RELATIME | MS_RDONLY, 0 },
};

static const struct {
        const char *path;
        unsigned major, minor;
} nodes[] = {
        { "dev/null", 1, 3 }, { "dev/zero", 1, 5 },    { "dev/full", 1, 7 },
        { "dev/tty", 5, 0 },  { "dev/random", 1, 8 },  { "dev/urandom", 1, 9 },
};

static const struct {
        const char *path, *target;
} links[] = {
        { "dev/fd", "/proc/self/fd" },       { "dev/stdin", "/proc/self/fd/0" }, { "dev/stdout", "/proc/self/fd/1" },
        { "dev/stderr", "/proc/self/fd/2" }, { "dev/ptmx", "pts/ptmx" },
};

static const char *const masked_paths[] = {
        "/proc/acpi",       "/proc/asound",      "/proc/kcore",       "/proc/keys",    "/proc/latency_stats",
        "/proc/timer_list", "/proc/timer_stats", "/proc/sched_debug", "/sys/firmware", "/proc/scsi",
};

static const char *const read_only_paths[] = { "/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger" };

/* Assembles the container's tree below the image. Paths are relative to it: nobody else is at work in this image. */
static void make_tree(void) {
        must(mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL), "make / a slave");
        must(mount(ROOTFS, ROOTFS, NULL, MS_BIND | MS_REC, NULL), "bind " ROOTFS);
        must(chdir(ROOTFS), "chdir " ROOTFS);
        for (size_t i = 0; i < ARRAY_SIZE(mounts); i++) {
                if (mounts[i].create)
                        must(mkdir(mounts[i].target, 0755), mounts[i].target);
                must(mount(mounts[i].source, mounts[i].target, mounts[i].type, mounts[i].flags, mounts[i].data), mounts[i].target);
        }

        umask(0); /* so that mknod gives the mode at once */
        for (size_t i = 0; i < ARRAY_SIZE(nodes); i++)
                must(mknod(nodes[i].path, S_IFCHR | 0666, makedev(nodes[i].major, nodes[i].minor)), nodes[i].path);
        for (size_t i = 0; i < ARRAY_SIZE(links); i++)
                must(symlink(links[i].target, links[i].path), links[i].path);
        umask(022);
}

/* A masked file reads like /dev/null, a masked directory is empty; what this kernel does not have needs no mask. Asking first is the
 * cheap way: a bind mount that fails on a directory is taken apart again, and that waits for RCU (fs/namespace.c, namespace_unlock). */
static void mask(const char *path) {
        struct stat st;

        if (stat(path, &st) < 0)
                must(errno == ENOENT ? 0 : -1, path);
        else if (S_ISDIR(st.st_mode))
                must(mount("tmpfs", path, "tmpfs", MS_RDONLY, NULL), path);
        else
                must(mount("/dev/null", path, NULL, MS_BIND, NULL), path);
}

static void make_read_only(const char *path) {
        if (mount(path, path, NULL, MS_BIND | MS_REC, NULL) < 0) {
                if (errno == ENOENT)
                        return;
                must(-1, path);
        }
        must(mount(NULL, path, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL), path);
}

/* pivot_root(2), "pivot_root(".", ".")": the old root comes to lie over the new one and is taken off. */
static void enter_tree(void) {
        must(syscall(SYS_pivot_root, ".", "."), "pivot_root");
        must(umount2(".", MNT_DETACH), "umount the old root");
        must(chdir("/"), "chdir /");
        for (size_t i = 0; i < ARRAY_SIZE(masked_paths); i++)
                mask(masked_paths[i]);
        for (size_t i = 0; i < ARRAY_SIZE(read_only_paths); i++)
                make_read_only(read_only_paths[i]);
        must(mount(NULL, "/", NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL), "make / read-only");
}

/* ---- the process -------------------------------------------------------------------------------------------------------- */

static void bring_up_loopback(void) {
        struct ifreq request = { .ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING };
        int fd = must(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), "socket");

        must(ioctl(fd, SIOCSIFFLAGS, &request), "bring up lo");
        close(fd);
}

/* uid 0 with CAP_AUDIT_WRITE, CAP_KILL and CAP_NET_BIND_SERVICE, nothing inheritable or ambient, capabilities(7). */
static void set_credentials(void) {
        const uint32_t kept = 1u << CAP_AUDIT_WRITE | 1u << CAP_KILL | 1u << CAP_NET_BIND_SERVICE;
        struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
        struct __user_cap_data_struct data[2] = { { .effective = kept, .permitted = kept } };

        for (int cap = 0; cap < 64; cap++) {
                if (cap < 32 && kept & 1u << cap)
                        continue;
                if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) == 0)
                        continue;
                if (errno == EINVAL) /* past the last capability that this kernel knows */
                        break;
                must(-1, "drop a bounding capability");
        }
        must(setgroups(0, NULL), "setgroups");
        must(setresgid(0, 0, 0), "setresgid");
        must(setresuid(0, 0, 0), "setresuid");
        must(syscall(SYS_capset, &header, data), "capset");
        must(prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0), "clear the ambient capabilities");
        must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs");
}

/* The whole file. */
static struct sock_fprog read_filter(const char *path) {
        static struct sock_filter instructions[BPF_MAXINSNS];
        int fd = must(open(path, O_RDONLY | O_CLOEXEC), path);
        ssize_t n = must(read(fd, instructions, sizeof instructions), path);

        close(fd);
        return (struct sock_fprog){ .len = (unsigned short)(n / sizeof *instructions), .filter = instructions };
}

static _Noreturn void container(char *payload, const struct sock_fprog *filter) {
        const struct rlimit limit = { 1024, 1024 };
        char *const argv[] = { payload, NULL };
        char *const envp[] = { "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "TERM=xterm", NULL };

        must(setsid(), "setsid");
        must(syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, "floor", 0, 0, 0), "session keyring");
        make_tree();
        enter_tree();
        must(sethostname("bench", 5), "sethostname");
        bring_up_loopback();
        must(setrlimit(RLIMIT_NOFILE, &limit), "rlimit");
        set_credentials();
        must(syscall(SYS_close_range, 3, ~0u, 4 /* CLOSE_RANGE_CLOEXEC */), "close_range");
        if (filter->len)
                must(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_SPEC_ALLOW, filter), "seccomp");
        execve(argv[0], argv, envp);
        must(-1, argv[0]);
        _exit(1);
}

int main(int argc, char **argv) {
        struct sock_fprog filter = argc > 2 ? read_filter(argv[2]) : (struct sock_fprog){ 0 };
        int cgroup = make_cgroup(), status;
        struct clone_args args = {
                .flags = CLONE_INTO_CGROUP | CLONE_CLEAR_SIGHAND | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS |
                         CLONE_NEWCGROUP,
                .exit_signal = SIGCHLD,
                .cgroup = cgroup,
        };
        pid_t child = must(syscall(SYS_clone3, &args, sizeof args), "clone3");

        if (child == 0)
                container(argc > 1 ? argv[1] : "/bin/true", &filter);
        must(waitpid(child, &status, 0), "wait");
        must(rmdir(CGROUP), "rmdir " CGROUP);
        return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
