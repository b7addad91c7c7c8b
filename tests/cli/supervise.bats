# --timeout, --max-output-bytes, --die-with-parent, and cancelling: commands that the runtime stays with to their end.
load helpers

running() {
        bundle sleep 100
        create box
        start box
}

# A tree that ignores TERM: a child with no terminal and no parent, in a session of its own, and the command itself. Each marks where it lives.
STUBBORN='trap "" TERM INT HUP; setsid sh -c "trap \"\" TERM; sleep 77" </dev/null >/dev/null 2>&1 & echo ready; while :; do sleep 76; done'

# sleepers: how many of those sleeps are on this host.
sleepers() {
        grep -lzE '^7[67]$' /proc/[0-9]*/cmdline 2>/dev/null | wc -l
}

some_sleepers() { [ "$(sleepers)" -ge 2 ]; }
no_sleepers() { [ "$(sleepers)" -eq 0 ]; }

# milliseconds CMD...: sets $took.
milliseconds() {
        local from=${EPOCHREALTIME/./} result=0
        "$@" || result=$?
        took=$(((${EPOCHREALTIME/./} - from) / 1000))
        return "$result"
}

@test "exec: a command that takes too long ends with all its processes, and 124" {
        running
        milliseconds detached runtime exec --timeout 0.3 box sh -c "$STUBBORN"
        failed 124 ready '--timeout'
        no_sleepers
        [ "$took" -ge 300 ] && [ "$took" -lt 4000 ]
        [ "$(state box .status)" = running ]
}

@test "run: a container that takes too long ends with all its processes, and is deleted" {
        bundle sh -c "$STUBBORN"
        milliseconds leaves_nothing runtime run --bundle "$BUNDLE" --timeout 300ms box
        failed 124 ready
        no_sleepers
        [ "$took" -lt 4000 ]
}

@test "a time that is long enough changes nothing" {
        running
        detached runtime exec --timeout 10s box sh -c 'echo done; exit 7'
        failed 7 done
        arguments sh -c 'exit 9'
        detached runtime run --bundle "$BUNDLE" --timeout 10s other
        failed 9
}

@test "a time that is over when the command has ended, and is only cleared away, changes nothing" {
        bundle sh -c 'exit 7'
        config '.hooks.poststop = [{path: "/bin/sleep", args: ["sleep", "1.5"]}]'
        detached runtime run --timeout 1 --result "$BATS_TEST_TMPDIR/record" --bundle "$BUNDLE" box
        [ "$status" -eq 7 ]
        [ "$(jq -r .outcome "$BATS_TEST_TMPDIR/record")" = exited ]
        [ ! -e "$ROOT/box" ]
}

@test "the time includes a command that waits for its input for ever, and one whose output nobody reads" {
        running
        mkfifo "$BATS_TEST_TMPDIR/fifo"
        exec 5<>"$BATS_TEST_TMPDIR/fifo"
        status=0
        runtime exec --timeout 0.3 box cat <&5 >/dev/null 2>&1 5>&- || status=$?
        [ "$status" -eq 124 ]
        status=0
        milliseconds runtime exec --timeout 0.3 --max-output-bytes 100000000 box sh -c 'while :; do echo 0123456789; done' </dev/null >&5 2>/dev/null || status=$?
        [ "$status" -eq 124 ]
        [ "$took" -lt 4000 ]
        exec 5>&-
}

@test "what a supervised command leaves behind ends with it, and what an ordinary one leaves lives on" {
        running
        detached runtime exec --timeout 10 box sh -c 'setsid sleep 77 </dev/null >/dev/null 2>&1 & exit 3'
        failed 3
        no_sleepers
        detached runtime exec box sh -c 'setsid sleep 77 </dev/null >/dev/null 2>&1 & exit 3'
        failed 3
        [ "$(sleepers)" -eq 1 ]
}

