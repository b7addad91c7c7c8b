# config.json: what is wrong in it is refused with its place, before anything is made; what is harmless is let pass.
load helpers

# json TEXT: TEXT is the whole config.json. Its \n are newlines.
json() {
        printf '%b' "$1" >"$BUNDLE/config.json"
}

# refused TEXT...: create fails with each TEXT and leaves nothing.
refused() {
        leaves_nothing runtime create --bundle "$BUNDLE" box && failed 1 "$@"
}

# wrong FILTER FIELD [TEXT]...: the pristine config with FILTER applied is refused by FIELD, and the line is the one where that stands.
wrong() {
        local filter=$1 field=$2
        shift 2
        jq "$filter" "$BUNDLE/pristine.json" >"$BUNDLE/config.json" && refused "$field" "$@" || return 1
        # A message that names a line names one of this file.
        if [[ $output =~ config\.json:([0-9]+) ]]; then
                [ "${BASH_REMATCH[1]}" -ge 1 ] && [ "${BASH_REMATCH[1]}" -le "$(wc -l <"$BUNDLE/config.json")" ]
        fi
}

# placed FILTER FIELD: as wrong, and the message begins with the place, as compilers have it: config.json:LINE.
placed() {
        wrong "$1" "$2" config.json: || return 1
        local member=${2##*.} line
        line=$(sed -E 's/.*config\.json:([0-9]+).*/\1/' <<<"$output")
        [[ $2 == *']' ]] || sed -n "${line}p" "$BUNDLE/config.json" | grep -q "\"$member\"" || {
                echo "line $line is: $(sed -n "${line}p" "$BUNDLE/config.json")"
                return 1
        }
}

pristine() {
        bundle sleep 100
        cp "$BUNDLE/config.json" "$BUNDLE/pristine.json"
}

accepted() {
        jq "$1" "$BUNDLE/pristine.json" >"$BUNDLE/config.json" && detached runtime create --bundle "$BUNDLE" box && succeeded &&
                detached runtime delete --force box && succeeded
}

@test "a document that is no JSON object is refused, with the line" {
        document() {
                json "$1"
                refused config.json "${@:2}"
        }
        pristine
        table document <<-'ROWS'

		\n\n
		null
		[]
		"text"
		1
		true
		{
		{"ociVersion": "1.0.0",}
		{"ociVersion": "1.0.0"\n"root": 1} => config.json:2
		{}{}
		{} trailing
		\xef\xbb\xbf{}
		{"a": 1 /* comment */}
		{"a": 'single'}
		{"a": \xff"x"}
		{"ociVersion": NaN}
		{"ociVersion": "\xff"}
		{"ociVersion": "\xc3"}
		{"ociVersion": "\xed\xa0\x80"}
		\x00
	ROWS
}

@test "NUL and lone surrogates in strings are refused: a C string would end there" {
        text() {
                jq '.hostname = "MARK"' "$BUNDLE/pristine.json" | sed "s|MARK|$1|" >"$BUNDLE/config.json"
                refused config.json:
        }
        pristine
        table text <<-'ROWS'
		a\\u0000b
		\\ud800
		\\ud800x
		\\udc00
		\\udc00\\ud800
	ROWS
}

@test "a pair of surrogates and any other UTF-8 are text" {
        pristine
        sed -i 's|"ociVersion"|"annotations": {"a": "\\ud83d\\ude00 ü 漢"}, "ociVersion"|' "$BUNDLE/config.json"
        create box
        [ "$(state box .annotations.a)" = '😀 ü 漢' ]
}

@test "text after the document is refused, white space is not" {
        pristine
        printf ' \n\t\n' >>"$BUNDLE/config.json"
        create box
        runtime delete box
        echo x >>"$BUNDLE/config.json"
        refused config.json:
}

@test "a member given twice is refused" {
        pristine
        sed -i 's|"hostname"|"hostname": "first", "hostname"|' "$BUNDLE/config.json"
        refused hostname config.json:
}

@test "unknown members are passed over at any depth, and a member that is null is absent" {
        pristine
        table accepted <<-'ROWS'
		.unknown = 1
		.process.unknown = {a: [1, {b: null}]}
		.mounts[0].unknown = "x"
		.linux.resources.unknown = []
		.vm = {hypervisor: {path: "/x"}}
		.windows = {layerFolders: ["x"]}
		.hostname = null
		.annotations = null
		.hooks = null
		.linux.seccomp = null
		.linux.sysctl = null
		.process.rlimits = null
		.process.apparmorProfile = null
		.mounts[0].options = null
		.linux.resources.memory.limit = null
	ROWS
}

@test "a document that is nested too deeply is an error, and not the end of the stack" {
        pristine
        {
                printf '{"deep": '
                head -c 200000 /dev/zero | tr '\0' '['
                head -c 200000 /dev/zero | tr '\0' ']'
                printf '}'
        } >"$BUNDLE/config.json"
        refused config.json
}

@test "a member of the wrong type is refused by its path and line" {
        pristine
        table placed <<-'ROWS'
		.ociVersion = 1 => ociVersion
		.root = "rootfs" => root
		.root = [] => root
		.root.path = 1 => root.path
		.root.readonly = "true" => root.readonly
		.root.readonly = 1 => root.readonly
		.hostname = {} => hostname
		.process = [] => process
		.process.terminal = "no" => process.terminal
		.process.user = 0 => process.user
		.process.user.uid = "0" => process.user.uid
		.process.user.uid = -1 => process.user.uid
		.process.user.uid = 1.5 => process.user.uid
		.process.user.uid = 4294967296 => process.user.uid
		.process.user.uid = true => process.user.uid
		.process.user.gid = [] => process.user.gid
		.process.user.umask = "022" => process.user.umask
		.process.user.additionalGids = 5 => process.user.additionalGids
		.process.user.additionalGids = [0, {}] => process.user.additionalGids[1]
		.process.user.additionalGids = [0, null] => process.user.additionalGids[1]
		.process.user.additionalGids = [-1] => process.user.additionalGids[0]
		.process.args = "true" => process.args
		.process.args = ["x", null] => process.args[1]
		.process.args = ["x", 1] => process.args[1]
		.process.env = {"A": "b"} => process.env
		.process.env = [null] => process.env[0]
		.process.env = [["A=b"]] => process.env[0]
		.process.cwd = 7 => process.cwd
		.process.capabilities = [] => process.capabilities
		.process.capabilities.bounding = "CAP_KILL" => process.capabilities.bounding
		.process.capabilities.effective = [1] => process.capabilities.effective[0]
		.process.rlimits = {} => process.rlimits
		.process.rlimits[0].soft = "1" => process.rlimits[0].soft
		.process.rlimits[0].hard = -1 => process.rlimits[0].hard
		.process.noNewPrivileges = "yes" => process.noNewPrivileges
		.process.oomScoreAdj = "5" => process.oomScoreAdj
		.process.consoleSize = {height: -1, width: 5} => process.consoleSize.height
		.mounts = {} => mounts
		.mounts[0] = "proc" => mounts[0]
		.mounts[0] = null => mounts[0]
		.mounts[0].destination = 1 => mounts[0].destination
		.mounts[1].options = "ro" => mounts[1].options
		.mounts[1].options = ["nosuid", null] => mounts[1].options[1]
		.hooks = [] => hooks
		.hooks.prestart = {} => hooks.prestart
		.hooks.prestart = [{path: 1}] => hooks.prestart[0].path
		.hooks.prestart = [{path: "/x", timeout: "5"}] => hooks.prestart[0].timeout
		.hooks.poststop = [{path: "/x", args: [1]}] => hooks.poststop[0].args[0]
		.annotations = [] => annotations
		.linux = [] => linux
		.linux.namespaces = {} => linux.namespaces
		.linux.namespaces[0] = "pid" => linux.namespaces[0]
		.linux.namespaces[0].type = 1 => linux.namespaces[0].type
		.linux.maskedPaths = "/proc/x" => linux.maskedPaths
		.linux.maskedPaths = [null] => linux.maskedPaths[0]
		.linux.readonlyPaths = [1] => linux.readonlyPaths[0]
		.linux.devices = [{path: "/dev/x", type: "c", major: "1", minor: 3}] => linux.devices[0].major
		.linux.devices = [{path: "/dev/x", type: 1, major: 1, minor: 3}] => linux.devices[0].type
		.linux.resources.devices = [{allow: "yes"}] => linux.resources.devices[0].allow
		.linux.resources.memory = {limit: "1g"} => linux.resources.memory.limit
		.linux.resources.memory = {limit: 1.5} => linux.resources.memory.limit
		.linux.resources.pids = {limit: true} => linux.resources.pids.limit
		.linux.resources.cpu = {shares: -1} => linux.resources.cpu.shares
		.linux.seccomp = {defaultAction: 1} => linux.seccomp.defaultAction
		.linux.uidMappings = [{containerID: "0", hostID: 0, size: 1}] => linux.uidMappings[0].containerID
	ROWS
}

@test "a value of the wrong type in a map is refused by its key and line" {
        in_map() {
                jq "$1" "$BUNDLE/pristine.json" >"$BUNDLE/config.json"
                refused "$2" "$3" "config.json:$(grep -nF "\"$3\"" "$BUNDLE/config.json" | cut -d: -f1):"
        }
        pristine
        table in_map <<-'ROWS'
		.annotations = {"first": "x", "second": 1} => annotations => second
		.annotations = {"a": null} => annotations => a
		.linux.sysctl = {"net.ipv4.ip_forward": 1} => linux.sysctl => net.ipv4.ip_forward
		.linux.resources.unified = {"memory.max": 1} => linux.resources.unified => memory.max
	ROWS
}

@test "a number of any 64 bits is a number, one more is not" {
        number() {
                jq '.process.rlimits[0].soft = 0 | .process.rlimits[0].hard = 1024' "$BUNDLE/pristine.json" |
                        sed "s/: 1024/: $1/" >"$BUNDLE/config.json"
                leaves_nothing runtime plan --bundle "$BUNDLE" || return 1
                case $2 in
                good) succeeded ;;
                'no number') failed 1 config.json: ;;
                *) failed 1 'process.rlimits[0].hard' config.json: ;;
                esac
        }
        pristine
        table number <<-'ROWS'
		18446744073709551615 => good
		18446744073709551614 => good
		0005 => no number
		18446744073709551616 => bad
		99999999999999999999999 => bad
		-1 => bad
		1e3 => bad
		5.0 => bad
		0x10 => no number
		+5 => no number
	ROWS
}

