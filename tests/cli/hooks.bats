# hooks: programs of the bundle's author at six points of a container's life.
load helpers

# Every hook appends its name to $LOG/order and keeps what it gets: NAME.json is its stdin, NAME.env its environment, NAME.args its
# arguments. It looks for a file NAME.sh beside them, to do something of the test's. In the container the same directory is /log.
LOG=$BATS_TEST_TMPDIR/log

hooks() {
        bundle "$@"
        mkdir -p "$LOG" "$BUNDLE/rootfs/log"
        cat >"$LOG/hook" <<-'SCRIPT'
		#!/bin/sh
		PATH=/usr/bin:/bin
		log=${0%/hook}
		name=$1
		cat >"$log/$name.json"
		# The forked shell opens these for tr, so they are the hook's; /proc may be the host's, where $$ is somebody else.
		tr '\0' '\n' </proc/self/environ >"$log/$name.env"
		tr '\0' '\n' </proc/self/cmdline >"$log/$name.args"
		pid=$(grep -o '"pid": *[0-9]*' "$log/$name.json" | grep -o '[0-9]*$')
		echo "$name" >>"$log/order"
		[ ! -e "$log/$name.sh" ] || . "$log/$name.sh"
	SCRIPT
        chmod +x "$LOG/hook"
        config --args '
                def hook($path; $name): [{path: $path, args: [$path, $name]}];
                $ARGS.positional[0] as $log
                | .mounts += [{destination: "/log", type: "bind", source: $log, options: ["rbind"]}]
                | .hooks = (["prestart", "createRuntime", "createContainer", "poststart", "poststop"]
                        | map({key: ., value: hook($log + "/hook"; .)}) | from_entries)
                | .hooks.startContainer = hook("/log/hook"; "startContainer")' "$LOG"
}

order() {
        [ "$(tr '\n' ' ' <"$LOG/order")" = "$1" ] || { cat "$LOG/order"; return 1; }
}

hook_state() {
        jq -r "$2" "$LOG/$1.json"
}

@test "all six run in their order" {
        hooks
        detached runtime run --bundle "$BUNDLE" box
        succeeded
        order 'prestart createRuntime createContainer startContainer poststart poststop '
}

@test "create runs the first three, start the next two, delete the last" {
        hooks sleep 100
        create box
        order 'prestart createRuntime createContainer '
        start box
        order 'prestart createRuntime createContainer startContainer poststart '
        runtime kill box KILL
        wait_until has_status box stopped
        order 'prestart createRuntime createContainer startContainer poststart '
        runtime delete box
        order 'prestart createRuntime createContainer startContainer poststart poststop '
}

@test "each reads the container's state, with the status of its moment" {
        local name
        hooks sleep 100
        config '.annotations = {"key": "value"}'
        create box --pid-file "$BATS_TEST_TMPDIR/pid"
        start box
        runtime delete --force box
        has_state() {
                [ "$(hook_state "$1" '[.id, .status, .bundle, .annotations.key] | join(" ")')" = "box $2 $(realpath "$BUNDLE") value" ] || {
                        cat "$LOG/$1.json"
                        return 1
                }
                [ -n "$3" ] || return 0
                [ "$(hook_state "$1" .pid)" = "$(<"$BATS_TEST_TMPDIR/pid")" ] || { cat "$LOG/$1.json"; return 1; }
        }
        table has_state <<-'ROWS'
		prestart => creating => pid
		createRuntime => creating => pid
		createContainer => creating => pid
		startContainer => created => pid
		poststart => running => pid
		poststop => stopped => 
	ROWS
        for name in prestart createRuntime createContainer startContainer poststart poststop; do
                [[ $(hook_state "$name" .ociVersion) == 1.* ]]
        done
}

@test "prestart and createRuntime run in the host's namespaces, createContainer and startContainer in the container's" {
        local name host container
        hooks sleep 100
        for name in prestart createRuntime createContainer startContainer poststart poststop; do
                echo 'readlink /proc/self/ns/mnt >"$log/$name.ns"; cat /proc/sys/kernel/hostname >"$log/$name.name"' >"$LOG/$name.sh"
        done
        create box
        start box
        container=$(readlink "/proc/$(state box .pid)/ns/mnt")
        host=$(readlink /proc/self/ns/mnt)
        runtime delete --force box
        for name in prestart createRuntime poststart poststop; do
                [ "$(<"$LOG/$name.ns")" = "$host" ]
        done
        for name in createContainer startContainer; do
                [ "$(<"$LOG/$name.ns")" = "$container" ]
        done
        [ "$(<"$LOG/startContainer.name")" = sage ]
}

