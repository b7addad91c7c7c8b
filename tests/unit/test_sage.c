/* What a bundle's sage.* annotations, and the policies over them, come to: every refusal by the field that it names, and what must be taken. */
#include "compile.h"

#include <errno.h>

#include "plan/sage.h"

#define S "sage.sandbox."
/* An annotation, whose value is text without quotes, or an object that is written with ' for " */
#define A(name, value) "\"" S name "\":\"" value "\""
#define POD ",\"io.kubernetes.cri.container-type\":\"container\""
#define AT(name) "annotations[\"" S name "\"]"
#define STRICT A("profile", "strict") "," A("filesystem.workspace", "/srv/w")

struct row {
        const char *name, *annotations;
        const char *where, *text;
        enum code code;                          /* 0: CODE_CONFIG_INVALID */
        const char *more;                        /* further members of the config */
        const char *host, *command_line, *named; /* policies, as JSON with ' for " */
};

#define NETWORK .code = CODE_NETWORK_POLICY_INVALID
#define WORKSPACE .code = CODE_WORKSPACE_INVALID
#define IDENTITY .code = CODE_IDENTITY_INVALID

static char *quoted(const char *text, const char *quote) {
        struct str s = { 0 };
        char *copy;

        for (; *text; text++)
                if (*text == '\'')
                        str_puts(&s, quote);
                else
                        str_putc(&s, *text);
        copy = arena_strndup(&arena, s.text ? s.text : "", s.size);
        str_free(&s);
        return copy;
}

static const void *policy(const struct spec_type *type, size_t size, const char *text) {
        void *value = arena_alloc(&arena, size);

        decode(type, quoted(text, "\""), value);
        return value;
}

static int ask(const struct row *row, struct sage_asked *ret) {
        struct oci_config *config = arena_new(&arena, struct oci_config);
        struct sage_sources sources = { .host_path = "/h/host.json", .command_line_path = "/c.json", .named_path = "/h/policies/n.json" };
        const char *linux = row->more && strstr(row->more, "linux") ? "" : ",\"linux\":{\"namespaces\":[{\"type\":\"network\"}]}";
        char *text = arena_printf(&arena, "{\"ociVersion\":\"1.3.0\",\"annotations\":{%s}%s%s%s}", quoted(row->annotations, "\\\""), linux,
                row->more ? "," : "", row->more ? row->more : "");

        decode(&oci_config_type, text, config);
        if (row->host)
                sources.host = policy(&sage_host_policy_type, sizeof *sources.host, row->host);
        if (row->command_line)
                sources.command_line = policy(&sage_request_type, sizeof *sources.command_line, row->command_line);
        if (row->named)
                sources.named = policy(&sage_request_type, sizeof *sources.named, row->named);
        return sage_compile(&arena, config, &sources, ret, &err);
}

static void check_refused(const struct row *rows, size_t n) {
        for (size_t i = 0; i < n; i++) {
                enum code code = rows[i].code ? rows[i].code : CODE_CONFIG_INVALID;
                struct sage_asked asked;
                int r = ask(&rows[i], &asked);

                if (r >= 0 || err.code != code || strcmp(err.where, rows[i].where) != 0 || !strstr(err.text, rows[i].text)) {
                        print_error("%s: %s\nexpected %u %s: … %s …\n", rows[i].name, r < 0 ? "" : asked.canonical, code, rows[i].where,
                                rows[i].text);
                        if (r < 0)
                                print_error("found    %u %s: %s\n", err.code, err.where, err.text);
                        assert_true(false);
                }
        }
}
#define CHECK_REFUSED(rows) check_refused((rows), ELEMENTSOF(rows))

/* ---- spelling and types ------------------------------------------------------------------------------------------------ */

/* clang-format off */
static const struct row spellings[] = {
        { "no such annotation", "\"sage.x\":\"1\"", "annotations[\"sage.x\"]", "no such annotation" },
        { "no such object", A("resource", "{}"), AT("resource"), "did you mean sage.sandbox.resources?" },
        { "no such member", A("resources.memory-m", "1"), AT("resources.memory-m"), "did you mean sage.sandbox.resources.memory_mb?" },
        { "no such member in JSON", A("resources", "{'memory-mb':1}"), AT("resources") ".memory-mb", "did you mean memory_mb?" },
        { "a member of another object", A("resources", "{'mode':'none'}"), AT("resources") ".mode", "expected a member" },
        { "no name", A("resources.", "1"), AT("resources."), "no such annotation" },
        { "a place deeper in", A("network", "{'mode':'allowlist','allowed_hosts':['a',7]}"), AT("network") ".allowed_hosts[1]",
          "sage.sandbox.network:1:42: expected a string, found the number 7", NETWORK },
        { "a line further down", A("resources", "{\\n 'cpu_percent':0}"), AT("resources") ".cpu_percent", "resources:2:16: expected a number from 1" },
        { "no JSON", A("resources", "cpu_percent=1"), AT("resources"), "expected JSON" },
        { "an array", A("resources", "[]"), AT("resources"), "expected an object" },
        { "two objects", A("resources", "{}{}"), AT("resources"), "expected JSON" },
        { "twice in JSON", A("resources", "{'memory_mb':1,'memory_mb':1}"), AT("resources") ".memory_mb", "once" },
        { "twice in two spellings", A("resources", "{'memory_mb':1}") "," A("resources.memory_mb", "1"), AT("resources.memory_mb"),
          "memory_mb is given twice: here and in annotations[\"sage.sandbox.resources\"]" },
        { "a profile that is none", A("profile", "lax"), AT("profile"), "expected strict" },
        { "an empty profile", A("profile", ""), AT("profile"), "expected strict" },
};

