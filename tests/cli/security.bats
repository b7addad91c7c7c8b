# What others got wrong, each as small as it can be shown: CVE numbers, and what must not happen.
load helpers

@test "CVE-2016-3697: a user name from the image's passwd is no user id" {
        bundle sleep 100
        echo '0:x:0:0::/:/bin/sh' >>"$BUNDLE/rootfs/etc/passwd"
        echo '1000:x:0:0::/:/bin/sh' >>"$BUNDLE/rootfs/etc/passwd"
        create box
        start box
        detached runtime exec --user root box id -u
        failed 255
        detached runtime exec --user 1000 box id -u
        printed 1000
}

# watcher FILTER: a container that looks into every process but its first, again and again; then forty commands join it. What it could
# see of them is $SEEN.
watcher() {
        local i
        bundle sh -c 'while :; do ls -l /proc/[2-9]*/fd /proc/1[0-9]*/fd /proc/[2-9]*/cwd /proc/1[0-9]*/cwd; done'
        config "$1"
        mkdir "$BATS_TEST_TMPDIR/host-marker"
        runtime create --bundle "$BUNDLE" box >"$BATS_TEST_TMPDIR/out" 2>/dev/null </dev/null
        start box
        cd "$BATS_TEST_TMPDIR/host-marker"
        for i in {1..40}; do
                runtime exec box true 9<"$BATS_TEST_TMPDIR/host-marker" </dev/null >/dev/null 2>&1
        done
        cd /
        runtime kill box KILL
        SEEN=$(sed -n 's/.* -> //p' "$BATS_TEST_TMPDIR/out" | sort -u)
}

# What the joining process holds of the host: the caller's directory, state, cgroups.
nothing_of_the_host() {
        ! grep -E "host-marker|$ROOT|^/sys/fs/cgroup|^/tmp/" <<<"$SEEN"
}

@test "CVE-2016-9962: a process of the container cannot look into one that joins it" {
        watcher .
        nothing_of_the_host
}

# The program runs inside, where it waits for its stdin. Somebody there opens it for reading meanwhile, and reopens what he holds for
# writing once nobody on the host runs it any more (until then it is ETXTBSY).
@test "CVE-2019-5736: the runtime's own program cannot be written from a container that runs it" {
        local original=$SAGE_RUNTIME holder
        cp "$original" "$BATS_TEST_TMPDIR/runtime"
        SAGE_RUNTIME=$BATS_TEST_TMPDIR/runtime
        bundle sleep 100
        config '.root.readonly = false | .process.capabilities |= map_values(. + ["CAP_DAC_OVERRIDE", "CAP_SYS_PTRACE", "CAP_KILL"])'
        # What a runtime that is not static needs to run there.
        config '.mounts += [("/lib", "/lib64", "/usr/lib") | {destination: ., type: "bind", source: ., options: ["rbind", "ro"]}]'
        cat >"$BUNDLE/rootfs/bin/writer" <<-'SCRIPT'
		#!/bin/sh
		while [ -z "$found" ]; do
		        sleep 0.02
		        for p in /proc/[0-9]*; do
		                tr '\0' ' ' <"$p/cmdline" | grep -q '^/proc/self/exe plan' && found=$p
		        done
		done
		exec 8<"$found/exe" && echo >/opened
		kill -9 "${found#/proc/}"
		for i in $(seq 40); do
		        sleep 0.05
		        echo overwritten >/proc/self/fd/8 && break
		done
		echo >/done
	SCRIPT
        chmod +x "$BUNDLE/rootfs/bin/writer"
        create box
        start box
        detached runtime exec --detach box /bin/writer
        succeeded
        mkfifo "$BATS_TEST_TMPDIR/never"
        sleep 60 3>&- <>"$BATS_TEST_TMPDIR/never" &
        holder=$!
        runtime exec box /proc/self/exe plan --config - <"$BATS_TEST_TMPDIR/never" >/dev/null 2>&1 || true
        kill "$holder"
        wait_until test -e "$BUNDLE/rootfs/done"
        [ -e "$BUNDLE/rootfs/opened" ]
        cmp "$BATS_TEST_TMPDIR/runtime" "$original"
}

