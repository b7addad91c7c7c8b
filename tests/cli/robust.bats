# Hostile images and unlucky callers: what once leaked, hung, or reached somebody else's container.
load helpers

@test "the reason of a failure is told however soon the container's process ends" {
        local i
        bundle /nope
        for i in {1..40}; do
                detached runtime run --bundle "$BUNDLE" box
                failed 1 'open executable `/nope`' || return 1
        done
}

# A hook that no signal but KILL ends.
stubborn() {
        printf '#!/bin/sh\ntrap "" TERM INT HUP\necho $$ >%s\nwhile :; do sleep 1; done\n' "$1" >"$2"
        chmod 755 "$2"
}

# deleted_meanwhile CMD...: CMD waits for a stubborn hook until delete --force comes, which is quick and leaves nothing of it.
deleted_meanwhile() {
        local pid
        background "$BATS_TEST_TMPDIR/out" "$SAGE_RUNTIME" --root "$ROOT" "$@"
        pid=$!
        wait_until test -s "$BATS_TEST_TMPDIR/hook"
        detached timeout 5 "$SAGE_RUNTIME" --root "$ROOT" delete --force box
        succeeded || return 1
        status=0
        wait "$pid" || status=$?
        output=$(<"$BATS_TEST_TMPDIR/out")
        [ -z "$(ls "$ROOT")" ]
}

@test "delete --force gets through while a hook never ends" {
        local point
        for point in prestart createRuntime createContainer; do
                bundle sleep 100
                stubborn "$BATS_TEST_TMPDIR/hook" "$BATS_TEST_TMPDIR/stubborn"
                config ".hooks.$point = [{path: \"$BATS_TEST_TMPDIR/stubborn\"}]"
                deleted_meanwhile create --bundle "$BUNDLE" box
                [ "$status" -eq 1 ] || { echo "$point: $status $output"; return 1; }
                # The pid that a createContainer hook sees is the container's, and goes with that.
                [ "$point" = createContainer ] || wait_until has_ended "$(cat "$BATS_TEST_TMPDIR/hook")"
                rm "$BATS_TEST_TMPDIR/hook"
        done
}

@test "delete --force gets through while a hook of a running container never ends" {
        bundle sleep 100
        stubborn "$BATS_TEST_TMPDIR/hook" "$BATS_TEST_TMPDIR/stubborn"
        config ".hooks.poststart = [{path: \"$BATS_TEST_TMPDIR/stubborn\", timeout: 2}]"
        deleted_meanwhile run --bundle "$BUNDLE" box
        [ "$status" -eq 1 ]
}

@test "kill gets through while a hook never ends" {
        local pid
        bundle sleep 100
        stubborn "$BATS_TEST_TMPDIR/hook" "$BATS_TEST_TMPDIR/stubborn"
        config ".hooks.prestart = [{path: \"$BATS_TEST_TMPDIR/stubborn\"}]"
        background "$BATS_TEST_TMPDIR/out" "$SAGE_RUNTIME" --root "$ROOT" create --bundle "$BUNDLE" box
        pid=$!
        wait_until test -s "$BATS_TEST_TMPDIR/hook"
        detached timeout 5 "$SAGE_RUNTIME" --root "$ROOT" kill box KILL
        succeeded
        status=0
        wait "$pid" || status=$?
        output=$(<"$BATS_TEST_TMPDIR/out")
        failed 1 "the container's process ended"
        [ -z "$(ls "$ROOT")" ]
}

@test "a hook ends with a runtime that is killed" {
        local pid
        bundle sleep 100
        stubborn "$BATS_TEST_TMPDIR/hook" "$BATS_TEST_TMPDIR/stubborn"
        config ".hooks.createRuntime = [{path: \"$BATS_TEST_TMPDIR/stubborn\"}]"
        background "$BATS_TEST_TMPDIR/out" "$SAGE_RUNTIME" --root "$ROOT" create --bundle "$BUNDLE" box
        pid=$!
        wait_until test -s "$BATS_TEST_TMPDIR/hook"
        kill -KILL "$pid"
        wait "$pid" || true
        wait_until has_ended "$(cat "$BATS_TEST_TMPDIR/hook")"
        runtime delete --force box
}

