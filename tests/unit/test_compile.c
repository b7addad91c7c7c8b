/* Every request that compile() refuses, by the field that it names; and what it must take. */
#include "compile.h"

#include <errno.h>
#include <linux/sched.h>
#include <sys/mount.h>

/* A config that is fine, with more in one place. */
#define HEAD "{\"ociVersion\":\"1.3.0\",\"root\":{\"path\":\"rootfs\"},"
#define ALL(process, top, linux, namespaces) \
        HEAD "\"process\":{\"cwd\":\"/\",\"args\":[\"sh\"]" process "}" top \
        ",\"linux\":{\"namespaces\":[{\"type\":\"mount\"}" namespaces "]" linux "}}"
#define PROCESS(members) ALL("," members, "", "", "")
#define TOP(members) ALL("", "," members, "", "")
#define LINUX(members) ALL("", "", "," members, "")
#define MOUNT(members) TOP("\"mounts\":[{\"destination\":\"/a\"," members "}]")
#define OPTIONS(options) MOUNT("\"source\":\"/s\",\"options\":[" options "]")
#define DEVICE(members) LINUX("\"devices\":[{\"path\":\"/dev/x\"," members "}]")
#define RESOURCES(members) LINUX("\"resources\":{" members "}")
#define USERNS(linux) ALL("", "", "," linux, ",{\"type\":\"user\"}")
#define DEVICES(members) ALL("", "", ",\"netDevices\":{" members "}", ",{\"type\":\"network\"}")
#define RUN_OCI(name, value) TOP("\"annotations\":{\"run.oci." name "\":\"" value "\"}")
#define MAP "[{\"containerID\":0,\"hostID\":100000,\"size\":65536}]"
#define MAPS "\"uidMappings\":" MAP ",\"gidMappings\":" MAP
#define HUGE_UID "\"uidMappings\":[{\"containerID\":5,\"hostID\":100000,\"size\":4294967295}],\"gidMappings\":" MAP
#define UIDS(ranges) USERNS("\"uidMappings\":[" ranges "],\"gidMappings\":" MAP)
#define RANGE(inside, outside, size) "{\"containerID\":" #inside ",\"hostID\":" #outside ",\"size\":" #size "}"

struct row {
        const char *name, *config, *where, *text;
        enum code code;
        const struct facts_facts *facts;         /* NULL: root_host */
        enum plan_cgroup_manager manager;        /* 0: cgroupfs */
};

#define INVALID .code = CODE_CONFIG_INVALID
#define UNSUPPORTED .code = CODE_CAPABILITY_UNSUPPORTED

