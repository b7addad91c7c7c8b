# run: create, start, wait and delete in one.
load helpers

@test "the program's exit status is the runtime's" {
        local code
        for code in 0 1 7 125 126 127 255; do
                bundle
                inside "exit $code"
                [ "$status" -eq "$code" ]
        done
}

@test "a program that a signal ended gives 128 and the signal" {
        bundle
        # Not by init itself: to the first process of a pid namespace its own signals do nothing.
        config '.linux.namespaces |= map(select(.type != "pid"))'
        inside 'kill -TERM $$'
        [ "$status" -eq 143 ]
        inside 'kill -KILL $$'
        [ "$status" -eq 137 ]
}

@test "stdin, stdout and stderr are the caller's" {
        bundle cat
        status=0
        output=$(echo through | runtime run --bundle "$BUNDLE" box)
        [ "$output" = through ]
        config '.process.args = ["sh", "-c", "echo out; echo err >&2"]'
        runtime run --bundle "$BUNDLE" box >"$BATS_TEST_TMPDIR/out" 2>"$BATS_TEST_TMPDIR/err"
        [ "$(<"$BATS_TEST_TMPDIR/out")" = out ]
        [ "$(<"$BATS_TEST_TMPDIR/err")" = err ]
}

@test "afterwards nothing of the container is left" {
        bundle
        leaves_nothing runtime run --bundle "$BUNDLE" box
        succeeded
}

@test "--keep leaves the container stopped, for state and delete" {
        bundle sh -c 'exit 5'
        detached runtime run --keep --bundle "$BUNDLE" box
        failed 5
        [ "$(state box .status)" = stopped ]
        runtime delete box
}

@test "--detach returns while the program runs" {
        bundle sleep 100
        detached runtime run --detach --bundle "$BUNDLE" --pid-file "$BATS_TEST_TMPDIR/pid" box
        succeeded
        [ "$(state box .status)" = running ]
        [ "$(state box .pid)" = "$(<"$BATS_TEST_TMPDIR/pid")" ]
}

@test "--detach of a program that has ended leaves a stopped container" {
        bundle
        detached runtime run -d --bundle "$BUNDLE" box
        succeeded
        wait_until has_status box stopped
}

@test "signals that the foreground runtime gets go to the program" {
        local signal
        bundle
        arguments sh -c 'for s in HUP INT QUIT USR1 USR2 TERM 37; do trap "echo got $s" $s; done
                trap "exit 44" ALRM; echo ready; while :; do sleep 0.02; done'
        background "$BATS_TEST_TMPDIR/out" "$SAGE_RUNTIME" --root "$ROOT" run --bundle "$BUNDLE" box
        wait_until grep -q ready "$BATS_TEST_TMPDIR/out"
        for signal in HUP INT QUIT USR1 USR2 TERM 37; do
                kill "-$signal" $!
                wait_until grep -qx "got $signal" "$BATS_TEST_TMPDIR/out"
        done
        kill -ALRM $!
        status=0
        wait $! || status=$?
        [ "$status" -eq 44 ]
}

@test "signals that the caller blocked or ignored do not stay so in the container" {
        bundle
        cat >"$BATS_TEST_TMPDIR/caller" <<-'PYTHON'
		import os, signal, sys
		signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2])
		signal.signal(signal.SIGUSR1, signal.SIG_IGN)
		os.execv(sys.argv[1], sys.argv[1:])
	PYTHON
        config '.process.args = ["grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status"]'
        detached python3 "$BATS_TEST_TMPDIR/caller" "$SAGE_RUNTIME" --root "$ROOT" run --bundle "$BUNDLE" box
        printed $'SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000'
}

@test "a failed run says why and leaves nothing" {
        bundle /bin/nope
        leaves_nothing runtime run --bundle "$BUNDLE" box
        failed 1 /bin/nope
}

@test "killed from outside, run ends with the container's status and cleans up" {
        bundle sleep 100
        background "$BATS_TEST_TMPDIR/out" "$SAGE_RUNTIME" --root "$ROOT" run --bundle "$BUNDLE" box
        wait_until has_program box sleep
        runtime kill box KILL
        status=0
        wait $! || status=$?
        [ "$status" -eq 137 ]
        [ ! -e "$ROOT/box" ]
}

@test "deleted by force from outside, run ends without fuss" {
        bundle sleep 100
        background "$BATS_TEST_TMPDIR/out" "$SAGE_RUNTIME" --root "$ROOT" run --bundle "$BUNDLE" box
        wait_until has_program box sleep
        runtime delete --force box
        status=0
        wait $! || status=$?
        [ "$status" -eq 137 ]
        [ ! -e "$ROOT/box" ]
}