static const struct row types[] = {
        { "zero memory", A("resources.memory_mb", "0"), AT("resources.memory_mb"), "an integer from 1 to 8796093022207, found the number 0" },
        { "negative", A("resources.disk_mb", "-1"), AT("resources.disk_mb"), "found the number -1" },
        { "a fraction", A("resources.max_processes", "64.5"), AT("resources.max_processes"), "found the number 64.5" },
        { "a whole fraction", A("resources.memory_mb", "64.0"), AT("resources.memory_mb"), "found the number 64.0" },
        { "an exponent", A("resources.memory_mb", "1e3"), AT("resources.memory_mb"), "found the number 1e3" },
        { "fewer than four processes", A("resources.max_processes", "3"), AT("resources.max_processes"), "from 4" },
        { "too much", A("resources.memory_mb", "99999999999999999999"), AT("resources.memory_mb"), "found the number" },
        { "infinite", A("resources.cpu_percent", "inf"), AT("resources.cpu_percent"), "a number from 1 to 1000000, found the string \"inf\"" },
        { "infinite as Python writes it", A("resources", "{'cpu_percent':Infinity}"), AT("resources") ".cpu_percent", "expected JSON" },
        { "beyond a double", A("resources.cpu_percent", "1e999"), AT("resources.cpu_percent"), "found the number 1e999" },
        { "no number", A("resources.cpu_percent", "NaN"), AT("resources.cpu_percent"), "found the string \"NaN\"" },
        { "no number as Python writes it", A("resources", "{'cpu_percent':NaN}"), AT("resources") ".cpu_percent", "expected JSON" },
        { "below one percent", A("resources.cpu_percent", "0.5"), AT("resources.cpu_percent"), "found the number 0.5" },
        { "a boolean for a number", A("resources", "{'memory_mb':true}"), AT("resources") ".memory_mb", "found true" },
        { "a boolean for a number, alone", A("resources.memory_mb", "true"), AT("resources.memory_mb"), "found the string \"true\"" },
        { "a string for a number", A("resources", "{'memory_mb':'64'}"), AT("resources") ".memory_mb", "found the string \"64\"" },
        { "a number for a string", A("process", "{'command_path':7}"), AT("process") ".command_path", "found the number 7" },
        { "a number for a boolean", A("resources", "{'require_hard_limits':0}"), AT("resources") ".require_hard_limits", "true or false" },
        { "yes for a boolean", A("resources.require_hard_limits", "yes"), AT("resources.require_hard_limits"), "found the string \"yes\"" },
        { "True for a boolean", A("resources.require_hard_limits", "True"), AT("resources.require_hard_limits"), "found the string \"True\"" },
        { "null", A("resources", "{'memory_mb':null}"), AT("resources") ".memory_mb", "found null" },
        { "null for a list", A("process", "{'allowed_executables':null}"), AT("process") ".allowed_executables", "expected an array" },
        { "null in a list", A("process", "{'allowed_executables':[null]}"), AT("process") ".allowed_executables[0]", "found null" },
        { "null as text", A("resources.memory_mb", "null"), AT("resources.memory_mb"), "found the string \"null\"" },
        { "a string for a list", A("filesystem", "{'read_paths':'/a'}"), AT("filesystem") ".read_paths", "expected an array of strings" },
        { "blanks around a number", A("resources.memory_mb", " 64"), AT("resources.memory_mb"), "found the string" },
        { "a sign", A("resources.memory_mb", "+64"), AT("resources.memory_mb"), "found the string" },
        { "another base", A("resources.memory_mb", "0x40"), AT("resources.memory_mb"), "found the string" },
        { "a zero before", A("resources.memory_mb", "064"), AT("resources.memory_mb"), "found the string" },
        { "more JSON behind a number", A("resources.memory_mb", "64,'disk_mb':1"), AT("resources.memory_mb"), "found the string" },
        { "nothing for a number", A("resources.memory_mb", ""), AT("resources.memory_mb"), "found the string \"\"" },
        { "zero seconds", A("process.max_wall_time_seconds", "0"), AT("process.max_wall_time_seconds"), "a number above 0" },
        { "seconds that are none", A("process.max_wall_time_seconds", "1e-999"), AT("process.max_wall_time_seconds"), "a number above 0" },
        { "no commands", A("process.max_processes", "0"), AT("process.max_processes"), "from 1" },
        { "no output", A("process.max_output_bytes", "0"), AT("process.max_output_bytes"), "from 1" },
        { "no bytes", A("filesystem.max_file_bytes", "0"), AT("filesystem.max_file_bytes"), "from 1" },
        { "an operation that is none", A("filesystem.allowed_operations", "read chmod"), AT("filesystem.allowed_operations") "[1]", "one of read" },
        { "a mode that is none", A("network.mode", "allow-list"), AT("network.mode"), "did you mean allowlist?", NETWORK },
        { "a port beyond", A("network.allowed_ports", "443 65536"), AT("network.allowed_ports") "[1]", "from 1 to 65535", NETWORK },
        { "uid 0", A("host", "{'linux_execution_uid':0,'linux_execution_gid':1}"), AT("host") ".linux_execution_uid", "from 1", IDENTITY },
        { "gid 0", A("host.linux_execution_gid", "0"), AT("host.linux_execution_gid"), "from 1", IDENTITY },
        { "uid -1", A("host.linux_execution_uid", "4294967295"), AT("host.linux_execution_uid"), "to 4294967294", IDENTITY },
        { "a name of a variable", A("process.allowed_env_names", "PATH 1A"), AT("process.allowed_env_names") "[1]", "name of a variable" },
        { "a variable with a value", A("process.allowed_env_names", "A=b"), AT("process.allowed_env_names") "[0]", "name of a variable" },
};
/* clang-format on */

