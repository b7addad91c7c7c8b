/* The bundle of a strict sandbox, from options with the names of Sage's members. */
#pragma once

#include <stdint.h>

#include "base/arena.h"
#include "cmd/options.h"
#include "plan/sage.h"

/* What was given on the command line, as it was written; NULL or empty: not given. */
struct sandbox_options {
        const char *workspace, *workspace_root, *command_path;
        struct text_list read_paths, write_paths, caches, protected_paths;
        bool read_only;
        struct text_list env;
        struct text_list env_files;
        const char *cpu_percent, *memory_mb, *disk_mb, *max_processes, *require_hard_limits;
        const char *cgroup_root, *quota_mount, *uid, *gid;
        const char *network_mode, *network_proxy, *network_max_download, *network_max_upload, *network_timeout;
        struct text_list network_hosts, network_ports;
        bool network_allow_private;
        const char *timeout, *max_output_bytes;
        const char *policy, *tty;
        /* of a run, not of a bundle */
        const char *result, *egress_log, *id;
        bool die_with_parent, keep, quiet;
};

#define SANDBOX_ROW(name, kind, member, help) \
        { name, 0, kind, offsetof(struct sandbox_options, member), help }

/* Rows of any table whose struct begins with a struct sandbox_options. */
#define SANDBOX_OPTION_ROWS \
        SANDBOX_ROW("workspace", OPTION_TEXT, workspace, "directory that the sandbox may write (default: a fresh one)"), \
                SANDBOX_ROW("workspace-root", OPTION_TEXT, workspace_root, \
                        "where it is inside (default: where it is outside, or /workspace)"), \
                SANDBOX_ROW("read-path", OPTION_LIST, read_paths, "one more directory of the host to read"), \
                SANDBOX_ROW("write-path", OPTION_LIST, write_paths, "one more directory of the host to write"), \
                SANDBOX_ROW( \
                        "cache", OPTION_LIST, caches, "a cache that outlives the sandbox: cargo, ccache, go, npm, pip or another name"), \
                SANDBOX_ROW("protected-path", OPTION_LIST, protected_paths, "path in the workspace that stays as it is"), \
                SANDBOX_ROW("read-only", OPTION_FLAG, read_only, "nothing in the workspace can be written"), \
                SANDBOX_ROW("command-path", OPTION_TEXT, command_path, "where programs are looked for (PATH)"), \
                SANDBOX_ROW("env", OPTION_LIST, env, "NAME=VALUE, or NAME to pass one on"), \
                SANDBOX_ROW("env-file", OPTION_LIST, env_files, "file (or fd:N) with a NAME=VALUE a line, for secrets"), \
                SANDBOX_ROW("cpu-percent", OPTION_TEXT, cpu_percent, "CPU time, 100 is one CPU (default: 100)"), \
                SANDBOX_ROW("memory-mb", OPTION_TEXT, memory_mb, "MiB of memory (default: 1024)"), \
                SANDBOX_ROW("disk-mb", OPTION_TEXT, disk_mb, "MiB of workspace, /tmp and /dev/shm (default: 4096)"), \
                SANDBOX_ROW("max-processes", OPTION_TEXT, max_processes, "processes and threads at a time (default: 64)"), \
                SANDBOX_ROW("require-hard-limits", OPTION_OPTIONAL, require_hard_limits, \
                        "=BOOL: refuse what can only be sampled (default: with --cgroup-root and --quota-mount)"), \
                SANDBOX_ROW("cgroup-root", OPTION_TEXT, cgroup_root, "cgroup that the sandbox is made below"), \
                SANDBOX_ROW("quota-mount", OPTION_TEXT, quota_mount, "XFS with project quotas that the workspace is on"), \
                SANDBOX_ROW( \
                        "uid", OPTION_TEXT, uid, "whom commands run as (root's default: the owner of the workspace, or sage-sandbox)"), \
                SANDBOX_ROW("gid", OPTION_TEXT, gid, "their group (default: that of the uid)"), \
                SANDBOX_ROW("network-mode", OPTION_TEXT, network_mode, "none (default), allowlist, proxy or unrestricted"), \
                SANDBOX_ROW("network-host", OPTION_LIST, network_hosts, "host, *.domain or address that may be reached: mode allowlist"), \
                SANDBOX_ROW("network-port", OPTION_LIST, network_ports, "one of its ports (default: 80 and 443)"), \
                SANDBOX_ROW("network-proxy", OPTION_TEXT, network_proxy, "http[s]://HOST:PORT that everything goes through: mode proxy"), \
                SANDBOX_ROW("network-allow-private", OPTION_FLAG, network_allow_private, "private addresses may be reached as well"), \
                SANDBOX_ROW("network-max-download", OPTION_TEXT, network_max_download, \
                        "bytes that one connection may receive (default: 10 MiB)"), \
                SANDBOX_ROW("network-max-upload", OPTION_TEXT, network_max_upload, "bytes that one connection may send (default: 1 MiB)"), \
                SANDBOX_ROW("network-timeout", OPTION_TEXT, network_timeout, "time that one connection may last (default: 30s)"), \
                SANDBOX_ROW("timeout", OPTION_TEXT, timeout, "time that a command may run (90, 1m30s)"), \
                SANDBOX_ROW( \
                        "max-output-bytes", OPTION_TEXT, max_output_bytes, "bytes of a command's output that are kept (default: 1 MiB)"), \
                SANDBOX_ROW("policy", OPTION_TEXT, policy, "file (or fd:N) with Sage's objects, which options only make tighter"), \
                SANDBOX_ROW("tty", OPTION_OPTIONAL, tty, "=auto, true or false: a terminal (auto, the default: if we have one)"), \
                SANDBOX_ROW("result", OPTION_TEXT, result, "file (or fd:N) that gets how it ended, as JSON"), \
                SANDBOX_ROW("egress-log", OPTION_TEXT, egress_log, "file (or fd:N) that gets a line a connection, as JSON"), \
                SANDBOX_ROW("die-with-parent", OPTION_FLAG, die_with_parent, "end it when the process that started us ends"), \
                SANDBOX_ROW("id", OPTION_TEXT, id, "its id (default: one is made up)"), \
                SANDBOX_ROW("keep", OPTION_FLAG, keep, "do not delete it, nor its workspace"), \
                SANDBOX_ROW("quiet", OPTION_FLAG, quiet, "do not tell which limits are hard and which sampled")

