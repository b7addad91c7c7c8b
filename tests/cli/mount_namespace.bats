# A mount namespace given by path: the container is in it, and its root is everybody's there.
load helpers

# joins_mounts_of PATH: the config joins this mount namespace.
joins_mounts_of() {
        config --args '.linux.namespaces |= map(if .type == "mount" then .path = $ARGS.positional[0] else . end)' "$1"
}

# peer OPTION...: $PEER, a process that has a mount namespace of its own, made by unshare -m OPTION...
peer() {
        unshare -m "$@" sleep 1000 </dev/null >/dev/null 2>&1 3>&- &
        PEER=$!
        until [ "$(cat "/proc/$PEER/comm")" = sleep ]; do
                sleep 0.02
        done
}

mounts_at() {
        readlink "/proc/$1/ns/mnt"
}

@test "a mount namespace made by unshare is joined, and the container in it is as the bundle says" {
        local pid
        bundle sleep 100
        peer
        mkdir "$BATS_TEST_TMPDIR/bound"
        echo of the host >"$BATS_TEST_TMPDIR/bound/file"
        joins_mounts_of "/proc/$PEER/ns/mnt"
        config --args '.mounts += [{destination: "/bound", type: "bind", source: $ARGS.positional[0], options: ["rbind", "ro"]}]' \
                "$BATS_TEST_TMPDIR/bound"
        create box
        pid=$(state box .pid)
        [ "$(mounts_at "$pid")" = "$(mounts_at "$PEER")" ]
        start box
        [ "$(mounts_at "$pid")" = "$(mounts_at "$PEER")" ]
        detached runtime exec box sh -c 'cat /bound/file; touch /bound/x 2>/dev/null || echo refused; touch /x 2>/dev/null || echo refused
                stat -c %t:%T /dev/null; echo x >/dev/null; ls -A /sys/firmware | wc -l; grep -c " /proc/sys ro" /proc/self/mountinfo
                ls /dev/pts; readlink /dev/fd; cat /proc/1/comm; cat /etc/hostname 2>/dev/null || pwd'
        printed $'of the host\nrefused\nrefused\n1:3\n0\n1\nptmx\n/proc/self/fd\nsleep\n/'

        # One root for all, and nothing mounted any more of what was before.
        [ "$(stat -Lc %d:%i "/proc/$PEER/root")" = "$(stat -Lc %d:%i "/proc/$pid/root")" ]
        [ "$(cut -d' ' -f1 "/proc/$pid/mountinfo")" = "$(cut -d' ' -f1 "/proc/$PEER/mountinfo")" ]
        [ "$(awk '$5 == "/"' "/proc/$pid/mountinfo" | wc -l)" = 1 ]

        echo '[{"destination": "/tmp", "type": "tmpfs"}]' >"$BATS_TEST_TMPDIR/more.json"
        detached runtime mounts add box "$BATS_TEST_TMPDIR/more.json"
        succeeded
        grep -q ' /tmp ' "/proc/$PEER/mountinfo"

        # The namespace and its mounts live as long as any process in it.
        runtime delete --force box
        grep -q ' /bound ' "/proc/$PEER/mountinfo"
}

@test "run in a joined mount namespace: working directory, hooks, terminal, and its end" {
        bundle
        peer
        joins_mounts_of "/proc/$PEER/ns/mnt"
        config --args '.process.cwd = "/proc/self" | .hooks.createContainer = [{path: "/bin/sh", args: ["sh", "-c", $ARGS.positional[0]]}]
                | .hooks.startContainer = [{path: "/bin/sh", args: ["sh", "-c", "[ -d /proc/1 ]"]}]' \
                "test -d $BUNDLE && mount -t tmpfs -o size=4k hooked $BUNDLE/rootfs/tmp"
        inside 'pwd; grep -c "^hooked /tmp " /proc/mounts; readlink /proc/self/ns/mnt'
        printed "/proc/1
1
$(mounts_at "$PEER")"
        config 'del(.hooks) | .process.terminal = true | .process.args = ["sh", "-c", "tty; readlink /proc/self/fd/2; ls /dev/pts | grep -v ptmx"]'
        peer
        joins_mounts_of "/proc/$PEER/ns/mnt"
        detached "$BATS_TEST_DIRNAME/terminal" -- "$SAGE_RUNTIME" --root "$ROOT" run --bundle "$BUNDLE" box
        succeeded
        [ "${output//$'\r'/}" = $'/dev/pts/0\n/dev/pts/0\n0' ]
}

