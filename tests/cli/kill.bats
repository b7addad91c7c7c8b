# kill: a signal for the container's process.
load helpers

# A container whose process says the number of every signal it gets.
listener() {
        bundle sh -c 'i=1; while [ $i -le 64 ]; do [ $i = 17 ] || trap "echo got $i" $i 2>/dev/null; i=$((i + 1)); done
                echo ready; while :; do sleep 0.01; done'
        runtime create --bundle "$BUNDLE" box >"$BATS_TEST_TMPDIR/out" 2>&1 </dev/null
        start box
        wait_until grep -q ready "$BATS_TEST_TMPDIR/out"
}

@test "a signal may be spelled as a number or as a name, with or without SIG, in any case" {
        spelled() {
                : >"$BATS_TEST_TMPDIR/out"
                detached runtime kill box $1
                succeeded && wait_until grep -qx "got $2" "$BATS_TEST_TMPDIR/out"
        }
        listener
        table spelled <<-'ROWS'
		 => 15
		TERM => 15
		SIGTERM => 15
		sigterm => 15
		sigTERM => 15
		term => 15
		15 => 15
		1 => 1
		HUP => 1
		SIGINT => 2
		QUIT => 3
		USR1 => 10
		Usr2 => 12
		WINCH => 28
		SIGCONT => 18
		37 => 37
		SIGRTMIN+3 => 37
		RTMIN+3 => 37
		rtmin+3 => 37
		RTMIN => 34
		SIGRTMAX => 64
		SIGRTMAX-14 => 50
		64 => 64
	ROWS
        [ "$(state box .status)" = running ]
}

@test "anything else is no signal, and the container gets none" {
        refused() {
                detached runtime kill box -- "$1"
                failed 1
        }
        listener
        table refused <<-'ROWS'

		SIG
		sig
		NOSIGNAL
		usr1x
		9x
		x9
		-1
		-9
		+9
		0x9
		9.0
		 9
		9 
		65
		99
		999
		4294967305
		SIGSIGTERM
		SIG9
		RTMIN+
		RTMIN+31
		RTMIN-1
		RTMAX+1
		RTMAX-31
		RTMIN3
	ROWS
        sleep 0.05
        [ "$(<"$BATS_TEST_TMPDIR/out")" = ready ]
}

@test "signal 0 asks only whether there is a process" {
        bundle sleep 100
        create box
        detached runtime kill box 0
        succeeded
        [ "$(state box .status)" = created ]
        runtime kill box KILL
        wait_until has_status box stopped
        detached runtime kill box 0
        failed 1 'container not running'
}

@test "KILL ends a running container" {
        bundle sleep 100
        create box
        start box
        runtime kill box KILL
        wait_until has_status box stopped
}

@test "KILL ends a created container" {
        bundle sleep 100
        create box
        runtime kill box 9
        wait_until has_status box stopped
}

@test "an unknown container does not exist" {
        leaves_nothing runtime kill nope KILL
        failed 1 'does not exist'
}

@test "a stopped container is refused with the words that engines know" {
        bundle
        create box
        start box
        wait_until has_status box stopped
        detached runtime kill box TERM
        failed 1 'container not running'
}

@test "--all reaches every process of the container" {
        bundle
        config '.linux.namespaces |= map(select(.type != "pid"))
                | .process.args = ["sh", "-c", "sleep 100 & sleep 100 & echo ready; exec sleep 100"]'
        runtime create --bundle "$BUNDLE" box >"$BATS_TEST_TMPDIR/out" 2>&1 </dev/null
        start box
        wait_until grep -q ready "$BATS_TEST_TMPDIR/out"
        [ "$(wc -l </sys/fs/cgroup/box/cgroup.procs)" -eq 3 ]
        runtime kill --all box KILL
        wait_until has_status box stopped
        no_process() { [ "$(wc -l </sys/fs/cgroup/box/cgroup.procs)" -eq 0 ]; }
        wait_until no_process
}