/* What the options stand for on this host. Whoever calls has looked. */
struct sandbox_found {
        const char *workspace;                 /* absolute, no symlink on the way */
        bool fresh;                            /* it is made for the sandbox */
        uint64_t workspace_dev, workspace_ino; /* 0: not known */
        uint32_t uid, gid;
        struct text_list env;              /* NAME=VALUE: what --env and --env-file come to */
        struct text_list caches;           /* directories of the host */
        struct text_list cache_env;        /* NAME=VALUE by which programs find them */
        const struct sage_request *policy; /* --policy, or NULL */
        const char *policy_path;           /* how messages call it */
        struct sage_sources sources;       /* the administrator's, as for every bundle */
        bool terminal;
        const char *term; /* what TERM is, with a terminal */
};

/* A bundle as bare as a strict sandbox wants it: an empty root, the annotations, and a process, which has no args where there is no COMMAND. What
 * a member of the request is wrong with is told by the name of its option. Pure; *ret lives in ARENA and points into O, FOUND and COMMAND. */
int spec_sandbox(struct arena *arena, const struct sandbox_options *o, const struct sandbox_found *found, char *const *command,
        struct oci_config **ret, struct error *err);

/* The option for an error's place: "annotations["sage.sandbox.resources"].memory_mb" is --memory-mb. NULL: it is about no option. */
const char *spec_sandbox_option(const char *where);
