# ps: the processes of a container, by their pids on the host.
load helpers

# A container with three processes; $FIRST is the pid of its own.
three() {
        bundle sh -c 'sleep 100 & sleep 200 & echo ready; exec sleep 300'
        runtime create --bundle "$BUNDLE" box >"$BATS_TEST_TMPDIR/out" 2>&1 </dev/null
        start box
        wait_until grep -q ready "$BATS_TEST_TMPDIR/out"
        FIRST=$(state box .pid)
        wait_until grep -qx sleep "/proc/$FIRST/comm"
}

@test "--format json is one array of all pids, as containerd reads it" {
        three
        detached runtime ps --format json box
        succeeded
        [ "$(wc -l <<<"$output")" -eq 1 ]
        [ "$(jq -c sort <<<"$output")" = "$(sort -n /sys/fs/cgroup/box/cgroup.procs | jq -cs .)" ]
        [ "$(jq --argjson pid "$FIRST" 'length == 3 and index($pid) != null' <<<"$output")" = true ]
        local long=$output
        detached runtime ps -f json box
        printed "$long"
}

@test "a table without options is a column PID" {
        three
        detached runtime ps box
        printed "$(echo PID; sort -n /sys/fs/cgroup/box/cgroup.procs)"
        detached runtime ps --format table box
        printed "$(echo PID; sort -n /sys/fs/cgroup/box/cgroup.procs)"
}

@test "with options of ps it is the host's ps for these processes, with its header" {
        three
        detached runtime ps --format table box -o pid,args
        succeeded
        [ "$(wc -l <<<"$output")" -eq 4 ]
        [[ $output =~ ^\ *PID\ +COMMAND ]]
        grep -Eq "^ *$FIRST sleep 300$" <<<"$output" || return 1
        detached runtime ps box -ef
        succeeded
        [ "$(wc -l <<<"$output")" -eq 4 ]
        said 'sleep 200'
}

@test "options that ps does not know, or that leave out the pid, are refused" {
        three
        detached runtime ps box --nonsense
        failed 1 'ps of the host failed'
        detached runtime ps box -e -o comm
        failed 1 PID
}

@test "what exec runs and what is in cgroups below belongs to the container" {
        bundle sleep 100
        create box
        start box
        mkdir -p /sys/fs/cgroup/box/below/deep
        runtime exec --cgroup below/deep --detach --pid-file "$BATS_TEST_TMPDIR/pid" box sleep 100 >"$BATS_TEST_TMPDIR/out" 2>&1 </dev/null
        detached runtime ps -f json box
        [ "$(jq -c sort <<<"$output")" = "$(printf '%s\n' "$(state box .pid)" "$(<"$BATS_TEST_TMPDIR/pid")" | jq -cs sort)" ]
}

@test "a created and a paused container have processes, a stopped one has none" {
        bundle sleep 100
        create box
        detached runtime ps -f json box
        printed "[$(state box .pid)]"
        start box
        runtime pause box
        detached runtime ps -f json box
        printed "[$(state box .pid)]"
        runtime kill box KILL
        wait_until has_status box stopped
        detached runtime ps -f json box
        printed '[]'
        detached runtime ps box
        printed PID
}

@test "without a cgroup the pid namespace that was made for the container tells its processes" {
        bundle sleep 100
        detached runtime --cgroup-manager disabled create --bundle "$BUNDLE" box
        succeeded
        start box
        detached runtime exec --detach --pid-file "$BATS_TEST_TMPDIR/pid" box sleep 100
        detached runtime ps --format json box
        [ "$output" = "[$(printf '%s\n' "$(state box .pid)" "$(<"$BATS_TEST_TMPDIR/pid")" | sort -n | paste -sd,)]" ]
}

@test "with neither nobody knows" {
        bundle sleep 100
        config '.linux.namespaces |= map(select(.type != "pid"))'
        detached runtime --cgroup-manager disabled create --bundle "$BUNDLE" box
        succeeded
        detached runtime ps box
        failed 1 'neither a cgroup nor a pid namespace'
}

@test "ps needs a container that exists, and a format that there is" {
        bundle
        create box
        detached runtime ps
        failed 1 usage
        detached runtime ps --format yaml box
        failed 1 yaml
        leaves_nothing runtime ps nope
        failed 1 'does not exist'
}
