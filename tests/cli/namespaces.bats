# Namespaces, names, sysctls, ids.
load helpers

USERNS='.linux.namespaces += [{type: "user"}] | .linux.uidMappings = [{containerID: 0, hostID: 100000, size: 65536}]
        | .linux.gidMappings = [{containerID: 0, hostID: 100000, size: 65536}]'

@test "each namespace of the config is new, the others are the caller's" {
        local kind own
        bundle sleep 100
        config '.linux.namespaces = [{type: "mount"}, {type: "pid"}, {type: "uts"}] | del(.linux.sysctl)
                | .mounts |= map(select(.destination != "/dev/mqueue"))'
        create box
        for kind in mnt pid uts; do
                [ "$(readlink "/proc/$(state box .pid)/ns/$kind")" != "$(readlink "/proc/self/ns/$kind")" ]
        done
        for kind in net ipc cgroup user; do
                [ "$(readlink "/proc/$(state box .pid)/ns/$kind")" = "$(readlink "/proc/self/ns/$kind")" ]
        done
}

@test "the program is process 1 and sees nobody else" {
        bundle
        config '.process.args = ["sh", "-c", "echo $$; echo /proc/[0-9]*"]'
        detached runtime run --bundle "$BUNDLE" box
        printed $'1\n/proc/1'
}

@test "a new network has only lo, and it is up" {
        bundle
        inside 'ls /sys/class/net; ip addr show dev lo | grep -c "inet 127.0.0.1/8"; cat /sys/class/net/lo/flags'
        printed $'lo\n1\n0x9'
}

@test "a namespace given by path is joined" {
        bundle sleep 100
        create first
        start first
        local pid
        pid=$(state first .pid)
        config ".linux.namespaces |= map(if .type == \"network\" or .type == \"ipc\" or .type == \"uts\"
                then .path = \"/proc/$pid/ns/\" + {network: \"net\", ipc: \"ipc\", uts: \"uts\"}[.type] else . end) | del(.hostname)"
        inside 'cd /proc/self/ns; readlink net; readlink ipc; readlink uts; hostname'
        printed "$(readlink "/proc/$pid/ns/net" "/proc/$pid/ns/ipc" "/proc/$pid/ns/uts"; echo sage)"
}

@test "a joined pid namespace shows its processes, and the container ends by itself" {
        bundle sleep 100
        create first
        start first
        local pid
        pid=$(state first .pid)
        config ".linux.namespaces |= map(if .type == \"pid\" then .path = \"/proc/$pid/ns/pid\" else . end)"
        inside 'tr "\0" " " </proc/1/cmdline; echo $$'
        succeeded
        [[ $output == "sleep 100 "* ]]
        [[ $output != "sleep 100 1" ]]
        [ "$(state first .status)" = running ]
}

@test "what waits for start in a pid namespace of others has no more rights than its program will have" {
        local filter pid
        bundle sleep 100
        create first
        start first
        pid=$(state first .pid)
        config ".linux.namespaces |= map(if .type == \"pid\" then .path = \"/proc/$pid/ns/pid\" else . end)"
        for filter in . '.process.noNewPrivileges = false' \
                '.linux.seccomp = {defaultAction: "SCMP_ACT_ALLOW", syscalls: [{names: ["mkdir"], action: "SCMP_ACT_ERRNO"}]}'; do
                config "$filter"
                create box
                [ "$(sed -n 's/^CapPrm:\t//p' "/proc/$(state box .pid)/status")" = 0000000020000420 ]
                start box
                [ "$(sed -n 's/^CapPrm:\t//p' "/proc/$(state box .pid)/status")" = 0000000020000420 ]
                runtime delete --force box
        done
        # One that could not even wait is left until it need not.
        config '.linux.seccomp.syscalls[0].names = ["accept4"]'
        create box
        start box
        has_status box running
}

