# exec: one more process in a container.
load helpers

# A container that runs, for the tests to exec in.
running() {
        bundle sleep 100
        [ $# -eq 0 ] || config "$1"
        create box
        start box
}

in_box() {
        detached runtime exec "$@"
}

@test "the command's exit status is the runtime's, and a signal gives 128 and its number" {
        local code
        running
        for code in 0 1 7 255; do
                in_box box sh -c "exit $code"
                [ "$status" -eq "$code" ]
        done
        in_box box sh -c 'kill -KILL $$'
        [ "$status" -eq 137 ]
        in_box box sh -c 'kill -TERM $$'
        [ "$status" -eq 143 ]
}

@test "stdin, stdout and stderr are the caller's" {
        running
        [ "$(echo through | runtime exec box cat)" = through ]
        runtime exec box sh -c 'echo out; echo err >&2' >"$BATS_TEST_TMPDIR/out" 2>"$BATS_TEST_TMPDIR/err"
        [ "$(<"$BATS_TEST_TMPDIR/out")" = out ]
        [ "$(<"$BATS_TEST_TMPDIR/err")" = err ]
}

@test "what the runtime itself cannot do exits with 255, so that it is not taken for the command's status" {
        fails_to_exec() {
                in_box $1
                [ "$status" -eq 255 ] || { echo "exit status $status: $output"; return 1; }
                grep -Eiq "$2" <<<"$output" || { echo "$output"; return 1; }
        }
        running
        echo '#!/bin/sh' >"$BUNDLE/rootfs/plain"
        # The words are those that podman and containerd look for.
        table fails_to_exec <<-'ROWS'
		nope /bin/true => does not exist
		box => usage
		box nope => executable file .?nope.? not found in|no such file or directory
		box /bin/nope => no such file or directory
		box /plain => permission denied
		box /etc => permission denied
		--cwd relative box /bin/true => relative
		--process /nowhere box => /nowhere
		--nonsense box /bin/true => nonsense
		--preserve-fds x box true => preserve-fds
	ROWS
}

@test "options behind the command are the command's own" {
        running
        in_box box echo --user -e -- x
        printed '--user -e -- x'
}

@test "a stopped container is refused with the words that engines know" {
        bundle
        create box
        start box
        wait_until has_status box stopped
        in_box box true
        failed 255 'container not running'
}

@test "exec in a container that is still waiting for start works" {
        bundle sleep 100
        create box
        in_box box echo here
        printed here
        [ "$(state box .status)" = created ]
        start box
}

@test "the command runs in the container's namespaces, cgroup and root" {
        running
        local pid kind init
        pid=$(state box .pid)
        for kind in pid net ipc uts mnt cgroup user; do
                init=$(readlink "/proc/$pid/ns/$kind")
                in_box box readlink "/proc/self/ns/$kind"
                printed "$init"
        done
        detached runtime exec --detach --pid-file "$BATS_TEST_TMPDIR/pid" box sleep 100
        succeeded
        [ "$(grep ^0:: "/proc/$(<"$BATS_TEST_TMPDIR/pid")/cgroup")" = "$(grep ^0:: "/proc/$pid/cgroup")" ]
        in_box box hostname
        printed sage
}

@test "exec starts from the container's process object: user, groups, capabilities, limits, no_new_privs, umask" {
        running '.process.user = {uid: 0, gid: 7, additionalGids: [8, 9], umask: 63}
                | .process.rlimits = [{type: "RLIMIT_NOFILE", soft: 77, hard: 88}]'
        in_box box sh -c 'id -u; id -g; umask; ulimit -n; ulimit -Hn; grep -E "^(Groups|Cap|NoNewPrivs)" /proc/self/status | tr "\t" " "'
        printed "$(printf '%s\n' 0 7 0077 77 88 'Groups: 8 9 ' 'CapInh: 0000000000000000' 'CapPrm: 0000000020000420' \
                'CapEff: 0000000020000420' 'CapBnd: 0000000020000420' 'CapAmb: 0000000000000000' 'NoNewPrivs: 1')"
}

@test "the environment is the container's, with HOME, and -e adds to it or replaces" {
        running '.process.env = ["PATH=/bin", "A=1", "B=2"]'
        in_box -e B=3 --env C=4 -e EMPTY= -e 'SPACE=a b' box env
        succeeded
        [ "$(sort <<<"$output")" = "$(printf '%s\n' A=1 B=3 C=4 EMPTY= HOME=/root PATH=/bin 'SPACE=a b')" ]
}

@test "-e without an equals sign is refused" {
        running
        in_box -e =x box true
        failed 255
}

@test "--cwd is where the command starts; else it is where the container did" {
        running '.process.cwd = "/etc"'
        in_box box pwd
        printed /etc
        in_box --cwd /usr/bin box pwd
        printed /usr/bin
}

@test "--user takes UID or UID:GID as whole numbers and nothing else" {
        user() {
                in_box --user "$1" box sh -c 'echo $(id -u):$(id -g)'
                if [ -n "$2" ]; then printed "$2"; else [ "$status" -eq 255 ] || { echo "accepted: $output"; return 1; }; fi
        }
        running
        table user <<-'ROWS'
		0 => 0:0
		1 => 1:0
		1:2 => 1:2
		65534:65534 => 65534:65534
		4294967294 => 4294967294:0
		4294967295 => 
		1:4294967295 => 
		1x => 
		1: => 
		:1 => 
		-1 => 
		 => 
		0x1 => 
		1.0 => 
		 1 => 
		1 2 => 
		root => 
		nobody:nogroup => 
		1:2:3 => 
		99999999999999999999 => 
	ROWS
}

@test "-u with another user has no capabilities, and HOME is that user's" {
        running
        in_box -u 65534 box sh -c 'echo $HOME; grep -E "^Cap(Prm|Eff|Amb)" /proc/self/status'
        printed "$(printf '%s\n' /nonexistent $'CapPrm:\t0000000000000000' $'CapEff:\t0000000000000000' $'CapAmb:\t0000000000000000')"
}

@test "--additional-gids adds groups" {
        running '.process.user.additionalGids = [8]'
        in_box -g 20 --additional-gids 30 box grep ^Groups /proc/self/status
        printed $'Groups:\t8 20 30 '
        in_box -g x box true
        failed 255
}

@test "--cap adds a capability, and never to what programs inherit" {
        running
        in_box --cap CAP_NET_RAW box grep -E '^Cap(Inh|Eff|Bnd)' /proc/self/status
        printed $'CapInh:\t0000000000000000\nCapEff:\t0000000020002420\nCapBnd:\t0000000020002420'
        in_box --cap CAP_NOPE box true
        failed 255 CAP_NOPE
}

@test "--cap of what the bundle lets programs inherit is theirs by inheritance, also for another user than root" {
        bundle sleep 100
        config '.process.capabilities = {bounding: ["CAP_KILL", "CAP_CHOWN"], effective: ["CAP_KILL"], permitted: ["CAP_KILL"],
                inheritable: ["CAP_CHOWN"]}'
        create box
        start box
        in_box --cap CAP_CHOWN --user 1000:1000 box grep -E '^Cap(Inh|Prm|Eff|Amb)' /proc/self/status
        printed $'CapInh:\t0000000000000001\nCapPrm:\t0000000000000001\nCapEff:\t0000000000000001\nCapAmb:\t0000000000000001'
}

