/* Parts of the kernel that no payload needs, or that reach past what the rest of a sandbox holds back. */
#define _GNU_SOURCE
#include "attempt.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/io_uring.h>
#include <linux/keyctl.h>
#include <linux/perf_event.h>
#include <linux/userfaultfd.h>
#include <sys/ipc.h>
#include <sys/personality.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PROCESS_KEYRING ((unsigned long)KEY_SPEC_PROCESS_KEYRING)

enum { SYSLOG_SIZE_BUFFER = 10, NEWEST = 471 };

static union bpf_attr map = { .map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 4, .max_entries = 1 };
static struct perf_event_attr event = { .type = PERF_TYPE_SOFTWARE, .size = sizeof event, .config = PERF_COUNT_SW_DUMMY };
static struct io_uring_params ring;
static char text[4096];

static const struct attempt rows[] = {
        { "bpf(BPF_MAP_CREATE)", CALL(SYS_bpf, BPF_MAP_CREATE, POINTER(&map), sizeof map), .refused = STRICT },
        { "perf_event_open", CALL(SYS_perf_event_open, POINTER(&event), 0, -1ul, -1ul, PERF_FLAG_FD_CLOEXEC), .refused = STRICT },
        { "userfaultfd", CALL(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY), .refused = STRICT },
        { "keyctl(KEYCTL_GET_KEYRING_ID)", CALL(SYS_keyctl, KEYCTL_GET_KEYRING_ID, PROCESS_KEYRING, 1), .refused = STRICT },
        { "keyctl(KEYCTL_JOIN_SESSION_KEYRING)", CALL(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, 0), .refused = STRICT },
        { "add_key", CALL(SYS_add_key, POINTER("user"), POINTER("escape"), POINTER("x"), 1, PROCESS_KEYRING), .refused = STRICT },
        { "request_key", CALL(SYS_request_key, POINTER("user"), POINTER("escape:none"), 0, 0), .refused = STRICT, .without = ENOKEY },
        { "io_uring_setup", CALL(SYS_io_uring_setup, 1, POINTER(&ring)), .refused = SOCKETS },
        { "io_uring_enter", CALL(SYS_io_uring_enter, -1ul, 0, 0, 0, 0, 0), .refused = SOCKETS, .without = EBADF },
        { "io_uring_register", CALL(SYS_io_uring_register, -1ul, IORING_REGISTER_BUFFERS, 0, 0), .refused = SOCKETS, .without = EBADF,
                .or = EINVAL },
        { "personality(PER_LINUX32)", CALL(SYS_personality, PER_LINUX32), .refused = STRICT },
        { "personality(READ_IMPLIES_EXEC)", CALL(SYS_personality, READ_IMPLIES_EXEC), .refused = STRICT },
        { "personality(READ_IMPLIES_EXEC), with a bit above", CALL(SYS_personality, HIGH | READ_IMPLIES_EXEC), .refused = STRICT },
        { "personality that asks", CALL(SYS_personality, 0xffffffff), .anybody = true },
        { "personality(ADDR_NO_RANDOMIZE)", CALL(SYS_personality, ADDR_NO_RANDOMIZE), .anybody = true },
        { "mq_open", CALL(SYS_mq_open, POINTER("escape"), O_CREAT | O_RDWR | O_CLOEXEC, 0600, 0), .refused = STRICT },
        { "shmget", CALL(SYS_shmget, IPC_PRIVATE, 4096, 0600), .refused = STRICT },
        { "semget", CALL(SYS_semget, IPC_PRIVATE, 1, 0600), .anybody = true },
        { "memfd_create", CALL(SYS_memfd_create, POINTER("escape"), 1), .anybody = true },

        { "kexec_load", CALL(SYS_kexec_load, 0, -1ul, 0, 0), .refused = STRICT, .without = EINVAL },
        { "kexec_file_load", CALL(SYS_kexec_file_load, -1ul, -1ul, 0, 0, -1ul), .refused = STRICT, .without = EINVAL },
        { "init_module", CALL(SYS_init_module, POINTER(text), 0, POINTER("")), .refused = STRICT, .without = ENOEXEC },
        { "finit_module", CALL(SYS_finit_module, -1ul, POINTER(""), 0), .refused = STRICT, .without = EBADF },
        { "delete_module", CALL(SYS_delete_module, POINTER("escape"), O_NONBLOCK), .refused = STRICT, .without = ENOENT },
        { "swapon", CALL(SYS_swapon, POINTER("/escape/none"), 0), .refused = STRICT, .without = ENOENT },
        { "swapoff", CALL(SYS_swapoff, POINTER("/escape/none")), .refused = STRICT, .without = ENOENT },
        { "reboot", CALL(SYS_reboot, 0, 0, 0, 0), .refused = STRICT, .without = EINVAL },
        { "acct", CALL(SYS_acct, POINTER("/escape/none")), .refused = STRICT, .without = ENOENT },
        { "syslog", CALL(SYS_syslog, SYSLOG_SIZE_BUFFER, 0, 0), .refused = STRICT },
        { "settimeofday", CALL(SYS_settimeofday, 0, 0), .refused = STRICT },
        { "clock_settime", CALL(SYS_clock_settime, 0, 0), .refused = STRICT, .without = EFAULT },
        { "sethostname", CALL(SYS_sethostname, POINTER("escape"), 6), .refused = STRICT },
        { "setdomainname", CALL(SYS_setdomainname, POINTER("escape"), 6), .refused = STRICT },
        { "vhangup", CALL(SYS_vhangup), .refused = STRICT },
        { "nfsservctl", CALL(SYS_nfsservctl, -1ul, 0, 0), .refused = STRICT, .without = ENOSYS },
        { "lookup_dcookie", CALL(SYS_lookup_dcookie, 0, 0, 0), .refused = STRICT, .without = EINVAL },
#ifdef __x86_64__
        { "modify_ldt", CALL(SYS_modify_ldt, 0, POINTER(text), sizeof text), .refused = STRICT },
        { "iopl", CALL(SYS_iopl, 0), .refused = STRICT },
        { "ioperm", CALL(SYS_ioperm, 0x3ff, 1, 0), .refused = STRICT },
        { "create_module", CALL(SYS_create_module, POINTER("escape"), 1), .refused = STRICT, .without = ENOSYS },
        { "query_module", CALL(SYS_query_module, 0, 0, 0, 0, 0), .refused = STRICT, .without = ENOSYS },
        { "get_kernel_syms", CALL(SYS_get_kernel_syms, 0), .refused = STRICT, .without = ENOSYS },
        { "uselib", CALL(SYS_uselib, POINTER("/escape/none")), .refused = STRICT, .without = ENOENT },
        { "ustat", CALL(SYS_ustat, -1ul, POINTER(text)), .refused = STRICT, .without = EINVAL },
        { "sysfs", CALL(SYS_sysfs, 3), .refused = STRICT },
        { "_sysctl", CALL(SYS__sysctl, 0), .refused = STRICT, .without = ENOSYS },
#endif
        { "a call newer than any that is known", CALL(NEWEST + 1, 0), .refused = SOCKETS | FILES, .with = ENOSYS, .without = ENOSYS },
        { "a number that no table has", CALL(400, 0), .refused = SOCKETS | FILES, .with = ENOSYS, .without = ENOSYS },
        { "seccomp(SECCOMP_GET_ACTION_AVAIL)", CALL(SYS_seccomp, 2, 0, POINTER(&(unsigned){ 0 })), .anybody = true },
};

const struct attempts attempts_on_kernel = { "kernel", rows, ELEMENTSOF(rows) };