@test "nothing of a joined mount namespace whose mounts are shared with the host's reaches those" {
        local kind root
        bundle
        for kind in private slave shared unbindable; do
                root=$(mounts_at self)
                cat >"$BATS_TEST_TMPDIR/script" <<-'SCRIPT'
			mount --make-rshared /
			unshare -m --propagation unchanged sleep 1000 &
			until [ "$(cat "/proc/$!/comm")" = sleep ]; do sleep 0.02; done
			before=$(cat /proc/self/mountinfo)
			jq --arg path "/proc/$!/ns/mnt" '.linux.namespaces |= map(if .type == "mount" then .path = $path else . end)' <"$1/config.json" >"$1/new"
			mv "$1/new" "$1/config.json"
			shift
			"$@"
			status=$?
			kill $!
			[ "$(cat /proc/self/mountinfo)" = "$before" ] || { echo "the mounts of the host changed"; exit 90; }
			exit $status
		SCRIPT
                config ".linux.rootfsPropagation = \"$kind\""
                arguments sh -c 'awk "\$5 == \"/\" { print (\$7 ~ /^(shared|unbindable)/) ? substr(\$7, 1, 6) : \"no\" }" /proc/self/mountinfo'
                detached unshare -m --propagation private sh "$BATS_TEST_TMPDIR/script" "$BUNDLE" \
                        "$SAGE_RUNTIME" --root "$ROOT" run --bundle "$BUNDLE" box
                case $kind in
                shared) printed shared ;;
                unbindable) printed unbind ;;
                *) printed no ;;
                esac
        done
}

@test "a container in the mount namespace of another: that one has its root from then on" {
        local first second
        bundle sleep 100
        create first
        start first
        first=$(state first .pid)
        cp -a "$BUNDLE" "$BATS_TEST_TMPDIR/second"
        echo second >"$BATS_TEST_TMPDIR/second/rootfs/mark"
        BUNDLE=$BATS_TEST_TMPDIR/second
        joins_mounts_of "/proc/$first/ns/mnt"
        create second
        start second
        second=$(state second .pid)
        [ "$(mounts_at "$first")" = "$(mounts_at "$second")" ]
        detached runtime exec first cat /mark
        printed second
        [ "$(readlink "/proc/$first/ns/pid")" != "$(readlink "/proc/$second/ns/pid")" ]
        runtime delete --force second
        has_status first running
        runtime kill first KILL
        runtime delete --force first
}

@test "together with the pid and user namespace of the same process it is joined too" {
        bundle sleep 100
        open_to_all
        config '.linux.namespaces += [{type: "user"}] | .linux.uidMappings = [{containerID: 0, hostID: 100000, size: 65536}]
                | .linux.gidMappings = [{containerID: 0, hostID: 100000, size: 65536}]'
        create first
        start first
        local pid
        pid=$(state first .pid)
        config --args 'del(.linux.uidMappings, .linux.gidMappings) | .linux.namespaces |= map(
                if .type == "mount" then .path = $ARGS.positional[0] + "mnt"
                elif .type == "pid" or .type == "user" then .path = $ARGS.positional[0] + .type else . end)
                | .mounts |= map(select(.type != "proc")) | .linux.maskedPaths = [] | .linux.readonlyPaths = []' "/proc/$pid/ns/"
        create box
        [ "$(mounts_at "$(state box .pid)")" = "$(mounts_at "$pid")" ]
        [ "$(readlink "/proc/$(state box .pid)/ns/user")" = "$(readlink "/proc/$pid/ns/user")" ]
        start box
        has_status box running
}