@test "--no-new-privs sets what the container did not" {
        running '.process.noNewPrivileges = false'
        in_box box grep NoNewPrivs /proc/self/status
        printed $'NoNewPrivs:\t0'
        in_box --no-new-privs box grep NoNewPrivs /proc/self/status
        printed $'NoNewPrivs:\t1'
}

@test "--process takes the whole process object from a file" {
        running
        cat >"$BATS_TEST_TMPDIR/process.json" <<-'JSON'
		{"user": {"uid": 5, "gid": 6, "additionalGids": [7]}, "cwd": "/usr", "env": ["PATH=/bin", "X=y"], "args": ["sh", "-c",
		 "echo $X $HOME; pwd; id -u; grep -E '^(Groups|CapBnd|NoNewPrivs)' /proc/self/status"]}
	JSON
        in_box --process "$BATS_TEST_TMPDIR/process.json" box
        printed "$(printf '%s\n' 'y /' /usr 5 $'Groups:\t7 ' $'CapBnd:\t0000000000000000' $'NoNewPrivs:\t0')"
}

@test "a wrong --process file is refused with its name, line and field" {
        running
        printf '{"cwd": "/", "args": ["true"],\n "user": {"uid": "0"}}' >"$BATS_TEST_TMPDIR/process.json"
        in_box --process "$BATS_TEST_TMPDIR/process.json" box
        failed 255 process.json:2 user.uid
        printf '{"cwd": "/", "args": []}' >"$BATS_TEST_TMPDIR/process.json"
        in_box --process "$BATS_TEST_TMPDIR/process.json" box
        failed 255 args
}