static const struct row refused[] = {
        { "no root",
          "{\"ociVersion\":\"1.3.0\",\"process\":{\"cwd\":\"/\",\"args\":[\"sh\"]},\"linux\":{\"namespaces\":[{\"type\":\"mount\"}]}}",
          "root", "root file system", INVALID },
        { "no process", HEAD "\"linux\":{\"namespaces\":[{\"type\":\"mount\"}]}}", "process", "process to run", INVALID },
        { "no linux", HEAD "\"process\":{\"cwd\":\"/\",\"args\":[\"sh\"]}}", "linux.namespaces", "\"mount\" namespace", INVALID },

        { "nothing to run", HEAD "\"process\":{\"cwd\":\"/\"},\"linux\":{\"namespaces\":[{\"type\":\"mount\"}]}}",
          "process.args", "program", INVALID },
        { "a umask of more than nine bits", PROCESS("\"user\":{\"uid\":0,\"gid\":0,\"umask\":512}"),
          "process.user.umask", "found 512", INVALID },
        { "a soft limit above the hard one", PROCESS("\"rlimits\":[{\"type\":\"RLIMIT_NOFILE\",\"soft\":2,\"hard\":1}]"),
          "process.rlimits[0]", "RLIMIT_NOFILE, 2, is above the hard one, 1", INVALID },
        { "a limit twice",
          PROCESS("\"rlimits\":[{\"type\":\"RLIMIT_NOFILE\",\"soft\":1,\"hard\":1},{\"type\":\"RLIMIT_NOFILE\",\"soft\":1,\"hard\":1}]"),
          "process.rlimits[1]", "RLIMIT_NOFILE is given twice", INVALID },

        { "a namespace twice", ALL("", "", "", ",{\"type\":\"pid\"},{\"type\":\"pid\",\"path\":\"/p\"}"),
          "linux.namespaces[2]", "pid namespace is given twice", INVALID },
        { "no mount namespace", HEAD "\"process\":{\"cwd\":\"/\",\"args\":[\"sh\"]},\"linux\":{\"namespaces\":[{\"type\":\"pid\"}]}}",
          "linux.namespaces", "\"mount\" namespace", INVALID },
        { "a joined mount namespace in a new user namespace",
          HEAD "\"process\":{\"cwd\":\"/\",\"args\":[\"sh\"]},\"linux\":{\"namespaces\":[{\"type\":\"mount\",\"path\":\"/n\"},{\"type\":\"user\"}]}}",
          "linux.namespaces", "no rights over the mount namespace /n", UNSUPPORTED },
        { "an unbindable mount in a joined mount namespace",
          HEAD "\"process\":{\"cwd\":\"/\",\"args\":[\"sh\"]},\"linux\":{\"namespaces\":[{\"type\":\"mount\",\"path\":\"/n\"}]},"
          "\"mounts\":[{\"destination\":\"/t\",\"type\":\"tmpfs\",\"options\":[\"unbindable\"]}]}",
          "mounts[0].options", "unbindable", UNSUPPORTED },
        { "clock offsets of the host", LINUX("\"timeOffsets\":{\"monotonic\":{\"secs\":1}}"), "linux.timeOffsets", "host's clocks", INVALID },
        { "clock offsets of others", ALL("", "", ",\"timeOffsets\":{\"boottime\":{\"secs\":1}}", ",{\"type\":\"time\",\"path\":\"/t\"}"),
          "linux.timeOffsets", "offsets already", INVALID },
        { "a clock too far ahead", ALL("", "", ",\"timeOffsets\":{\"boottime\":{\"secs\":9223372037}}", ",{\"type\":\"time\"}"),
          "linux.timeOffsets.boottime.secs", "found 9223372037", INVALID },
        { "a clock too far behind", ALL("", "", ",\"timeOffsets\":{\"monotonic\":{\"secs\":-9223372037}}", ",{\"type\":\"time\"}"),
          "linux.timeOffsets.monotonic.secs", "found -9223372037", INVALID },
        { "the host's name", TOP("\"hostname\":\"h\""), "hostname", "\"uts\" namespace", INVALID },
        { "the host's domain", TOP("\"domainname\":\"d\""), "domainname", "\"uts\" namespace", INVALID },
        { "a name too long",
          ALL("", ",\"hostname\":\"0123456789012345678901234567890123456789012345678901234567890123x\"", "", ",{\"type\":\"uts\"}"),
          "hostname", "at most 64 bytes, found 65", INVALID },
        { "a network device for the host", LINUX("\"netDevices\":{\"eth0\":{}}"), "linux.netDevices", "needs a \"network\" namespace", INVALID },
        { "a network device for a user", DEVICES("\"eth0\":{}"), "linux.netDevices", "rootless", UNSUPPORTED, &user_host },
        { "a network device's name too long", DEVICES("\"0123456789abcdef\":{}"), "linux.netDevices[\"0123456789abcdef\"]", "1 to 15", INVALID },
        { "one with a slash", DEVICES("\"a/b\":{}"), "linux.netDevices[\"a/b\"]", "without '/'", INVALID },
        { "one with a colon", DEVICES("\"a:b\":{}"), "linux.netDevices[\"a:b\"]", "':'", INVALID },
        { "one with a blank", DEVICES("\"a b\":{}"), "linux.netDevices[\"a b\"]", "blanks", INVALID },
        { "one with a line's end", DEVICES("\"a\\n\":{}"), "linux.netDevices[\"a\\x0a\"]", "blanks", INVALID },
        { "a template on the host", DEVICES("\"eth%d\":{}"), "linux.netDevices[\"eth%d\"]", "'%'", INVALID },
        { "this directory", DEVICES("\".\":{}"), "linux.netDevices[\".\"]", "name of a network device", INVALID },
        { "the directory above", DEVICES("\"e\":{\"name\":\"..\"}"), "linux.netDevices[\"e\"].name", "found \"..\"", INVALID },
        { "the host's lo", DEVICES("\"lo\":{\"name\":\"e\"}"), "linux.netDevices[\"lo\"]", "cannot leave", INVALID },
        { "the container's lo", DEVICES("\"e\":{\"name\":\"lo\"}"), "linux.netDevices[\"e\"].name", "lo of its own", INVALID },
        { "a long name inside", DEVICES("\"e\":{\"name\":\"0123456789abcdef\"}"), "linux.netDevices[\"e\"].name", "1 to 15", INVALID },
        { "a bad name inside", DEVICES("\"e\":{\"name\":\"a/b\"}"), "linux.netDevices[\"e\"].name", "found \"a/b\"", INVALID },
        { "another template", DEVICES("\"e\":{\"name\":\"a%s\"}"), "linux.netDevices[\"e\"].name", "at most one \"%d\"", INVALID },
        { "two in a template", DEVICES("\"e\":{\"name\":\"a%d%d\"}"), "linux.netDevices[\"e\"].name", "at most one \"%d\"", INVALID },
        { "two network devices of one name", DEVICES("\"a\":{\"name\":\"e\"},\"e\":{}"), "linux.netDevices[\"e\"]", "and so is a", INVALID },
        { "a Sage rule", TOP("\"annotations\":{\"a\":\"b\",\"sage.sandbox.network.mode\":\"none\"}"),
          "annotations[\"sage.sandbox.network.mode\"]", "not supported", UNSUPPORTED },
        { "a handler", RUN_OCI("handler", "krun"), "annotations[\"run.oci.handler\"]", "krun", UNSUPPORTED },
        { "cgroup v1", RUN_OCI("systemd.force_cgroup_v1", "/sys/fs/cgroup/systemd"), "annotations[\"run.oci.systemd.force_cgroup_v1\"]",
          "not supported", UNSUPPORTED },
        { "a filter in base64", RUN_OCI("seccomp_bpf_data", "AAAA"), "annotations[\"run.oci.seccomp_bpf_data\"]", "not supported", UNSUPPORTED },
        { "plugins for seccomp", RUN_OCI("seccomp.plugins", "a.so"), "annotations[\"run.oci.seccomp.plugins\"]", "not supported", UNSUPPORTED },
        { "a relative receiver", RUN_OCI("seccomp.receiver", "a"), "annotations[\"run.oci.seccomp.receiver\"]", "absolute", INVALID },
        { "a relative output", RUN_OCI("hooks.stdout", "a"), "annotations[\"run.oci.hooks.stdout\"]", "absolute", INVALID },
        { "a context that is none", RUN_OCI("mount_context_type", "xcontext"), "annotations[\"run.oci.mount_context_type\"]",
          "found \"xcontext\"", INVALID },
        { "a cgroup above", RUN_OCI("delegate-cgroup", "a/../.."), "annotations[\"run.oci.delegate-cgroup\"]", "below", INVALID },
        { "a system call of nobody", ALL("", ",\"annotations\":{\"run.oci.seccomp_fail_unknown_syscall\":\"1\"}",
          ",\"seccomp\":{\"defaultAction\":\"SCMP_ACT_ALLOW\",\"syscalls\":[{\"names\":[\"read\",\"reed\"],\"action\":\"SCMP_ACT_ERRNO\"}]}", ""),
          "linux.seccomp.syscalls[0].names[1]", "reed", INVALID },

        { "maps without a namespace", LINUX(MAPS), "linux.uidMappings", "\"user\" namespace", INVALID },
        { "a namespace without maps", USERNS("\"sysctl\":{}"), "linux.uidMappings", "at least one range", INVALID },
        { "users without groups", USERNS("\"uidMappings\":" MAP), "linux.gidMappings", "at least one range", INVALID },
        { "an id shared inside", UIDS(RANGE(0, 100, 10) "," RANGE(9, 200, 1)), "linux.uidMappings", "share the containerID 9", INVALID },
        { "an id shared outside", UIDS(RANGE(50, 100, 10) "," RANGE(0, 109, 50)), "linux.uidMappings", "share the hostID 109", INVALID },
        { "a range beyond the last id", USERNS(HUGE_UID), "linux.uidMappings[0].size", "found 4294967295", INVALID },
        { "a user without a map", ALL(",\"user\":{\"uid\":65536,\"gid\":0}", "", "," MAPS, ",{\"type\":\"user\"}"),
          "process.user.uid", "65536 is not in", INVALID },
        { "a group without a map", ALL(",\"user\":{\"uid\":0,\"gid\":65536}", "", "," MAPS, ",{\"type\":\"user\"}"),
          "process.user.gid", "65536 is not in", INVALID },
        { "groups without a map", ALL(",\"user\":{\"uid\":0,\"gid\":0,\"additionalGids\":[1,70000]}", "", "," MAPS, ",{\"type\":\"user\"}"),
          "process.user.additionalGids[1]", "70000 is not in", INVALID },
        { "groups that an own map forbids",
          ALL(",\"user\":{\"uid\":0,\"gid\":0,\"additionalGids\":[0]}", "", ",\"uidMappings\":[" RANGE(0, 1000, 1) "],"
          "\"gidMappings\":[" RANGE(0, 1000, 1) "]", ",{\"type\":\"user\"}"),
          "process.user.additionalGids", "/etc/subgid", UNSUPPORTED, &user_host },
        { "devpts' group without a map",
          ALL("", ",\"mounts\":[{\"destination\":\"/dev/pts\",\"type\":\"devpts\",\"options\":[\"newinstance\",\"gid=5\"]}]", ","
          "\"uidMappings\":[" RANGE(0, 1000, 1) "],\"gidMappings\":[" RANGE(0, 1000, 1) "]", ",{\"type\":\"user\"}"),
          "mounts[0].options[1]", "gid=5: this id is not in linux.gidMappings", INVALID, &user_host },

        { "a mount over the root", TOP("\"mounts\":[{\"destination\":\"/./\",\"type\":\"tmpfs\"}]"),
          "mounts[0].destination", "below the container's root", INVALID },
        { "a mount over the root by a detour", TOP("\"mounts\":[{\"destination\":\"a/../..\",\"type\":\"tmpfs\"}]"),
          "mounts[0].destination", "root", INVALID },
        { "neither type nor bind", MOUNT("\"options\":[\"ro\"]"), "mounts[0].type", "type of file system", INVALID },
        { "the type none without bind", MOUNT("\"type\":\"none\""), "mounts[0].type", "type of file system", INVALID },
        { "a bind of nothing", MOUNT("\"options\":[\"bind\"]"), "mounts[0].source", "path to bind", INVALID },
        { "a bind with a file system's option", OPTIONS("\"bind\",\"size=1m\",\"ro\",\"mode=0\""),
          "mounts[0].options", "\"size=1m,mode=0\" is for a file system", INVALID },
        { "a remount of a bind with one", OPTIONS("\"bind\",\"remount\",\"mode=0\""),
          "mounts[0].options", "is for a file system", INVALID },
        { "a bind with tmpcopyup", OPTIONS("\"bind\",\"tmpcopyup\""), "mounts[0].options", "is for a tmpfs", INVALID },
        { "proc with tmpcopyup", MOUNT("\"type\":\"proc\",\"options\":[\"tmpcopyup\"]"),
          "mounts[0].options", "tmpfs, not for proc", INVALID },
        { "tmpfs with copy-symlink", MOUNT("\"type\":\"tmpfs\",\"options\":[\"copy-symlink\"]"),
          "mounts[0].options", "copy-symlink is for a bind", INVALID },
        { "tmpfs with src-nofollow", MOUNT("\"type\":\"tmpfs\",\"options\":[\"src-nofollow\"]"),
          "mounts[0].options", "src-nofollow is for a bind", INVALID },
        { "two kinds of propagation", OPTIONS("\"bind\",\"slave\",\"shared\""),
          "mounts[0].options", "one kind of propagation", UNSUPPORTED },
        { "options of the whole cgroup hierarchy", MOUNT("\"type\":\"cgroup2\",\"options\":[\"nsdelegate\"]"),
          "mounts[0].options", "whole host", UNSUPPORTED },
        { "idmap without maps", OPTIONS("\"bind\",\"idmap\""), "mounts[0].options", "needs uidMappings and gidMappings", INVALID },
        { "idmap of half", MOUNT("\"source\":\"/s\",\"options\":[\"bind\",\"idmap\"],\"uidMappings\":" MAP),
          "mounts[0].gidMappings", "both", INVALID },
        { "idmap of tmpfs", MOUNT("\"type\":\"tmpfs\",\"options\":[\"idmap\"]"), "mounts[0].options", "only a bind", INVALID },
        { "maps of tmpfs", MOUNT("\"type\":\"tmpfs\",\"uidMappings\":" MAP), "mounts[0].uidMappings", "only a bind", INVALID },
        { "crun's idmap, wrong", OPTIONS("\"bind\",\"idmap=uids=0-1;gids=0-1-1\""), "mounts[0].options", "expected idmap=uids=", INVALID },
        { "crun's idmap, of nobody", OPTIONS("\"bind\",\"idmap=pids=0-1-1\""), "mounts[0].options", "expected idmap=uids=", INVALID },
        { "crun's idmap, twice the users", OPTIONS("\"bind\",\"idmap=uids=0-1-1;uids=0-1-1\""),
          "mounts[0].options", "expected idmap=uids=", INVALID },
        { "crun's idmap, an @ only", OPTIONS("\"bind\",\"idmap=uids=@\""), "mounts[0].options", "@FROM-TO-SIZE", INVALID },
        { "crun's idmap, an id twice", OPTIONS("\"bind\",\"idmap=uids=0-1-5#4-9-1;gids=0-1-1\""),
          "mounts[0].options.uids", "share the containerID 4", INVALID },
        { "a label that ends itself", LINUX("\"mountLabel\":\"a\\\"b\""), "linux.mountLabel", "quotation mark", INVALID },

        { "a device without a number", DEVICE("\"type\":\"c\",\"minor\":1"), "linux.devices[0].major", "required", INVALID },
        { "a device without the other", DEVICE("\"type\":\"b\",\"major\":1"), "linux.devices[0].minor", "required", INVALID },
        { "a major number of 13 bits", DEVICE("\"type\":\"u\",\"major\":4096,\"minor\":0"),
          "linux.devices[0].major", "0 to 4095, found 4096", INVALID },
        { "a minor number below 0", DEVICE("\"type\":\"c\",\"major\":1,\"minor\":-1"), "linux.devices[0].minor", "found -1", INVALID },
        { "a mode of 13 bits", DEVICE("\"type\":\"p\",\"fileMode\":65536"), "linux.devices[0].fileMode", "found 65536", INVALID },
        { "two devices of one name",
          LINUX("\"devices\":[{\"path\":\"/dev/x\",\"type\":\"c\",\"major\":1,\"minor\":1},{\"path\":\"/dev/y\","
          "\"type\":\"p\"}," "{\"path\":\"/dev/x\",\"type\":\"c\",\"major\":1,\"minor\":2}]"),
          "linux.devices[2].path", "another device in linux.devices[0]", INVALID },
        { "a rule without access", RESOURCES("\"devices\":[{\"allow\":true}]"),
          "linux.resources.devices[0].access", "one or more of", INVALID },
        { "a rule for a number below -1", RESOURCES("\"devices\":[{\"allow\":true,\"access\":\"r\",\"type\":\"c\",\"major\":-2}]"),
          "linux.resources.devices[0].major", "found -2", INVALID },

        { "a sysctl of the host", LINUX("\"sysctl\":{\"kernel.panic\":\"1\"}"),
          "linux.sysctl[\"kernel.panic\"]", "would change the host", INVALID },
        { "a sysctl that is a prefix only", LINUX("\"sysctl\":{\"net.\":\"1\"}"),
          "linux.sysctl[\"net.\"]", "would change the host", INVALID },
        { "a sysctl that climbs", ALL("", "", ",\"sysctl\":{\"net/../kernel/panic\":\"1\"}", ",{\"type\":\"network\"}"),
          "linux.sysctl[\"net/../kernel/panic\"]", "would change the host", INVALID },
        { "a sysctl that climbs with dots", ALL("", "", ",\"sysctl\":{\"net.//.kernel.panic\":\"1\"}", ",{\"type\":\"network\"}"),
          "linux.sysctl[\"net.//.kernel.panic\"]", "would change the host", INVALID },
        { "a sysctl that begins like another", ALL("", "", ",\"sysctl\":{\"kernel.semaphore\":\"1\"}", ",{\"type\":\"ipc\"}"),
          "linux.sysctl[\"kernel.semaphore\"]", "would change the host", INVALID },
        { "the host's network", LINUX("\"sysctl\":{\"net.ipv4.ip_forward\":\"1\"}"),
          "linux.sysctl[\"net.ipv4.ip_forward\"]", "host's network namespace", INVALID },
        { "the host's IPC", LINUX("\"sysctl\":{\"kernel.shmmax\":\"1\"}"),
          "linux.sysctl[\"kernel.shmmax\"]", "host's IPC namespace", INVALID },
        { "the host's queues", LINUX("\"sysctl\":{\"fs/mqueue/msg_max\":\"1\"}"),
          "linux.sysctl[\"fs/mqueue/msg_max\"]", "host's IPC namespace", INVALID },
        { "the host's user namespace", LINUX("\"sysctl\":{\"user.max_user_namespaces\":\"1\"}"),
          "linux.sysctl[\"user.max_user_namespaces\"]", "host's user namespace", INVALID },
        { "the name by sysctl", ALL("", "", ",\"sysctl\":{\"kernel.hostname\":\"x\"}", ",{\"type\":\"uts\"}"),
          "linux.sysctl[\"kernel.hostname\"]", "\"hostname\"", INVALID },
        { "two domains", ALL("", ",\"domainname\":\"a\"", ",\"sysctl\":{\"kernel.domainname\":\"b\"}", ",{\"type\":\"uts\"}"),
          "linux.sysctl[\"kernel.domainname\"]", "differs", INVALID },

        { "systemd", LINUX("\"resources\":{}"), "linux.cgroupsPath", "systemd", UNSUPPORTED, NULL, PLAN_CGROUP_MANAGER_SYSTEMD },
        { "limits without a cgroup", RESOURCES("\"pids\":{\"limit\":5}"),
          "linux.resources.pids.limit", "disabled", INVALID, NULL, PLAN_CGROUP_MANAGER_DISABLED },
        { "a cgroup above", LINUX("\"cgroupsPath\":\"/a/../b\""), "linux.cgroupsPath", "\"..\"", INVALID },
        { "the root cgroup", LINUX("\"cgroupsPath\":\"//./\""), "linux.cgroupsPath", "below the root", INVALID },
        { "no cgroup in particular", LINUX("\"cgroupsPath\":\"./.\""), "linux.cgroupsPath", "below the root", INVALID, &user_host },
        { "memory below -1", RESOURCES("\"memory\":{\"limit\":-2}"), "linux.resources.memory.limit", "found -2", INVALID },
        { "swap below -1", RESOURCES("\"memory\":{\"swap\":-2}"), "linux.resources.memory.swap", "found -2", INVALID },
        { "swap without memory", RESOURCES("\"memory\":{\"swap\":1}"), "linux.resources.memory.swap", "needs memory.limit", INVALID },
        { "swap below memory", RESOURCES("\"memory\":{\"swap\":1,\"limit\":2}"),
          "linux.resources.memory.swap", "below memory.limit, 2", INVALID },
        { "kernel memory", RESOURCES("\"memory\":{\"kernel\":1}"), "linux.resources.memory.kernel", "cgroup v2", UNSUPPORTED },
        { "TCP memory", RESOURCES("\"memory\":{\"kernelTCP\":1}"), "linux.resources.memory.kernelTCP", "cgroup v2", UNSUPPORTED },
        { "swappiness", RESOURCES("\"memory\":{\"swappiness\":0}"), "linux.resources.memory.swappiness", "cgroup v2", UNSUPPORTED },
        { "no OOM killer", RESOURCES("\"memory\":{\"disableOOMKiller\":true}"),
          "linux.resources.memory.disableOOMKiller", "cgroup v2", UNSUPPORTED },
        { "no hierarchy", RESOURCES("\"memory\":{\"useHierarchy\":false}"),
          "linux.resources.memory.useHierarchy", "cgroup v2", UNSUPPORTED },
        { "a tiny quota", RESOURCES("\"cpu\":{\"quota\":999}"), "linux.resources.cpu.quota", "found 999", INVALID },
        { "a quota below -1", RESOURCES("\"cpu\":{\"quota\":-2}"), "linux.resources.cpu.quota", "found -2", INVALID },
        { "a tiny period", RESOURCES("\"cpu\":{\"period\":999}"), "linux.resources.cpu.period", "found 999", INVALID },
        { "a huge period", RESOURCES("\"cpu\":{\"period\":1000001}"), "linux.resources.cpu.period", "found 1000001", INVALID },
        { "a burst above the quota", RESOURCES("\"cpu\":{\"quota\":1000,\"burst\":1001}"),
          "linux.resources.cpu.burst", "at most cpu.quota, 1000", INVALID },
        { "half idle", RESOURCES("\"cpu\":{\"idle\":2}"), "linux.resources.cpu.idle", "found 2", INVALID },
        { "real time", RESOURCES("\"cpu\":{\"realtimeRuntime\":1}"), "linux.resources.cpu.realtimeRuntime", "cgroup v2", UNSUPPORTED },
        { "its period", RESOURCES("\"cpu\":{\"realtimePeriod\":1}"), "linux.resources.cpu.realtimePeriod", "cgroup v2", UNSUPPORTED },
        { "tasks below -1", RESOURCES("\"pids\":{\"limit\":-2}"), "linux.resources.pids.limit", "found -2", INVALID },
        { "a weight too small", RESOURCES("\"blockIO\":{\"weight\":9}"), "linux.resources.blockIO.weight", "10 to 1000, found 9", INVALID },
        { "a leaf's weight", RESOURCES("\"blockIO\":{\"leafWeight\":10}"), "linux.resources.blockIO.leafWeight", "cgroup v2", UNSUPPORTED },
        { "a device's weight too large", RESOURCES("\"blockIO\":{\"weightDevice\":[{\"major\":8,\"minor\":0,\"weight\":1001}]}"),
          "linux.resources.blockIO.weightDevice[0].weight", "found 1001", INVALID },
        { "a device's leaf's weight", RESOURCES("\"blockIO\":{\"weightDevice\":[{\"major\":8,\"minor\":0,\"leafWeight\":10}]}"),
          "linux.resources.blockIO.weightDevice[0].leafWeight", "cgroup v2", UNSUPPORTED },
        { "a device without a weight", RESOURCES("\"blockIO\":{\"weightDevice\":[{\"major\":8,\"minor\":0}]}"),
          "linux.resources.blockIO.weightDevice[0]", "expected a weight", INVALID },
        { "a network class", RESOURCES("\"network\":{\"classID\":1}"), "linux.resources.network.classID", "cgroup v2", UNSUPPORTED },
        { "a network priority", RESOURCES("\"network\":{\"priorities\":[{\"name\":\"e\",\"priority\":1}]}"),
          "linux.resources.network.priorities", "cgroup v2", UNSUPPORTED },
        { "an empty RDMA limit", RESOURCES("\"rdma\":{\"m\":{}}"), "linux.resources.rdma[\"m\"]", "hcaHandles or hcaObjects", INVALID },
        { "a file elsewhere", RESOURCES("\"unified\":{\"../memory.max\":\"1\"}"),
          "linux.resources.unified[\"../memory.max\"]", "name of a cgroup file", INVALID },
        { "no file of a controller", RESOURCES("\"unified\":{\"memory\":\"1\"}"),
          "linux.resources.unified[\"memory\"]", "name of a cgroup file", INVALID },
        { "somebody's process", RESOURCES("\"unified\":{\"cgroup.procs\":\"1\"}"),
          "linux.resources.unified[\"cgroup.procs\"]", "no parameter", INVALID },

        { "a mask on the root", LINUX("\"maskedPaths\":[\"/a\",\"/\"]"), "linux.maskedPaths[1]", "below /", INVALID },
        { "a mask on the root by another name", LINUX("\"maskedPaths\":[\"//a/./../\"]"), "linux.maskedPaths[0]", "below /", INVALID },
        { "a read-only path that is the root", LINUX("\"readonlyPaths\":[\"/..\"]"), "linux.readonlyPaths[0]", "below /", INVALID },
        { "a relative listener",
          LINUX("\"seccomp\":{\"defaultAction\":\"SCMP_ACT_ALLOW\",\"listenerPath\":\"l\","
                "\"syscalls\":[{\"names\":[\"mkdir\"],\"action\":\"SCMP_ACT_NOTIFY\"}]}"),
          "linux.seccomp.listenerPath", "absolute path, found \"l\"", INVALID },
        { "ids that the container does not have",
          ALL("", ",\"mounts\":[{\"destination\":\"/a\",\"source\":\"/s\",\"options\":[\"bind\",\"idmap=uids=@0-65530-10;gids=0-0-1\"]}]",
              "," MAPS, ",{\"type\":\"user\"}"),
          "mounts[0].options.uids", "65536 is no id of the container", INVALID },
        { "an empty range in an option", OPTIONS("\"bind\",\"idmap=uids=0-0-1;gids=@1-1-0\""), "mounts[0].options.gids[0].size", "found 0", INVALID },
        { "data for nobody", LINUX("\"seccomp\":{\"defaultAction\":\"SCMP_ACT_ALLOW\",\"listenerMetadata\":\"x\"}"),
          "linux.seccomp.listenerMetadata", "needs linux.seccomp.listenerPath", INVALID },
        { "nobody to notify",
          LINUX("\"seccomp\":{\"defaultAction\":\"SCMP_ACT_ALLOW\",\"syscalls\":[{\"names\":[\"mkdir\"],\"action\":\"SCMP_ACT_NOTIFY\"}]}"),
          "linux.seccomp.listenerPath", "somebody to notify", INVALID },
};