@test "what must be there and is not is refused by its path" {
        pristine
        table wrong <<-'ROWS'
		del(.ociVersion) => ociVersion
		del(.root) => root
		del(.root.path) => root.path
		.root.path = "" => root.path
		del(.process) => process
		del(.process.cwd) => process.cwd
		del(.process.args) => process.args
		.process.args = [] => process.args
		.process.args = [""] => process.args
		del(.mounts[0].destination) => mounts[0].destination
		.hooks.prestart = [{args: ["x"]}] => hooks.prestart[0].path
		del(.linux.namespaces[0].type) => linux.namespaces[0].type
		.linux.devices = [{path: "/dev/x", type: "c"}] => linux.devices[0].major
		.linux.devices = [{type: "c", major: 1, minor: 3}] => linux.devices[0].path
		.process.rlimits = [{type: "RLIMIT_CORE", soft: 0}] => process.rlimits[0].hard
		.linux.seccomp = {syscalls: []} => linux.seccomp.defaultAction
		.linux.resources.devices = [{access: "rwm"}] => linux.resources.devices[0].allow
		.linux.uidMappings = [{containerID: 0, hostID: 0}] => linux.uidMappings[0].size
	ROWS
}

@test "a value that means nothing is refused by its path" {
        pristine
        table wrong <<-'ROWS'
		.ociVersion = "nonsense" => ociVersion
		.ociVersion = "" => ociVersion
		.process.cwd = "relative" => process.cwd
		.process.cwd = "" => process.cwd
		.process.env = ["NOEQUALS"] => process.env[0]
		.process.env = ["=x"] => process.env[0]
		.process.env = ["A=b", ""] => process.env[1]
		.process.env = ["A=" + "x" * 140000] => process.env[0]
		.process.args = ["true", "x" * 140000] => process.args[1]
		.process.user.uid = 4294967295 => process.user.uid
		.process.user.gid = 4294967295 => process.user.gid
		.process.user.additionalGids = [1, 4294967295] => process.user.additionalGids[1]
		.process.user.umask = 512 => process.user.umask
		.process.rlimits[0].type = "RLIMIT_NOPE" => process.rlimits[0].type
		.process.rlimits[0].soft = 2000 => process.rlimits[0]
		.process.rlimits += .process.rlimits => process.rlimits[1]
		.process.oomScoreAdj = 1001 => process.oomScoreAdj
		.process.oomScoreAdj = -1001 => process.oomScoreAdj
		.hooks.prestart = [{path: "relative"}] => hooks.prestart[0].path
		.hooks.prestart = [{path: ""}] => hooks.prestart[0].path
		.hooks.poststart = [{path: "/bin/true", timeout: 0}] => hooks.poststart[0].timeout
		.hooks.poststop = [{path: "/bin/true", timeout: -1}] => hooks.poststop[0].timeout
		.annotations = {"": "x"} => annotations
		.linux.namespaces[0].type = "nope" => linux.namespaces[0].type
		.linux.namespaces += [{type: "pid"}] => linux.namespaces[6]
		.linux.namespaces[1].path = "relative" => linux.namespaces[1].path
		.linux.maskedPaths = ["proc/x"] => linux.maskedPaths[0]
		.linux.maskedPaths = ["/"] => linux.maskedPaths[0]
		.linux.readonlyPaths = ["/a", "b"] => linux.readonlyPaths[1]
		.linux.readonlyPaths = ["/proc/.."] => linux.readonlyPaths[0]
		.linux.rootfsPropagation = "nope" => linux.rootfsPropagation
		.linux.cgroupsPath = "/" => linux.cgroupsPath
		.linux.cgroupsPath = "/a/../.." => linux.cgroupsPath
		.linux.devices = [{path: "relative", type: "c", major: 1, minor: 3}] => linux.devices[0].path
		.linux.devices = [{path: "/dev/x", type: "x", major: 1, minor: 3}] => linux.devices[0].type
		.linux.devices = [{path: "/dev/x", type: "c", major: -2, minor: 3}] => linux.devices[0].major
		.linux.devices = [{path: "/dev/x", type: "c", major: 1, minor: 3, fileMode: 65536}] => linux.devices[0].fileMode
		.linux.resources.devices = [{allow: true, type: "z"}] => linux.resources.devices[0].type
		.linux.resources.devices = [{allow: true, access: "rwx"}] => linux.resources.devices[0].access
		.linux.resources.unified = {"memory/max": "1"} => linux.resources.unified
		.linux.resources.unified = {"../x": "1"} => linux.resources.unified
		.hostname = "x" * 65 => hostname
		.domainname = "x" * 65 => domainname
	ROWS
}