@test "--process has the whole object: another option that would change it, or a command, is refused beside it" {
        running
        printf '{"cwd": "/", "args": ["true"]}' >"$BATS_TEST_TMPDIR/process.json"
        beside() {
                # shellcheck disable=SC2086
                in_box --process "$BATS_TEST_TMPDIR/process.json" $1 box
                failed 255 "${1%% *}: not beside --process"
        }
        table beside <<-'ROWS'
		--cwd /
		--user 0
		--additional-gids 5
		--env A=b
		--cap CAP_KILL
		--no-new-privs
		--process-label x
		--apparmor x
	ROWS
        in_box --process "$BATS_TEST_TMPDIR/process.json" box false
        failed 255 'COMMAND: not beside --process'
        in_box --process "$BATS_TEST_TMPDIR/process.json" --cgroup / --preserve-fds 0 --ignore-paused box
        succeeded
}

@test "--tty beside --process gives its process a terminal, of the size that the file says" {
        running
        printf '{"cwd": "/", "args": ["tty"]}' >"$BATS_TEST_TMPDIR/process.json"
        detached "$BATS_TEST_DIRNAME/terminal" -- "$SAGE_RUNTIME" --root "$ROOT" exec --tty --process "$BATS_TEST_TMPDIR/process.json" box
        succeeded
        said /dev/pts/0
        printf '{"cwd": "/", "args": ["stty", "size"], "terminal": true, "consoleSize": {"height": 10, "width": 110}}' \
                >"$BATS_TEST_TMPDIR/process.json"
        background "$BATS_TEST_TMPDIR/master" "$BATS_TEST_DIRNAME/receive-console" "$BATS_TEST_TMPDIR/socket"
        wait_until [ -S "$BATS_TEST_TMPDIR/socket" ]
        in_box --tty --detach --console-socket "$BATS_TEST_TMPDIR/socket" --process "$BATS_TEST_TMPDIR/process.json" box
        succeeded
        wait_until grep -q '10 110' "$BATS_TEST_TMPDIR/master"
}

@test "--detach returns at once and the pid file names the command's process" {
        running
        in_box --detach --pid-file "$BATS_TEST_TMPDIR/pid" box sleep 99
        succeeded
        [ "$(tr '\0' ' ' <"/proc/$(<"$BATS_TEST_TMPDIR/pid")/cmdline")" = "sleep 99 " ]
}

@test "a relative pid file is taken from the caller's directory" {
        running
        mkdir "$BATS_TEST_TMPDIR/caller"
        cd "$BATS_TEST_TMPDIR/caller"
        in_box -d --pid-file pid box sleep 99
        succeeded
        [ -d "/proc/$(<"$BATS_TEST_TMPDIR/caller/pid")" ]
}

@test "signals that the runtime gets go to the command, not to the container" {
        running
        background "$BATS_TEST_TMPDIR/out" "$SAGE_RUNTIME" --root "$ROOT" exec box \
                sh -c 'trap "echo got; exit 9" TERM; echo ready; while :; do sleep 0.02; done'
        wait_until grep -q ready "$BATS_TEST_TMPDIR/out"
        kill -TERM $!
        status=0
        wait $! || status=$?
        [ "$status" -eq 9 ]
        grep -qx got "$BATS_TEST_TMPDIR/out"
        [ "$(state box .status)" = running ]
}

@test "the container's seccomp filter holds for exec too" {
        running '.linux.seccomp = {defaultAction: "SCMP_ACT_ALLOW",
                syscalls: [{names: ["mkdir", "mkdirat"], action: "SCMP_ACT_ERRNO", errnoRet: 95}]}'
        in_box box mkdir /dev/shm/x
        failed 1 'not supported'
        in_box box grep ^Seccomp: /proc/self/status
        printed $'Seccomp:\t2'
}

