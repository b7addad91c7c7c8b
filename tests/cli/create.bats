# create: a container that waits for start.
load helpers

@test "a created container waits: its program has not run" {
        bundle touch /made
        config '.root.readonly = false'
        create box
        [ "$(state box .status)" = created ]
        sleep 0.2
        [ "$(state box .status)" = created ]
        [ ! -e "$BUNDLE/rootfs/made" ]
        start box
        wait_until has_status box stopped
        [ -e "$BUNDLE/rootfs/made" ]
}

@test "create keeps quiet when all is well" {
        bundle
        create box
        [ -z "$output" ]
}

@test "the bundle is the current directory when no other is named" {
        bundle
        cd "$BUNDLE"
        detached runtime create box
        succeeded
        [ "$(state box .bundle)" = "$(realpath "$BUNDLE")" ]
}

@test "a relative bundle is taken from the caller's directory, and the state says it in full" {
        bundle
        cd "$BUNDLE/.."
        detached runtime create -b bundle box
        succeeded
        [ "$(state box .bundle)" = "$(realpath "$BUNDLE")" ]
}

@test "--config takes another file than config.json" {
        bundle sh -c 'exit 9'
        mv "$BUNDLE/config.json" "$BATS_TEST_TMPDIR/other.json"
        detached runtime run --bundle "$BUNDLE" --config "$BATS_TEST_TMPDIR/other.json" box
        failed 9
}

@test "ids of letters, digits, _ + - . are good" {
        local id
        bundle
        for id in a A 0 box.1 _x +x a-b a_b+c. "$(printf 'a%.0s' {1..200})"; do
                detached runtime run --bundle "$BUNDLE" "$id"
                succeeded
        done
}

@test "any other id is refused by every command, before anything is made" {
        bad_id() {
                local id=$1
                # An id that looks like an option is one word away from being taken for one: -- says it is none.
                leaves_nothing runtime create --bundle "$BUNDLE" -- "$id"
                failed 1 || return 1
                leaves_nothing runtime state -- "$id"
                failed 1 || return 1
                leaves_nothing runtime delete --force -- "$id"
                failed 1
        }
        bundle
        table bad_id <<-'ROWS'

		.
		..
		.hidden
		bad id!
		a/b
		../x
		/x
		a:b
		ä
		a*
		-x
	ROWS
        bad_id "$(printf 'a%.0s' {1..256})"
        bad_id $'a\nb'
}

@test "an id that is taken is refused, and its container stays as it was" {
        bundle sleep 100
        create box
        local before
        before=$(state box)
        leaves_nothing runtime create --bundle "$BUNDLE" box
        failed 1 'already exists'
        [ "$(state box)" = "$before" ]
        leaves_nothing runtime run --bundle "$BUNDLE" box
        failed 1 'already exists'
        start box
}

@test "of a deleted container the id is free again" {
        bundle
        create box
        runtime delete box
        create box
}

@test "the pid file holds the pid of the container's process, without a newline, when create returns" {
        bundle sleep 100
        create box --pid-file "$BATS_TEST_TMPDIR/pid"
        [ "$(state box .pid)" = "$(<"$BATS_TEST_TMPDIR/pid")" ]
        [ "$(tr -d 0-9 <"$BATS_TEST_TMPDIR/pid" | wc -c)" -eq 0 ]
        [ -d "/proc/$(<"$BATS_TEST_TMPDIR/pid")" ]
}

@test "a relative pid file is taken from the caller's directory, not from the bundle" {
        bundle
        mkdir "$BATS_TEST_TMPDIR/caller"
        cd "$BATS_TEST_TMPDIR/caller"
        create box --pid-file pid
        [ "$(state box .pid)" = "$(<"$BATS_TEST_TMPDIR/caller/pid")" ]
        [ ! -e "$BUNDLE/pid" ]
}

@test "a pid file that cannot be written fails create, and nothing is left" {
        bundle
        leaves_nothing runtime create --bundle "$BUNDLE" --pid-file /nowhere/pid box
        failed 1 /nowhere/pid
}