static void both_spellings_are_strict(void **state) {
        (void)state;
        CHECK_REFUSED(spellings);
        CHECK_REFUSED(types);
}

/* ---- what goes together -------------------------------------------------------------------------------------------------- */

#define ROOT(path) A("filesystem.workspace_root", path), AT("filesystem.workspace_root")
#define READ(path) A("filesystem.read_paths", path), AT("filesystem.read_paths")
#define WRITE(path) A("filesystem.write_paths", path), AT("filesystem.write_paths")
#define PROTECTED(path) A("filesystem", "{'protected_paths':['ok','" path "']}"), AT("filesystem") ".protected_paths[1]"

/* clang-format off */
static const struct row rules[] = {
        { "an empty search path", A("process.command_path", ""), AT("process.command_path"), "absolute directories" },
        { "a relative search path", A("process.command_path", "bin"), AT("process.command_path"), "absolute directories" },
        { "an empty entry at the end", A("process.command_path", "/bin:"), AT("process.command_path"), "absolute directories" },
        { "an empty entry between", A("process.command_path", "/bin::/usr/bin"), AT("process.command_path"), "absolute directories" },
        { "the current directory", A("process.command_path", "/bin:."), AT("process.command_path"), "absolute directories" },
        { "background jobs", A("process.allow_background_jobs", "true"), AT("process.allow_background_jobs"), "expected the default" },

        { "the whole root", ROOT("/"), "a directory below /", WORKSPACE },
        { "the whole root, longer", ROOT("//"), "a directory below /", WORKSPACE },
        { "a relative root", ROOT("workspace"), "absolute path", WORKSPACE },
        { "a root that climbs", ROOT("/w/../etc"), "without . or ..", WORKSPACE },
        { "below /usr", ROOT("/usr/w"), "/usr", WORKSPACE }, { "below /bin", ROOT("/bin/w"), "/bin", WORKSPACE },
        { "below /sbin", ROOT("/sbin/w"), "/sbin", WORKSPACE }, { "below /lib", ROOT("/lib/w"), "/lib", WORKSPACE },
        { "below /lib64", ROOT("/lib64/w"), "/lib64", WORKSPACE }, { "below /dev", ROOT("/dev/w"), "/dev", WORKSPACE },
        { "below /proc", ROOT("/proc/w"), "/proc", WORKSPACE }, { "below /sys", ROOT("/sys/w"), "/sys", WORKSPACE },
        { "below /tmp", ROOT("/tmp/w"), "/tmp", WORKSPACE }, { "below /run", ROOT("/run/w"), "/run", WORKSPACE },
        { "below /etc", ROOT("/etc/w"), "/etc", WORKSPACE }, { "/tmp itself", ROOT("//tmp/"), "/tmp", WORKSPACE },
        { "on a mount of the bundle", ROOT("/data/w"), "mounts[0]", WORKSPACE, "\"mounts\":[{\"destination\":\"/data\",\"type\":\"tmpfs\"}]" },
        { "the host's root as a workspace", A("filesystem.workspace", "/"), AT("filesystem.workspace"), "below /", WORKSPACE },
        { "an inode without a device", A("filesystem", "{'workspace':'/w','workspace_st_ino':2}"), AT("filesystem") ".workspace_st_ino",
          "workspace_st_dev is missing", WORKSPACE },
        { "a directory that is not named", A("filesystem", "{'workspace_st_dev':1,'workspace_st_ino':2}"), AT("filesystem") ".workspace_st_ino",
          "workspace is missing", WORKSPACE },
        { "strict without a workspace", A("profile", "strict"), S "filesystem.workspace", "needs a workspace", WORKSPACE },

        { "to read everything", READ("/"), "what is in /proc" }, { "to read /proc", READ("/proc/1"), "/proc" },
        { "to read /sys", READ("/sys"), "/sys" }, { "to read /dev", READ("/dev/shm"), "/dev" }, { "to read /run", READ("/run"), "/run/sage" },
        { "to read the broker's socket", READ("/run/sage/x"), "/run/sage" },
        { "a relative path to read", A("filesystem.read_paths", "a"), AT("filesystem.read_paths") "[0]", "absolute path" },
        { "a path to read that climbs", A("filesystem.read_paths", "/a/.."), AT("filesystem.read_paths") "[0]", "without . or .." },
        { "to read where the workspace will be", A("filesystem", "{'workspace_root':'/w','read_paths':['/w/a']}"), AT("filesystem") ".read_paths",
          "workspace_root" },
        { "to write /proc", WRITE("/proc"), "/proc" }, { "to write /usr", WRITE("/usr/lib"), "/usr" }, { "to write /etc", WRITE("/etc/x"), "/etc" },
        { "to write what holds the workspace", A("filesystem", "{'workspace':'/srv/w','write_paths':['/srv/']}"), AT("filesystem") ".write_paths",
          "holds the workspace" },
        { "to write the workspace", A("filesystem", "{'workspace':'/srv/w','write_paths':['/srv/w']}"), AT("filesystem") ".write_paths",
          "holds the workspace" },
        { "to read and to write", A("filesystem", "{'read_paths':['/a'],'write_paths':['/a/']}"), AT("filesystem") ".write_paths", "read_paths as well" },

        { "an absolute protected path", PROTECTED("/a"), "below the workspace" }, { "a protected path of backslashes", PROTECTED("\\\\\\\\a"), "below" },
        { "the workspace itself", PROTECTED("."), "below" }, { "the workspace itself, longer", PROTECTED("a/.."), "below" },
        { "the parent", PROTECTED(".."), "below" }, { "a protected path that climbs", PROTECTED("a/../../b"), "below" },
        { "an empty protected path", PROTECTED(""), "not empty" },
        { "a name in another normal form", PROTECTED("e\xcc\x81"), "normal form C" },

        { "a cgroup without a volume", A("host.linux_cgroup_root", "/sys/fs/cgroup/sage"), AT("host.linux_cgroup_root"), "linux_quota_mount is missing" },
        { "a volume without a cgroup", A("host.linux_quota_mount", "/srv"), AT("host.linux_quota_mount"), "linux_cgroup_root is missing" },
        { "half of the settings, with soft limits", A("host.linux_quota_mount", "/srv") "," A("resources.require_hard_limits", "false"),
          AT("host.linux_quota_mount"), "linux_cgroup_root is missing" },
        { "a uid without a gid", A("host.linux_execution_uid", "1"), AT("host.linux_execution_uid"), "linux_execution_gid is missing", IDENTITY },
        { "a gid without a uid", A("host.linux_execution_gid", "1"), AT("host.linux_execution_gid"), "linux_execution_uid is missing", IDENTITY },

        { "hosts without networking", A("network.allowed_hosts", "pypi.org"), AT("network.allowed_hosts"), "mode none has no hosts", NETWORK },
        { "an allowlist of nothing", A("network", "{'mode':'allowlist','allowed_hosts':[]}"), S "network.allowed_hosts", "at least one host", NETWORK },
        { "an allowlist of a wrong name", A("network", "{'mode':'allowlist','allowed_hosts':['a','-b']}"), AT("network") ".allowed_hosts[1]", "",
          NETWORK },
        { "a proxy without its address", A("network.mode", "proxy"), S "network.proxy_url", "needs the URL", NETWORK },
        { "a proxy with a password", A("network", "{'mode':'proxy','proxy_url':'http://a:b@c'}"), AT("network") ".proxy_url", "origin", NETWORK },
        { "unrestricted without saying so", A("network.mode", "unrestricted"), S "network.deny_private_networks", "say so", NETWORK },
        { "other methods", A("network.allowed_methods", "GET POST"), AT("network.allowed_methods"), "default", NETWORK },
        { "to listen", A("network.allow_listen", "true"), AT("network.allow_listen"), "default", NETWORK },

        { "no networking in the host's namespace", A("network.mode", "none"), "linux.namespaces", AT("network.mode") " needs a network namespace of",
          NETWORK, "\"linux\":{\"namespaces\":[{\"type\":\"pid\"}]}" },
        { "a policy without a mode in the host's namespace", A("network", "{}"), "linux.namespaces", S "network.mode needs", NETWORK, "\"linux\":{}" },
        { "networking in a namespace that another made", A("network", "{'mode':'allowlist','allowed_hosts':['a']}"), "linux.namespaces[1].path",
          "is made for this container", NETWORK, "\"linux\":{\"namespaces\":[{\"type\":\"pid\"},{\"type\":\"network\",\"path\":\"/p\"}]}" },
        { "networking beside a device", A("network.mode", "none"), "linux.netDevices", "past it", NETWORK,
          "\"linux\":{\"namespaces\":[{\"type\":\"network\"}],\"netDevices\":{\"eth0\":{}}}" },
        { "another memory limit", A("resources.memory_mb", "64"), "linux.resources.memory.limit", AT("resources.memory_mb") " asks for 67108864", 0,
          "\"linux\":{\"resources\":{\"memory\":{\"limit\":67108865}}}" },
        { "swap", A("resources.memory_mb", "64"), "linux.resources.memory.swap", "equal", 0,
          "\"linux\":{\"resources\":{\"memory\":{\"limit\":67108864,\"swap\":67108865}}}" },
        { "another CPU limit", A("resources.cpu_percent", "50"), "linux.resources.cpu.quota", "50000 of 100000", 0,
          "\"linux\":{\"resources\":{\"cpu\":{\"quota\":50001}}}" },
        { "another number of processes", A("resources.max_processes", "64"), "linux.resources.pids.limit", "64", 0,
          "\"linux\":{\"resources\":{\"pids\":{\"limit\":65}}}" },
        { "another limit in a cgroup's own words", A("resources.max_processes", "64"), "linux.resources.unified[\"pids.max\"]", "max", 0,
          "\"linux\":{\"resources\":{\"unified\":{\"pids.max\":\"max\"}}}" },
};
/* clang-format on */

