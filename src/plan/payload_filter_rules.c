#include "plan/payload_filter_rules.h"

#include <asm/ioctls.h>
#include <errno.h>
#include <linux/fs.h>
#include <linux/ioprio.h>
#include <linux/sched.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "base/str.h"
#include "plan/payload_filter.h"

#ifndef FS_IOC32_SETFLAGS
#define FS_IOC32_SETFLAGS _IOW('f', 2, int)
#endif

/* One rule a line. */
/* clang-format off */

/* What the kernel takes as int or unsigned int: the rest of the register says nothing. */
#define LOW UINT32_MAX
#define EQUAL OCI_SECCOMP_OPERATOR_SCMP_CMP_EQ
#define UNEQUAL OCI_SECCOMP_OPERATOR_SCMP_CMP_NE
#define IS(argument, what) { (argument), EQUAL, LOW, (what) }
#define NOT(argument, what) { (argument), UNEQUAL, LOW, (what) }
#define ANY_BIT_OF(argument, bits) { (argument), UNEQUAL, (bits), 0 }
#define NOT_NULL(argument) { (argument), UNEQUAL, UINT64_MAX, 0 }
/* Of a socket, without SOCK_CLOEXEC and SOCK_NONBLOCK (net/socket.c, SOCK_TYPE_MASK). */
#define TYPE_IS(type) { 1, EQUAL, 0xf, (type) }
#define TYPE_NOT(type) { 1, UNEQUAL, 0xf, (type) }

/* Of clone(2), which has CLONE_NEWTIME's bit in the signal that the child sends when it ends. */
#define NEW_NAMESPACES \
        (CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET)

#define ISOLATION PAYLOAD_FILTER_ISOLATION
#define PROJECT PAYLOAD_FILTER_PROJECT
#define NO_NETWORK PAYLOAD_FILTER_NO_NETWORK
#define NETWORK PAYLOAD_FILTER_NETWORK
#define SOCKETS PAYLOAD_FILTER_SOCKETS

/* A call, its numbers on x86_64 and aarch64 (-1: it has none), which parts the rule belongs to, and what must hold for it. */
#define REFUSE(call, x86_64, aarch64, parts, ...) { #call, EPERM, (parts), { (x86_64), (aarch64) }, { __VA_ARGS__ } }
#define ABSENT(call, x86_64, aarch64, parts) { #call, ENOSYS, (parts), { (x86_64), (aarch64) }, { { 0 } } }