@test "CVE-2019-16884, 2019-19921, 2023-27561, 2025-54867: an image whose /proc or /sys is a symlink is refused" {
        local name
        for name in proc sys; do
                bundle
                rmdir "$BUNDLE/rootfs/$name"
                mkdir "$BUNDLE/rootfs/bad-$name"
                ln -s "/bad-$name" "$BUNDLE/rootfs/$name"
                leaves_nothing runtime run --bundle "$BUNDLE" box
                [ "$status" -eq 1 ]
                said "/$name"
        done
}

@test "CVE-2019-18837: a mount through a symlink of the image does not reach the host" {
        bundle
        mkdir "$BATS_TEST_TMPDIR/host"
        ln -s "$BATS_TEST_TMPDIR/host" "$BUNDLE/rootfs/abs"
        ln -s ../../../../../../../../../../../../../../../../../..$BATS_TEST_TMPDIR/host "$BUNDLE/rootfs/rel"
        config '.root.readonly = false | .mounts += [{destination: "/abs/new", type: "tmpfs", source: "tmpfs"},
                {destination: "/rel/other", type: "tmpfs", source: "tmpfs"}]'
        detached runtime run --bundle "$BUNDLE" box
        [ -z "$(ls -A "$BATS_TEST_TMPDIR/host")" ]
}

@test "CVE-2021-30465, 2024-45310: a directory that turns into a symlink all the time never leads a mount to the host" {
        local i swapper
        bundle
        mkdir "$BATS_TEST_TMPDIR/host" "$BATS_TEST_TMPDIR/volume"
        cat >"$BATS_TEST_TMPDIR/swap" <<-'PYTHON'
		import ctypes, os, sys
		volume, host = sys.argv[1:]
		os.mkdir(f"{volume}/a")
		os.symlink(host, f"{volume}/b")
		libc = ctypes.CDLL(None, use_errno=True)
		one, two = f"{volume}/a".encode(), f"{volume}/b".encode()
		while True:
		    libc.renameat2(-100, one, -100, two, 2)  # RENAME_EXCHANGE
	PYTHON
        background "$BATS_TEST_TMPDIR/swap.out" python3 "$BATS_TEST_TMPDIR/swap" "$BATS_TEST_TMPDIR/volume" "$BATS_TEST_TMPDIR/host"
        swapper=$!
        wait_until test -e "$BATS_TEST_TMPDIR/volume/b"
        config --args '.root.readonly = false
                | .mounts += [{destination: "/v", type: "bind", source: $ARGS.positional[0], options: ["bind"]},
                {destination: "/v/a/deep", type: "tmpfs", source: "tmpfs"}]' "$BATS_TEST_TMPDIR/volume"
        for i in {1..25}; do
                detached runtime run --bundle "$BUNDLE" box
                [ -z "$(ls -A "$BATS_TEST_TMPDIR/host")" ]
        done
        kill -0 "$swapper"
}

@test "CVE-2022-24769, 2022-29162: nothing is inheritable unless the config says so, and exec --cap changes nothing about it" {
        bundle sleep 100
        create box
        start box
        detached runtime exec --cap CAP_KILL --cap CAP_NET_RAW box grep CapInh /proc/self/status
        printed $'CapInh:\t0000000000000000'
}

@test "CVE-2023-25809: without a cgroup namespace too, the container sees its own cgroup only, and read-only where that was asked" {
        bundle
        mkdir /sys/fs/cgroup/others
        config '.linux.namespaces |= map(select(.type != "cgroup"))'
        inside 'ls -d /sys/fs/cgroup/others /sys/fs/cgroup/tests 2>/dev/null; mkdir /sys/fs/cgroup/x 2>/dev/null || echo refused
                find /sys/fs/cgroup -name others'
        rmdir /sys/fs/cgroup/others
        printed refused
}