static void every_bad_request_is_refused_by_the_name_of_its_field(void **state) {
        (void)state;
        for (size_t i = 0; i < ELEMENTSOF(refused); i++) {
                const struct row *row = &refused[i];
                struct plan_plan *plan = NULL;
                int r = compile_text(row->config, row->facts ?: &root_host, row->manager ?: PLAN_CGROUP_MANAGER_CGROUPFS, &plan);

                if (r >= 0 || plan || err.code != row->code || !streq(err.where, row->where) || !strstr(err.text, row->text)) {
                        print_error("%s: %d %s: %s: %s\n", row->name, r, error_code(err.code)->name, err.where, err.text);
                        abort();
                }
                assert_int_equal(r, row->code == CODE_CONFIG_INVALID ? -EINVAL : -EOPNOTSUPP);
                arena_free(&arena);
        }
}

/* What the decoder refuses must be refused for a config that was not decoded, too. */
static int compile_config(const struct oci_config *config) {
        const struct request request = { .id = "c1", .bundle = "/bundle", .config = config, .manager = PLAN_CGROUP_MANAGER_CGROUPFS };
        struct plan_plan *plan;

        return compile(&arena, &request, &root_host, &plan, &err);
}

static void a_config_that_was_never_json_is_checked_as_well(void **state) {
        struct oci_config config;

        (void)state;
        decode(&oci_config_type, LINUX("\"maskedPaths\":[\"/a\",\"/b\"],\"readonlyPaths\":[\"/a\"]"), &config);
        assert_int_equal(compile_config(&config), 0);
        config.linux->masked_paths[1] = "b";
        assert_int_equal(compile_config(&config), -EINVAL);
        assert_string_equal(err.where, "linux.maskedPaths[1]");
        config.linux->masked_paths[1] = "/b";
        config.linux->readonly_paths[0] = "a";
        assert_int_equal(compile_config(&config), -EINVAL);
        assert_string_equal(err.where, "linux.readonlyPaths[0]");

        decode(&oci_config_type, PROCESS("\"user\":{\"uid\":0,\"gid\":0,\"additionalGids\":[1]},\"oomScoreAdj\":1"), &config);
        config.process->cwd = "relative";
        assert_int_equal(compile_config(&config), -EINVAL);
        assert_string_equal(err.where, "process.cwd");
        config.process->cwd = "/";
        config.process->oom_score_adj = 1001;
        assert_int_equal(compile_config(&config), -EINVAL);
        assert_string_equal(err.where, "process.oomScoreAdj");
        config.process->oom_score_adj = 1000;
        config.process->user->uid = UINT32_MAX;
        assert_int_equal(compile_config(&config), -EINVAL);
        assert_string_equal(err.where, "process.user.uid");
        config.process->user->uid = 0;
        config.process->user->gid = UINT32_MAX;
        assert_int_equal(compile_config(&config), -EINVAL);
        assert_string_equal(err.where, "process.user.gid");
        config.process->user->gid = 0;
        config.process->user->additional_gids[0] = UINT32_MAX;
        assert_int_equal(compile_config(&config), -EINVAL);
        assert_string_equal(err.where, "process.user.additionalGids[0]");

        decode(&oci_config_type, TOP("\"hooks\":{\"poststop\":[{\"path\":\"/bin/true\",\"timeout\":1}]}"), &config);
        config.hooks->poststop[0].timeout = 0;
        assert_int_equal(compile_config(&config), -EINVAL);
        assert_string_equal(err.where, "hooks.poststop[0].timeout");
        config.hooks->poststop[0].timeout = 1;
        config.hooks->poststop[0].path = "true";
        assert_int_equal(compile_config(&config), -EINVAL);
        assert_string_equal(err.where, "hooks.poststop[0].path");
}