@test "a supervised command leaves no cgroup" {
        running
        leaves_nothing runtime exec --timeout 10 box true
        leaves_nothing runtime exec --timeout 0.2 box sleep 76
        leaves_nothing runtime exec --timeout 10 box /nowhere
        failed 255
}

@test "SIGTERM and SIGINT to the runtime end a supervised command with all its processes, and not before" {
        local signal runtime
        running
        for signal in TERM INT; do # which a shell's background job ignores
                background "$BATS_TEST_TMPDIR/out" env --default-signal=INT "$SAGE_RUNTIME" --root "$ROOT" exec --timeout 60 box sh -c "$STUBBORN"
                runtime=$!
                wait_until some_sleepers
                kill -"$signal" "$runtime"
                status=0
                wait "$runtime" || status=$?
                no_sleepers
                [ "$status" -eq "$((128 + $(kill -l "$signal")))" ]
        done
        bundle sh -c "$STUBBORN"
        background "$BATS_TEST_TMPDIR/out" "$SAGE_RUNTIME" --root "$ROOT" run --bundle "$BUNDLE" --timeout 60 other
        runtime=$!
        wait_until some_sleepers
        kill -TERM "$runtime"
        status=0
        wait "$runtime" || status=$?
        [ "$status" -eq 143 ]
        no_sleepers
        [ ! -e "$ROOT/other" ]
}

@test "other signals reach a supervised command as they reach any" {
        running
        background "$BATS_TEST_TMPDIR/out" "$SAGE_RUNTIME" --root "$ROOT" exec --timeout 60 box sh -c 'trap "echo usr1; exit 5" USR1; echo ready; while :; do sleep 0.1; done'
        local runtime=$!
        wait_until grep -q ready "$BATS_TEST_TMPDIR/out"
        kill -USR1 "$runtime"
        status=0
        wait "$runtime" || status=$?
        [ "$status" -eq 5 ]
        grep -q usr1 "$BATS_TEST_TMPDIR/out"
}

@test "with --die-with-parent a runtime that is killed takes its command along" {
        running
        background "$BATS_TEST_TMPDIR/out" "$SAGE_RUNTIME" --root "$ROOT" exec --die-with-parent box sh -c "$STUBBORN"
        local runtime=$!
        wait_until some_sleepers
        kill -KILL "$runtime"
        wait "$runtime" || true
        wait_until no_sleepers
        [ "$(state box .status)" = running ]
        bundle sh -c "$STUBBORN"
        background "$BATS_TEST_TMPDIR/out" "$SAGE_RUNTIME" --root "$ROOT" run --die-with-parent --bundle "$BUNDLE" other
        runtime=$!
        wait_until some_sleepers
        kill -KILL "$runtime"
        wait "$runtime" || true
        wait_until no_sleepers
}

@test "with --die-with-parent the end of the caller is the end of the command and of the runtime" {
        local shell
        running
        background "$BATS_TEST_TMPDIR/out" sh -c '"$@" & exec sleep 60' sh "$SAGE_RUNTIME" --root "$ROOT" exec --die-with-parent box sh -c "$STUBBORN"
        shell=$!
        wait_until some_sleepers
        kill -KILL "$shell"
        wait "$shell" || true
        wait_until no_sleepers
}

@test "output is passed on up to the limit, both streams together, and the command is not disturbed" {
        running
        detached runtime exec --max-output-bytes 10 box sh -c 'echo 123456; echo abcdefghij >&2; echo more; exit 4'
        [ "$status" -eq 4 ]
        [ "$output" = "123456"$'\n'"abc" ]
        arguments sh -c 'i=0; while [ $i -lt 20000 ]; do echo 0123456789; i=$((i+1)); done; exit 6'
        status=0
        runtime run --bundle "$BUNDLE" --max-output-bytes 1000 other </dev/null >"$BATS_TEST_TMPDIR/out" 2>"$BATS_TEST_TMPDIR/err" || status=$?
        [ "$status" -eq 6 ]
        [ "$(stat -c %s "$BATS_TEST_TMPDIR/out")" -eq 1000 ]
        [ ! -s "$BATS_TEST_TMPDIR/err" ]
}