@test "a path that is no namespace, of another kind, or not there is refused by name" {
        refused() {
                config ".linux.namespaces |= map(if .type == \"network\" then .path = \"$1\" else . end)"
                leaves_nothing runtime create --bundle "$BUNDLE" box
                failed 1 "$1"
        }
        bundle
        table refused <<-'ROWS'
		/proc/self/ns/uts
		/etc/passwd
		/etc
		/nowhere/net
	ROWS
}

@test "hostname and domainname are set" {
        bundle
        config '.hostname = "box.example" | .domainname = "example.org"'
        inside 'hostname; cat /proc/sys/kernel/domainname'
        printed $'box.example\nexample.org'
        [ "$(hostname)" != box.example ]
}

@test "sysctls of the container's namespaces are set, in both spellings" {
        bundle
        config '.linux.sysctl = {"net.ipv4.ip_forward": "1", "net/ipv4/ip_default_ttl": "77", "kernel.shmmax": "123456",
                "kernel.msgmax": "4321", "fs.mqueue.msg_max": "22"}'
        inside 'cd /proc/sys; cat net/ipv4/ip_forward net/ipv4/ip_default_ttl kernel/shmmax kernel/msgmax fs/mqueue/msg_max'
        printed $'1\n77\n123456\n4321\n22'
        [ "$(</proc/sys/net/ipv4/ip_default_ttl)" != 77 ]
}

@test "in a user namespace sysctls are set too, and the one of the domain name, which docker has in place of the member" {
        bundle
        open_to_all
        config "$USERNS | .linux.sysctl = {\"net.ipv4.ip_forward\": \"1\", \"kernel.domainname\": \"realm\"}"
        inside 'cat /proc/sys/net/ipv4/ip_forward /proc/sys/kernel/domainname'
        printed $'1\nrealm'
}

@test "a sysctl that would change the host is refused, and so is a value that the kernel refuses" {
        refused() {
                config "$2 | .linux.sysctl = {\"$1\": \"1\"}"
                leaves_nothing runtime create --bundle "$BUNDLE" box
                failed 1 "${3:-$1}"
        }
        bundle
        table refused <<-'ROWS'
		kernel.panic => .
		vm.overcommit_memory => .
		kernel.hostname => .
		net/../kernel/panic => .
		net.nosuch.setting => . => nosuch
		kernel.shmmax => .linux.namespaces |= map(select(.type != "ipc")) | .mounts |= map(select(.type != "mqueue"))
	ROWS
        config '.linux.sysctl = {"net.ipv4.ip_forward": "nonsense"}'
        leaves_nothing runtime create --bundle "$BUNDLE" box
        failed 1 ip_forward nonsense
}

@test "a user namespace made by root: ids are mapped, root inside is nobody outside" {
        bundle sleep 100
        open_to_all
        config "$USERNS"
        create box
        start box
        local pid
        pid=$(state box .pid)
        [ "$(stat -c %u:%g "/proc/$pid")" = 100000:100000 ]
        [ "$(tr -s ' ' <"/proc/$pid/uid_map")" = ' 0 100000 65536' ]
        detached runtime exec box sh -c 'id -u; id -g; cat /proc/self/setgroups; echo x >/dev/null; grep CapEff /proc/self/status'
        printed $'0\n0\nallow\nCapEff:\t0000000020000420'
}

@test "in a user namespace: devices, mounts, masks, read-only root, groups and another user work" {
        bundle
        open_to_all
        config "$USERNS"' | .process.user = {uid: 1000, gid: 1000, additionalGids: [5]}'
        inside 'id -u; id -g; grep ^Groups /proc/self/status; touch /x 2>/dev/null || echo refused; stat -c %t:%T /dev/null
                echo x >/dev/null; ls -A /sys/firmware | wc -l; grep -c " /proc/sys ro" /proc/self/mountinfo; ls /dev/pts'
        printed $'1000\n1000\nGroups:\t5 \nrefused\n1:3\n0\n1\nptmx'
}

