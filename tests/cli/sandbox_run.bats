# sandbox: a command that runs, how it ends, and that nothing of it is left.
load helpers

# What a sandbox has beside its state.
workspaces() {
        ls -d /var/tmp/sage-sandbox-* 2>/dev/null || true
}

# One of their own, in which nobody else makes any.
setup_file() {
        mount -t tmpfs -o mode=1777 tmpfs /var/tmp
}

teardown_file() {
        umount /var/tmp
}

no_workspace_is_left() {
        [ -z "$(workspaces)" ]
}

# sandbox [ARGUMENT]...: as uid 1001; nothing is left, whatever comes of it.
sandbox() {
        leaves_nothing runtime sandbox --quiet --uid 1001 --gid 1002 "$@"
        no_workspace_is_left
}

# running [ARGUMENT]...: the same in the background, as "box". Its pid is in $runtime.
running() {
        background "$BATS_TEST_TMPDIR/out" "$SAGE_RUNTIME" --root "$ROOT" sandbox --quiet --id box --uid 1001 --gid 1002 "$@"
        runtime=$!
}

# ended_with STATUS: what runs in the background ends with it, and leaves nothing.
ended_with() {
        local found=0
        wait "$runtime" || found=$?
        [ "$found" -eq "$1" ] || { echo "status $found: $(<"$BATS_TEST_TMPDIR/out")"; return 1; }
        [ -z "$(ls -A "$ROOT")" ]
        no_workspace_is_left
}

# A tree that ignores TERM, one of it in a session of its own and with nothing open.
STUBBORN='trap "" TERM INT HUP; setsid sh -c "trap \"\" TERM; sleep 79" </dev/null >/dev/null 2>&1 & while :; do sleep 78; done'
sleepers() { grep -lzE '^7[89]$' /proc/[0-9]*/cmdline 2>/dev/null | wc -l; }
some_sleepers() { [ "$(sleepers)" -ge 2 ]; }
no_sleepers() { [ "$(sleepers)" -eq 0 ]; }

@test "a command runs in a fresh workspace that is its own and empty, as whom it should, and all of it goes" {
        sandbox -- bash -c 'id -u; id -g; pwd; ls -A; stat -c "%u:%g %a" .; echo x >file && cat file; echo $HOME $TMPDIR $USER'
        printed $'1001\n1002\n/workspace\n1001:1002 700\nx\n/tmp /tmp sage'
}

@test "its status is the command's, 126 and 127 are a program that is none and that is not there" {
        local status_of
        status_of() {
                # shellcheck disable=SC2086
                sandbox $1 && [ "$status" -eq "$2" ] && [[ $output == *"$3"* ]]
        }
        table status_of <<-'ROWS'
		-- true => 0 => 
		-- false => 1 => 
		-- sh -c kill${IFS}-TERM${IFS}$$ => 143 => 
		-- nothere => 127 => nothere
		-- /usr/bin/nothere => 127 => nothere
		-- /etc/passwd => 126 => /etc/passwd
		--timeout 0.3 -- sleep 100 => 124 => --timeout
	ROWS
}

@test "what it prints and reads is the caller's, and one line tells which limits are hard" {
        detached runtime sandbox --uid 1001 --gid 1002 -- echo hello
        printed $'sage-runtime: limits: cpu sampled, memory sampled, disk sampled, processes sampled\nhello'
        runtime sandbox --uid 1001 --gid 1002 -- cat <<<'typed' >"$BATS_TEST_TMPDIR/out" 2>"$BATS_TEST_TMPDIR/err"
        [ "$(<"$BATS_TEST_TMPDIR/out")" = typed ]
        [ "$(wc -l <"$BATS_TEST_TMPDIR/err")" -eq 1 ]
        sandbox -- echo hello
        printed hello
}