@test "the container's process is the caller's grandchild at most: a subreaper gets it" {
        bundle sleep 100
        # As conmon does: subreaper, create, then wait for the container's process itself.
        cat >"$BATS_TEST_TMPDIR/conmon" <<-'PYTHON'
		import ctypes, os, subprocess, sys
		ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER
		runtime, root, bundle = sys.argv[1:]
		command = [runtime, "--root", root]
		subprocess.run([*command, "create", "--bundle", bundle, "--pid-file", bundle + "/pid", "box"], check=True)
		subprocess.run([*command, "start", "box"], check=True)
		subprocess.run([*command, "kill", "box", "KILL"], check=True)
		pid = int(open(bundle + "/pid").read())
		waited, status = os.waitpid(pid, 0)
		print(waited == pid, os.WTERMSIG(status))
	PYTHON
        detached python3 "$BATS_TEST_TMPDIR/conmon" "$SAGE_RUNTIME" "$ROOT" "$BUNDLE"
        printed 'True 9'
}

@test "a bundle that is not there, or has no config.json, is named" {
        bundle
        leaves_nothing runtime create --bundle /nowhere box
        failed 1 /nowhere
        rm "$BUNDLE/config.json"
        leaves_nothing runtime create --bundle "$BUNDLE" box
        failed 1 config.json
}

@test "a root file system that is not there is named, and nothing is left" {
        bundle
        rm -r "$BUNDLE/rootfs"
        leaves_nothing runtime create --bundle "$BUNDLE" box
        failed 1 "$BUNDLE/rootfs"
}

@test "the configuration is read at create only: start needs neither it nor the bundle's directory name" {
        bundle sh -c 'exit 3'
        config '.annotations = {"a": "b"}'
        create box
        echo broken >"$BUNDLE/config.json"
        start box
        wait_until has_status box stopped
        [ "$(state box .annotations.a)" = b ]
        detached runtime delete box
        succeeded
}

@test "state on disk is nobody else's to read" {
        bundle
        create box
        [ "$(stat -c %a "$ROOT/box")" = 700 ]
        [ -z "$(find "$ROOT/box" -type f -perm /077)" ]
}

@test "--root is made when it is not there" {
        bundle
        detached "$SAGE_RUNTIME" --root "$BATS_TEST_TMPDIR/new/root" create --bundle "$BUNDLE" box
        succeeded
        [ "$(stat -c %a "$BATS_TEST_TMPDIR/new/root")" = 700 ]
        "$SAGE_RUNTIME" --root "$BATS_TEST_TMPDIR/new/root" delete box
}

@test "a full state directory fails create, and nothing is left" {
        bundle
        mkdir "$BATS_TEST_TMPDIR/small"
        cat >"$BATS_TEST_TMPDIR/fill" <<-'SCRIPT'
		mount -t tmpfs -o mode=700,size=8k,nr_inodes=8 small "$1" || exit 99
		dd if=/dev/zero of="$1/filler" bs=4k 2>/dev/null
		"$2" --root "$1" create --bundle "$3" box
		status=$?
		rm "$1/filler"
		ls -A "$1"
		umount "$1"
		exit $status
	SCRIPT
        leaves_nothing unshare -m --propagation private sh "$BATS_TEST_TMPDIR/fill" "$BATS_TEST_TMPDIR/small" "$SAGE_RUNTIME" "$BUNDLE"
        failed 1 'No space left'
        [[ $output != *$'\n'box* ]]
}

@test "a limit is set where this host has the controller, and else it is refused before anything is made" {
        bundle
        config '.linux.resources.memory = {limit: 134217728}'
        if grep -qw memory /sys/fs/cgroup/cgroup.controllers; then
                create box
                [ "$(</sys/fs/cgroup/box/memory.max)" = 134217728 ]
        else
                leaves_nothing runtime create --bundle "$BUNDLE" box
                failed 1 memory
        fi
}

@test "--no-pivot and --no-new-keyring are accepted, and the container is the same" {
        bundle
        inside 'cat /proc/1/comm; ls -d /bin' --no-pivot --no-new-keyring
        printed $'sh\n/bin'
}

@test "an id that is none is told as that, not as a path that it would give" {
        local id
        bundle
        for id in '' . ..; do
                leaves_nothing runtime create --bundle "$BUNDLE" "$id"
                failed 1 'id: invalid container id'
        done
}
