# What happens at the same moment, or in the middle of something.
load helpers

@test "of two creates of one id exactly one wins, and the container is whole" {
        local i one two
        bundle sleep 100
        for i in {1..10}; do
                background "$BATS_TEST_TMPDIR/one" "$SAGE_RUNTIME" --root "$ROOT" create --bundle "$BUNDLE" box
                one=$!
                background "$BATS_TEST_TMPDIR/two" "$SAGE_RUNTIME" --root "$ROOT" create --bundle "$BUNDLE" box
                two=$!
                status=0
                wait "$one" || status=$?
                local first=$status
                status=0
                wait "$two" || status=$?
                [ $((first + status)) -eq 1 ] || {
                        echo "$first and $status"
                        cat "$BATS_TEST_TMPDIR/one" "$BATS_TEST_TMPDIR/two"
                        return 1
                }
                cat "$BATS_TEST_TMPDIR/one" "$BATS_TEST_TMPDIR/two" | grep -q 'already exists'
                [ "$(state box .status)" = created ]
                start box
                runtime delete --force box
        done
}

# kill_at_moments COMMAND_LINE_PARTS...: runs the command again and again and kills it with SIGKILL at 30 moments spread over the time it
# takes; after each, `delete --force` must succeed and leave neither state nor cgroup.
kill_at_moments() {
        cat >"$BATS_TEST_TMPDIR/killer" <<-'PYTHON'
		import os, subprocess, sys, time
		runtime, root, before, *command = sys.argv[1:]
		begin = [runtime, "--root", root]
		NULL = subprocess.DEVNULL

		def run(command, seconds=None):
		    start = time.monotonic()
		    with subprocess.Popen(command, stdin=NULL, stdout=NULL, stderr=NULL) as process:
		        if seconds is not None:
		            while time.monotonic() - start < seconds and process.poll() is None:
		                pass
		            process.kill()
		        process.wait()
		    return process.returncode, time.monotonic() - start

		def clean(moment):
		    result = subprocess.run([*begin, "delete", "--force", "box"], capture_output=True, timeout=15)
		    left = os.listdir(root) + [name for name in os.listdir("/sys/fs/cgroup") if name == "box"]
		    if result.returncode or left:
		        sys.exit(f"killed after {moment * 1000:.2f} ms: delete says {result.returncode} {result.stderr}, left: {left}")

		def prepare():
		    if before and subprocess.run(before.split(), stdout=NULL, stderr=NULL).returncode:
		        sys.exit(f"{before} failed")

		times = []
		for _ in range(3):
		    prepare()
		    status, seconds = run([*begin, *command])
		    if status:
		        sys.exit(f"{command} failed with {status}")
		    times.append(seconds)
		    clean(0)
		whole, killed = sorted(times)[1], 0
		for number in range(30):
		    prepare()
		    moment = whole * 1.2 * number / 29
		    status, _ = run([*begin, *command], moment)
		    killed += status == -9
		    clean(moment)
		print(f"killed {killed} of 30, a whole one takes {whole * 1000:.1f} ms")
		sys.exit(killed < 5)
	PYTHON
        detached python3 "$BATS_TEST_TMPDIR/killer" "$SAGE_RUNTIME" "$ROOT" "$@"
        succeeded
}

@test "create killed at any moment: delete --force leaves nothing" {
        bundle sleep 100
        kill_at_moments '' create --bundle "$BUNDLE" box
}

@test "create of a container with hooks and a user namespace killed at any moment: delete --force leaves nothing" {
        bundle sleep 100
        config '.hooks = {prestart: [{path: "/bin/true"}], createContainer: [{path: "/bin/true"}]}
                | .linux.namespaces += [{type: "user"}] | .linux.uidMappings = [{containerID: 0, hostID: 0, size: 65536}]
                | .linux.gidMappings = .linux.uidMappings'
        kill_at_moments '' create --bundle "$BUNDLE" box
}

@test "run killed at any moment: delete --force leaves nothing" {
        bundle sleep 0.01
        kill_at_moments '' run --bundle "$BUNDLE" box
}

@test "start killed at any moment: delete --force leaves nothing" {
        bundle sleep 100
        kill_at_moments "$SAGE_RUNTIME --root $ROOT create --bundle $BUNDLE box" start box
}

