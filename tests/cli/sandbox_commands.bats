# The strict sandbox: its process 1, and its commands, each with an init, a pid namespace and a leaf of its own.
load helpers

CGROUP=/sys/fs/cgroup/box

# A sandbox that runs, for the tests to exec in. Without ARGUMENT it has no process of its own.
sandbox() {
        strict "$@"
        [ $# -gt 0 ] || config 'del(.process.args)'
        create box
        start box
}

in_box() {
        detached runtime exec "$@"
}

leaves() {
        local leaf
        for leaf in $CGROUP/*/; do
                leaf=${leaf%/} leaf=${leaf##*/}
                printf '%s ' "${leaf%%-*}"
        done
}

# lives TEXT: some process has TEXT in its command line.
lives() {
        local line
        for line in /proc/[0-9]*/cmdline; do
                ! grep -aq -- "$1" "$line" || [[ $line == "/proc/$$/"* ]] || return 0
        done
        return 1
} 2>/dev/null

@test "each command sees its own processes in /proc and nobody else's" {
        sandbox sleep 100
        in_box box sh -c 'cd /proc; echo [0-9]*; cat 1/comm; tr "\0" " " <1/cmdline | sed "s/ *$//"; exec sleep 0.01'
        printed '1 2
sage-init
sage-init'
        in_box box sh -c 'grep NSpid /proc/self/status | wc -w'
        printed 2
}

@test "a command can name neither process 1 of the sandbox nor another command, nor end its own init" {
        sandbox sleep 100
        in_box box bash -c 'kill -KILL -1 2>/dev/null; kill -KILL 1; for signal in TERM HUP INT QUIT USR1 SEGV 34; do kill -$signal 1; done; sleep 0.1; echo alive'
        printed alive
        has_status box running
}