static void what_does_not_go_together_is_named(void **state) {
        (void)state;
        CHECK_REFUSED(rules);
}

/* ---- policies and trust ---------------------------------------------------------------------------------------------------- */

#define LIST "{'network':{'mode':'allowlist','allowed_hosts':['pypi.org','*.npmjs.org'],'allowed_ports':[443]}}"

/* clang-format off */
static const struct row loosened[] = {
        { "more memory", A("resources.memory_mb", "65"), AT("resources.memory_mb"), "no more as in the policy /c.json",
          .command_line = "{'resources':{'memory_mb':64}}" },
        { "soft limits", A("resources.require_hard_limits", "false"), AT("resources.require_hard_limits"), "expected true",
          .command_line = "{'resources':{'require_hard_limits':true}}" },
        { "another host", A("network.allowed_hosts", "pypi.org example.com"), AT("network.allowed_hosts") "[1]", "nothing but", NETWORK,
          .command_line = LIST },
        { "the domain itself", A("network.allowed_hosts", "npmjs.org"), AT("network.allowed_hosts") "[0]", "nothing but", NETWORK, .command_line = LIST },
        { "a wider pattern", A("network.allowed_hosts", "*.org"), AT("network.allowed_hosts") "[0]", "nothing but", NETWORK, .command_line = LIST },
        { "a name that only ends so", A("network.allowed_hosts", "xnpmjs.org"), AT("network.allowed_hosts") "[0]", "nothing but", NETWORK,
          .command_line = LIST },
        { "another port", A("network.allowed_ports", "443 80"), AT("network.allowed_ports") "[1]", "nothing but", NETWORK, .command_line = LIST },
        { "everything", A("network", "{'mode':'unrestricted','deny_private_networks':false}"), AT("network") ".mode", "tighter one", NETWORK,
          .command_line = LIST },
        { "a proxy for an allowlist", A("network.mode", "proxy"), AT("network.mode"), "tighter one", NETWORK, .command_line = LIST },
        { "any executable", A("process.allowed_executables", ""), AT("process.allowed_executables"), "some of the same",
          .command_line = "{'process':{'allowed_executables':['git']}}" },
        { "a protected path less", A("filesystem.protected_paths", "a"), AT("filesystem.protected_paths"), "at least the same",
          .command_line = "{'filesystem':{'protected_paths':['.git']}}" },
        { "another workspace", A("filesystem.workspace", "/b"), AT("filesystem.workspace"), "the same", WORKSPACE,
          .command_line = "{'filesystem':{'workspace':'/a'}}" },
        { "one policy over the other", "", "/h/policies/n.json: resources.memory_mb", "as in the policy /c.json",
          .command_line = "{'resources':{'memory_mb':64}}", .named = "{'resources':{'memory_mb':65}}" },
        { "a policy that makes no sense", "", "/c.json: network.proxy_url", "mode none uses no proxy", NETWORK,
          .command_line = "{'network':{'proxy_url':'http://a'}}" },
};