@test "the words that containerd sends work: kill [--all] ID NUMBER" {
        bundle sleep 100
        create box
        start box
        detached runtime kill box 9
        succeeded
        wait_until has_status box stopped
        runtime delete box
        create box
        start box
        detached runtime kill --all box 9
        succeeded
        wait_until has_status box stopped
}

@test "kill needs a container" {
        detached runtime kill
        failed 1 usage
        detached runtime kill box TERM surplus
        failed 1 usage
}

@test "a pid that somebody else got meanwhile is not signalled" {
        bundle sleep 100
        create box
        runtime kill box KILL
        wait_until has_status box stopped
        sleep 100 3>&- &
        # The state as it would be had our process got the container's old pid.
        sed -i "s/\"pid\":[0-9]*/\"pid\":$!/" "$ROOT"/box/status.json
        grep -q "\"pid\":$!" "$ROOT"/box/status.json
        detached runtime kill box KILL
        failed 1 'container not running'
        detached runtime delete --force box
        succeeded
        kill -0 $!
}

@test "--regex signals every running container whose id matches, and passes over those that have ended" {
        bundle sleep 100
        local id
        for id in web-1 web-2 db-1; do
                create $id
                start $id
        done
        runtime kill web-2 KILL
        wait_until has_status web-2 stopped
        detached runtime kill --regex '^web-[0-9]$' KILL
        printed ''
        wait_until has_status web-1 stopped
        [ "$(state db-1 .status)" = running ]
        detached runtime kill -r 'nobody|(b-1)$' 9
        printed ''
        wait_until has_status db-1 stopped
}

@test "--regex that matches nobody is no error, and what is no expression is one" {
        leaves_nothing runtime kill --regex '.' KILL
        printed ''
        detached runtime kill --regex '(' KILL
        failed 1 --regex
}

@test "KILL reaches the whole container where its pid namespace is not its own, also when its first process has ended" {
        local pid
        bundle sh -c 'sleep 100 & sleep 100 & wait'
        config '.linux.namespaces |= map(select(.type != "pid"))'
        create box
        start box
        wait_until test "$(wc -l </sys/fs/cgroup/box/cgroup.procs)" -ge 1
        detached runtime kill box KILL
        succeeded
        wait_until grep -q 'populated 0' /sys/fs/cgroup/box/cgroup.events
        detached runtime kill box KILL
        failed 1 'container not running'
        detached runtime delete box
        succeeded

        create box
        start box
        detached runtime exec --detach box sleep 100
        kill -KILL "$(state box .pid)"
        wait_until has_status box stopped
        grep -q 'populated 1' /sys/fs/cgroup/box/cgroup.events
        detached runtime kill box KILL
        succeeded
        wait_until grep -q 'populated 0' /sys/fs/cgroup/box/cgroup.events
}

# The container's process is stopped when it only waits to be let go, so that it has done nothing after that when create returns.
@test "TERM ends a container from the moment that create returns" {
        local log=$BATS_TEST_TMPDIR/log creator process
        bundle sleep 100
        mkfifo "$BATS_TEST_TMPDIR/pid"
        background "$BATS_TEST_TMPDIR/out" "$SAGE_RUNTIME" --root "$ROOT" --debug --log "$log" create --bundle "$BUNDLE" \
                --pid-file "$BATS_TEST_TMPDIR/pid" box
        creator=$!
        wait_until grep -q 'everything is in place' "$log"
        process=$(</sys/fs/cgroup/box/cgroup.procs)
        kill -STOP "$process"
        [ "$(<"$BATS_TEST_TMPDIR/pid")" = "$process" ] # a FIFO, which create waits to write to
        wait "$creator"
        detached runtime kill box TERM
        succeeded
        kill -CONT "$process"
        wait_until has_status box stopped
}

@test "TERM ends a container that waits for start" {
        bundle sleep 100
        for signal in TERM INT HUP QUIT USR1; do
                create box
                detached runtime kill box $signal
                succeeded
                wait_until has_status box stopped
                detached runtime start box
                failed 1 stopped
                detached runtime delete box
                succeeded
        done
}