@test "id maps: ranges that are empty, overlap, or are too many or too large are refused" {
        # map RANGES FIELD: RANGES is a jq expression of [containerID, hostID, size].
        map() {
                wrong ".linux.namespaces += [{type: \"user\"}] | .linux.gidMappings = [{containerID: 0, hostID: 0, size: 1}]
                        | .linux.uidMappings = [$1 | {containerID: .[0], hostID: .[1], size: .[2]}]" "$2"
        }
        pristine
        table map <<-'ROWS'
		[0, 1, 0] => linux.uidMappings[0].size
		[0, 0, 10], [5, 100, 1] => linux.uidMappings
		[0, 0, 10], [100, 9, 1] => linux.uidMappings
		[1, 0, 4294967295] => linux.uidMappings
		[4294967295, 4294967295, 1] => linux.uidMappings
		range(10000) | [., ., 1] => linux.uidMappings
	ROWS
}

@test "any 1.x of the specification is accepted, newer ones too; another major version is not" {
        local version
        pristine
        for version in 1.0.0 1.0.2-dev 1.0.0-rc5 1.2.1 1.3.0 1.99.0; do
                accepted ".ociVersion = \"$version\""
        done
        wrong '.ociVersion = "2.0.0"' ociVersion
        wrong '.ociVersion = "99.0.0"' ociVersion
}