static const struct row bounds[] = {
        { "above a ceiling", A("resources.memory_mb", "65"), AT("resources.memory_mb"), "ceilings.memory_mb", .host = "{'ceilings':{'memory_mb':64}}" },
        { "above a ceiling with a fraction", A("resources.cpu_percent", "50.5"), AT("resources.cpu_percent"), "ceilings.cpu_percent",
          .host = "{'ceilings':{'cpu_percent':50}}" },
        { "a command's time above a ceiling", A("process.max_wall_time_seconds", "61"), AT("process.max_wall_time_seconds"), "ceilings",
          .host = "{'ceilings':{'max_wall_time_seconds':60}}" },
        { "a workspace elsewhere", A("filesystem.workspace", "/srv/work2"), AT("filesystem.workspace"), "workspace_roots", WORKSPACE,
          .host = "{'workspace_roots':['/srv/work/']}" },
        { "reading elsewhere", A("filesystem.read_paths", "/opt/a /opt/b"), AT("filesystem.read_paths") "[1]", "read_roots",
          .host = "{'read_roots':['/opt/a']}" },
        { "writing elsewhere", A("filesystem.write_paths", "/x"), AT("filesystem.write_paths") "[0]", "write_roots", .host = "{'write_roots':[]}" },
        { "another proxy", A("network", "{'mode':'proxy','proxy_url':'http://b:1'}"), AT("network") ".proxy_url", "upstream_proxies", NETWORK,
          .host = "{'upstream_proxies':['http://a:1']}" },
        { "another cgroup", A("host", "{'linux_cgroup_root':'/b','linux_quota_mount':'/q'}"), AT("host") ".linux_cgroup_root", "something else",
          .host = "{'linux_cgroup_root':'/a'}" },
        { "another identity", A("host", "{'linux_execution_uid':1,'linux_execution_gid':1}"), AT("host") ".linux_execution_uid", "something else",
          IDENTITY, .host = "{'linux_execution_uid':2}" },
        { "half of a host policy", A("resources.memory_mb", "64"), "/h/host.json: linux_quota_mount", "linux_cgroup_root is missing",
          .host = "{'linux_quota_mount':'/q'}" },
};

static const struct row untrusted[] = {
        { "a workspace", A("filesystem.workspace", "/srv") POD, AT("filesystem.workspace"), "for administrators" },
        { "settings of the host", A("host", "{}") POD, AT("host"), "for administrators" },
        { "a profile", A("profile", "strict") POD, AT("profile"), "for administrators" },
        { "soft limits", A("resources.require_hard_limits", "false") POD, AT("resources.require_hard_limits"), "only a policy" },
        { "private networks", A("network", "{'mode':'allowlist','allowed_hosts':['a'],'deny_private_networks':false}") POD,
          AT("network") ".deny_private_networks", "only a policy", NETWORK },
        { "no broker", A("network", "{'mode':'unrestricted','deny_private_networks':false}") POD, AT("network") ".mode", "only a policy", NETWORK },
        { "ECH", A("network", "{'mode':'allowlist','allowed_hosts':['a'],'allow_ech':true}") POD, AT("network") ".allow_ech", "only a policy", NETWORK },
        { "a proxy of their own", A("network", "{'mode':'proxy','proxy_url':'http://a'}") POD, AT("network") ".proxy_url", "upstream_proxies", NETWORK },
        { "what the host policy leaves out", A("resources.memory_mb", "64") POD, AT("resources.memory_mb"), "untrusted_annotations",
          .host = "{'untrusted_annotations':['sage.sandbox.network.','sage.sandbox.resources']}" },
        { "what the host policy may not add", A("host", "{}") POD, AT("host"), "for administrators",
          .host = "{'untrusted_annotations':['sage.sandbox.']}" },
        { "a container that one engine calls a sandbox and another does not", A("x", "1") POD ",\"io.kubernetes.cri-o.ContainerType\":\"sandbox\"",
          AT("x"), "no such annotation" },
};
/* clang-format on */