@test "the command has only the standard descriptors" {
        running
        detached runtime exec box ls /proc/self/fd 7</etc/passwd 9</etc
        printed $'0\n1\n2\n3'
}

@test "--preserve-fds N hands over N descriptors from 3 on" {
        running
        echo three >"$BATS_TEST_TMPDIR/three"
        echo four >"$BATS_TEST_TMPDIR/four"
        output=$("$SAGE_RUNTIME" --root "$ROOT" exec --preserve-fds 2 box \
                sh -c 'cat <&3; cat <&4; [ ! -e /proc/self/fd/5 ] && echo no more' \
                3<"$BATS_TEST_TMPDIR/three" 4<"$BATS_TEST_TMPDIR/four" 5</etc/passwd)
        [ "$output" = $'three\nfour\nno more' ]
}

@test "many commands at once work" {
        local i pids=()
        running
        for i in {1..12}; do
                background "$BATS_TEST_TMPDIR/out.$i" "$SAGE_RUNTIME" --root "$ROOT" exec box sh -c "echo $i; exit $i"
                pids+=($!)
        done
        for i in {1..12}; do
                status=0
                wait "${pids[i - 1]}" || status=$?
                [ "$status" -eq "$i" ]
                [ "$(<"$BATS_TEST_TMPDIR/out.$i")" = "$i" ]
        done
}

@test "a command that lasts does not keep others from the container" {
        running
        background "$BATS_TEST_TMPDIR/out" "$SAGE_RUNTIME" --root "$ROOT" exec box sh -c 'echo ready; sleep 100'
        wait_until grep -q ready "$BATS_TEST_TMPDIR/out"
        in_box box true
        succeeded
        [ "$(state box .status)" = running ]
        runtime kill box KILL
        status=0
        wait $! || status=$?
        [ "$status" -eq 137 ]
}

@test "a failed exec leaves nothing in the container" {
        running
        in_box box /bin/nope
        failed 255
        in_box box sh -c 'set -- /proc/[0-9]*; echo $#'
        printed 2 # init, sh
}

# Where processes of the container may trace others, exec is two clones.
traced() {
        running '.process.capabilities |= map_values(. + ["CAP_SYS_PTRACE"])'" | ${1:-.}"
}

@test "in a container with CAP_SYS_PTRACE exec is what it is elsewhere: status, user, limits, session" {
        traced '.process.user = {uid: 0, gid: 7, additionalGids: [8, 9], umask: 63} | .process.rlimits = [{type: "RLIMIT_NOFILE", soft: 77, hard: 88}]'
        in_box --user 4321:4 --env A=b box sh -c 'id -u; id -g; umask; ulimit -n; pwd; echo $A
                set -- $(cat /proc/self/stat); [ $5 = $$ ] && [ $6 = $$ ] && echo leader; grep -E "^(Groups|CapEff|NoNewPrivs)" /proc/self/status | tr "\t" " "'
        printed "$(printf '%s\n' 4321 4 0077 77 / b leader 'Groups: 8 9 ' 'CapEff: 0000000000000000' 'NoNewPrivs: 1')"
        in_box box sh -c 'exit 7'
        [ "$status" -eq 7 ]
        in_box box sh -c 'kill -KILL $$'
        [ "$status" -eq 137 ]
        in_box box /bin/nope
        failed 255 '/bin/nope'
        in_box box sh -c 'set -- /proc/[0-9]*; echo $#'
        printed 2
        in_box --detach --pid-file "$BATS_TEST_TMPDIR/pid" box sleep 99
        succeeded
        [ "$(tr '\0' ' ' <"/proc/$(<"$BATS_TEST_TMPDIR/pid")/cmdline")" = "sleep 99 " ]
        [ "$(grep ^0:: "/proc/$(<"$BATS_TEST_TMPDIR/pid")/cgroup")" = 0::/box ]
}

@test "there a user's limit of processes counts the command as one" {
        traced '.process.rlimits = [{type: "RLIMIT_NPROC", soft: 1, hard: 1}]'
        in_box --user 54321 box sh -c 'ulimit -u; ulimit -Hu'
        printed $'1\n1'
}