@test "namespaces exist when createRuntime runs, and the root is not yet the container's own" {
        hooks sleep 100
        echo 'readlink "/proc/$pid/ns/net" >"$log/net"' >"$LOG/createRuntime.sh"
        create box
        [ "$(<"$LOG/net")" = "$(readlink "/proc/$(state box .pid)/ns/net")" ]
        [ "$(<"$LOG/net")" != "$(readlink /proc/self/ns/net)" ]
}

@test "poststart runs when the program runs" {
        hooks sleep 100
        echo 'cat "/proc/$pid/comm" >"$log/comm"' >"$LOG/poststart.sh"
        create box
        start box
        [ "$(<"$LOG/comm")" = sleep ]
}

@test "without env a hook's environment is empty, and startContainer has the program's" {
        local name
        hooks
        config '.process.env = ["PATH=/bin", "OWN=1"]'
        SECRET=caller detached runtime run --bundle "$BUNDLE" box
        succeeded
        for name in prestart createRuntime createContainer poststart poststop; do
                [ ! -s "$LOG/$name.env" ] || { cat "$LOG/$name.env"; return 1; }
        done
        grep -qx OWN=1 "$LOG/startContainer.env"
        ! grep -q SECRET "$LOG/startContainer.env" || false
}

@test "with env it is exactly that" {
        local name
        hooks
        config '.process.env = ["PATH=/bin", "OWN=1"] | .hooks[][] |= (.env = ["A=1", "B=two words"])'
        detached runtime run --bundle "$BUNDLE" box
        succeeded
        for name in prestart createRuntime createContainer startContainer poststart poststop; do
                [ "$(<"$LOG/$name.env")" = $'A=1\nB=two words' ]
        done
}