static void a_bundle_only_makes_a_policy_tighter(void **state) {
        (void)state;
        CHECK_REFUSED(loosened);
}

static void the_host_policy_bounds_what_any_bundle_asks(void **state) {
        (void)state;
        CHECK_REFUSED(bounds);
}

static void the_author_of_a_pod_only_makes_it_tighter(void **state) {
        (void)state;
        CHECK_REFUSED(untrusted);
}

/* ---- what comes of it ----------------------------------------------------------------------------------------------------- */

/* clang-format off */
static const struct came {
        const char *name, *annotations, *canonical; /* ' for " */
        const char *more, *host, *command_line, *named;
} came[] = {
        { "only what is named", A("process.allow_shell", "true"), "{'process':{'allow_shell':true}}" },
        { "limits are hard unless one says otherwise", A("resources.memory_mb", "64"), "{'resources':{'memory_mb':64,'require_hard_limits':true}}" },
        { "null is absent where there is no default", A("filesystem", "{'max_file_bytes':null,'read_only':true}"), "{'filesystem':{'read_only':true}}" },
        { "a network policy is a whole one", A("network.mode", "none"),
          "{'network':{'mode':'none','allowed_hosts':[],'allowed_ports':[],'allowed_schemes':['https'],'allowed_methods':['GET','HEAD'],"
          "'allowed_request_headers':['accept','content-type','user-agent'],'allow_listen':false,'allow_ech':false,'deny_private_networks':true,"
          "'nat64_prefixes':[],'max_redirects':5,'max_wall_time_seconds':30,'max_request_body_bytes':1048576,'max_response_bytes':10485760,"
          "'max_connections':64}}" },
        { "paths in their shortest form", A("filesystem", "{'workspace':'/srv//w/','read_paths':['/a//b/','/a/b','/srv/w/x'],"
          "'protected_paths':['.git/hooks','b//./c','.git\\\\\\\\config','x/../.git/hooks']}"),
          "{'filesystem':{'workspace':'/srv/w','protected_paths':['.git/config','.git/hooks','b/c'],'read_paths':['/a/b']}}" },
        { "a name that is not ASCII", A("filesystem.protected_paths", "\xc3\xa9"), "{'filesystem':{'protected_paths':['\xc3\xa9']}}" },
        { "a list of nothing", A("process.allowed_env_names", ""), "{'process':{'allowed_env_names':[]}}" },
        { "a fraction of a CPU, the same in config.json", A("resources", "{'cpu_percent':150.5}"), "{'resources':{'cpu_percent':150.5,'require_hard_limits':true}}",
          .more = "\"linux\":{\"resources\":{\"cpu\":{\"quota\":301000,\"period\":200000},\"pids\":{\"limit\":-1},\"memory\":{\"limit\":5}}}" },
        { "limits of config.json that are none", A("resources", "{'memory_mb':1,'max_processes':9,'cpu_percent':1}"),
          "{'resources':{'cpu_percent':1,'memory_mb':1,'max_processes':9,'require_hard_limits':true}}",
          .more = "\"linux\":{\"resources\":{\"cpu\":{\"quota\":-1},\"pids\":{\"limit\":-1},\"memory\":{\"limit\":-1,\"swap\":-1}}}" },
        { "the same limits in config.json", A("resources", "{'memory_mb':1,'max_processes':9,'cpu_percent':1}"),
          "{'resources':{'cpu_percent':1,'memory_mb':1,'max_processes':9,'require_hard_limits':true}}",
          .more = "\"linux\":{\"resources\":{\"cpu\":{\"quota\":1000},\"pids\":{\"limit\":9},\"memory\":{\"limit\":1048576,\"swap\":1048576},"
                  "\"unified\":{\"cpu.max\":\"1000 100000\",\"memory.swap.max\":\"0\",\"memory.max\":\"1048576\",\"pids.max\":\"9\"}}}" },
        { "unrestricted in the host's namespace", A("network", "{'mode':'unrestricted','deny_private_networks':false}"),
          "{'network':{'mode':'unrestricted','allowed_hosts':[],'allowed_ports':[],'allowed_schemes':['https'],'allowed_methods':['GET','HEAD'],"
          "'allowed_request_headers':['accept','content-type','user-agent'],'allow_listen':false,'allow_ech':false,'deny_private_networks':false,"
          "'nat64_prefixes':[],'max_redirects':5,'max_wall_time_seconds':30,'max_request_body_bytes':1048576,'max_response_bytes':10485760,"
          "'max_connections':64}}", .more = "\"linux\":{}" },
        { "less than a policy allows", A("resources.memory_mb", "32"), "{'resources':{'memory_mb':32,'max_processes':16,'require_hard_limits':true}}",
          .command_line = "{'resources':{'memory_mb':64}}", .named = "{'resources':{'memory_mb':48,'max_processes':16}}" },
        { "no networking where a policy allows some", A("network.mode", "none") "," A("process.allow_shell", "false"),
          "{'network':{'mode':'none','allowed_hosts':[],'allowed_ports':[],'allowed_schemes':['https'],'allowed_methods':['GET','HEAD'],"
          "'allowed_request_headers':['accept','content-type','user-agent'],'allow_listen':false,'allow_ech':false,'deny_private_networks':true,"
          "'nat64_prefixes':[],'max_redirects':5,'max_wall_time_seconds':30,'max_request_body_bytes':1048576,'max_response_bytes':10485760,"
          "'max_connections':64},'process':{'allow_shell':false}}", .command_line = LIST },
        { "settings of the host", A("resources.memory_mb", "64"),
          "{'resources':{'memory_mb':64,'require_hard_limits':true},'host':{'linux_cgroup_root':'/c','linux_quota_mount':'/q',"
          "'linux_execution_uid':7,'linux_execution_gid':8}}",
          .host = "{'linux_cgroup_root':'/c/','linux_quota_mount':'/q','linux_execution_uid':7,'linux_execution_gid':8}" },
        { "a host policy that says nothing of this", A("resources.memory_mb", "64"), "{'resources':{'memory_mb':64,'require_hard_limits':true}}",
          .host = "{}" },
        { "what the author of a pod may say", A("resources.memory_mb", "64") POD, "{'resources':{'memory_mb':64,'require_hard_limits':true}}",
          .host = "{'untrusted_annotations':['sage.sandbox.resources.']}" },
        { "soft limits that a policy allows", A("resources", "{'memory_mb':64,'require_hard_limits':false}") POD,
          "{'resources':{'memory_mb':64,'require_hard_limits':false}}", .command_line = "{'resources':{'require_hard_limits':false}}" },
};
/* clang-format on */