static void more_ranges_than_the_kernel_reads_are_refused(void **state) {
        struct oci_config config;
        struct oci_id_mapping many[341];

        (void)state;
        decode(&oci_config_type, USERNS(MAPS), &config);
        for (uint32_t i = 0; i < ELEMENTSOF(many); i++)
                many[i] = (struct oci_id_mapping){ .container_id = i, .host_id = i, .size = 1 };
        config.linux->uid_mappings = many;
        config.linux->n_uid_mappings = 340;
        assert_int_equal(compile_config(&config), 0);
        config.linux->n_uid_mappings = 341;
        assert_int_equal(compile_config(&config), -EINVAL);
        assert_non_null(strstr(err.text, "at most 340 ranges"));

        for (uint32_t i = 0; i < ELEMENTSOF(many); i++)
                many[i] = (struct oci_id_mapping){ .container_id = i ? 1000000000 + i : 0, .host_id = 2000000000 + i, .size = 1 };
        config.linux->n_uid_mappings = 340;
        assert_int_equal(compile_config(&config), -EINVAL);
        assert_non_null(strstr(err.text, "the kernel reads less than 4096"));
        config.linux->n_uid_mappings = 170; /* of 24 bytes */
        assert_int_equal(compile_config(&config), 0);
}

static struct plan_plan *must_compile(const char *text, const struct facts_facts *facts) {
        struct plan_plan *plan = NULL;