@test "in a user namespace limits, hooks, terminal and pid file work" {
        bundle
        open_to_all
        config "$USERNS"' | .process.terminal = true | .hooks.createRuntime = [{path: "/bin/true"}]
                | .process.rlimits = [{type: "RLIMIT_NOFILE", soft: 50, hard: 60}] | .process.args = ["sh", "-c", "tty; ulimit -n"]'
        detached "$BATS_TEST_DIRNAME/terminal" -- \
                "$SAGE_RUNTIME" --root "$ROOT" run --bundle "$BUNDLE" --pid-file "$BATS_TEST_TMPDIR/pid" box
        succeeded
        said /dev/pts/0
        said 50
        [ -s "$BATS_TEST_TMPDIR/pid" ]
}

@test "id maps need a user namespace, and one needs them" {
        bundle
        config '.linux.uidMappings = [{containerID: 0, hostID: 100000, size: 10}]'
        leaves_nothing runtime create --bundle "$BUNDLE" box
        failed 1 linux.uidMappings
        config 'del(.linux.uidMappings) | .linux.namespaces += [{type: "user"}]'
        leaves_nothing runtime create --bundle "$BUNDLE" box
        failed 1 linux.uidMappings
}

@test "a user who is not mapped is refused" {
        bundle
        open_to_all
        config "$USERNS"' | .process.user.uid = 70000'
        leaves_nothing runtime create --bundle "$BUNDLE" box
        failed 1 process.user.uid
}

@test "without a uts namespace a hostname is refused, without a mount namespace everything is" {
        bundle
        config '.linux.namespaces |= map(select(.type != "uts"))'
        leaves_nothing runtime create --bundle "$BUNDLE" box
        failed 1 hostname
        config 'del(.hostname) | .linux.namespaces |= map(select(.type != "mount"))'
        # Should it be accepted after all, the mounts go with this namespace, and not with the host's files into bats' rm -r.
        cat >"$BATS_TEST_TMPDIR/script" <<-'SCRIPT'
		before=$(cat /proc/self/mountinfo)
		"$@"
		status=$?
		[ "$(cat /proc/self/mountinfo)" = "$before" ] || exit 90
		exit $status
	SCRIPT
        leaves_nothing unshare -m --propagation private sh "$BATS_TEST_TMPDIR/script" \
                "$SAGE_RUNTIME" --root "$ROOT" create --bundle "$BUNDLE" box
        failed 1 mount
}

# ---- an ordinary user ----------------------------------------------------------------------------------------------------

# as_user CMD...: CMD as user 1001 in his home, with a copy of the runtime and of $BUNDLE in it.
as_user() {
        HOME_OF_USER=/run/sage-cli-user
        if [ ! -d "$HOME_OF_USER" ]; then
                mkdir "$HOME_OF_USER"
                cp "$SAGE_RUNTIME" "$HOME_OF_USER/sage-runtime"
                cp -a "$BUNDLE" "$HOME_OF_USER/bundle"
                chown -R 1001:1001 "$HOME_OF_USER" "$HOME_OF_USER/bundle"
                chown 0:0 "$HOME_OF_USER/sage-runtime" # as installed
        fi
        cp "$BUNDLE/config.json" "$HOME_OF_USER/bundle/config.json"
        cd "$HOME_OF_USER"
        detached timeout 20 setpriv --reuid 1001 --regid 1001 --clear-groups \
                env -i PATH=/usr/bin:/bin "XDG_RUNTIME_DIR=$HOME_OF_USER/run" "ASAN_OPTIONS=${ASAN_OPTIONS-}" "$@"
        cd /
}

ROOTLESS='.linux.namespaces += [{type: "user"}] | .linux.uidMappings = [{containerID: 0, hostID: 1001, size: 1}]
        | .linux.gidMappings = [{containerID: 0, hostID: 1001, size: 1}] | .linux.resources = {}
        | .mounts |= map(if .destination == "/dev/pts" then .options -= ["gid=5"] else . end)'