static void the_canonical_form_is_what_is_asked(void **state) {
        (void)state;
        for (size_t i = 0; i < ELEMENTSOF(came); i++) {
                const struct row row = { .annotations = came[i].annotations,
                        .more = came[i].more,
                        .host = came[i].host,
                        .command_line = came[i].command_line,
                        .named = came[i].named };
                struct sage_asked asked = { 0 };
                const char *expected = quoted(came[i].canonical, "\"");

                if (ask(&row, &asked) < 0)
                        print_error("%s: %s: %s\n", came[i].name, err.where, err.text);
                assert_non_null(asked.canonical);
                if (strcmp(asked.canonical, expected) != 0)
                        print_error("%s\n", came[i].name);
                assert_string_equal(asked.canonical, expected);
        }
}

static void a_strict_sandbox_has_every_default_and_bounds_lower_them(void **state) {
        const struct row plain = { .annotations = STRICT };
        const struct row said = { .annotations = STRICT
                "," A("resources", "{'cpu_percent':100.0,'memory_mb':1024}") "," A("network.mode", "none") };
        const struct row bounded = { .annotations = STRICT,
                .host = "{'allow_symlinks':true,'ceilings':{'memory_mb':64,'cpu_percent':1000,"
                        "'max_wall_time_seconds':9.5}}" };
        const struct row allowlist = { .annotations = STRICT "," A("network", "{'mode':'allowlist','allowed_hosts':['a'],'allowed_ports':[]}") };
        struct sage_asked a, b;

        (void)state;
        assert_int_equal(ask(&plain, &a), 0);
        assert_int_equal(a.request->resources->memory_mb, 1024);
        assert_int_equal(a.request->process->max_output_bytes, 1048576);
        assert_string_equal(a.request->filesystem->workspace_root, "/workspace");
        assert_false(a.request->filesystem->allow_symlinks);
        assert_int_equal(ask(&said, &b), 0);
        assert_string_equal(a.fingerprint, b.fingerprint);
        assert_int_equal(strlen(a.fingerprint), strlen("sha256:") + 64);
        assert_int_equal(a.request->network->n_allowed_ports, 0);

        assert_int_equal(ask(&allowlist, &b), 0);
        assert_int_equal(b.request->network->n_allowed_ports, 2);
        assert_int_equal(b.request->network->allowed_ports[0], 80);
        assert_int_equal(b.request->network->allowed_ports[1], 443);

        assert_int_equal(ask(&bounded, &b), 0);
        assert_string_not_equal(a.fingerprint, b.fingerprint);
        assert_int_equal(b.request->resources->memory_mb, 64);
        assert_true(b.request->resources->cpu_percent == 100);
        assert_true(b.request->process->max_wall_time_seconds == 9.5);
        assert_true(b.request->filesystem->allow_symlinks);
}

static void a_container_that_holds_a_pods_namespaces_asks_for_nothing(void **state) {
        const struct row pause = { .annotations = A("x", "1") ",\"io.kubernetes.cri.container-type\":\"sandbox\"",
                .command_line = "{'resources':{'memory_mb':64}}" };
        struct sage_asked asked;

        (void)state;
        assert_int_equal(ask(&pause, &asked), 0);
        assert_null(asked.request);
}

/* ---- the two spellings ---------------------------------------------------------------------------------------------------- */

