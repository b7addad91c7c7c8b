# sage.sandbox.process: which commands run, with which variables, how long, how loud, and how many at a time.
load helpers

# sandbox [MEMBER VALUE]...: a sandbox without a process of its own, with these members of sage.sandbox.process.
sandbox() {
        local members=()
        strict
        config 'del(.process.args)'
        while [ $# -gt 0 ]; do
                members+=("process.$1" "$2")
                shift 2
        done
        [ ${#members[@]} -eq 0 ] || sage "${members[@]}"
        create box
        start box
}

in_box() {
        detached runtime exec "$@"
}

lives() {
        pgrep -f "^$1" >/dev/null
}
died() { ! lives "$1"; }

@test "a program that is not among allowed_executables is refused, for the bundle and for exec" {
        sandbox allowed_executables 'true /bin/echo'
        in_box box true
        printed ''
        in_box box /bin/echo yes
        printed yes
        in_box box /bin/true
        failed 255 allowed_executables /bin/true
        in_box box cat
        failed 255 allowed_executables
        runtime delete --force box
        sage process.allowed_executables cat
        arguments true
        config '.process.args = ["/bin/true"]'
        leaves_nothing runtime --log-format json --log "$BATS_TEST_TMPDIR/log" run --bundle "$BUNDLE" box
        failed 1 allowed_executables
        [ "$(jq -r .code "$BATS_TEST_TMPDIR/log")" = sandbox.permission_denied ]
}

@test "without allow_shell no command is a shell" {
        local shell
        sandbox allow_shell ''
        for shell in sh /bin/sh bash ../bin/dash; do
                in_box box $shell -c true
                failed 255 allow_shell
        done
        in_box box true
        succeeded
        runtime delete --force box
        config '.process.args = ["/bin/sh", "-c", "true"]'
        leaves_nothing runtime run --bundle "$BUNDLE" box
        failed 1 allow_shell
}

@test "a command may set the variables of allowed_env_names and no others, and PATH only if it is one" {
        sandbox allowed_env_names 'A B'
        in_box -e A=1 -e B=2 box sh -c 'echo $A$B$PATH'
        printed '12/usr/local/bin:/usr/bin:/bin'
        in_box -e C=1 box true
        failed 255 allowed_env_names '`C`'
        in_box -e PATH=/workspace box true
        failed 255 allowed_env_names '`PATH`'
        in_box -e PATH=/usr/local/bin:/usr/bin:/bin box true # as it is
        succeeded
        jq -n '{cwd: "/workspace", user: {uid: 1001, gid: 1001}, args: ["env"], env: ["A=1", "HOME=/tmp"]}' >"$BATS_TEST_TMPDIR/process.json"
        in_box --process "$BATS_TEST_TMPDIR/process.json" box
        printed 'A=1
HOME=/tmp'
        jq -n '{cwd: "/workspace", user: {uid: 1001, gid: 1001}, args: ["env"], env: ["A=1", "HOME=/other"]}' >"$BATS_TEST_TMPDIR/process.json"
        in_box --process "$BATS_TEST_TMPDIR/process.json" box
        failed 255 allowed_env_names '`HOME`'
        runtime delete --force box
        sandbox allowed_env_names 'PATH'
        in_box -e PATH=/usr/bin box sh -c 'echo $PATH'
        printed /usr/bin
}

@test "command_path is the PATH of every command, and where its program is looked for" {
        strict
        mkdir "$WORKSPACE/bin"
        printf '#!/bin/sh\necho mine $PATH\n' >"$WORKSPACE/bin/mine"
        chmod 755 "$WORKSPACE/bin/mine"
        config 'del(.process.args)'
        sage process.command_path /workspace/bin:/usr/bin:/bin
        create box
        start box
        in_box box mine
        printed 'mine /workspace/bin:/usr/bin:/bin'
        jq -n '{cwd: "/workspace", user: {uid: 1001, gid: 1001}, args: ["mine"]}' >"$BATS_TEST_TMPDIR/process.json"
        in_box --process "$BATS_TEST_TMPDIR/process.json" box
        printed 'mine /workspace/bin:/usr/bin:/bin'
        runtime delete --force box
        config '.process.args = ["mine"]'
        detached runtime run --bundle "$BUNDLE" box
        printed 'mine /workspace/bin:/usr/bin:/bin'
}

@test "max_wall_time_seconds ends a command, and an option can only be shorter" {
        sandbox max_wall_time_seconds 0.3
        in_box --result "$BATS_TEST_TMPDIR/record" box sleep 86431
        [ "$status" -eq 124 ]
        [ "$(jq -r .outcome "$BATS_TEST_TMPDIR/record")" = timed_out ]
        in_box --timeout 60 box sleep 86431
        failed 124
        ! lives 'sleep 86431' || false
        in_box --timeout 0.1 box sleep 86431
        failed 124 0.100
        config '.process.args = ["sleep", "86431"]'
        detached runtime run --bundle "$BUNDLE" other
        failed 124
}

@test "max_output_bytes is a limit of every command, and what nobody would keep is refused" {
        sandbox max_output_bytes 5
        in_box box echo 123456789
        printed 12345
        in_box --max-output-bytes 3 box echo 123456789
        printed 123
        in_box --max-output-bytes 100 box echo 123456789
        printed 12345
        runtime delete --force box
        config '.process.args = ["echo", "123456789"]'
        detached runtime run --bundle "$BUNDLE" box
        printed 12345
        leaves_nothing runtime create --bundle "$BUNDLE" box
        failed 1 max_output_bytes
        sage process.max_output_bytes '' process.max_wall_time_seconds 5
        leaves_nothing runtime run --detach --bundle "$BUNDLE" box
        failed 1 max_wall_time_seconds
}

@test "more commands than max_processes wait for each other, or are told that the sandbox is busy" {
        local pid i
        sandbox max_processes 2
        for i in 1 2; do
                background "$BATS_TEST_TMPDIR/out$i" "$SAGE_RUNTIME" --root "$ROOT" exec box sh -c 'echo ready; exec sleep 86433'
        done
        wait_until grep -q ready "$BATS_TEST_TMPDIR/out1"
        wait_until grep -q ready "$BATS_TEST_TMPDIR/out2"
        detached runtime --log-format json --log "$BATS_TEST_TMPDIR/log" exec --no-wait box true
        failed 255 max_processes
        [ "$(jq -r .code "$BATS_TEST_TMPDIR/log")" = sandbox.busy ]
        background "$BATS_TEST_TMPDIR/third" "$SAGE_RUNTIME" --root "$ROOT" exec --timeout 5 box echo third
        pid=$!
        sleep 0.3
        [ ! -s "$BATS_TEST_TMPDIR/third" ]
        kill -TERM $(jobs -p | head -n 1)
        wait $pid
        wait_until grep -qx third "$BATS_TEST_TMPDIR/third"
}

@test "a slot is free again when its command has ended, however" {
        local i pid
        sandbox max_processes 1
        for i in 1 2 3 4 5; do
                in_box --no-wait box true
                succeeded
        done
        background "$BATS_TEST_TMPDIR/out" "$SAGE_RUNTIME" --root "$ROOT" exec box sh -c 'echo ready; exec sleep 86435'
        pid=$!
        wait_until grep -q ready "$BATS_TEST_TMPDIR/out"
        kill -KILL $pid
        wait $pid || true
        in_box --no-wait box true
        succeeded
        wait_until eval '! lives "sleep 86435"'
}

@test "the clock of a command starts when it has a slot, and a sandbox that is gone by then is told" {
        local first second
        sandbox max_processes 1
        background "$BATS_TEST_TMPDIR/out" "$SAGE_RUNTIME" --root "$ROOT" exec box sh -c 'echo ready; exec sleep 0.8'
        first=$!
        wait_until grep -q ready "$BATS_TEST_TMPDIR/out"
        in_box --timeout 0.6 box echo second
        printed second
        wait $first
        rm "$BATS_TEST_TMPDIR/out" # or its "ready" would be taken for the next one's
        background "$BATS_TEST_TMPDIR/out" "$SAGE_RUNTIME" --root "$ROOT" exec box sh -c 'echo ready; exec sleep 86437'
        wait_until grep -q ready "$BATS_TEST_TMPDIR/out"
        background "$BATS_TEST_TMPDIR/second" "$SAGE_RUNTIME" --root "$ROOT" exec box true
        second=$!
        sleep 0.2
        runtime delete --force box
        status=0
        wait $second || status=$?
        [ "$status" -eq 255 ]
        wait_until grep -q 'does not exist' "$BATS_TEST_TMPDIR/second"
}

@test "a run that is killed takes its sandbox along" {
        local pid
        strict sh -c 'setsid sleep 86439 & echo ready; exec sleep 86439'
        background "$BATS_TEST_TMPDIR/out" "$SAGE_RUNTIME" --root "$ROOT" run --bundle "$BUNDLE" box
        pid=$!
        wait_until grep -q ready "$BATS_TEST_TMPDIR/out"
        kill -KILL $pid
        wait $pid || true
        wait_until died 'sleep 86439'
}

@test "the record of a command in a sandbox has its signal and its leaf's numbers" {
        sandbox
        in_box --result "$BATS_TEST_TMPDIR/record" box sh -c 'setsid sleep 86441 & kill -SEGV $$'
        [ "$status" -eq 139 ]
        [ "$(jq -c '[.outcome, .signal, .exit_code, .processes_left]' "$BATS_TEST_TMPDIR/record")" = '["signalled",11,null,0]' ]
        jq -e '.cpu_time_us > 0' "$BATS_TEST_TMPDIR/record"
}

@test "on any other container the same rules hold" {
        SAGE_RUNTIME=$SAGE_BUILD/sage-runtime
        bundle sleep 100
        config '.annotations = {"sage.sandbox.process": "{\"allowed_executables\": [\"sleep\", \"echo\"], \"max_wall_time_seconds\": 0.4, \"max_output_bytes\": 1048576, \"max_processes\": 1}"}'
        detached runtime run --bundle "$BUNDLE" other
        failed 124
        leaves_nothing runtime create --bundle "$BUNDLE" box
        failed 1 max_wall_time_seconds
        config '.annotations = {"sage.sandbox.process": "{\"allowed_executables\": [\"sleep\", \"echo\"], \"max_processes\": 1}"}'
        create box
        start box
        in_box box true
        failed 255 allowed_executables
        in_box box echo yes
        printed yes
        in_box --timeout 0.2 box sleep 86443
        failed 124
        in_box -d box sleep 1
        failed 255 --detach
        config '.annotations = {"sage.sandbox.process.read_only": "true"}'
        leaves_nothing runtime run --bundle "$BUNDLE" third
        failed 1 read_only
}