@test "exec killed at any moment: delete --force leaves nothing" {
        bundle sleep 100
        cat >"$BATS_TEST_TMPDIR/run" <<-SCRIPT
		"$SAGE_RUNTIME" --root "$ROOT" run --detach --bundle "$BUNDLE" box
	SCRIPT
        kill_at_moments "sh $BATS_TEST_TMPDIR/run" exec box true
}

@test "delete killed at any moment: delete --force leaves nothing" {
        bundle sleep 100
        kill_at_moments "$SAGE_RUNTIME --root $ROOT create --bundle $BUNDLE box" delete --force box
}

@test "a create that was killed leaves no process waiting for it" {
        local i
        bundle sleep 100
        for i in 1 2 3 4; do
                background /dev/null "$SAGE_RUNTIME" --root "$ROOT" create --bundle "$BUNDLE" box
                sleep "0.00$i"
                kill -KILL $! 2>/dev/null || true
                wait $! || true
                runtime delete --force box
        done
}

@test "a foreground run that is killed leaves a container that can be deleted" {
        bundle sleep 100
        background "$BATS_TEST_TMPDIR/out" "$SAGE_RUNTIME" --root "$ROOT" run --bundle "$BUNDLE" box
        wait_until has_status box running
        kill -KILL $!
        wait $! || true
        detached runtime delete --force box
        succeeded
}

@test "many containers at once, each with an id of its own" {
        local i pids=()
        bundle sh -c 'exit 7'
        for i in {1..16}; do
                background "$BATS_TEST_TMPDIR/out.$i" "$SAGE_RUNTIME" --root "$ROOT" run --bundle "$BUNDLE" "box$i"
                pids+=($!)
        done
        for i in {1..16}; do
                status=0
                wait "${pids[i - 1]}" || status=$?
                [ "$status" -eq 7 ] || { cat "$BATS_TEST_TMPDIR/out.$i"; return 1; }
        done
        [ -z "$(ls "$ROOT")" ]
}

@test "state, list and kill while others are created and deleted never fail for the wrong reason" {
        bundle sleep 100
        create steady
        start steady
        cat >"$BATS_TEST_TMPDIR/churn" <<-SCRIPT
		i=0
		while [ \$i -lt 20 ]; do
		        "$SAGE_RUNTIME" --root "$ROOT" run --bundle "$BATS_TEST_TMPDIR/quick" box || exit 1
		        i=\$((i + 1))
		done
	SCRIPT
        cp -a "$BUNDLE" "$BATS_TEST_TMPDIR/quick"
        jq '.process.args = ["true"]' "$BUNDLE/config.json" >"$BATS_TEST_TMPDIR/quick/config.json"
        background "$BATS_TEST_TMPDIR/out" sh "$BATS_TEST_TMPDIR/churn"
        while kill -0 $! 2>/dev/null; do
                runtime list --format json >"$BATS_TEST_TMPDIR/list.json"
                jq -e 'any(.[]; .id == "steady" and .status == "running")' "$BATS_TEST_TMPDIR/list.json" >/dev/null
                detached runtime state box
                [ "$status" -eq 0 ] || failed 1 'does not exist'
        done
        wait $!
}

@test "deleted while it is being started, a container is gone and start says so or succeeded" {
        local i
        bundle sleep 100
        for i in {1..5}; do
                create box
                background "$BATS_TEST_TMPDIR/out" "$SAGE_RUNTIME" --root "$ROOT" start box
                detached runtime delete --force box
                succeeded
                wait $! || grep -Eq 'does not exist|stopped|not running|ended|died' "$BATS_TEST_TMPDIR/out"
                [ ! -e "$ROOT/box" ]
        done
}

@test "what failed in the container's process is told, however late the runtime gets to hear it" {
        local i pids round
        bundle /bin/nope
        for round in {1..5}; do
                pids=()
                for i in {1..8}; do
                        background "$BATS_TEST_TMPDIR/out.$i" "$SAGE_RUNTIME" --root "$ROOT" run --bundle "$BUNDLE" "box$i"
                        pids+=($!)
                done
                for i in {1..8}; do
                        ! wait "${pids[i - 1]}" || false
                        grep -q 'no such file or directory' "$BATS_TEST_TMPDIR/out.$i" || { cat "$BATS_TEST_TMPDIR/out.$i"; return 1; }
                done
        done
}