@test "children that the program left behind end with it" {
        bundle
        inside 'sleep 100 & sleep 100 & exit 6'
        failed 6
}

@test "without a pid namespace too, children end with the container" {
        bundle
        config '.linux.namespaces |= map(select(.type != "pid"))'
        inside 'sleep 100 & sleep 100 & exit 6'
        failed 6
}

@test "--cgroup-manager disabled leaves the container in the caller's cgroup" {
        bundle
        config '.linux.resources = {} | .linux.namespaces |= map(select(.type != "cgroup"))'
        config --args '.process.args = ["grep", "^0::", "/proc/self/cgroup"]'
        leaves_nothing runtime --cgroup-manager disabled run --bundle "$BUNDLE" box
        printed 0::/tests
}

@test "cgroupsPath says where the container's cgroup is, and it goes afterwards" {
        bundle
        config '.linux.cgroupsPath = "/some/where" | .linux.namespaces |= map(select(.type != "cgroup"))
                | .process.args = ["grep", "^0::", "/proc/self/cgroup"]'
        leaves_nothing runtime run --bundle "$BUNDLE" box
        printed 0::/some/where
}

@test "a cgroup that was there before stays there" {
        bundle
        mkdir /sys/fs/cgroup/before
        config '.linux.cgroupsPath = "/before/box"'
        leaves_nothing runtime run --bundle "$BUNDLE" box
        succeeded
        [ -d /sys/fs/cgroup/before ]
        rmdir /sys/fs/cgroup/before
}

# interrupted SIGNAL: the run that is the last job ends with 128 and the number, because of SIGNAL, and leaves nothing.
interrupted() {
        local pid=$!
        kill -"$1" "$pid"
        status=0
        timeout 8 tail --pid "$pid" -f /dev/null || { kill -KILL "$pid"; echo "still there after SIG$1"; return 1; }
        wait "$pid" || status=$?
        output=$(<"$BATS_TEST_TMPDIR/out")
        failed "$(($(kill -l "$1") + 128))" 'interrupted by signal' || return 1
        [ -z "$(ls "$ROOT")" ]
}

@test "a signal that comes while a hook hangs ends the launch: all is undone, 128 and the number is the status" {
        local point
        bundle sleep 100
        printf '#!/bin/sh\necho >%s\nexec sleep 100\n' "$BATS_TEST_TMPDIR/hook" >"$BATS_TEST_TMPDIR/hang"
        chmod 755 "$BATS_TEST_TMPDIR/hang"
        for point in prestart createRuntime createContainer poststart; do
                config ".hooks = {$point: [{path: \"$BATS_TEST_TMPDIR/hang\"}], poststop: [{path: \"/usr/bin/touch\", args: [\"touch\", \"$BATS_TEST_TMPDIR/poststop\"]}]}"
                background "$BATS_TEST_TMPDIR/out" "$SAGE_RUNTIME" --root "$ROOT" run --bundle "$BUNDLE" box
                wait_until test -e "$BATS_TEST_TMPDIR/hook"
                interrupted TERM
                [ -e "$BATS_TEST_TMPDIR/poststop" ]
                rm "$BATS_TEST_TMPDIR/hook" "$BATS_TEST_TMPDIR/poststop"
        done
}

@test "the same with a hook inside, and with an interrupt" {
        bundle sleep 100
        config '.hooks = {startContainer: [{path: "/bin/sh", args: ["sh", "-c", "echo >/dev/shm/hook; exec sleep 100"]}]}'
        env --default-signal=INT "$SAGE_RUNTIME" --root "$ROOT" run --bundle "$BUNDLE" box </dev/null >"$BATS_TEST_TMPDIR/out" 2>&1 3>&- &
        wait_until has_status box running
        interrupted INT
}

@test "an interrupt that the caller wants ignored ends no launch; it is passed on when the program runs" {
        local pid
        bundle sleep 100
        config --args '.hooks = {createRuntime: [{path: "/bin/sh", args: ["sh", "-c", "echo >\($ARGS.positional[0]); sleep 0.5"]}]}' "$BATS_TEST_TMPDIR/hook"
        env --ignore-signal=INT "$SAGE_RUNTIME" --root "$ROOT" run --bundle "$BUNDLE" box </dev/null >"$BATS_TEST_TMPDIR/out" 2>&1 3>&- &
        pid=$!
        wait_until test -e "$BATS_TEST_TMPDIR/hook"
        kill -INT "$pid"
        sleep 1
        runtime kill box KILL 2>/dev/null || true # the first process of a pid namespace may have let the interrupt pass
        status=0
        wait "$pid" || status=$?
        [ "$status" -eq 130 ] || [ "$status" -eq 137 ]
        [ ! -s "$BATS_TEST_TMPDIR/out" ]
}