@test "the runtime's own mount namespace and that of process 1 are refused, under whatever path" {
        local as
        bundle
        for path in /proc/self/ns/mnt /proc/thread-self/ns/mnt; do
                joins_mounts_of "$path"
                leaves_nothing runtime create --bundle "$BUNDLE" box
                failed 1 linux.namespaces 'our own'
        done

        # A process 1 of which /proc tells the namespace, then one that has more capabilities than the runtime, and control: another namespace.
        joins_mounts_of /proc/self/fd/9
        cat >"$BATS_TEST_TMPDIR/script" <<-'SCRIPT'
		before=$(cat /proc/1/mountinfo)
		peer=$1 as=$2
		shift 2
		[ "$peer" = 1 ] || { unshare -m sleep 1000 & peer=$!; until [ "$(cat "/proc/$peer/comm")" = sleep ]; do sleep 0.02; done; }
		unshare -m $as "$@" 9<"/proc/$peer/ns/mnt"
		status=$?
		[ "$(cat /proc/1/mountinfo)" = "$before" ] || { echo 'the mounts of process 1 changed'; exit 90; }
		exit $status
	SCRIPT
        for as in env 'setpriv --bounding-set -sys_ptrace --inh-caps -sys_ptrace env'; do
                leaves_nothing unshare --mount --pid --fork --mount-proc sh "$BATS_TEST_TMPDIR/script" 1 "$as" \
                        "$SAGE_RUNTIME" --root "$BATS_TEST_TMPDIR/root" --cgroup-manager disabled create --bundle "$BUNDLE" box
                failed 1 linux.namespaces 'process 1'
                leaves_nothing unshare --mount --pid --fork --mount-proc sh "$BATS_TEST_TMPDIR/script" 0 "$as" \
                        "$SAGE_RUNTIME" --root "$BATS_TEST_TMPDIR/root" --cgroup-manager disabled run --bundle "$BUNDLE" box
                printed 'sage-runtime: warning: linux.resources.devices: has no effect without a cgroup'
        done
}

@test "what a joined mount namespace rules out is refused before it changes, and so is what fails later" {
        local before
        refused() {
                cp "$BUNDLE/config.json" "$BATS_TEST_TMPDIR/kept"
                config "$1"
                # shellcheck disable=SC2086 # options
                leaves_nothing runtime create --bundle "$BUNDLE" ${3-} box
                mv "$BATS_TEST_TMPDIR/kept" "$BUNDLE/config.json"
                failed 1 "$2" && [ "$(cat "/proc/$PEER/mountinfo")" = "$before" ]
        }
        bundle
        peer
        before=$(cat "/proc/$PEER/mountinfo")
        joins_mounts_of "/proc/$PEER/ns/mnt"
        table refused <<-'ROWS'
		.linux.namespaces += [{type: "user"}] | .linux.uidMappings = [{containerID: 0, hostID: 0, size: 9}] => linux.namespaces
		.mounts += [{destination: "/t", type: "tmpfs", options: ["unbindable"]}] => mounts[7].options
		. => linux.namespaces => --no-pivot
		.mounts += [{destination: "/t", type: "bind", source: "/nowhere", options: ["bind"]}] => /nowhere
		.process.args = ["nosuchprogram"] => nosuchprogram
		.process.cwd = "/bin/busybox" => process.cwd
		.hooks.createContainer = [{path: "/bin/false"}] => createContainer
		.linux.namespaces |= map(if .type == "mount" then .path |= sub("mnt$"; "net") else . end) => mount namespace
	ROWS
}

teardown() {
        end_jobs
        remove_containers
        host_is_as_before
}