@test "what is asked for and cannot be done is refused by name, never left out" {
        pristine
        table wrong <<-'ROWS'
		.linux.intelRdt = {closID: "x"} => linux.intelRdt
		.linux.cgroupsPath = 5 => linux.cgroupsPath
		.annotations = {"sage.sandbox.resources": "{\"memory_mb\":64}"} => sage.sandbox.resources
		.annotations = {"sage.unknown": "x"} => sage.unknown
		.annotations = {"run.oci.handler": "krun"} => run.oci.handler
	ROWS
        [ -d /sys/kernel/security/apparmor ] || wrong '.process.apparmorProfile = "docker-default"' AppArmor
        [ -e /sys/fs/selinux/enforce ] || wrong '.process.selinuxLabel = "system_u:system_r:x_t:s0"' SELinux
}

@test "annotations arrive in the state as they are" {
        pristine
        config '.annotations = {"a.b/c": "x=y, \"z\" \\ \n\t", "org.systemd.property.X": "1", "run.oci.unknown": ""}'
        create box
        [ "$(state box '.annotations["a.b/c"]')" = 'x=y, "z" \ '$'\n\t' ]
}

@test "a failure after the container was begun leaves no cgroup either" {
        pristine
        wrong '.linux.sysctl = {"net.ipv4.nosuch": "1"}' nosuch
        wrong '.linux.resources.unified = {"cgroup.nosuch": "1"}' cgroup.nosuch
        wrong '.root.path = "nowhere"' nowhere
        wrong '.linux.namespaces[1].path = "/nowhere"' /nowhere
        wrong '.mounts += [{destination: "/proc/nowhere/x", type: "tmpfs", source: "x"}]' 'mounts[7]'
}

@test "limits that no kernel of this host takes are refused, and leave no cgroup" {
        pristine
        wrong '.linux.resources.unified = {"bogus.max": "1"}' bogus.max
        wrong '.linux.resources.unified = {"memory.nosuch": "1"}' memory
}

@test "a config of many megabytes is refused by its size" {
        pristine
        { printf '{"annotations": {"a": "'; head -c 20000000 /dev/zero | tr '\0' x; printf '"}}'; } >"$BUNDLE/config.json"
        refused config.json
}

@test "a config.json that is a directory is refused" {
        pristine
        rm "$BUNDLE/config.json"
        mkdir "$BUNDLE/config.json"
        refused config.json
}