@test "output below the limit is whole, also what comes last and what is long" {
        running
        runtime exec --max-output-bytes 1000000000 box sh -c 'head -c 3000000 /dev/zero; echo end' </dev/null >"$BATS_TEST_TMPDIR/out"
        [ "$(stat -c %s "$BATS_TEST_TMPDIR/out")" -eq 3000004 ]
        [ "$(runtime exec --max-output-bytes 1000000000 box sh -c 'head -c 3000000 /dev/zero; echo end' </dev/null | { sleep 0.3; tail -c 4; })" = end ]
}

@test "a reader that has had enough ends a command whose output is counted, as any other" {
        running
        status=0
        runtime exec --max-output-bytes 1000000000 box yes 2>/dev/null </dev/null | head -n 1 >"$BATS_TEST_TMPDIR/out" || status=${PIPESTATUS[0]}
        [ "$(<"$BATS_TEST_TMPDIR/out")" = y ]
}

@test "the output of a terminal is counted, too" {
        bundle sleep 100
        create box
        start box
        runtime exec --max-output-bytes 5 -t box sh -c 'echo 123456789' </dev/null >"$BATS_TEST_TMPDIR/out"
        [ "$(head -c 100 "$BATS_TEST_TMPDIR/out")" = 12345 ]
}

@test "a record follows no symlink and waits in no fifo that a command has left for it" {
        local record=$BATS_TEST_TMPDIR/record
        bundle sh -c 'exit 3'
        echo precious >"$BATS_TEST_TMPDIR/precious"
        ln -s precious "$record"
        detached runtime run --result "$record" --bundle "$BUNDLE" box
        failed 1 symlink
        [ "$(<"$BATS_TEST_TMPDIR/precious")" = precious ]
        rm "$record"
        mkfifo "$record"
        detached timeout 10 "$SAGE_RUNTIME" --root "$ROOT" run --result "$record" --bundle "$BUNDLE" box
        failed 1 record
        rm "$record"
        echo 'a longer line of an earlier command, which is not part of a record' >"$record"
        detached runtime run --result "$record" --bundle "$BUNDLE" box
        failed 3
        [ "$(jq -r .exit_code "$record")" = 3 ]
        detached runtime run --result /dev/fd/8 --bundle "$BUNDLE" box 8>"$record"
        failed 3
        [ "$(jq -r .exit_code "$record")" = 3 ]
}

@test "options that cannot be kept are refused before anything is touched" {
        refused() {
                leaves_nothing runtime run --bundle "$BUNDLE" $1 box || return 1
                failed 1 "$2" || return 1
                detached runtime exec $1 other true
                failed 255 "$2"
        }
        bundle
        bundle sleep 100
        create other
        start other
        table refused <<-'ROWS'
		--timeout 0 => --timeout
		--timeout x => --timeout
		--timeout -1 => --timeout
		--timeout 5s --detach => --timeout
		--max-output-bytes 0 => --max-output-bytes
		--max-output-bytes 1k => --max-output-bytes
		--max-output-bytes 10 --detach => --max-output-bytes
		--die-with-parent --detach => --die-with-parent
		--result fd:1 => --result
		--result fd:77 => --result
		--result fd:x => --result
		--result /nowhere/file => --result
		--result /dev/null --detach => --result
	ROWS
}

@test "without a cgroup a command of exec has no time limit, because its processes cannot be told" {
        bundle sleep 100
        detached runtime --cgroup-manager disabled create --bundle "$BUNDLE" box
        succeeded
        start box
        detached runtime exec --timeout 1 box true
        failed 255 --timeout cgroup
        detached runtime exec --max-output-bytes 3 box echo 12345
        [ "$output" = 123 ]
        arguments sleep 76
        detached runtime --cgroup-manager disabled run --timeout 0.2 --bundle "$BUNDLE" other
        failed 124
        no_sleepers
}