@test "there a terminal, preserved descriptors and a filter work" {
        traced '.process.noNewPrivileges = false | .linux.seccomp = {defaultAction: "SCMP_ACT_ALLOW",
                syscalls: [{names: ["mkdir", "mkdirat"], action: "SCMP_ACT_ERRNO", errnoRet: 95}]}'
        detached "$BATS_TEST_DIRNAME/terminal" -- "$SAGE_RUNTIME" --root "$ROOT" exec --tty --user 1000:5 box sh -c 'tty; stat -c %u $(tty); echo >/dev/tty && echo has'
        succeeded
        said /dev/pts/
        said 1000
        said has
        in_box box mkdir /dev/shm/x
        failed 1 'not supported'
        echo three >"$BATS_TEST_TMPDIR/three"
        output=$("$SAGE_RUNTIME" --root "$ROOT" exec --preserve-fds 1 box sh -c 'cat <&3; ls /proc/self/fd | wc -l' 3<"$BATS_TEST_TMPDIR/three" 5</etc/passwd)
        [ "$output" = $'three\n5' ]
}

@test "there a program may be named by way of /proc/self" {
        traced
        in_box box /proc/self/root/bin/echo here
        printed here
        in_box box /proc/self/nope
        failed 255 /proc/self/nope
        output=$("$SAGE_RUNTIME" --root "$ROOT" exec --preserve-fds 1 box /proc/self/fd/3 2>&1 3<"$BUNDLE/rootfs/bin/busybox") || true
        said '3: applet not found' # by that name
}

@test "there a filter that forbids forks, and that only CAP_SYS_ADMIN may load, keeps every command out, by name" {
        traced '.process.noNewPrivileges = false | .linux.seccomp = {defaultAction: "SCMP_ACT_ALLOW",
                syscalls: [{names: ["clone"], action: "SCMP_ACT_ERRNO"}]}'
        in_box box true
        failed 255 linux.seccomp clone
        in_box --no-new-privs box /bin/true
        succeeded
}

@test "who comes in with CAP_SYS_PTRACE is kept from those who come later" {
        running
        in_box box true
        succeeded
        ! grep -q tracers "$ROOT/box/status.json" || false
        in_box --cap CAP_SYS_PTRACE box true
        succeeded
        grep -q '"tracers":true' "$ROOT/box/status.json"
        in_box box true
        succeeded
}

# knows_of_tracers ID: is an exec in container ID on its guard?
knows_of_tracers() {
        grep -q '"tracers":true' "$ROOT/$1/status.json"
}

@test "another container that is let into its pid namespace with CAP_SYS_PTRACE is reckoned with, however it got that" {
        local pid userns='.linux.namespaces += [{type: "user"}] | .linux.uidMappings = [{containerID: 0, hostID: 0, size: 65536}]
                | .linux.gidMappings = .linux.uidMappings'
        local traces='.process.capabilities |= map_values(. + ["CAP_SYS_PTRACE"])'
        running
        create apart
        pid=$(state box .pid)
        # beside FILTER: one more container in that pid namespace.
        beside() {
                local BUNDLE=$BATS_TEST_TMPDIR/beside
                runtime delete --force other
                bundle sleep 100
                config ".linux.namespaces |= map(if .type == \"pid\" then .path = \"/proc/$pid/ns/pid\" else . end) | $1"
                create other
        }
        beside .
        ! knows_of_tracers box || false
        beside "$userns | $traces | .mounts |= map(select(.type != \"proc\")) | del(.linux.maskedPaths, .linux.readonlyPaths)" # no rights over the host's processes
        ! knows_of_tracers box || false
        beside "$traces"
        knows_of_tracers box
        in_box box true
        succeeded

        runtime delete --force box
        runtime delete --force other
        bundle sleep 100
        create box
        pid=$(state box .pid)
        beside .
        start other
        ! knows_of_tracers box || false
        in_box --cap CAP_SYS_PTRACE other true
        succeeded
        knows_of_tracers box
        knows_of_tracers other
        ! knows_of_tracers apart || false
}