        if (compile_text(text, facts, PLAN_CGROUP_MANAGER_CGROUPFS, &plan) < 0) {
                print_error("%s: %s\n%s\n", err.where, err.text, text);
                abort();
        }
        return plan;
}

static void network_devices_keep_their_name_or_get_another(void **state) {
        const struct plan_plan *plan = must_compile(DEVICES("\"eth1\":{},\"e-th.2\":{\"name\":\"\"},\"0123456789abcde\":{\"name\":\"net%d\"},"
                                                            "\"x\":{\"name\":\"net%d\"}"), &root_host);

        (void)state;
        assert_int_equal(plan->n_net_devices, 4);
        assert_string_equal(plan->net_devices[0].name, "0123456789abcde");
        assert_string_equal(plan->net_devices[0].inside, "net%d");
        assert_string_equal(plan->net_devices[1].name, "e-th.2");
        assert_null(plan->net_devices[1].inside);
        assert_string_equal(plan->net_devices[2].name, "eth1");
        assert_null(plan->net_devices[2].inside);
        assert_string_equal(plan->net_devices[3].inside, "net%d");
        plan = must_compile(ALL("", "", ",\"netDevices\":{\"e\":{}}", ",{\"type\":\"network\",\"path\":\"/n\"}"), &root_host);
        assert_int_equal(plan->n_net_devices, 1);
}