teardown() {
        end_jobs
        if [ -d /run/sage-cli-user ]; then
                setpriv --reuid 1001 --regid 1001 --clear-groups /run/sage-cli-user/sage-runtime \
                        --root /run/sage-cli-user/run/sage-runtime delete --force box >/dev/null 2>&1 || true
                rm -r /run/sage-cli-user
        fi
        remove_containers
        host_is_as_before
}

@test "rootless: an ordinary user is root in his container, and his state lies below XDG_RUNTIME_DIR" {
        bundle
        config "$ROOTLESS"
        arguments sh -c 'id -u; cat /proc/self/setgroups; hostname; echo x >/dev/null && ls /sys/class/net'
        as_user ./sage-runtime --cgroup-manager disabled run --bundle bundle box
        printed $'0\ndeny\nsage\nlo'
        [ -d /run/sage-cli-user/run/sage-runtime ]
        [ -z "$(ls -A /run/sage-cli-user/run/sage-runtime)" ]
}

@test "rootless: the user and mount namespace of the same user's process are joined" {
        bundle
        config "$ROOTLESS"
        arguments sh -c 'readlink /proc/self/ns/mnt; id -u; ls -d /proc/1 /bin/sh; pwd'
        cat >"$BATS_TEST_TMPDIR/script" <<-'SCRIPT'
		unshare -Urm sleep 1000 &
		until [ "$(cat "/proc/$!/comm")" = sleep ]; do sleep 0.02; done
		sed 's|"type": "mount"|&, "path": "/proc/'$!'/ns/mnt"|; s|"type": "user"|&, "path": "/proc/'$!'/ns/user"|' bundle/config.json >config.json
		mkdir joined
		ln -s ../bundle/rootfs joined/rootfs
		mv config.json joined
		readlink "/proc/$!/ns/mnt" >expected
		./sage-runtime --cgroup-manager disabled run --bundle joined box
		status=$?
		kill $!
		exit $status
	SCRIPT
        config 'del(.linux.uidMappings, .linux.gidMappings)'
        as_user sh -c "$(<"$BATS_TEST_TMPDIR/script")"
        printed "$(</run/sage-cli-user/expected)
0
/bin/sh
/proc/1
/"
}

@test "rootless: create, start, exec, kill, delete" {
        bundle sleep 100
        config "$ROOTLESS"
        as_user sh -c 'r="./sage-runtime --cgroup-manager disabled"; $r create --bundle bundle box >/dev/null 2>&1 && $r start box &&
                $r exec box sh -c "echo in; id -u" && $r state box | jq -r .status && $r kill box KILL &&
                while [ "$($r state box | jq -r .status)" != stopped ]; do sleep 0.01; done; $r delete box && echo gone'
        printed $'in\n0\nrunning\ngone'
}

@test "rootless: without a user namespace the missing right is named, and nothing is made" {
        bundle
        config '.linux.resources = {}'
        as_user ./sage-runtime --cgroup-manager disabled run --bundle bundle box
        [ "$status" -eq 1 ]
        said user
        [ ! -e /run/sage-cli-user/run/sage-runtime/box ]
}

@test "rootless: a map of ids that are not the user's needs newuidmap, and it is named when it is not there or says no" {
        bundle
        config "$ROOTLESS"' | .linux.uidMappings = [{containerID: 0, hostID: 200000, size: 65536}]
                | .linux.gidMappings = .linux.uidMappings'
        as_user ./sage-runtime --cgroup-manager disabled run --bundle bundle box
        [ "$status" -eq 1 ]
        grep -Eiq 'uid_?map|subuid' <<<"$output"
}

# joins KIND... : the bundle's namespaces of these kinds are those of the container `first` (from now on without a map of its own).
joins() {
        local kind pid
        pid=$(state first .pid)
        for kind; do
                config ".linux.namespaces |= map(if .type == \"$kind\" then .path = \"/proc/$pid/ns/$(ns_file $kind)\" else . end)"
        done
        config 'del(.linux.uidMappings, .linux.gidMappings)'
}

