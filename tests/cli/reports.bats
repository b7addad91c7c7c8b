# Reports about other runtimes that no other file shows. reports.md says where the rest is.
load helpers

# The terminal outside takes some KiB and then no more.
@test "containers/crun PR 1623: what is typed arrives although nobody reads what the program writes" {
        bundle sh -c 'trap "touch /got; exit 5" INT; while :; do echo much text, again and again; done'
        config '.process.terminal = true | .root.readonly = false'
        cat >"$BATS_TEST_TMPDIR/deaf" <<-'PYTHON'
		import os, pty, sys, time
		got, *command = sys.argv[1:]
		pid, terminal = pty.fork()
		if pid == 0:
		    os.execv(command[0], command)
		time.sleep(0.5)
		os.write(terminal, b"\x03")
		for _ in range(200):
		    if os.path.exists(got):
		        break
		    time.sleep(0.02)
		else:
		    print("control-C did not arrive")
		try:
		    while os.read(terminal, 65536):
		        pass
		except OSError:
		    pass
		sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
	PYTHON
        detached timeout 15 python3 "$BATS_TEST_TMPDIR/deaf" "$BUNDLE/rootfs/got" "$SAGE_RUNTIME" --root "$ROOT" run --bundle "$BUNDLE" box
        [ "$status" -eq 5 ] && [ -z "$output" ]
}

@test "opencontainers/runc 3134: a container with a frozen cgroup below its own is deleted" {
        bundle sleep 100
        create box
        start box
        mkdir /sys/fs/cgroup/box/below
        detached runtime exec --detach box sleep 100
        succeeded
        tail -n 1 /sys/fs/cgroup/box/cgroup.procs >/sys/fs/cgroup/box/below/cgroup.procs
        echo 1 >/sys/fs/cgroup/box/below/cgroup.freeze
        detached timeout 5 "$SAGE_RUNTIME" --root "$ROOT" delete --force box
        succeeded
        [ ! -e /sys/fs/cgroup/box ]
}

@test "containers/crun 426, 497: a mount below one whose path goes through a symlink into another ends where that leads" {
        bundle
        mkdir -p "$BATS_TEST_TMPDIR"/{a/sub,b,c}
        ln -s /b/target "$BATS_TEST_TMPDIR/a/sub/link"
        mkdir "$BATS_TEST_TMPDIR/b/target"
        touch "$BATS_TEST_TMPDIR/c/here"
        config --args '.root.readonly = false | .mounts += [
                {destination: "/a", type: "bind", source: ($ARGS.positional[0] + "/a"), options: ["bind"]},
                {destination: "/b", type: "bind", source: ($ARGS.positional[0] + "/b"), options: ["bind"]},
                {destination: "/a/sub/link", type: "bind", source: ($ARGS.positional[0] + "/c"), options: ["bind"]}]' "$BATS_TEST_TMPDIR"
        inside 'ls /b/target /a/sub/link; grep -c " /b/target " /proc/self/mountinfo'
        printed $'/a/sub/link:\nhere\n\n/b/target:\nhere\n1' || printed $'/a/sub/link:\n/b/target:\nhere\n1' || printed $'/b/target:\nhere\n\n/a/sub/link:\nhere\n1'
}

@test "containers/crun 1.29.1: proc and sysfs keep their mode whatever that of their mount points is" {
        bundle
        chmod 710 "$BUNDLE/rootfs/proc" "$BUNDLE/rootfs/sys"
        inside 'stat -c %a /proc /sys'
        printed $'555\n555'
}

@test "opencontainers/runc 3248, containers/crun 2061: devices and the console are there also where /dev is read-only in the end" {
        local filter
        for filter in '.mounts |= map(if .destination == "/dev" then .options += ["ro"] else . end)' \
                '.mounts |= map(select(.destination | startswith("/dev") | not) // (select(.destination == "/dev/pts")))'; do
                bundle
                mkdir -p "$BUNDLE/rootfs/dev/pts"
                config "$filter | .process.terminal = true"
                arguments sh -c 'echo x >/dev/null && stat -c %F /dev/console && { touch /dev/x 2>/dev/null || echo refused; }'
                detached "$BATS_TEST_DIRNAME/terminal" -- "$SAGE_RUNTIME" --root "$ROOT" run --bundle "$BUNDLE" box
                [ "${output//$'\r'/}" = $'character special file\nrefused' ] || { echo "$filter: $output"; return 1; }
        done
}