static void who_writes_the_id_maps(void **state) {
        struct plan_plan *plan;

        (void)state;
        plan = must_compile(USERNS(MAPS), &root_host);
        assert_false(plan->ids->use_helpers || plan->ids->deny_setgroups);
        plan = must_compile(USERNS(MAPS), &user_host);
        assert_true(plan->ids->use_helpers && !plan->ids->deny_setgroups);
        plan = must_compile(USERNS("\"uidMappings\":[" RANGE(0, 1000, 1) "],\"gidMappings\":[" RANGE(0, 1000, 1) "]"), &root_host);
        assert_false(plan->ids->use_helpers || plan->ids->deny_setgroups);
        plan = must_compile(ALL(",\"user\":{\"uid\":7,\"gid\":7}", "", ",\"uidMappings\":[" RANGE(7, 1000, 1) "],\"gidMappings\":[" RANGE(7,
                1000, 1) "]",
                                ",{\"type\":\"user\"}"), &user_host);
        assert_true(!plan->ids->use_helpers && plan->ids->deny_setgroups);
        /* A map that is joined is known, and nobody writes it. */
        plan = must_compile(ALL("", "", "," MAPS, ",{\"type\":\"user\",\"path\":\"/n\"}"), &user_host);
        assert_int_equal(plan->ids->n_uid_map, 1);
        assert_false(plan->ids->use_helpers || plan->ids->deny_setgroups || plan->namespaces->create & CLONE_NEWUSER);
}

static void the_binary_is_protected_where_somebody_could_write_it(void **state) {
        (void)state;
        assert_true(must_compile(PROCESS("\"env\":[]"), &root_host)->protect_binary);
        assert_false(must_compile(USERNS(MAPS), &root_host)->protect_binary);
        assert_true(must_compile(UIDS(RANGE(0, 100000, 10) "," RANGE(10, 0, 1)), &root_host)->protect_binary);
        assert_true(must_compile(UIDS(RANGE(0, 100000, 10) "," RANGE(10, 1000, 1)), &user_host)->protect_binary);
        assert_true(must_compile(ALL("", "", "", ",{\"type\":\"user\",\"path\":\"/n\"}"), &root_host)->protect_binary);
}

static void nodes_are_made_outside_or_bound_where_mknod_is_impossible(void **state) {
        struct facts_identity weak = root_identity, nested = root_identity;
        struct facts_facts host = root_host;

        (void)state;
        weak.capabilities &= ~(UINT64_C(1) << 27);
        nested.initial_userns = false;
        assert_false(must_compile(PROCESS("\"env\":[]"), &root_host)->bind_devices);
        assert_false(must_compile(USERNS(MAPS), &root_host)->bind_devices);
        assert_true(must_compile(USERNS(MAPS), &root_host)->make_devices);
        assert_false(must_compile(PROCESS("\"env\":[]"), &root_host)->make_devices);
        assert_true(must_compile(USERNS(MAPS), &user_host)->bind_devices);
        assert_false(must_compile(USERNS(MAPS), &user_host)->make_devices);
        host.identity = &weak;
        assert_true(must_compile(PROCESS("\"env\":[]"), &host)->bind_devices);
        host.identity = &nested;
        assert_true(must_compile(PROCESS("\"env\":[]"), &host)->bind_devices);
}

static void the_cgroup_is_below_the_mount_for_root_and_beside_our_own_for_others(void **state) {
        static const struct { const char *asked, *root, *user; } rows[] = {
                { "", "/c1", "/user.slice/c1" },
                { "x/y", "/x/y", "/user.slice/x/y" },
                { "/x//y/", "/x/y", "/x/y" },
                { "/./x", "/x", "/x" },
        };

        (void)state;
        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                const char *text = arena_printf(&arena, LINUX("\"cgroupsPath\":\"%s\""), rows[i].asked);

                assert_string_equal(must_compile(text, &root_host)->cgroup->path, rows[i].root);
                assert_string_equal(must_compile(text, &user_host)->cgroup->path, rows[i].user);
        }
        cgroup_facts.own = "/";
        assert_string_equal(must_compile(LINUX("\"cgroupsPath\":\"x\""), &user_host)->cgroup->path, "/x");
        cgroup_facts.own = "/user.slice/a.scope";
}

static void rules_that_allow_everything_need_no_program(void **state) {
        static const char *const everything[] = {
                "{\"allow\":true,\"access\":\"rwm\"}",
                "{\"allow\":false,\"access\":\"rwm\"},{\"allow\":true,\"type\":\"a\",\"access\":\"mwr\"}",
                "{\"allow\":true,\"access\":\"rwm\"},{\"allow\":true,\"type\":\"c\",\"major\":1,\"access\":\"r\"}",
        };
        static const char *const less[] = {
                "{\"allow\":false,\"access\":\"rwm\"}",
                "{\"allow\":true,\"access\":\"rw\"}",
                "{\"allow\":true,\"type\":\"c\",\"access\":\"rwm\"}",
                "{\"allow\":true,\"access\":\"rwm\"},{\"allow\":false,\"type\":\"b\",\"major\":8,\"access\":\"w\"}",
                "{\"allow\":true,\"access\":\"rwm\"},{\"allow\":false,\"access\":\"rwm\"}",
        };

        (void)state;
        for (size_t i = 0; i < ELEMENTSOF(everything); i++) {
                const struct plan_cgroup *cgroup = must_compile(arena_printf(&arena, RESOURCES("\"devices\":[%s]"), everything[i]),
                                                                &root_host)->cgroup;

                assert_false(cgroup->limit_devices);
                assert_int_equal(cgroup->n_devices, 0);
        }
        for (size_t i = 0; i < ELEMENTSOF(less); i++)
                assert_true(must_compile(arena_printf(&arena, RESOURCES("\"devices\":[%s]"), less[i]), &root_host)->cgroup->limit_devices);
        /* Rules before one that overrules them all are not carried along. */
        assert_int_equal(must_compile(RESOURCES("\"devices\":[{\"allow\":true,\"type\":\"c\",\"access\":\"r\"},{\"allow\":false,"
                                                "\"access\":\"rwm\"}]"),
                                      &root_host)->cgroup->n_devices, 11);
        /* Without rules a device that was asked for can be used. */
        assert_int_equal(must_compile(DEVICE("\"type\":\"c\",\"major\":10,\"minor\":229"), &root_host)->cgroup->n_devices, 12);
}

static void device_rules_are_for_containers_that_could_make_or_open_nodes(void **state) {
#define DENY ",\"resources\":{\"devices\":[{\"allow\":false,\"access\":\"rwm\"}]}"
        struct facts_identity nested = root_identity;
        struct facts_facts host = root_host;

        (void)state;
        nested.initial_userns = false;
        assert_true(must_compile(USERNS(MAPS DENY), &root_host)->cgroup->limit_devices);
        assert_false(must_compile(USERNS(MAPS DENY), &user_host)->cgroup->limit_devices);
        /* Nothing is dropped for who could not start it anyway. */
        assert_true(must_compile(LINUX("\"sysctl\":{}" DENY), &user_host)->cgroup->limit_devices);
        host.identity = &nested;
        assert_false(must_compile(LINUX("\"sysctl\":{}" DENY), &host)->cgroup->limit_devices);
        assert_int_equal(must_compile(LINUX("\"sysctl\":{}" DENY), &host)->n_warnings, 0);
}