ns_file() {
        case $1 in network) echo net ;; mount) echo mnt ;; *) echo $1 ;; esac
}

# A container `first` with a user namespace of its own, and a bundle like it.
first() {
        bundle sleep 100
        open_to_all
        config "$USERNS"
        create first
        start first
}

@test "a user namespace given by path is joined: all that is made belongs to it" {
        first
        joins user
        config '.process.user = {uid: 1000, gid: 1000, additionalGids: [5]} | .linux.sysctl = {"net.ipv4.ip_default_ttl": "77"}'
        inside 'cat /proc/self/uid_map | tr -s " "; id -u; grep ^Groups /proc/self/status; readlink /proc/self/ns/user; echo $$; hostname
                touch /x 2>/dev/null || echo refused; echo x >/dev/null; ls -A /sys/firmware | wc -l; ls /sys/class/net; cat /proc/sys/net/ipv4/ip_default_ttl'
        printed "$(printf '%s\n' ' 0 100000 65536' 1000 $'Groups:\t5 ' "$(readlink "/proc/$(state first .pid)/ns/user")" 1 sage refused 0 lo 77)"
}

@test "user, network, IPC and UTS namespaces are joined together, as engines do for pods" {
        local kind pid
        first
        joins user network ipc uts
        config 'del(.hostname) | .process.args = ["sleep", "100"]'
        create box
        start box
        pid=$(state first .pid)
        for kind in user net ipc uts; do
                [ "$(readlink "/proc/$(state box .pid)/ns/$kind")" = "$(readlink "/proc/$pid/ns/$kind")" ]
        done
        for kind in pid mnt cgroup; do
                [ "$(readlink "/proc/$(state box .pid)/ns/$kind")" != "$(readlink "/proc/$pid/ns/$kind")" ]
        done
        [ "$(stat -c %u:%g "/proc/$(state box .pid)")" = 100000:100000 ]
        [ "$(grep ^0:: "/proc/$(state box .pid)/cgroup")" = 0::/box ]
        detached runtime exec box sh -c 'id -u; hostname; readlink /proc/self/ns/user; ls /sys/class/net'
        printed "$(printf '%s\n' 0 sage "$(readlink "/proc/$pid/ns/user")" lo)"
        detached runtime exec first true
        succeeded
}

@test "user and pid namespaces are joined together" {
        first
        joins user pid
        inside 'tr "\0" " " </proc/1/cmdline; echo; [ $$ != 1 ] && id -u'
        printed $'sleep 100 \n0'
        has_status first running
}

@test "in a joined user namespace limits, hooks, terminal, pid file and a mount of the host work" {
        first
        joins user
        echo 'from the host' >"$BATS_TEST_TMPDIR/file"
        config --args '.process.terminal = true | .hooks.createRuntime = [{path: "/bin/sh", args: ["sh", "-c", "jq .pid >$0", $ARGS.positional[1]]}]
                | .hooks.createContainer = [{path: "/bin/true"}] | .hooks.startContainer = [{path: "/bin/true"}]
                | .mounts += [{destination: "/file", type: "bind", source: $ARGS.positional[0], options: ["bind", "ro"]}] | .root.readonly = false
                | .process.rlimits = [{type: "RLIMIT_NOFILE", soft: 50, hard: 60}]
                | .process.args = ["sh", "-c", "tty; ulimit -n; cat /file"]' "$BATS_TEST_TMPDIR/file" "$BATS_TEST_TMPDIR/hook"
        chmod 0777 "$BUNDLE/rootfs"
        detached "$BATS_TEST_DIRNAME/terminal" -- "$SAGE_RUNTIME" --root "$ROOT" run --bundle "$BUNDLE" --pid-file "$BATS_TEST_TMPDIR/pid" box
        succeeded
        said /dev/pts/0
        said 50
        said 'from the host'
        [ "$(<"$BATS_TEST_TMPDIR/pid")" = "$(<"$BATS_TEST_TMPDIR/hook")" ]
}