const struct payload_rule payload_rules[] = {
        /* ---- other processes: their memory, descriptors and scheduling. The payload shares its uid with its init and with other commands,
         * and an equal uid is all that most of these ask for: process 1 would die of an RLIMIT_CPU of 0 (kernel/sys.c, do_prlimit()).
         * ---- */
        REFUSE(ptrace, 101, 117, ISOLATION),
        REFUSE(process_vm_readv, 310, 270, ISOLATION),
        REFUSE(process_vm_writev, 311, 271, ISOLATION),
        REFUSE(process_madvise, 440, 440, ISOLATION),
        REFUSE(kcmp, 312, 272, ISOLATION),
        REFUSE(move_pages, 279, 239, ISOLATION),
        REFUSE(migrate_pages, 256, 238, ISOLATION),
        /* takes sockets out of processes that have them */
        REFUSE(pidfd_getfd, 438, 438, ISOLATION | SOCKETS),
        /* Of oneself: pid 0. Reading the limits of others is harmless. */
        REFUSE(prlimit64, 302, 261, ISOLATION, ANY_BIT_OF(0, LOW), NOT_NULL(2)),
        REFUSE(sched_setparam, 142, 118, ISOLATION, NOT(0, 0)),
        REFUSE(sched_setscheduler, 144, 119, ISOLATION, NOT(0, 0)),
        REFUSE(sched_setaffinity, 203, 122, ISOLATION, NOT(0, 0)),
        REFUSE(sched_setattr, 314, 274, ISOLATION, NOT(0, 0)),
        /* PRIO_USER and IOPRIO_WHO_USER mean all processes of one's uid, PRIO_PROCESS and PRIO_PGRP 0 oneself and one's own group */
        REFUSE(setpriority, 141, 140, ISOLATION, NOT(1, 0)),
        REFUSE(setpriority, 141, 140, ISOLATION, IS(0, PRIO_USER)),
        REFUSE(ioprio_set, 251, 30, ISOLATION, NOT(1, 0)),
        REFUSE(ioprio_set, 251, 30, ISOLATION, IS(0, IOPRIO_WHO_USER)),

        /* ---- namespaces and mounts. In a user namespace of its own a payload would have every capability, and with them all that the
         * kernel lets only the privileged try. ---- */
        REFUSE(clone, 56, 220, ISOLATION, ANY_BIT_OF(0, NEW_NAMESPACES)),
        ABSENT(clone3, 435, 435, ISOLATION),
        REFUSE(unshare, 272, 97, ISOLATION),
        REFUSE(setns, 308, 268, ISOLATION | SOCKETS),
        REFUSE(mount, 165, 40, ISOLATION),
        REFUSE(umount2, 166, 39, ISOLATION),
        REFUSE(pivot_root, 155, 41, ISOLATION),
        REFUSE(chroot, 161, 51, ISOLATION),
        REFUSE(fsopen, 430, 430, ISOLATION),
        REFUSE(fsconfig, 431, 431, ISOLATION),
        REFUSE(fsmount, 432, 432, ISOLATION),
        REFUSE(fspick, 433, 433, ISOLATION),
        REFUSE(move_mount, 429, 429, ISOLATION),
        REFUSE(open_tree, 428, 428, ISOLATION),
        REFUSE(open_tree_attr, 467, 467, ISOLATION),
        REFUSE(mount_setattr, 442, 442, ISOLATION),
        REFUSE(open_by_handle_at, 304, 265, ISOLATION),

        /* ---- what reaches past namespaces, accounting or this filter, and parts of the kernel that had more faults than others ---- */
        REFUSE(bpf, 321, 280, ISOLATION),
        REFUSE(perf_event_open, 298, 241, ISOLATION),
        REFUSE(userfaultfd, 323, 282, ISOLATION),
        /* keys belong to a uid, not to a container */
        REFUSE(keyctl, 250, 219, ISOLATION),
        REFUSE(add_key, 248, 217, ISOLATION),
        REFUSE(request_key, 249, 218, ISOLATION),
        /* does what other calls do, sockets among them, where no filter looks */
        REFUSE(io_uring_setup, 425, 425, ISOLATION | SOCKETS),
        REFUSE(io_uring_enter, 426, 426, ISOLATION | SOCKETS),
        REFUSE(io_uring_register, 427, 427, ISOLATION | SOCKETS),
        /* memory that outlives its command */
        REFUSE(mq_open, 240, 180, ISOLATION),
        REFUSE(shmget, 29, 194, ISOLATION),
        /* ADDR_NO_RANDOMIZE is for builds that shall be repeatable, 0xffffffff only asks; READ_IMPLIES_EXEC and old ABIs help exploits */
        REFUSE(personality, 135, 92, ISOLATION, NOT(0, 0), NOT(0, ADDR_NO_RANDOMIZE), NOT(0, LOW)),
        REFUSE(modify_ldt, 154, -1, ISOLATION),
        REFUSE(iopl, 172, -1, ISOLATION),
        REFUSE(ioperm, 173, -1, ISOLATION),
        REFUSE(kexec_load, 246, 104, ISOLATION),
        REFUSE(kexec_file_load, 320, 294, ISOLATION),
        REFUSE(init_module, 175, 105, ISOLATION),
        REFUSE(finit_module, 313, 273, ISOLATION),
        REFUSE(delete_module, 176, 106, ISOLATION),
        REFUSE(create_module, 174, -1, ISOLATION),
        REFUSE(query_module, 178, -1, ISOLATION),
        REFUSE(get_kernel_syms, 177, -1, ISOLATION),
        REFUSE(swapon, 167, 224, ISOLATION),
        REFUSE(swapoff, 168, 225, ISOLATION),
        REFUSE(reboot, 169, 142, ISOLATION),
        REFUSE(acct, 163, 89, ISOLATION),
        REFUSE(syslog, 103, 116, ISOLATION),
        REFUSE(settimeofday, 164, 170, ISOLATION),
        REFUSE(clock_settime, 227, 112, ISOLATION),
        REFUSE(sethostname, 170, 161, ISOLATION),
        REFUSE(setdomainname, 171, 162, ISOLATION),
        REFUSE(vhangup, 153, 58, ISOLATION),
        REFUSE(nfsservctl, 180, 42, ISOLATION),
        REFUSE(lookup_dcookie, 212, 18, ISOLATION),
        REFUSE(uselib, 134, -1, ISOLATION),
        REFUSE(ustat, 136, -1, ISOLATION),
        REFUSE(sysfs, 139, -1, ISOLATION),
        REFUSE(_sysctl, 156, -1, ISOLATION),
        /* The first two put what the payload says into somebody's keyboard: the caller's shell reads it when the sandbox has ended
         * (CVE-2017-5226). A line discipline would be a module loaded on the payload's word. */
        REFUSE(ioctl, 16, 29, ISOLATION, IS(1, TIOCSTI)),
        REFUSE(ioctl, 16, 29, ISOLATION, IS(1, TIOCLINUX)),
        REFUSE(ioctl, 16, 29, ISOLATION, IS(1, TIOCSETD)),

        /* ---- the quota project: a file's owner may give it another id or stop a directory from handing it on (fs/file_attr.c) ---- */
        REFUSE(ioctl, 16, 29, PROJECT, IS(1, FS_IOC_FSSETXATTR)),
        REFUSE(ioctl, 16, 29, PROJECT, IS(1, FS_IOC_SETFLAGS)),
        REFUSE(ioctl, 16, 29, PROJECT, IS(1, FS_IOC32_SETFLAGS)),
        REFUSE(file_setattr, 469, 469, PROJECT),
        REFUSE(quotactl, 179, 60, PROJECT),
        REFUSE(quotactl_fd, 443, 443, PROJECT),

        /* ---- sockets. A network namespace holds back neither AF_VSOCK nor a Unix socket whose file is mounted. ---- */
        REFUSE(socket, 41, 198, NO_NETWORK),
        REFUSE(connect, 42, 203, NO_NETWORK),
        /* TCP and UDP: MPTCP, SCTP, UDP-Lite, ping and raw sockets are other values of these */
        REFUSE(socket, 41, 198, NETWORK, NOT(0, AF_INET), NOT(0, AF_INET6)),
        REFUSE(socket, 41, 198, NETWORK, TYPE_NOT(SOCK_STREAM), TYPE_NOT(SOCK_DGRAM)),
        REFUSE(socket, 41, 198, NETWORK, TYPE_IS(SOCK_STREAM), NOT(2, 0), NOT(2, IPPROTO_TCP)),
        REFUSE(socket, 41, 198, NETWORK, TYPE_IS(SOCK_DGRAM), NOT(2, 0), NOT(2, IPPROTO_UDP)),
        /* Node, asyncio and Java talk to children and to themselves through pairs. One of datagram sockets, which SOCK_RAW makes as well,
         * can be connected to any other (net/unix/af_unix.c, unix_create(), unix_dgram_connect()). */
        REFUSE(socketpair, 53, 199, SOCKETS, NOT(0, AF_UNIX)),
        REFUSE(socketpair, 53, 199, SOCKETS, TYPE_NOT(SOCK_STREAM), TYPE_NOT(SOCK_SEQPACKET)),
        REFUSE(bind, 49, 200, SOCKETS),
        REFUSE(listen, 50, 201, SOCKETS),
        REFUSE(accept, 43, 202, SOCKETS),
        REFUSE(accept4, 288, 242, SOCKETS),
        /* an upper layer protocol is a module loaded on the payload's word */
        REFUSE(setsockopt, 54, 208, SOCKETS, IS(1, SOL_TCP), IS(2, TCP_ULP)),
};
/* clang-format on */

const size_t n_payload_rules = ELEMENTSOF(payload_rules);