static void a_user_without_a_cgroup_does_without_where_nothing_is_limited(void **state) {
        struct facts_cgroup session = cgroup_facts;
        struct facts_facts user = user_host, root = root_host;
        struct plan_plan *plan;

        (void)state;
        session.writable = false;
        user.cgroup = root.cgroup = &session;
        plan = must_compile(USERNS(MAPS), &user);
        assert_int_equal(plan->cgroup->manager, PLAN_CGROUP_MANAGER_DISABLED);
        assert_null(plan->cgroup->path);
        assert_int_equal(plan->n_warnings, 1); /* there is no pid namespace either */
        plan = must_compile(USERNS(MAPS ",\"cgroupsPath\":\"/x\""), &user);
        assert_int_equal(plan->cgroup->manager, PLAN_CGROUP_MANAGER_DISABLED);
        assert_int_equal(plan->n_warnings, 2);
        plan = must_compile(USERNS(MAPS ",\"resources\":{\"pids\":{\"limit\":-1},\"memory\":{\"limit\":-1}}"), &user);
        assert_int_equal(plan->cgroup->manager, PLAN_CGROUP_MANAGER_DISABLED);
        assert_int_equal(plan->cgroup->n_writes, 0);
        plan = must_compile(USERNS(MAPS ",\"resources\":{\"pids\":{\"limit\":5}}"), &user);
        assert_int_equal(plan->cgroup->manager, PLAN_CGROUP_MANAGER_CGROUPFS);

        session = cgroup_facts;
        session.writable = true;
        session.root = "/user";
        plan = must_compile(USERNS(MAPS ",\"cgroupsPath\":\"/users/x\""), &user);
        assert_int_equal(plan->cgroup->manager, PLAN_CGROUP_MANAGER_DISABLED);
        plan = must_compile(USERNS(MAPS ",\"cgroupsPath\":\"/user/x\""), &user);
        assert_int_equal(plan->cgroup->manager, PLAN_CGROUP_MANAGER_CGROUPFS);
        assert_int_equal(must_compile(USERNS(MAPS), &user_host)->cgroup->manager, PLAN_CGROUP_MANAGER_CGROUPFS);
        assert_int_equal(must_compile(USERNS(MAPS), &root)->cgroup->manager, PLAN_CGROUP_MANAGER_CGROUPFS);
}

static void a_given_device_takes_the_place_of_a_default_one(void **state) {
        struct plan_plan *plan;

        (void)state;
        plan = must_compile(LINUX("\"devices\":[{\"path\":\"/dev/null\",\"type\":\"c\",\"major\":1,\"minor\":3,\"fileMode\":8612},"
                                  "{\"path\":\"/dev/null\",\"type\":\"c\",\"major\":1,\"minor\":3,\"fileMode\":384}]"), &root_host);
        assert_int_equal(plan->n_devices, 6);
        assert_string_equal(plan->devices[5].path, "/dev/null");
        assert_int_equal(plan->devices[5].mode, 0600);
        plan = must_compile(DEVICE("\"type\":\"c\",\"major\":1,\"minor\":3,\"fileMode\":8612"), &root_host);
        assert_int_equal(plan->devices[6].mode, 0644); /* S_IFCHR taken off */
}

static void sysfs_is_bound_where_the_network_is_not_the_containers(void **state) {
#define SYS ",\"mounts\":[{\"destination\":\"/sys\",\"type\":\"sysfs\",\"options\":[\"ro\"]}]"
        (void)state;
        assert_int_equal(must_compile(TOP("\"mounts\":[{\"destination\":\"/sys\",\"type\":\"sysfs\"}]"), &root_host)->mounts[0].kind,
                         PLAN_MOUNT_KIND_FILESYSTEM);
        assert_int_equal(must_compile(ALL("", SYS, "," MAPS, ",{\"type\":\"user\"}"), &root_host)->mounts[0].kind,
                         PLAN_MOUNT_KIND_SYSFS_OR_BIND);
        assert_int_equal(must_compile(ALL("", SYS, "," MAPS, ",{\"type\":\"user\"},{\"type\":\"network\",\"path\":\"/n\"}"),
                                      &root_host)->mounts[0].kind,
                         PLAN_MOUNT_KIND_SYSFS_OR_BIND);
        assert_int_equal(must_compile(ALL("", SYS, "," MAPS, ",{\"type\":\"user\"},{\"type\":\"network\"}"), &root_host)->mounts[0].kind,
                         PLAN_MOUNT_KIND_FILESYSTEM);
}

static void sysctls_are_paths_and_name_their_namespace(void **state) {
        static const struct { const char *key, *path; uint64_t flag; } rows[] = {
                { "net.ipv4.conf.eth0/100.forwarding", "net/ipv4/conf/eth0.100/forwarding", CLONE_NEWNET },
                { "net/ipv4/conf/eth0.100/forwarding", "net/ipv4/conf/eth0.100/forwarding", CLONE_NEWNET },
                { "fs.mqueue.msg_max", "fs/mqueue/msg_max", CLONE_NEWIPC },
                { "kernel.sem", "kernel/sem", CLONE_NEWIPC },
        };

        (void)state;
        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                struct plan_plan *plan = must_compile(arena_printf(&arena, ALL("", "", ",\"sysctl\":{\"%s\":\"1\"}",
                                                      ",{\"type\":\"network\",\"path\":\"/n\"},{\"type\":\"ipc\"},{\"type\":\"uts\"}"),
                                                              rows[i].key), &root_host);

                assert_string_equal(plan->sysctls[0].key, rows[i].path);
                assert_int_equal(plan->sysctls[0].namespace, rows[i].flag);
        }
}

static void the_sysctl_of_the_domain_name_is_the_member(void **state) {
        const struct plan_plan *plan = must_compile(ALL("", "", ",\"sysctl\":{\"kernel.domainname\":\"d\",\"kernel.sem\":\"1\"}",
                                                        ",{\"type\":\"uts\"},{\"type\":\"ipc\"}"),
                                                    &root_host);

        (void)state;
        assert_string_equal(plan->domainname, "d");
        assert_int_equal(plan->n_sysctls, 1);
        assert_string_equal(plan->sysctls[0].key, "kernel/sem");
}

static void a_relative_bundle_path_is_below_the_bundle(void **state) {
        struct plan_plan *plan = must_compile(OPTIONS("\"rbind\""), &root_host);

        (void)state;
        assert_string_equal(plan->rootfs->path, "/bundle/rootfs");
        assert_string_equal(plan->mounts[0].source, "/s");
        assert_string_equal(must_compile(MOUNT("\"source\":\"s\",\"type\":\"bind\""), &root_host)->mounts[0].source, "/bundle/s");
}

static void crun_idmap_options_become_maps(void **state) {
        const struct plan_idmap *map = must_compile(OPTIONS("\"bind\",\"ridmap=uids=0-1-10#10-21-11;gids=0-100-10\""),
                                                    &root_host)->mounts[0].idmap;

        (void)state;
        assert_true(map->recursive);
        assert_int_equal(map->n_uid_map, 2);
        assert_int_equal(map->uid_map[1].inside, 10);
        assert_int_equal(map->uid_map[1].outside, 21);
        assert_int_equal(map->uid_map[1].count, 11);
        assert_int_equal(map->gid_map[0].outside, 100);
        map = must_compile(ALL("", ",\"mounts\":[{\"destination\":\"/a\",\"source\":\"/s\",\"options\":[\"bind\",\"idmap\"]}]", "," MAPS,
                               ",{\"type\":\"user\"}"),
                           &root_host)->mounts[0].idmap;
        assert_int_equal(map->n_uid_map + map->n_gid_map, 0);
        assert_false(map->recursive);
}