@test "opencontainers/runc 3672, containers/crun 2178: a user namespace with the host's network has a read-only /sys" {
        bundle
        chmod 755 "$BATS_RUN_TMPDIR" "$BATS_TEST_TMPDIR"
        config '.linux.namespaces |= map(select(.type != "network")) | .linux.namespaces += [{type: "user"}]
                | .linux.uidMappings = [{containerID: 0, hostID: 100000, size: 65536}] | .linux.gidMappings = .linux.uidMappings
                | .mounts |= map(if .destination == "/sys" then .options -= ["ro"] else . end)'
        inside 'ls /sys/class/net | grep -x lo; grep -c " /sys ro" /proc/self/mountinfo; touch /sys/x 2>/dev/null || echo refused'
        printed $'lo\n1\nrefused'
}

# As root there is no such limit, so the user's keys are used up by one who goes on as the runtime (keyrings(7)). A user of its own: keys
# are counted for the whole machine, and go when the kernel gets to it.
@test "containers/podman 13363: a used-up quota of keys is told with the way out, and no key is left" {
        [ -e /proc/sys/kernel/keys/maxkeys ] || skip 'this kernel has no keyrings'
        bundle
        config '.linux.namespaces += [{type: "user"}] | .linux.uidMappings = [{containerID: 0, hostID: 1771, size: 1}]
                | .linux.gidMappings = .linux.uidMappings
                | .mounts |= map(if .destination == "/dev/pts" then .options -= ["gid=5"] else . end)'
        mkdir /run/sage-cli-user
        cp "$SAGE_RUNTIME" /run/sage-cli-user/sage-runtime
        cp -a "$BUNDLE" /run/sage-cli-user/bundle
        mkdir -m 0700 /run/sage-cli-user/root
        chown -R 1771:1771 /run/sage-cli-user
        cat >/run/sage-cli-user/full <<-'PYTHON'
		import ctypes, os, sys
		libc = ctypes.CDLL(None, use_errno=True)
		libc.syscall(250, 1, None)                                    # keyctl(KEYCTL_JOIN_SESSION_KEYRING)
		n = 0
		while libc.syscall(248, b"user", b"k%d" % n, b"x", ctypes.c_size_t(1), -3) >= 0:     # add_key() to the session's
		    n += 1
		sys.exit("no key at all") if n == 0 else os.execv(sys.argv[1], sys.argv[1:])
	PYTHON
        cd /run/sage-cli-user
        [ "$(uname -m)" = x86_64 ] || sed -i 's/syscall(250/syscall(219/; s/syscall(248/syscall(217/' full
        detached setpriv --reuid 1771 --regid 1771 --clear-groups python3 full ./sage-runtime --root root --cgroup-manager disabled run --bundle bundle box
        failed 1 'keyring' --no-new-keyring
        wait_until sh -c '! grep -q "^ *1771:" /proc/key-users'
        detached setpriv --reuid 1771 --regid 1771 --clear-groups python3 full ./sage-runtime --root root --cgroup-manager disabled run --no-new-keyring --bundle bundle box
        cd /
        rm -r /run/sage-cli-user
        succeeded
}

@test "opencontainers/runc 5329, ocijail 14: annotations of features are strings, and none ends in a newline" {
        detached runtime features
        jq -e '[.annotations // {} | .[] | type == "string" and (test("\n") | not)] | all' <<<"$output"
}

@test "opencontainers/runc 3727, containers/crun: a root that is null is an error that names it" {
        bundle
        config '.root = null'
        leaves_nothing runtime run --bundle "$BUNDLE" box
        failed 1 "root: expected"
}

@test "every report of reports.md has its test" {
        local number report file name rest missing=0
        while IFS='|' read -r rest number report file name rest; do
                read -r file <<<"${file//\`/}"
                read -r name <<<"$name"
                case $file in
                *.bats) grep -qF "@test \"$name" "$SAGE_TESTS/$file" ;;
                *.py) grep -q "^def test_${name//[!a-z0-9]/_}" "$SAGE_TESTS/$file" ;;
                *) [ -e "$SAGE_TESTS/$file" ] ;;
                esac || { echo "$number: no test \"$name\" in $file"; missing=1; }
        done < <(grep -E '^\| [0-9]' "$SAGE_TESTS/cli/reports.md")
        [ "$missing" -eq 0 ] && [ "$(grep -cE '^\| [0-9]' "$SAGE_TESTS/cli/reports.md")" -gt 40 ]
}