@test "a container with CAP_SYS_PTRACE is let into another's pid namespace only when an exec under way there is done" {
        local pid holder
        running
        pid=$(state box .pid)
        python3 - "$ROOT/box" 3>&- >"$BATS_TEST_TMPDIR/locked" <<-'PYTHON' &
		import fcntl, os, sys, time
		fcntl.flock(os.open(sys.argv[1], os.O_RDONLY), fcntl.LOCK_EX)
		print("locked", flush=True)
		time.sleep(100)
	PYTHON
        holder=$!
        wait_until grep -q locked "$BATS_TEST_TMPDIR/locked"
        bundle sleep 100
        config ".linux.namespaces |= map(if .type == \"pid\" then .path = \"/proc/$pid/ns/pid\" else . end)
                | .process.capabilities |= map_values(. + [\"CAP_SYS_PTRACE\"])"
        background "$BATS_TEST_TMPDIR/create" "$SAGE_RUNTIME" --root "$ROOT" create --bundle "$BUNDLE" other
        sleep 0.3
        [ "$(state other .pid)" = 0 ]
        kill "$holder"
        wait $!
        [ "$(state other .pid)" != 0 ]
        knows_of_tracers box
}

@test "--cgroup may not lead out of the container's own" {
        running
        in_box --cgroup ../.. box true
        failed 255 --cgroup 'bad sub cgroup path'
        in_box --cgroup nope box true
        failed 255 nope
}

@test "--cgroup takes one path; a list of controllers, which have no places of their own on cgroup v2, is refused" {
        running
        mkdir "/sys/fs/cgroup/box/below" "/sys/fs/cgroup/box/a..b"
        at() {
                in_box $1 box grep ^0:: /proc/self/cgroup
                printed "0::$2"
        }
        table at <<-'ROWS'
		--cgroup below => /below
		--cgroup /below/ => /below
		--cgroup a..b => /a..b
		--cgroup / => /
	ROWS
        refuses() {
                in_box $1 box true
                failed 255 --cgroup "$2"
        }
        table refuses <<-'ROWS'
		--cgroup bogus:below => expected PATH
		--cgroup memory:/below => expected PATH
		--cgroup cpu,memory:below => expected PATH
		--cgroup :below => expected PATH
		--cgroup below: => expected PATH
		--cgroup below --cgroup / => one place
	ROWS
}

@test "where the container's process has moved to another cgroup and its own is gone, exec joins that one" {
        bundle sleep 100
        config '.linux.namespaces |= map(select(.type != "cgroup"))'
        create box
        start box
        mkdir /sys/fs/cgroup/elsewhere
        state box .pid >/sys/fs/cgroup/elsewhere/cgroup.procs
        rmdir /sys/fs/cgroup/box
        detached runtime exec box grep ^0:: /proc/self/cgroup
        printed 0::/elsewhere
        detached runtime exec --cgroup / box true
        failed 255 /sys/fs/cgroup/box
        detached runtime delete --force box
        succeeded
        rmdir /sys/fs/cgroup/elsewhere
}

@test "a signal ends an exec that waits for a paused container, and nothing of it stays" {
        local pid
        running
        runtime pause box
        background "$BATS_TEST_TMPDIR/out" "$SAGE_RUNTIME" --root "$ROOT" exec --ignore-paused box true
        pid=$!
        in_it() { [ "$(wc -l </sys/fs/cgroup/box/cgroup.procs)" -eq "$1" ]; }
        wait_until in_it 2
        kill -TERM "$pid"
        status=0
        wait "$pid" || status=$?
        output=$(<"$BATS_TEST_TMPDIR/out")
        failed 143 'interrupted by signal 15'
        wait_until in_it 1
        runtime resume box
        has_status box running
}

@test "a signal ends an exec that waits for another command to be done with the container" {
        local pid
        bundle sleep 100
        printf '#!/bin/sh\necho >%s\nexec sleep 100\n' "$BATS_TEST_TMPDIR/hook" >"$BATS_TEST_TMPDIR/hang"
        chmod 755 "$BATS_TEST_TMPDIR/hang"
        config ".hooks = {createRuntime: [{path: \"$BATS_TEST_TMPDIR/hang\"}]}"
        background "$BATS_TEST_TMPDIR/create" "$SAGE_RUNTIME" --root "$ROOT" create --bundle "$BUNDLE" box
        wait_until test -e "$BATS_TEST_TMPDIR/hook"
        background "$BATS_TEST_TMPDIR/out" "$SAGE_RUNTIME" --root "$ROOT" exec box true
        pid=$!
        sleep 0.2
        kill -TERM "$pid"
        status=0
        wait "$pid" || status=$?
        [ "$status" -eq 143 ]
        runtime delete --force box
}