@test "CVE-2024-21626: no descriptor of the host is a way out through cwd, in run nor in exec" {
        local number
        bundle ls -d bin home srv host-marker
        mkdir "$BATS_TEST_TMPDIR/host-marker"
        for number in 3 4 5 6 7 8 9 10 11 12 15 20; do
                config ".process.cwd = \"/proc/self/fd/$number\""
                detached runtime run --bundle "$BUNDLE" box 7</ 8<"$BATS_TEST_TMPDIR"
                # The one that is the container's own root would do no harm.
                [[ $status -ne 0 && $'\n'$output != *$'\n'@(home|srv|host-marker)* ]] || { echo "descriptor $number: $output"; return 1; }
        done
        bundle sleep 100
        create box
        start box
        for number in 3 4 5 6 7 8 9 10 11 12 15 20; do
                detached runtime exec --cwd "/proc/self/fd/$number" box ls -d bin home srv host-marker 7</ 8<"$BATS_TEST_TMPDIR"
                [[ $status -ne 0 && $'\n'$output != *$'\n'@(home|srv|host-marker)* ]] || { echo "descriptor $number: $output"; return 1; }
        done
}

@test "CVE-2024-21626: a cwd that is a symlink to a descriptor is refused too" {
        bundle ls
        ln -s /proc/self/fd/8 "$BUNDLE/rootfs/here"
        config '.process.cwd = "/here"'
        detached runtime run --bundle "$BUNDLE" box 8</
        [ "$status" -ne 0 ]
}

@test "CVE-2025-27612: exec starts from the container's capabilities, also when there are none" {
        bundle sleep 100
        config '.process.capabilities = {}'
        create box
        start box
        detached runtime exec box grep -E '^Cap(Eff|Bnd)' /proc/self/status
        printed $'CapEff:\t0000000000000000\nCapBnd:\t0000000000000000'
}

@test "CVE-2025-31133, 2025-62161: a /dev/null of the image's choice is not what masks a path" {
        bundle
        mkdir "$BATS_TEST_TMPDIR/dev"
        ln -s /proc/sys/kernel/core_pattern "$BATS_TEST_TMPDIR/dev/null"
        config --args '.mounts |= map(if .destination == "/dev" then {destination: "/dev", type: "bind", source: $ARGS.positional[0],
                options: ["bind"]} else select(.destination | startswith("/dev/") | not) end)
                | .linux.maskedPaths = ["/proc/keys"]' "$BATS_TEST_TMPDIR/dev"
        inside 'grep core_pattern /proc/self/mountinfo; cat /proc/keys 2>/dev/null | wc -c'
        [[ $output != *core_pattern* ]] || { [ "$status" -eq 1 ] && [[ $output == sage-runtime:* ]]; }
}

@test "CVE-2025-52565: /dev/console is the terminal that was made, whatever lies at /dev/pts" {
        bundle
        mkdir "$BATS_TEST_TMPDIR/pts"
        ln -s /proc/sysrq-trigger "$BATS_TEST_TMPDIR/pts/0"
        config --args '.process.terminal = true | .mounts |= map(if .destination == "/dev/pts" then {destination: "/dev/pts", type: "bind",
                source: $ARGS.positional[0], options: ["bind"]} else . end)
                | .process.args = ["sh", "-c", "grep -c sysrq-trigger /proc/self/mountinfo"]' "$BATS_TEST_TMPDIR/pts"
        detached runtime run --bundle "$BUNDLE" box
        [[ $output != *sysrq* ]] || [ "$status" -eq 1 ]
        [ "$status" -eq 1 ]
}

@test "CVE-2025-52881: a mount over /proc/sys or /proc/self/attr does not catch what the runtime writes there" {
        local file=$BATS_TEST_TMPDIR/fake
        bundle
        mkdir -p "$file/net/ipv4" "$file/kernel"
        echo 0 >"$file/net/ipv4/ip_forward"
        config --args '.mounts += [{destination: "/proc/sys", type: "bind", source: $ARGS.positional[0], options: ["bind"]}]
                | .linux.sysctl = {"net.ipv4.ip_forward": "1"} | .linux.readonlyPaths = [] | .linux.maskedPaths = []
                | .mounts += [{destination: "/real", type: "proc", source: "proc"}] | .root.readonly = false' "$file"
        inside 'cat /real/sys/net/ipv4/ip_forward'
        [ "$(<"$file/net/ipv4/ip_forward")" = 0 ]
        [ "$status" -eq 1 ] || printed 1
}

