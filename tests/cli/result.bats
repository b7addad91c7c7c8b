# --result: the record of how a command ended (schemas/result.json).
load helpers

running() {
        bundle sleep 100
        create box
        start box
}

# record FILTER: of the record that was written last.
record() {
        jq -rc "$1" "$BATS_TEST_TMPDIR/record"
}

# executed ARGUMENT...: exec with a record. Sets $status and $output.
executed() {
        detached runtime exec --result "$BATS_TEST_TMPDIR/record" "$@"
}

# outcome STATUS OUTCOME CODE SIGNAL
outcome() {
        [ "$status" -eq "$1" ] && [ "$(record '[.outcome, .exit_code, .signal]')" = "[\"$2\",$3,$4]" ] || {
                echo "status $status: $output"
                record .
                return 1
        }
}

@test "an exit, a signal and a timeout are told apart" {
        running
        executed box true
        outcome 0 exited 0 null
        executed box sh -c 'exit 137'
        outcome 137 exited 137 null
        executed box sh -c 'kill -KILL $$'
        outcome 137 signalled null 9
        executed box sh -c 'exit 124'
        outcome 124 exited 124 null
        executed --timeout 0.2 box sleep 60
        outcome 124 timed_out null 9
        [ "$(record .id)" = box ]
        [ "$(record .error)" = null ]
}

@test "a run has a record as well, and so has a cancelled one" {
        bundle sh -c 'exit 3'
        detached runtime run --result "$BATS_TEST_TMPDIR/record" --bundle "$BUNDLE" box
        outcome 3 exited 3 null
        bundle sleep 60
        background "$BATS_TEST_TMPDIR/out" "$SAGE_RUNTIME" --root "$ROOT" run --result "$BATS_TEST_TMPDIR/record" --bundle "$BUNDLE" box
        local runtime=$!
        wait_until has_program box sleep
        kill -TERM "$runtime"
        status=0
        wait "$runtime" || status=$?
        outcome 143 signalled null 9
}

@test "what never ran is launch_failed, with the error and whether anything was applied" {
        running
        executed box /nowhere
        [ "$status" -eq 255 ]
        [ "$(record '[.outcome, .exit_code, .wall_time_us, .error.code, .error.effect]')" = '["launch_failed",null,null,"sandbox.executable_unavailable","not_applied"]' ]
        executed nobody true
        [ "$(record '[.outcome, .error.code]')" = '["launch_failed","sandbox.not_found"]' ]
        config 'del(.root)'
        detached runtime run --result "$BATS_TEST_TMPDIR/record" --bundle "$BUNDLE" other
        [ "$status" -eq 1 ]
        [ "$(record '[.id, .outcome, .error.code, .error.where]')" = '["other","launch_failed","sandbox.config_invalid","root"]' ]
}

@test "the record has times, the command's processes and its output" {
        running
        executed --max-output-bytes 100 box sh -c 'i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done; setsid sleep 77 </dev/null >/dev/null 2>&1 & echo hello'
        [ "$(record '[.processes_killed, .processes_left, .output_bytes]')" = '[1,0,6]' ]
        record 'if .cpu_time_us > 1000 and .wall_time_us > 1000 and .wall_time_us < 20000000 and .user_time_us <= .cpu_time_us then empty else error("times") end'
        executed box true
        [ "$(record .output_bytes)" = null ]
}

@test "output beyond the limit is an outcome of its own, unless something worse ended the command" {
        running
        executed --max-output-bytes 4 box sh -c 'echo 12345; exit 2'
        outcome 2 output_limit 2 null
        [ "$output" = 1234 ]
        [ "$(record .output_bytes)" = 6 ]
        executed --max-output-bytes 6 box echo 12345
        outcome 0 exited 0 null
        executed --max-output-bytes 4 --timeout 0.5 box sh -c 'echo 12345; sleep 60'
        outcome 124 timed_out null 9
}

@test "the record goes to a descriptor that the command does not get" {
        running
        runtime exec --result fd:9 box sh -c 'echo /proc/self/fd/*' </dev/null >"$BATS_TEST_TMPDIR/out" 9>"$BATS_TEST_TMPDIR/record"
        [ "$(record .outcome)" = exited ]
        ! grep -q fd/9 "$BATS_TEST_TMPDIR/out" || false
        detached runtime exec --preserve-fds 7 --result fd:9 box true 9>"$BATS_TEST_TMPDIR/record"
        failed 255 --result
}

@test "an earlier record does not stay for a command that never gets to its end" {
        running
        executed box true
        background "$BATS_TEST_TMPDIR/out" "$SAGE_RUNTIME" --root "$ROOT" exec --result "$BATS_TEST_TMPDIR/record" --die-with-parent box sh -c 'echo ready; sleep 60'
        local runtime=$!
        wait_until grep -q ready "$BATS_TEST_TMPDIR/out"
        kill -KILL "$runtime"
        wait "$runtime" || true
        [ ! -s "$BATS_TEST_TMPDIR/record" ]
}