@test "a lock that a frozen process of a killed create still holds does not keep delete --force waiting" {
        local pid
        bundle sleep 100
        printf '#!/bin/sh\necho 1 >/sys/fs/cgroup/box/cgroup.freeze\necho $$ >%s\nsleep 100\n' "$BATS_TEST_TMPDIR/hook" >"$BATS_TEST_TMPDIR/freeze"
        chmod 755 "$BATS_TEST_TMPDIR/freeze"
        config ".hooks.createRuntime = [{path: \"$BATS_TEST_TMPDIR/freeze\"}]"
        background "$BATS_TEST_TMPDIR/out" "$SAGE_RUNTIME" --root "$ROOT" create --bundle "$BUNDLE" box
        pid=$!
        wait_until test -s "$BATS_TEST_TMPDIR/hook"
        detached timeout 5 "$SAGE_RUNTIME" --root "$ROOT" delete --force box
        succeeded
        wait "$pid" || true
        [ -z "$(ls "$ROOT")" ]
}

@test "a container cannot be born frozen" {
        bundle
        config '.linux.resources.unified = {"cgroup.freeze": "1"}'
        leaves_nothing runtime run --bundle "$BUNDLE" box
        failed 1 'linux.resources.unified["cgroup.freeze"]'
}

@test "a console socket that nobody accepts at keeps create waiting for ten seconds, and delete --force for hardly one" {
        local pid listener
        bundle sleep 100
        config '.process.terminal = true'
        cat >"$BATS_TEST_TMPDIR/deaf" <<-'PYTHON'
		import socket, sys, time
		listener = socket.socket(socket.AF_UNIX)
		listener.bind(sys.argv[1])
		listener.listen(0)
		waiting = [socket.socket(socket.AF_UNIX) for _ in range(3)]
		for one in waiting:
		    one.setblocking(False)
		    try:
		        one.connect(sys.argv[1])
		    except BlockingIOError:
		        break
		print("ready", flush=True)
		time.sleep(100)
	PYTHON
        background "$BATS_TEST_TMPDIR/ready" python3 "$BATS_TEST_TMPDIR/deaf" "$BATS_TEST_TMPDIR/console"
        listener=$!
        wait_until grep -q ready "$BATS_TEST_TMPDIR/ready"
        background "$BATS_TEST_TMPDIR/out" "$SAGE_RUNTIME" --root "$ROOT" create --bundle "$BUNDLE" --console-socket "$BATS_TEST_TMPDIR/console" box
        pid=$!
        wait_until has_status box creating
        detached timeout 5 "$SAGE_RUNTIME" --root "$ROOT" delete --force box
        succeeded
        ! wait "$pid" || false
        [ -z "$(ls "$ROOT")" ]
        detached timeout 15 "$SAGE_RUNTIME" --root "$ROOT" create --bundle "$BUNDLE" --console-socket "$BATS_TEST_TMPDIR/console" box
        failed 1 'nobody accepts at the console socket'
        kill "$listener"
}

@test "a run whose container was deleted and made again by others leaves theirs alone" {
        local pid
        bundle sleep 100
        background "$BATS_TEST_TMPDIR/out" "$SAGE_RUNTIME" --root "$ROOT" run --bundle "$BUNDLE" box
        pid=$!
        wait_until has_program box sleep
        kill -STOP "$pid"
        runtime delete --force box
        detached runtime run --detach --bundle "$BUNDLE" box
        succeeded
        kill -CONT "$pid"
        status=0
        wait "$pid" || status=$?
        [ "$status" -eq 137 ] || { echo "$status"; cat "$BATS_TEST_TMPDIR/out"; return 1; }
        has_status box running
}

@test "a run whose container others delete still ends with its program's status, poststop hooks or not" {
        local pid
        bundle sleep 100
        config '.hooks.poststop = [{path: "/bin/true"}]'
        background "$BATS_TEST_TMPDIR/out" "$SAGE_RUNTIME" --root "$ROOT" run --bundle "$BUNDLE" box
        pid=$!
        wait_until has_program box sleep
        kill -STOP "$pid"
        runtime delete --force box
        kill -CONT "$pid"
        status=0
        wait "$pid" || status=$?
        [ "$status" -eq 137 ] || { echo "$status"; cat "$BATS_TEST_TMPDIR/out"; return 1; }
}

@test "of two creates in one cgroup the one that fails does not end the other" {
        local i one two first
        bundle sleep 100
        config '.linux.cgroupsPath = "/shared-by-two"'
        for i in {1..40}; do
                background "$BATS_TEST_TMPDIR/one" "$SAGE_RUNTIME" --root "$ROOT" create --bundle "$BUNDLE" one
                one=$!
                background "$BATS_TEST_TMPDIR/two" "$SAGE_RUNTIME" --root "$ROOT" create --bundle "$BUNDLE" two
                two=$!
                first=0 status=0
                wait "$one" || first=$?
                wait "$two" || status=$?
                [ "$first" -ne 0 ] || [ "$status" -ne 0 ] || [ -d "$ROOT/one" ]
                [ "$first" -ne 0 ] || has_status one created || { cat "$BATS_TEST_TMPDIR/two"; return 1; }
                [ "$status" -ne 0 ] || has_status two created || { cat "$BATS_TEST_TMPDIR/one"; return 1; }
                runtime delete --force one
                runtime delete --force two
        done
}