@test "arguments are the config's; without any the path is the only one" {
        hooks
        config '.hooks.prestart[0].args = ["other name", "prestart", "a b", ""]'
        detached runtime run --bundle "$BUNDLE" box
        succeeded
        [ "$(tail -n 3 "$LOG/prestart.args")" = $'prestart\na b' ]
        config '.hooks = {prestart: [{path: .hooks.prestart[0].path}]}'
        rm -f "$LOG"/*.args
        detached runtime run --bundle "$BUNDLE" box
        succeeded
        [ "$(tail -n 1 "$LOG/.args")" = "$LOG/hook" ]
}

@test "several hooks of one point run in their order, and a failing one ends the row" {
        hooks
        config '.hooks.createRuntime += [.hooks.createRuntime[0] | .args[1] = "second"] + [.hooks.createRuntime[0] | .args[1] = "third"]'
        echo 'exit 1' >"$LOG/second.sh"
        leaves_nothing runtime create --bundle "$BUNDLE" box
        failed 1 'hooks.createRuntime[1]'
        order 'prestart createRuntime second poststop '
}

@test "a failing prestart, createRuntime or createContainer fails create, and nothing is left" {
        fails_create() {
                rm -f "$LOG"/*.sh "$LOG/order"
                echo "exit 3" >"$LOG/$1.sh"
                leaves_nothing runtime create --bundle "$BUNDLE" box
                failed 1 "hooks.$1[0]" 'status 3' && order "$2"
        }
        hooks
        table fails_create <<-'ROWS'
		prestart => prestart poststop 
		createRuntime => prestart createRuntime poststop 
		createContainer => prestart createRuntime createContainer poststop 
	ROWS
}

@test "a failing startContainer fails start, and the container is stopped" {
        hooks touch /log/ran
        echo 'exit 3' >"$LOG/startContainer.sh"
        create box
        detached runtime start box
        failed 1 'hooks.startContainer[0]' 'status 3'
        wait_until has_status box stopped
        [ ! -e "$LOG/ran" ]
        detached runtime delete box
        succeeded
        order 'prestart createRuntime createContainer startContainer poststop '
}

@test "a failing poststart fails start, and the container is deleted" {
        hooks sleep 100
        echo 'exit 3' >"$LOG/poststart.sh"
        create box
        detached runtime start box
        failed 1 'hooks.poststart[0]' 'status 3'
        detached runtime state box
        failed 1 'does not exist'
        order 'prestart createRuntime createContainer startContainer poststart poststop '
}

@test "run undoes all when startContainer or poststart fails" {
        local name
        for name in startContainer poststart; do
                hooks sleep 100
                rm -f "$LOG"/*.sh
                echo 'exit 3' >"$LOG/$name.sh"
                leaves_nothing runtime run --bundle "$BUNDLE" box
                failed 1 "hooks.$name[0]"
        done
}

@test "a failing poststop is a warning: the container is deleted, and the next poststop still runs" {
        hooks
        config '.hooks.poststop += [.hooks.poststop[0] | .args[1] = "second"]'
        echo 'exit 3' >"$LOG/poststop.sh"
        create box
        detached runtime delete box
        [ "$status" -eq 0 ]
        said 'hooks.poststop[0]'
        [ ! -e "$ROOT/box" ]
        grep -qx second "$LOG/order"
}

@test "a hook that cannot be executed is named, and create fails" {
        hooks
        config '.hooks.prestart[0].path = "/nowhere/hook"'
        leaves_nothing runtime create --bundle "$BUNDLE" box
        failed 1 /nowhere/hook 'hooks.prestart[0]'
}

@test "a hook that a signal ends is told as such" {
        hooks
        echo 'kill -KILL $$' >"$LOG/prestart.sh"
        leaves_nothing runtime create --bundle "$BUNDLE" box
        failed 1 'signal 9'
}

@test "a hook that lasts longer than its timeout is killed with all that it started, and create fails" {
        hooks
        config '.hooks.createRuntime[0].timeout = 1'
        echo 'sleep 100 & echo $! >"$log/child"; sleep 100' >"$LOG/createRuntime.sh"
        SECONDS=0
        leaves_nothing runtime create --bundle "$BUNDLE" box
        failed 1 'hooks.createRuntime[0]' '1 s'
        [ "$SECONDS" -le 5 ]
        wait_until has_ended "$(<"$LOG/child")"
}

@test "a hook within its timeout is fine" {
        hooks
        config '.hooks[][].timeout = 10'
        detached runtime run --bundle "$BUNDLE" box
        succeeded
}

@test "a state of any length reaches a hook, and the hook cannot change it" {
        bundle
        mkdir "$LOG"
        # More than an ordinary user's pipe holds: pipe(7).
        jq '.annotations = ([range(20)] | map({key: "key\(.)", value: ("x" * 100000)}) | from_entries)' "$BUNDLE/config.json" >"$LOG/new"
        mv "$LOG/new" "$BUNDLE/config.json"
        config --args '.hooks.createRuntime = [{path: "/bin/sh", args: ["sh", "-c", "echo x 2>/dev/null 1>&0; cat >$0/state", $ARGS.positional[0]]}]
                | .hooks.startContainer = [{path: "/bin/sh", args: ["sh", "-c", "wc -c"]}]' "$LOG"
        detached runtime run --bundle "$BUNDLE" box
        succeeded
        [ "$output" -gt 2000000 ]
        jq -e '.id == "box" and (.annotations | length == 20) and (.annotations.key19 | length == 100000)' "$LOG/state"
}

@test "a hook that reads nothing does no harm, also when the state is long" {
        hooks
        config '.annotations = {"long": ("x" * 200000)} | .hooks |= map_values([{path: "/bin/true"}])'
        detached runtime run --bundle "$BUNDLE" box
        succeeded
}

@test "a hook that leaves a child with its output does not make create wait" {
        hooks
        echo 'sleep 20 & echo $! >"$log/child"' >"$LOG/prestart.sh"
        SECONDS=0
        create box
        kill "$(<"$LOG/child")"
        [ "$SECONDS" -le 5 ]
}

@test "descriptors of the caller do not reach the hooks" {
        local name
        hooks
        config --args '.hooks |= with_entries(.key as $name | .value = [{path: "/bin/sh", args: ["sh", "-c",
                "ls /proc/self/fd >" + (if $name == "startContainer" then "/log" else $ARGS.positional[0] end) + "/" + $name + ".fds"],
                env: ["PATH=/bin:/usr/bin"]}])' "$LOG"
        detached runtime run --bundle "$BUNDLE" box 7</etc/passwd 8</
        succeeded
        for name in prestart createRuntime createContainer startContainer poststart poststop; do
                # 3 is the listing's own.
                [ "$(tr '\n' ' ' <"$LOG/$name.fds")" = '0 1 2 3 ' ] || { echo "$name:"; cat "$LOG/$name.fds"; return 1; }
        done
}

@test "a hook may look at the container, and kill it" {
        hooks sleep 100
        echo "timeout 5 '$SAGE_RUNTIME' --root '$ROOT' kill box KILL" >"$LOG/poststart.sh"
        create box
        detached runtime start box
        succeeded
        wait_until has_status box stopped
}

@test "run.oci.hooks.stdout and .stderr are where all hooks write, one after the other" {
        local name
        hooks true
        config --args '.annotations = {"run.oci.hooks.stdout": $ARGS.positional[0], "run.oci.hooks.stderr": $ARGS.positional[1]}' \
                "$BATS_TEST_TMPDIR/out" "$BATS_TEST_TMPDIR/err"
        for name in prestart createRuntime createContainer startContainer poststart poststop; do
                echo "echo out of $name; echo err of $name >&2" >"$LOG/$name.sh"
        done
        echo before >"$BATS_TEST_TMPDIR/out"
        detached runtime run --bundle "$BUNDLE" box
        printed ''
        diff <(echo before; printf 'out of %s\n' prestart createRuntime createContainer startContainer poststart poststop) "$BATS_TEST_TMPDIR/out"
        diff <(printf 'err of %s\n' prestart createRuntime createContainer startContainer poststart poststop) "$BATS_TEST_TMPDIR/err"
}

@test "a file for the output of hooks that cannot be opened fails create by the annotation's name, and nothing is left" {
        hooks true
        config '.annotations = {"run.oci.hooks.stdout": "/nowhere/out"}'
        leaves_nothing runtime create --bundle "$BUNDLE" box
        failed 1 run.oci.hooks.stdout /nowhere/out
}

# The program of such a hook is a file of the image.
@test "a startContainer hook is what the payload is: its user, capabilities, and filter" {
        local nnp
        for nnp in true false; do
                hooks true
                config "
                        .process.user = {uid: 1000, gid: 1000} | .process.noNewPrivileges = $nnp
                        | .linux.seccomp = {defaultAction: \"SCMP_ACT_ALLOW\", syscalls: [
                                {names: [\"mkdir\", \"mkdirat\"], action: \"SCMP_ACT_ERRNO\", errnoRet: 38},
                                {names: [\"clone3\"], action: \"SCMP_ACT_ERRNO\", errnoRet: 38}]}"
                chmod 777 "$LOG"
                rm -f "$LOG"/*.json "$LOG"/*.env "$LOG"/*.args "$LOG"/order
                cat >"$LOG/startContainer.sh" <<-'SCRIPT'
			id -u >/log/hook.id
			grep -E '^(CapEff|NoNewPrivs|Seccomp):' /proc/self/status | tr -d '\n' >>/log/hook.id
			mkdir /log/hook.dir 2>/log/hook.err || true
		SCRIPT
                detached runtime run --bundle "$BUNDLE" box
                succeeded
                [ "$(cat "$LOG/hook.id")" = $'1000\nCapEff:\t0000000000000000NoNewPrivs:\t'"$([ $nnp = true ] && echo 1 || echo 0)"$'Seccomp:\t2' ] || {
                        cat "$LOG/hook.id"
                        return 1
                }
                grep -q 'not implemented' "$LOG/hook.err"
                [ ! -d "$LOG/hook.dir" ]
                rm -r "$LOG"
        done
}

@test "a listener of the payload's filter is not asked about a startContainer hook" {
        hooks true
        config '.linux.seccomp = {defaultAction: "SCMP_ACT_ALLOW", listenerPath: "/run/sage-cli/none",
                syscalls: [{names: ["mkdir", "mkdirat"], action: "SCMP_ACT_NOTIFY"}]}'
        echo 'mkdir /log/hook.dir 2>/log/hook.err; touch /log/went-on' >"$LOG/startContainer.sh"
        detached runtime run --bundle "$BUNDLE" box
        failed 1 /run/sage-cli/none # the payload's own, later
        grep -q 'not implemented' "$LOG/hook.err"
        [ -e "$LOG/went-on" ]
}

@test "what a failing startContainer hook says is heard also where the program was to have a terminal" {
        hooks true
        config '.process.terminal = true'
        echo 'echo told the terminal; exit 3' >"$LOG/startContainer.sh"
        detached runtime run --bundle "$BUNDLE" box
        failed 1 'told the terminal' 'status 3'
}