@test "nobody can look into an init, which has no capability and only its signals open" {
        local pid
        sandbox sleep 100
        in_box box sh -c 'cat /proc/1/environ || ls /proc/1/fd || readlink /proc/1/exe || echo 1 >/proc/1/mem || echo closed' 
        said closed
        pid=$(state box .pid)
        [ "$(readlink /proc/$pid/fd/* | sed 's/pipe:.*/pipe/' | sort)" = 'anon_inode:[signalfd]
pipe' ] # whose other end the monitor of sampled limits has
        [ "$(grep -hE '^Cap' /proc/$pid/status | cut -f2 | sort -u)" = 0000000000000000 ]
        grep -q '^NoNewPrivs:.1' /proc/$pid/status
        [ "$(stat -c %u /proc/$pid/exe)" = 0 ] # not dumpable (proc(5))
}

@test "the sandbox ends as its process ends, with its status" {
        local code
        strict
        for code in 0 3 255; do
                arguments /bin/sh -c "exit $code"
                detached runtime run --bundle "$BUNDLE" box
                [ "$status" -eq "$code" ]
        done
        arguments sleep 100
        create box
        start box
        for code in $(seq 20); do # its init ends by itself, before anybody kills it
                in_box box sh -c "exit $code"
                [ "$status" -eq "$code" ]
        done
        runtime delete --force box
        arguments /bin/sh -c 'kill -SEGV $$'
        detached runtime run --bundle "$BUNDLE" box
        [ "$status" -eq 139 ]
}

@test "signals for the sandbox reach its process and no other command" {
        local file=$BATS_TEST_TMPDIR/out pid
        strict bash -c 'trap "echo term; exit 7" TERM; echo ready; while :; do sleep 0.02; done'
        background "$file" runtime run --bundle "$BUNDLE" box
        pid=$!
        wait_until grep -q ready "$file"
        background "$BATS_TEST_TMPDIR/other" "$SAGE_RUNTIME" --root "$ROOT" exec box bash -c 'trap "echo wrong" TERM; echo ready; while :; do sleep 0.02; done'
        wait_until grep -q ready "$BATS_TEST_TMPDIR/other"
        runtime kill box TERM
        local code=0
        wait $pid || code=$?
        [ "$code" -eq 7 ]
        wait_until grep -q term "$file"
        [ "$(<"$file")" = 'ready
term' ]
}

@test "a sandbox without a process waits for commands, and TERM ends it" {
        sandbox
        has_status box running
        [ "$(leaves)" = 'init ' ]
        in_box box sh -c 'echo "$PWD"; id -u'
        printed '/workspace
1001'
        runtime kill box TERM
        wait_until has_status box stopped
        in_box box true
        failed 255 'container not running'
}

@test "a sandbox is created, takes commands, and starts its process when it is told to" {
        local file=$BATS_TEST_TMPDIR/started
        strict sh -c 'echo started >/workspace/started; exec sleep 100'
        create box
        has_status box created
        in_box box sh -c 'ls /workspace'
        printed ''
        start box
        wait_until test -s "$WORKSPACE/started"
        has_status box running
}

@test "TERM and KILL end a sandbox that waits for start" {
        local signal
        strict sleep 100
        for signal in TERM KILL; do
                create box
                runtime kill box $signal
                wait_until has_status box stopped
                runtime delete box
        done
}

@test "a program that cannot run is told as for any container, and nothing stays" {
        strict /bin/nope
        leaves_nothing runtime run --bundle "$BUNDLE" box
        failed 1 '/bin/nope' 'no such file or directory'
        sandbox sleep 100
        in_box box nope
        failed 255 'executable file `nope` not found'
        [ "$(leaves)" = 'init main ' ]
}

@test "each command has a leaf of its own, which goes with it" {
        sandbox sleep 100
        [ "$(leaves)" = 'init main ' ]
        [ -z "$(<$CGROUP/cgroup.procs)" ]
        [ "$(<$CGROUP/init/cgroup.procs)" = "$(state box .pid)" ]
        in_box box cat /proc/self/cgroup
        said '0::/'
        has_leaves() { [ "$(leaves)" = "$1" ]; }
        background /dev/null "$SAGE_RUNTIME" --root "$ROOT" exec box sleep 100
        wait_until has_leaves 'exec init main '
        background /dev/null "$SAGE_RUNTIME" --root "$ROOT" exec box sleep 100
        wait_until has_leaves 'exec exec init main '
        in_box box true
        [ "$(leaves)" = 'exec exec init main ' ]
}

@test "what a command leaves behind is dead when its exec returns, however it hides" {
        sandbox sleep 100
        in_box box bash -c 'trap "" TERM HUP INT; (setsid sleep 86419 </dev/null >/dev/null 2>&1 &); sleep 86419 & disown; exit 5'
        [ "$status" -eq 5 ]
        ! lives 86419 || false
        [ "$(leaves)" = 'init main ' ]
}

@test "a process that takes the name of an init is counted with those that were left" {
        sandbox sleep 100
        in_box --result "$BATS_TEST_TMPDIR/record" box python3 -c '
import ctypes, os, time
if os.fork() == 0:
    os.setsid()
    ctypes.CDLL(None).prctl(15, b"sage-init", 0, 0, 0)
    time.sleep(100)
time.sleep(0.3)'
        succeeded
        [ "$(jq .processes_killed "$BATS_TEST_TMPDIR/record")" = 1 ]
}

@test "an exec that is killed takes its command along" {
        local pid
        sandbox sleep 100
        background /dev/null "$SAGE_RUNTIME" --root "$ROOT" exec box bash -c 'setsid sleep 86421 & sleep 86421'
        pid=$!
        wait_until lives 86421
        kill -KILL $pid
        wait_until eval '! lives 86421'
        in_box box true
        succeeded
        [ "$(leaves)" = 'init main ' ] # the next one has removed what it left
}

@test "a command ends with the sandbox, and none is without somebody who stays with it" {
        sandbox sleep 100
        background /dev/null "$SAGE_RUNTIME" --root "$ROOT" exec box sleep 86423
        wait_until lives 86423
        runtime kill box KILL
        wait_until eval '! lives 86423'
        runtime delete box
        sandbox sleep 100
        in_box -d box true
        failed 255 --detach background
}

@test "its streams are the command's alone: whoever waits for their end waits for nothing of ours" {
        sandbox sleep 100
        # cat ends when all who hold its input have closed it
        [ "$(timeout 10 bash -c 'exec 3>&-; "$0" --root "$1" exec box sh -c "echo out; exec >&- 2>&-; sleep 1" 2>&1 | cat' "$SAGE_RUNTIME" "$ROOT")" = out ]
        [ "$(echo through | runtime exec box cat 2>/dev/null)" = through ]
}

@test "a command has a terminal with job control" {
        sandbox sleep 100
        run -0 "$SAGE_TESTS/cli/terminal" -- "$SAGE_RUNTIME" --root "$ROOT" exec -t box bash -ic 'tty; sleep 0.1 & wait; jobs; echo $(ps -o pgid= $$ | wc -l)'
        [[ $output == */dev/pts/* ]]
        [[ $output != *'no job control'* ]]
}

@test "every command has its own cgroup at /sys/fs/cgroup, and can write to none" {
        sandbox sleep 100
        in_box box sh -c 'cat /sys/fs/cgroup/cgroup.procs; ls -d /sys/fs/cgroup/*/; echo 1 >/sys/fs/cgroup/cgroup.kill'
        said '1
2'
        said 'Read-only file system'
        ! said main || false
}

@test "capabilities, another user and another cgroup are refused for a command" {
        sandbox sleep 100
        in_box --cap CAP_SYS_ADMIN box true
        failed 255 'capabilit'
        in_box --user 0 box true
        failed 255
        in_box --user 1002 box true
        failed 255
        in_box --cgroup main box true
        failed 255 '--cgroup'
}

@test "a sandbox whose cgroup is there already is refused" {
        strict
        mkdir $CGROUP
        leaves_nothing runtime run --bundle "$BUNDLE" box
        failed 1 "$CGROUP" 'exists already'
        rmdir $CGROUP
}

# as_user CGROUP CMD...: CMD as user 1001, who owns the cgroup above CGROUP, in that one.
as_user() {
        local cgroup=$1
        shift
        detached timeout -k 1 20 bash -c 'echo $$ >"$0/cgroup.procs"; exec setpriv --reuid 1001 --regid 1001 --clear-groups "$@"' "$cgroup" "$@"
}

@test "an ordinary user has the same: commands of their own, in leaves where he has a cgroup" {
        local home=/run/sage-user cgroup=/sys/fs/cgroup/users runtime place
        strict sh -c 'sleep 100'
        sage host.linux_execution_uid '' host.linux_execution_gid ''
        install -d -o 1001 $home $home/root
        install -d -o 1001 $cgroup $cgroup/host
        chown 1001 $cgroup/cgroup.procs $cgroup/cgroup.subtree_control $cgroup/host/cgroup.procs
        cp "$SAGE_RUNTIME" $home/runtime
        # Hooks are the host's, wherever the runtime has been.
        config '.hooks.poststart = [{path: "/bin/sh", args: ["sh", "-c", "readlink /proc/self/ns/user /proc/self/ns/pid >/run/sage-user/root/poststart"]}]'
        chown -R 1001 "$BUNDLE"
        runtime="$home/runtime --root $home/root"
        for place in $cgroup/host $OUR_CGROUP; do
                as_user $place $runtime run --detach --bundle "$BUNDLE" box
                succeeded
                [ "$(<$home/root/poststart)" = "$(readlink /proc/self/ns/user /proc/self/ns/pid)" ]
                as_user $place $runtime delete --force box
                succeeded
                as_user $place $runtime create --bundle "$BUNDLE" box
                succeeded
                as_user $place $runtime start box
                succeeded
                as_user $place $runtime exec box sh -c 'cat /proc/1/comm; id -u; cat /proc/self/cgroup | grep ^0; exit 4'
                [ "$status" -eq 4 ]
                said 'sage-init
1001'
                [ $place = $OUR_CGROUP ] || [ "$(cd $cgroup/box; echo */)" = 'init/ main/' ]
                as_user $place $runtime delete --force box
                succeeded
        done
        rm -r $home
        rmdir $cgroup/host $cgroup
}

@test "hooks run around the bundle's process as for any container" {
        local file=$WORKSPACE/hooks
        strict sh -c 'echo program >>/workspace/hooks'
        file=$WORKSPACE/hooks
        config --args '.hooks = {createRuntime: [{path: "/bin/sh", args: ["sh", "-c", "echo runtime >>" + $ARGS.positional[0] + "; chown 1001 " + $ARGS.positional[0]]}],
                startContainer: [{path: "/bin/sh", args: ["sh", "-c", "echo start >>/workspace/hooks"]}],
                poststart: [{path: "/bin/sh", args: ["sh", "-c", "echo poststart >>" + $ARGS.positional[0]]}],
                poststop: [{path: "/bin/sh", args: ["sh", "-c", "echo poststop >>" + $ARGS.positional[0]]}]}' "$file"
        detached runtime run --bundle "$BUNDLE" box
        succeeded
        [ "$(head -n 2 "$file")" = 'runtime
start' ]
        [ "$(sort "$file" | tr '\n' ' ')" = 'poststart poststop program runtime start ' ]
}

@test "what this host lacks for hard limits is refused with all of it, before anything is made" {
        local error
        strict
        sage resources.require_hard_limits '' host.linux_cgroup_root /sys/fs/cgroup/tests host.linux_quota_mount "$WORKSPACE"
        leaves_nothing runtime --log-format json run --bundle "$BUNDLE" box
        [ "$status" -eq 1 ]
        error=$(jq -c '[.code, .missing_limits, .side_effect_state]' <<<"${output%%$'\n'*}")
        [ "$error" = '["sandbox.resource_limits_unsupported",["cpu","memory","disk","process_count"],"not_applied"]' ]
        sage host.linux_cgroup_root /sys/fs/cgroup/nowhere
        leaves_nothing runtime run --bundle "$BUNDLE" box
        failed 1
        detached runtime check --json --bundle "$BUNDLE"
        jq -e '[.missing[].code] | index("cgroup.root_missing")' <<<"$output"
        sage host.linux_cgroup_root /sys/fs/cgroup/cgroup.procs
        detached runtime check --json --bundle "$BUNDLE"
        jq -e '[.missing[].code] | index("cgroup.root_foreign")' <<<"$output"
        sage host.linux_cgroup_root /tmp
        leaves_nothing runtime run --bundle "$BUNDLE" box
        failed 1 linux_cgroup_root 'below /sys/fs/cgroup'
}

# 137: with its sandbox, or by delete --force, which waits for nobody's lock for long.
@test "commands that come in while the sandbox ends either run or are told so" {
        local round file code
        strict sleep 100
        for round in 1 2 3; do
                create box
                start box
                for file in 1 2 3 4 5 6; do
                        { code=0; runtime exec box true </dev/null >"$BATS_TEST_TMPDIR/out.$file" 2>&1 || code=$?
                                echo "$code $(<"$BATS_TEST_TMPDIR/out.$file")" >"$BATS_TEST_TMPDIR/$file"; } &
                done
                runtime delete --force box
                wait
                for file in 1 2 3 4 5 6; do
                        grep -Eq '^0 $|^137 $|^255 .*(not running|does not exist)' "$BATS_TEST_TMPDIR/$file" || { cat "$BATS_TEST_TMPDIR/$file"; return 1; }
                done
        done
}