@test "hooks outside run in the runtime's pid namespace, also where the container joins another" {
        bundle sleep 100
        create other
        config ".linux.namespaces |= map(if .type == \"pid\" then .path = \"/proc/$(state other .pid)/ns/pid\" else . end)
                | .hooks.createRuntime = [{path: \"/bin/sh\", args: [\"sh\", \"-c\", \"readlink /proc/self/ns/pid >$BATS_TEST_TMPDIR/ns\"]}]"
        create box
        [ "$(cat "$BATS_TEST_TMPDIR/ns")" = "$(readlink /proc/self/ns/pid)" ]
}

@test "standard streams that the caller closed are not taken by something else" {
        local i
        bundle /nope
        config '.process.terminal = true'
        for i in '0<&-' '0<&- 1>&-' '1>&-'; do
                status=0
                eval 'runtime run --bundle "$BUNDLE" box '"$i"' 2>"$BATS_TEST_TMPDIR/error"' || status=$?
                output=$(<"$BATS_TEST_TMPDIR/error")
                failed 1 'open executable `/nope`' || { echo "with $i"; return 1; }
        done
        status=0
        eval 'runtime --log "$BATS_TEST_TMPDIR/log" run --bundle "$BUNDLE" box 0<&- 1>&- 2>&-' || status=$?
        output=$(<"$BATS_TEST_TMPDIR/log")
        failed 1 'open executable `/nope`'
}

@test "a FIFO in place of a state file keeps nobody waiting" {
        bundle sleep 100
        create box
        rm "$ROOT/box/status.json"
        mkfifo "$ROOT/box/status.json"
        detached timeout 5 "$SAGE_RUNTIME" --root "$ROOT" list
        succeeded
        detached timeout 5 "$SAGE_RUNTIME" --root "$ROOT" state box
        failed 1 status.json
        detached timeout 5 "$SAGE_RUNTIME" --root "$ROOT" delete --force box
        succeeded
}

@test "poststop hooks run for a create that was killed while the hooks before it ran" {
        local pid
        bundle sleep 100
        stubborn "$BATS_TEST_TMPDIR/hook" "$BATS_TEST_TMPDIR/stubborn"
        config ".hooks = {prestart: [{path: \"$BATS_TEST_TMPDIR/stubborn\"}],
                        poststop: [{path: \"/usr/bin/touch\", args: [\"touch\", \"$BATS_TEST_TMPDIR/poststop\"]}]}"
        background "$BATS_TEST_TMPDIR/out" "$SAGE_RUNTIME" --root "$ROOT" create --bundle "$BUNDLE" box
        pid=$!
        wait_until test -s "$BATS_TEST_TMPDIR/hook"
        kill -KILL "$pid"
        wait "$pid" || true
        detached runtime delete --force box
        succeeded
        [ -e "$BATS_TEST_TMPDIR/poststop" ]
}

@test "a damaged plan does not keep a container with poststop hooks from being deleted" {
        bundle sleep 100
        config '.hooks.poststop = [{path: "/bin/true"}]'
        create box
        echo '{' >"$ROOT/box/plan.json"
        detached runtime delete --force box
        succeeded
        said 'hooks.poststop: not run'
}

# deaf CMD...: CMD as a caller starts it who never wants to hear of his children (signal(7): the kernel reaps them for him).
deaf() {
        detached timeout 20 python3 -c 'import os, signal, sys
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
os.execv(sys.argv[1], sys.argv[1:])' "$SAGE_RUNTIME" --root "$ROOT" "$@"
}

@test "whoever ignores SIGCHLD gets exit statuses all the same, and hooks that fail count" {
        bundle sh -c 'exit 7'
        deaf run --bundle "$BUNDLE" box
        [ "$status" -eq 7 ]
        config '.hooks.createRuntime = [{path: "/bin/false"}]'
        leaves_nothing deaf run --bundle "$BUNDLE" box
        deaf run --bundle "$BUNDLE" box
        failed 1 'hooks.createRuntime[0]' 'status 1'
        bundle sleep 100
        create box
        start box
        deaf exec box sh -c 'exit 7'
        [ "$status" -eq 7 ]
        deaf ps box -e
        succeeded
}