@test "CVE-2026-41579, 2026-47766: an image whose /dev is a symlink gets no device made outside of it" {
        bundle
        mkdir "$BATS_TEST_TMPDIR/outside"
        rmdir "$BUNDLE/rootfs/dev"
        ln -s "../../../../../../../../../..$BATS_TEST_TMPDIR/outside" "$BUNDLE/rootfs/dev"
        config '.mounts |= map(select(.destination | startswith("/dev") | not)) | .root.readonly = false'
        detached runtime run --bundle "$BUNDLE" box
        [ -z "$(ls -A "$BATS_TEST_TMPDIR/outside")" ]
        ln -sfn "$BATS_TEST_TMPDIR/outside" "$BUNDLE/rootfs/dev"
        detached runtime run --bundle "$BUNDLE" box
        [ -z "$(ls -A "$BATS_TEST_TMPDIR/outside")" ]
}

@test "CVE-2026-30892: exec -u 1 is user 1" {
        bundle sleep 100
        create box
        start box
        detached runtime exec -u 1 box id -u
        printed 1
}

@test "CVE-2014-8989: a single mapped id cannot drop groups" {
        bundle
        config '.linux.namespaces += [{type: "user"}] | .linux.uidMappings = [{containerID: 0, hostID: 1001, size: 1}]
                | .linux.gidMappings = .linux.uidMappings
                | .mounts |= map(if .destination == "/dev/pts" then .options -= ["gid=5"] else . end)
                | .process.args = ["cat", "/proc/self/setgroups"]'
        mkdir /run/sage-cli-user
        cp "$SAGE_RUNTIME" /run/sage-cli-user/sage-runtime
        cp -a "$BUNDLE" /run/sage-cli-user/bundle
        chown -R 1001:1001 /run/sage-cli-user/bundle
        mkdir -m 0700 /run/sage-cli-user/root
        chown 1001:1001 /run/sage-cli-user/root
        cd /run/sage-cli-user
        detached setpriv --reuid 1001 --regid 1001 --groups 1001,5 \
                ./sage-runtime --root root --cgroup-manager disabled run --bundle bundle box
        cd /
        rm -r /run/sage-cli-user
        printed deny
}

@test "the container does not see the host's processes" {
        bundle
        inside 'ls -d /proc/[0-9]* | wc -l; cat /proc/1/comm; true'
        printed $'3\nsh'
}

@test "a state directory that others can write, or that is not ours, is not trusted" {
        bundle
        mkdir -m 0777 "$BATS_TEST_TMPDIR/root"
        chown 1001 "$BATS_TEST_TMPDIR/root"
        detached "$SAGE_RUNTIME" --root "$BATS_TEST_TMPDIR/root" run --bundle "$BUNDLE" box
        failed 1 "$BATS_TEST_TMPDIR/root"
}

@test "a state directory of a container that is a symlink is not followed" {
        mkdir "$BATS_TEST_TMPDIR/precious"
        touch "$BATS_TEST_TMPDIR/precious/status.json" "$BATS_TEST_TMPDIR/precious/kept"
        ln -s "$BATS_TEST_TMPDIR/precious" "$ROOT/box"
        detached runtime delete --force box
        [ -e "$BATS_TEST_TMPDIR/precious/status.json" ]
        detached runtime state box
        failed 1
        rm -f "$ROOT/box"
}

@test "TIOCSTI from a container does not type into the caller's terminal" {
        bundle
        config '.process.terminal = true'
        # The container's session is not the terminal's that the runtime was called from.
        arguments sh -c 'set -- $(cat /proc/self/stat); echo "session $6"; readlink /proc/self/fd/0'
        detached "$BATS_TEST_DIRNAME/terminal" -- "$SAGE_RUNTIME" --root "$ROOT" run --bundle "$BUNDLE" box
        succeeded
        said 'session 1'
        said /dev/pts/0
}