@test "id maps beside the path of a user namespace must be the ones that it has" {
        first
        joins user
        config '.linux.uidMappings = [{containerID: 0, hostID: 100000, size: 65536}] | .linux.gidMappings = .linux.uidMappings'
        inside 'id -u'
        printed 0
        config '.linux.gidMappings[0].hostID = 200000'
        leaves_nothing runtime create --bundle "$BUNDLE" box
        failed 1 linux.gidMappings differs
        config 'del(.linux.gidMappings) | .process.user.uid = 70000'
        leaves_nothing runtime create --bundle "$BUNDLE" box
        failed 1 process.user.uid
}

@test "a user namespace is made although the network is another's, which does not belong to it" {
        bundle sleep 100
        create first
        start first
        open_to_all
        config "$USERNS"
        local map
        map=$(jq .linux.uidMappings "$BUNDLE/config.json")
        joins network uts
        config "del(.hostname) | .linux.uidMappings = $map | .linux.gidMappings = $map"
        inside 'cat /proc/self/uid_map | tr -s " "; readlink /proc/self/ns/net; hostname; sed -n "s/:.*//p" /proc/net/dev | tr -d " "; echo x >/dev/null'
        printed "$(printf '%s\n' ' 0 100000 65536' "$(readlink "/proc/$(state first .pid)/ns/net")" sage lo)"
}

@test "the runtime's own user namespace, by path, is no other" {
        bundle
        config '.linux.namespaces += [{type: "user", path: "/proc/self/ns/user"}]'
        inside 'readlink /proc/self/ns/user; id -u; cat /proc/self/oom_score_adj'
        printed "$(readlink /proc/self/ns/user)"$'\n0\n'"$(cat /proc/self/oom_score_adj)"
        arguments sleep 100
        create box
        start box
        detached runtime exec box readlink /proc/self/ns/user
        printed "$(readlink /proc/self/ns/user)"
}

@test "a path that is no user namespace, or no more, is refused by name" {
        bundle
        config '.linux.namespaces += [{type: "user", path: "/proc/self/ns/net"}]'
        leaves_nothing runtime create --bundle "$BUNDLE" box
        failed 1 /proc/self/ns/net 'user namespace'
        config '(.linux.namespaces[] | select(.type == "user")).path = "/nowhere"'
        leaves_nothing runtime create --bundle "$BUNDLE" box
        failed 1 /nowhere
}

@test "rootless: an ordinary user joins the user, network, IPC and UTS namespaces of his container" {
        bundle sleep 100
        config "$ROOTLESS"
        config '.process.args = ["sleep", "100"]'
        as_user ./sage-runtime --cgroup-manager disabled run --detach --bundle bundle box
        succeeded
        local pid kind
        pid=$(setpriv --reuid 1001 --regid 1001 --clear-groups /run/sage-cli-user/sage-runtime --root /run/sage-cli-user/run/sage-runtime state box | jq .pid)
        for kind in user network ipc uts; do
                config ".linux.namespaces |= map(if .type == \"$kind\" then .path = \"/proc/$pid/ns/$(ns_file $kind)\" else . end)"
        done
        config 'del(.linux.uidMappings, .linux.gidMappings, .hostname)
                | .process.args = ["sh", "-c", "id -u; hostname; readlink /proc/self/ns/net; echo x >/dev/null && ls /sys/class/net; cat /proc/self/setgroups"]'
        as_user ./sage-runtime --cgroup-manager disabled run --bundle bundle second
        printed "$(printf '%s\n' 0 sage "$(readlink "/proc/$pid/ns/net")" lo deny)"
        config '.process.user.additionalGids = [5]'
        as_user ./sage-runtime --cgroup-manager disabled run --bundle bundle second
        failed 1 process.user.additionalGids
}

