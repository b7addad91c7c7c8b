# start: lets a created container's program go.
load helpers

@test "start returns once the program runs" {
        bundle sleep 100
        create box
        local pid
        pid=$(state box .pid)
        start box
        [ "$(state box .status)" = running ]
        [ "$(state box .pid)" = "$pid" ]
        [ "$(tr '\0' ' ' <"/proc/$pid/cmdline")" = "sleep 100 " ]
}

@test "an unknown container does not exist" {
        leaves_nothing runtime start nope
        failed 1 'does not exist'
}

@test "a running container cannot be started again" {
        bundle sleep 100
        create box
        start box
        detached runtime start box
        failed 1 'cannot start an already running container'
        [ "$(state box .status)" = running ]
}

@test "a stopped container cannot be started" {
        bundle
        create box
        start box
        wait_until has_status box stopped
        detached runtime start box
        failed 1 stopped
}

@test "a created container that was killed cannot be started" {
        bundle
        create box
        runtime kill box KILL
        wait_until has_status box stopped
        detached runtime start box
        failed 1 stopped
}

@test "of two starts at once one wins" {
        local first
        bundle sleep 100
        create box
        background "$BATS_TEST_TMPDIR/one" "$SAGE_RUNTIME" --root "$ROOT" start box
        first=$!
        detached runtime start box
        local second=$status
        status=0
        wait "$first" || status=$?
        [ $((status + second)) -eq 1 ]
        [ "$(state box .status)" = running ]
}

@test "the program's output goes where create's went" {
        bundle sh -c 'echo from the container'
        runtime create --bundle "$BUNDLE" box >"$BATS_TEST_TMPDIR/out" 2>&1 </dev/null
        start box
        [ -z "$output" ]
        wait_until has_status box stopped
        [ "$(<"$BATS_TEST_TMPDIR/out")" = 'from the container' ]
}

@test "a container outlives the pipe that create's output went to" {
        mkfifo "$BATS_TEST_TMPDIR/pipe"
        bundle sh -c 'trap "" PIPE; echo x; echo y; sleep 100'
        cat "$BATS_TEST_TMPDIR/pipe" >/dev/null 3>&- &
        local reader=$!
        runtime create --bundle "$BUNDLE" box >"$BATS_TEST_TMPDIR/pipe" 2>&1 </dev/null
        kill -KILL "$reader"
        wait "$reader" || true
        start box
        sleep 0.1
        [ "$(state box .status)" = running ]
}

@test "create does not wait for anybody to read its output" {
        bundle sleep 100
        cat >"$BATS_TEST_TMPDIR/caller" <<-'PYTHON'
		import os, subprocess, sys
		read_end, write_end = os.pipe()
		os.set_blocking(write_end, False)
		try:
		    while True:
		        os.write(write_end, b"x" * 65536)
		except BlockingIOError:
		    os.set_blocking(write_end, True)
		print(subprocess.run(sys.argv[1:], stdout=write_end, stderr=write_end, timeout=10).returncode)
	PYTHON
        detached python3 "$BATS_TEST_TMPDIR/caller" "$SAGE_RUNTIME" --root "$ROOT" create --bundle "$BUNDLE" box
        printed 0
}