@test "where no cgroup v2 can be used, sampled limits do without one and the line says so; hard ones are refused" {
        # on_a_host HIDING COMMAND...: on a host whose /sys/fs/cgroup was hidden so.
        on_a_host() {
                detached unshare --mount --propagation private sh -c "$1"' && shift && exec "$@"' sh "$@"
        }
        local way
        install -d -o 1001 -g 1002 /var/tmp/mine
        for way in 'mount -t tmpfs tmpfs /sys/fs/cgroup' 'mount -o remount,bind,ro /sys/fs/cgroup'; do
                on_a_host "$way" "$SAGE_RUNTIME" --root "$ROOT" sandbox --uid 1001 --gid 1002 -- sh -c 'sleep 78 & id -u'
                printed $'sage-runtime: limits: cpu sampled, memory sampled, disk sampled, processes sampled, without a cgroup (`sage-runtime check` tells what this host has)\n1001'
                no_sleepers
                on_a_host "$way" "$SAGE_RUNTIME" --root "$ROOT" sandbox --uid 1001 --gid 1002 --memory-mb 64 -- sh -c 'head -c 300m /dev/zero | tail -n 1'
                [ "$status" -ne 0 ]
                on_a_host "$way" "$SAGE_RUNTIME" --root "$ROOT" --log-format json sandbox --uid 1001 --gid 1002 --cgroup-root /sys/fs/cgroup/none --quota-mount /var/tmp --workspace /var/tmp/mine -- true
                failed 125 '"code":"sandbox.resource_limits_unsupported"'
                [ -z "$(ls -A "$ROOT")" ]
        done
}

@test "a workspace that is named is there as it is outside, and stays with what was written" {
        local workspace=$BATS_TEST_TMPDIR/workspace
        mkdir "$workspace" "$BUNDLE"
        chown 1001:1002 "$workspace"
        open_to_all
        leaves_nothing runtime sandbox --quiet --workspace "$workspace" -- sh -c 'pwd; echo kept >file'
        printed /workspace # below /tmp, which is the sandbox's own
        [ "$(<"$workspace/file")" = kept ]
        [ "$(stat -c %u "$workspace/file")" = 1001 ]
        leaves_nothing runtime sandbox --quiet --workspace "$workspace" --read-only -- sh -c 'cat file; echo no >file'
        [ "$status" -ne 0 ]
        said kept
        [ "$(<"$workspace/file")" = kept ]
}

@test "its environment is what was asked for and little else" {
        export PASSED=on
        sandbox --env A=1 --env PASSED --env LANG=C --env-file fd:8 -- env 8<<<'SECRET=x y'
        succeeded
        [ "$(sort <<<"$output")" = "$(sort <<-'EXPECTED'
		PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin
		HOME=/tmp
		TMPDIR=/tmp
		USER=sage
		LANG=C
		TERM=dumb
		SECRET=x y
		A=1
		PASSED=on
	EXPECTED
        )" ]
}

@test "a secret is in no file that others can read and in no argv" {
        running --env-file fd:8 -- sleep 50 8<<<'SECRET=hidden-in-here'
        wait_until has_status box running
        [ -z "$(find "$ROOT" -type f -perm /077)" ]
        ! grep -azq hidden-in-here /proc/[0-9]*/cmdline || false
        kill -TERM "$runtime"
        ended_with 143
}

@test "the record tells how it ended, in a file or to a descriptor" {
        local record=$BATS_TEST_TMPDIR/record
        sandbox --id box --result "$record" -- sh -c 'exit 3'
        [ "$(jq -c '[.id, .outcome, .exit_code, .limits.cpu, .processes_killed, .processes_left]' "$record")" = '["box","exited",3,"sampled",0,0]' ]
        runtime sandbox --quiet --uid 1001 --gid 1002 --result fd:8 --timeout 0.2 -- sleep 100 8>"$record" 2>/dev/null || [ $? -eq 124 ]
        [ "$(jq -r .outcome "$record")" = timed_out ]
        sandbox --result "$record" -- nothere
        [ "$(jq -r '"\(.outcome) \(.error.code)"' "$record")" = 'launch_failed sandbox.executable_unavailable' ]
        sandbox --result "$record" --memory-mb 0 -- true
        [ "$(jq -r '"\(.outcome) \(.error.where)"' "$record")" = 'launch_failed --memory-mb' ]
}

@test "TERM and INT to the runtime end all of it, however stubborn, in time and before the runtime ends" {
        local signal
        for signal in TERM HUP; do
                running -- bash -c "$STUBBORN"
                wait_until some_sleepers
                kill "-$signal" "$runtime"
                ended_with $((128 + $(kill -l "$signal")))
                no_sleepers
        done
}

@test "a runtime that is killed takes its sandbox along, and gc takes what it made" {
        running -- bash -c "$STUBBORN"
        wait_until some_sleepers
        kill -KILL "$runtime"
        wait "$runtime" || true
        wait_until no_sleepers
        detached runtime gc
        printed $'box: its process has ended\nthe bundle of box: its runtime was killed'
        [ -z "$(ls -A "$ROOT")" ]
        no_workspace_is_left
}