# ---- clocks --------------------------------------------------------------------------------------------------------------

TIME='.linux.namespaces += [{type: "time"}] | .linux.timeOffsets = {monotonic: {secs: 1000, nanosecs: 5}, boottime: {secs: 864000000}}'

# clocks_are_ahead: `cat /proc/uptime /proc/self/timens_offsets` said what TIME asks for.
clocks_are_ahead() {
        succeeded || return 1
        [ "${output%%.*}" -ge 864000000 ] && grep -Eq '^monotonic +1000 +5$' <<<"$output" && grep -Eq '^boottime +864000000 +0$' <<<"$output" || {
                echo "$output"
                return 1
        }
}

@test "a time namespace has the offsets of the config, for run and for exec" {
        bundle
        config "$TIME"
        inside 'cat /proc/uptime /proc/self/timens_offsets'
        clocks_are_ahead
        arguments sleep 100
        create box
        start box
        detached runtime exec box cat /proc/uptime /proc/self/timens_offsets
        clocks_are_ahead
        [ "$(readlink "/proc/$(state box .pid)/ns/time")" = "$(readlink "/proc/$(state box .pid)/ns/time_for_children")" ]
        [ "$(readlink "/proc/$(state box .pid)/ns/time")" != "$(readlink /proc/self/ns/time)" ]
        config 'del(.linux.timeOffsets) | .process.args = ["cat", "/proc/uptime", "/proc/self/timens_offsets"]'
        config ".linux.namespaces |= map(if .type == \"time\" then .path = \"/proc/$(state box .pid)/ns/time\" else . end)"
        detached runtime run --bundle "$BUNDLE" second
        clocks_are_ahead
}

@test "the same in a user namespace of its own, in a joined one, and for an ordinary user" {
        bundle
        open_to_all
        config "$USERNS | $TIME"
        inside 'cat /proc/uptime /proc/self/timens_offsets'
        clocks_are_ahead
        first
        config "$TIME"
        joins user
        inside 'cat /proc/uptime /proc/self/timens_offsets'
        clocks_are_ahead
        bundle
        config "$ROOTLESS | $TIME"
        arguments cat /proc/uptime /proc/self/timens_offsets
        as_user ./sage-runtime --cgroup-manager disabled run --bundle bundle box
        clocks_are_ahead
}

@test "a time namespace without offsets is new as well, with the host's clocks" {
        bundle sleep 100
        config '.linux.namespaces += [{type: "time"}]'
        create box
        [ "$(readlink "/proc/$(state box .pid)/ns/time")" != "$(readlink /proc/self/ns/time)" ]
        [ "$(readlink "/proc/$(state box .pid)/ns/time")" = "$(readlink "/proc/$(state box .pid)/ns/time_for_children")" ]
        [ "$(readlink "/proc/$$/ns/time_for_children")" = "$(readlink /proc/self/ns/time)" ]
}

@test "offsets that cannot be are refused by name" {
        refused() {
                config "$1"
                leaves_nothing runtime create --bundle "$BUNDLE" box
                failed 1 "$2"
        }
        bundle
        refused '.linux.timeOffsets = {monotonic: {secs: 1}}' linux.timeOffsets
        refused '.linux.namespaces += [{type: "time", path: "/proc/self/ns/time"}]' linux.timeOffsets
        refused 'del(.linux.namespaces[-1].path) | .linux.timeOffsets = {monotonic: {secs: -900000000}}' linux.timeOffsets
        refused '.linux.timeOffsets = {monotonic: {secs: 9223372037}}' linux.timeOffsets.monotonic.secs
        refused '.linux.timeOffsets = {boottime: {nanosecs: 1000000000}}' linux.timeOffsets.boottime.nanosecs
        refused '.linux.timeOffsets = {realtime: {secs: 1}}' linux.timeOffsets.realtime
}