/* clang-format off */
static const struct member { const char *group, *name, *json, *plain; } members[] = {
        { "resources", "cpu_percent", "150.25", "150.25" },
        { "resources", "memory_mb", "8796093022207", "8796093022207" },
        { "resources", "max_processes", "4", "4" },
        { "resources", "require_hard_limits", "false", "false" },
        { "network", "mode", "'allowlist'", "allowlist" },
        { "network", "allowed_hosts", "['a.example','*.b.example']", "a.example *.b.example" },
        { "network", "allowed_ports", "[ 443 , 80 ]", "  443  80 " },
        { "network", "allowed_schemes", "['http','https']", "http https" },
        { "network", "max_wall_time_seconds", "1e-1", "0.1" },
        { "network", "max_response_bytes", "9223372036854775807", "9223372036854775807" },
        { "process", "command_path", "'/bin:/usr/bin'", "/bin:/usr/bin" },
        { "process", "allowed_executables", "['a','\\u00e9']", "a \xc3\xa9" },
        { "process", "allowed_env_names", "[]", "" },
        { "process", "max_wall_time_seconds", "12", "1.2e1" },
        { "process", "allow_background_jobs", "false", "false" },
        { "filesystem", "workspace", "'/srv/a b'", "/srv/a b" },
        { "filesystem", "protected_paths", "['b','a\\\\\\\\c']", "b a\\\\c" },
        { "filesystem", "allowed_operations", "['list','read']", "list read" },
        { "filesystem", "max_file_bytes", "1", "1" },
        { "host", "linux_execution_uid", "4294967294", "4294967294" },
        { "host", "linux_execution_gid", "1", "1" },
};
/* clang-format on */

/* Those of MASK: in JSON where JSON has their bit, else by themselves. */
static const char *spell(uint32_t mask, uint32_t json) {
        static const char *const groups[] = { "resources", "network", "process", "filesystem", "host" };
        const char *text = "", *comma = "";

        for (size_t g = 0; g < ELEMENTSOF(groups); g++) {
                const char *object = NULL;

                for (size_t i = 0; i < ELEMENTSOF(members); i++) {
                        if (!(mask >> i & 1) || strcmp(members[i].group, groups[g]) != 0)
                                continue;
                        if (json >> i & 1)
                                object = arena_printf(
                                        &arena, "%s%s'%s':%s", object ? object : "", object ? "," : "", members[i].name, members[i].json);
                        else
                                text = arena_printf(
                                        &arena, "%s%s\"" S "%s.%s\":\"%s\"", text, comma, groups[g], members[i].name, members[i].plain);
                        comma = *text ? "," : "";
                }
                if (object)
                        text = arena_printf(&arena, "%s%s\"" S "%s\":\"{%s}\"", text, comma, groups[g], object);
                comma = *text ? "," : "";
        }
        return text;
}

static void both_spellings_mean_the_same(void **state) {
        uint32_t random = 1, all = (UINT32_C(1) << ELEMENTSOF(members)) - 1;
        unsigned asked_for = 0;

        (void)state;
        for (unsigned round = 0; round < 400; round++) {
                uint32_t mask = round ? random >> 8 & all : all, mixed = (random * UINT32_C(2654435761)) >> 7;
                const uint32_t spellings_of[] = { all, 0, mixed };
                const char *first = NULL;
                int result = 0;

                random = random * UINT32_C(1664525) + UINT32_C(1013904223);
                for (size_t k = 0; k < ELEMENTSOF(spellings_of); k++) {
                        const struct row row = { .annotations = spell(mask, spellings_of[k]) };
                        struct sage_asked asked = { 0 };
                        int r = ask(&row, &asked);

                        if (k == 0) {
                                result = r;
                                first = asked.fingerprint;
                                asked_for += r == 0;
                                continue;
                        }
                        if (r != result)
                                print_error("%s: %s: %s\n", row.annotations, err.where, err.text);
                        assert_int_equal(r, result);
                        if (r == 0)
                                assert_string_equal(asked.fingerprint, first);
                }
        }
        assert_true(asked_for > 50);
}

/* ---- names of policies ------------------------------------------------------------------------------------------------------ */

static int name_of(const char *value, const char **ret) {
        struct oci_config *config = arena_new(&arena, struct oci_config);

        decode(&oci_config_type, arena_printf(&arena, "{\"ociVersion\":\"1.3.0\",\"annotations\":{\"" S "policy\":\"%s\"}}", value),
                config);
        return sage_policy_name(&arena, config, ret, &err);
}

static void the_name_of_a_policy_is_no_path(void **state) {
        static const char *const wrong[] = { "", ".", "..", "../x", "a/b", "/x", ".hidden", "-a", "a b", "a\\n", "\xc3\xa9" };
        char longest[194] = "";
        const char *name;

        (void)state;
        for (size_t i = 0; i < ELEMENTSOF(wrong); i++) {
                assert_int_equal(name_of(wrong[i], &name), -EINVAL);
                assert_string_equal(err.where, AT("policy"));
        }
        memset(longest, 'a', 193);
        assert_int_equal(name_of(longest, &name), -EINVAL);
        longest[192] = '\0';
        assert_int_equal(name_of(longest, &name), 0);
        assert_int_equal(name_of("team-a@1:x.y_z", &name), 0);
        assert_string_equal(name, "team-a@1:x.y_z");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(both_spellings_are_strict),
                cmocka_unit_test(what_does_not_go_together_is_named),
                cmocka_unit_test(a_bundle_only_makes_a_policy_tighter),
                cmocka_unit_test(the_host_policy_bounds_what_any_bundle_asks),
                cmocka_unit_test(the_author_of_a_pod_only_makes_it_tighter),
                cmocka_unit_test(the_canonical_form_is_what_is_asked),
                cmocka_unit_test(a_strict_sandbox_has_every_default_and_bounds_lower_them),
                cmocka_unit_test(a_container_that_holds_a_pods_namespaces_asks_for_nothing),
                cmocka_unit_test(both_spellings_mean_the_same),
                cmocka_unit_test(the_name_of_a_policy_is_no_path),
        };

        return cmocka_run_group_tests(tests, NULL, free_arena);
}