@test "with --die-with-parent the end of the caller is the end of it" {
        local shell
        background "$BATS_TEST_TMPDIR/out" sh -c '"$@" & exec sleep 60' sh "$SAGE_RUNTIME" --root "$ROOT" sandbox --quiet --uid 1001 --gid 1002 \
                --die-with-parent -- bash -c "$STUBBORN"
        shell=$!
        wait_until some_sleepers
        kill -KILL "$shell"
        wait "$shell" || true
        wait_until no_sleepers
        wait_until no_workspace_is_left
        [ -z "$(ls -A "$ROOT")" ]
}

@test "without a command it waits for those of exec, which have its environment and place" {
        running --env A=1
        wait_until has_status box running
        detached runtime exec box sh -c 'echo $A $HOME; pwd'
        printed $'1 /tmp\n/workspace'
        [ "$(state box .sage.limits.memory)" = sampled ]
        kill -TERM "$runtime"
        ended_with 143
}

@test "--keep keeps the sandbox for a look and the workspace for good" {
        local workspace
        detached runtime sandbox --keep --id box --uid 1001 --gid 1002 -- sh -c 'echo kept >file'
        succeeded
        said 'kept: sandbox box'
        workspace=$(grep -o '/var/tmp/sage-sandbox-[0-9a-f]*' <<<"$output")
        has_status box stopped
        detached runtime gc
        printed 'box: its process has ended'
        [ "$(<"$workspace/file")" = kept ]
        rm -r "$workspace"
        [ -z "$(ls -A "$ROOT")" ]
}

@test "on a terminal it is a terminal, with job control and the caller's size; else it is none" {
        local terminal=$BATS_TEST_DIRNAME/terminal
        detached "$terminal" size=101x33 'expect=33 101' size=77x22 'expect=22 77' expect=running 'send=\x1a' 'expect=stopped 148' \
                -- "$SAGE_RUNTIME" --root "$ROOT" sandbox --quiet --uid 1001 --gid 1002 -- bash -mc \
                'stty size; while [ "$(stty size)" = "33 101" ]; do sleep 0.02; done; stty size; (echo running; exec sleep 30); echo "stopped $?"
                kill -KILL %1; exit 7'
        [ "$status" -eq 7 ] || { echo "$status: $output"; return 1; }
        no_workspace_is_left
        sandbox -- sh -c 'tty; test ! -t 1'
        printed 'not a tty'
        detached "$terminal" -- "$SAGE_RUNTIME" --root "$ROOT" sandbox --quiet --tty=false --uid 1001 --gid 1002 -- sh -c 'ls -l /dev/pts | grep -c tty'
        no_workspace_is_left
}

@test "a cache is there the next time, and its program is told" {
        leaves_nothing runtime sandbox --quiet --uid 1001 --gid 1002 --cache sage-cli-test --cache pip -- sh -c 'echo $PIP_CACHE_DIR; echo kept >/var/cache/sage-runtime/1001/sage-cli-test/file'
        printed /var/cache/sage-runtime/1001/pip
        leaves_nothing runtime sandbox --quiet --uid 1001 --gid 1002 --cache sage-cli-test -- cat /var/cache/sage-runtime/1001/sage-cli-test/file
        rm -r /var/cache/sage-runtime/1001/sage-cli-test
        rmdir /var/cache/sage-runtime/1001/pip /var/cache/sage-runtime/1001 /var/cache/sage-runtime 2>/dev/null || true
        printed kept
}

@test "an ordinary user's sandbox is the user's, and as private" {
        local home=/run/sage-cli-user
        mkdir -m 0755 "$home"
        install -m 0755 "$SAGE_RUNTIME" "$home/sage-runtime"
        mkdir -m 0700 "$home/root"
        chown -R 1001:1002 "$home/root"
        detached setpriv --reuid 1001 --regid 1002 --clear-groups "$home/sage-runtime" --root "$home/root" --cgroup-manager disabled sandbox --quiet -- \
                sh -c 'id -u; id -g; pwd; stat -c "%u:%g %a" .; echo x >f'
        printed $'1001\n1002\n/workspace\n1001:1002 700'
        [ -z "$(ls -A "$home/root")" ]
        no_workspace_is_left
        rm -r "$home"
}