static const struct plan_idmap *idmap_among(const char *maps, const char *option) {
        return must_compile(arena_printf(&arena, ALL("", ",\"mounts\":[{\"destination\":\"/a\",\"source\":\"/s\",\"options\":[\"bind\",\"%s\"]}]",
                                                     ",\"gidMappings\":" MAP ",\"uidMappings\":[%s]", ",{\"type\":\"user\"}"), option, maps),
                            &root_host)->mounts[0].idmap;
}

/* The example of crun's manual page, and a range that the container's map cuts in three. */
static void crun_idmap_options_with_an_at_speak_of_ids_of_the_container(void **state) {
        static const struct plan_id_range cut[] = { { 1000, 500, 1 }, { 1001, 2001, 9 }, { 1010, 70010, 90 } };
        const struct plan_idmap *map = idmap_among(RANGE(0, 0, 1) "," RANGE(1, 2, 1000), "idmap=uids=@1-3-10;gids=@5-7-2");

        (void)state;
        assert_int_equal(map->n_uid_map, 1);
        assert_memory_equal(map->uid_map, (&(struct plan_id_range){ 1, 4, 10 }), sizeof *map->uid_map);
        assert_memory_equal(map->gid_map, (&(struct plan_id_range){ 5, 100007, 2 }), sizeof *map->gid_map);
        map = idmap_among(RANGE(0, 500, 1) "," RANGE(1, 2001, 9) "," RANGE(10, 70010, 1000), "idmap=uids=@1000-0-100;gids=0-0-1");
        assert_int_equal(map->n_uid_map, 3);
        assert_memory_equal(map->uid_map, cut, sizeof cut);
        assert_memory_equal(map->gid_map, (&(struct plan_id_range){ 0, 0, 1 }), sizeof *map->gid_map);
        map = must_compile(OPTIONS("\"bind\",\"idmap=uids=@1-3-10;gids=@0-1-1\""), &root_host)->mounts[0].idmap;
        assert_memory_equal(map->uid_map, (&(struct plan_id_range){ 1, 3, 10 }), sizeof *map->uid_map);
}

static void a_remount_is_one_call_on_what_is_there(void **state) {
        const struct plan_mount *m = must_compile(MOUNT("\"options\":[\"bind\",\"remount\",\"ro\",\"nosuid\"]"), &root_host)->mounts;

        (void)state;
        assert_int_equal(m->kind, PLAN_MOUNT_KIND_FILESYSTEM);
        assert_int_equal(m->flags, MS_BIND | MS_REMOUNT | MS_RDONLY | MS_NOSUID);
        assert_string_equal(m->type, "none");
}

static void without_a_cgroup_nothing_is_limited_and_said_so(void **state) {
        struct plan_plan *plan;

        (void)state;
        assert_int_equal(compile_text(RESOURCES("\"devices\":[{\"allow\":false,\"access\":\"rwm\"}]"), &root_host,
                                      PLAN_CGROUP_MANAGER_DISABLED, &plan), 0);
        assert_null(plan->cgroup->path);
        assert_false(plan->cgroup->limit_devices);
        assert_int_equal(plan->n_warnings, 2); /* the other: there is no pid namespace either */
        assert_string_equal(plan->warnings[0], "linux.resources.devices: has no effect without a cgroup");
}

static void a_joined_user_namespace_has_the_maps_that_it_has(void **state) {
        static const char *const without = ALL("", "", "", ",{\"type\":\"user\",\"path\":\"/n\"}");
        static const char *const with = ALL("", "", "," MAPS, ",{\"type\":\"user\",\"path\":\"/n\"}");
        struct facts_id_range ranges[] = { { 0, 100000, 65536 }, { 70000, 5, 1 } };
        struct facts_joined joined = { .path = "/n", .uid_map = ranges, .n_uid_map = 1, .gid_map = ranges, .n_gid_map = 1, .deny_setgroups = true };
        struct facts_facts host = root_host;
        struct plan_plan *plan;

        (void)state;
        host.joined = &joined;
        plan = must_compile(without, &host);
        assert_int_equal(plan->ids->n_uid_map, 1);
        assert_int_equal(plan->ids->uid_map[0].outside, 100000);
        assert_true(plan->ids->deny_setgroups);
        assert_false(plan->protect_binary); /* nobody in there is root here */
        must_compile(with, &host);

        joined.n_gid_map = 2;
        plan = must_compile(without, &host);
        assert_int_equal(plan->ids->gid_map[1].inside, 70000);
        assert_true(compile_text(with, &host, PLAN_CGROUP_MANAGER_CGROUPFS, &plan) < 0);
        assert_string_equal(err.where, "linux.gidMappings");
        joined.n_gid_map = 1;
        ranges[0].outside = 100001;
        assert_true(compile_text(with, &host, PLAN_CGROUP_MANAGER_CGROUPFS, &plan) < 0);
        assert_string_equal(err.where, "linux.uidMappings");
}

static void clock_offsets_are_the_lines_that_the_kernel_reads(void **state) {
        (void)state;
        assert_string_equal(must_compile(ALL("", "", ",\"timeOffsets\":{\"boottime\":{\"secs\":-7},\"monotonic\":{\"secs\":9,\"nanosecs\":8}}",
                                             ",{\"type\":\"time\"}"), &root_host)->namespaces->time_offsets,
                            "monotonic 9 8\nboottime -7 0\n");
}

static void a_plan_without_the_facts_it_needs_is_an_error_of_ours(void **state) {
        const struct facts_facts nothing = { 0 };
        struct plan_plan *plan;

        (void)state;
        assert_int_equal(compile_text(PROCESS("\"env\":[]"), &nothing, PLAN_CGROUP_MANAGER_CGROUPFS, &plan), -ENODATA);
        assert_int_equal(err.code, CODE_INTERNAL);
}

#define TEST(name) cmocka_unit_test_teardown(name, free_arena)

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(every_bad_request_is_refused_by_the_name_of_its_field),
                TEST(a_config_that_was_never_json_is_checked_as_well),
                TEST(more_ranges_than_the_kernel_reads_are_refused),
                TEST(network_devices_keep_their_name_or_get_another),
                TEST(who_writes_the_id_maps),
                TEST(the_binary_is_protected_where_somebody_could_write_it),
                TEST(nodes_are_made_outside_or_bound_where_mknod_is_impossible),
                TEST(the_cgroup_is_below_the_mount_for_root_and_beside_our_own_for_others),
                TEST(rules_that_allow_everything_need_no_program),
                TEST(device_rules_are_for_containers_that_could_make_or_open_nodes),
                TEST(a_user_without_a_cgroup_does_without_where_nothing_is_limited),
                TEST(a_given_device_takes_the_place_of_a_default_one),
                TEST(sysfs_is_bound_where_the_network_is_not_the_containers),
                TEST(sysctls_are_paths_and_name_their_namespace),
                TEST(the_sysctl_of_the_domain_name_is_the_member),
                TEST(a_relative_bundle_path_is_below_the_bundle),
                TEST(crun_idmap_options_become_maps),
                TEST(crun_idmap_options_with_an_at_speak_of_ids_of_the_container),
                TEST(a_remount_is_one_call_on_what_is_there),
                TEST(without_a_cgroup_nothing_is_limited_and_said_so),
                TEST(a_joined_user_namespace_has_the_maps_that_it_has),
                TEST(clock_offsets_are_the_lines_that_the_kernel_reads),
                TEST(a_plan_without_the_facts_it_needs_is_an_error_of_ours),
        };

        return RUN_TESTS(tests);
}
