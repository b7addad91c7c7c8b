# events: what a container uses, as lines of JSON. What needs a controller is in tests/vm/test_events.py.
load helpers

# A container that has used some CPU time.
busy() {
        bundle sh -c 'i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); done; echo ready; exec sleep 100'
        runtime create --bundle "$BUNDLE" box >"$BATS_TEST_TMPDIR/out" 2>&1 </dev/null
        start box
        wait_until grep -q ready "$BATS_TEST_TMPDIR/out"
}

@test "--stats is one line with the members that engines read" {
        busy
        detached runtime events --stats box
        succeeded
        [ "$(wc -l <"$BATS_TEST_TMPDIR/detached")" -eq 1 ]
        jq -e '.type == "stats" and .id == "box" and (.data | (.cpu.usage | .total > 0 and .user > 0 and has("kernel"))
                and (.cpu.throttling | has("periods")) and (.memory | has("usage") and has("swap") and has("raw"))
                and (.pids | has("current") and has("limit")) and (.blkio | has("ioServiceBytesRecursive")) and has("hugetlb"))' <<<"$output"
}

@test "CPU time is in nanoseconds" {
        busy
        local kernel stats
        kernel=$(sed -n 's/^usage_usec //p' /sys/fs/cgroup/box/cpu.stat)
        stats=$(runtime events --stats box | jq .data.cpu.usage.total)
        [ "$stats" -ge $((kernel * 1000)) ]
        [ "$stats" -le $((kernel * 1000 + 1000000000)) ]
}

@test "--interval prints a line each time, until the container ends" {
        busy
        background "$BATS_TEST_TMPDIR/events" runtime events --interval 20ms box
        local events=$!
        three_lines() { [ "$(wc -l <"$BATS_TEST_TMPDIR/events")" -ge 3 ]; }
        wait_until three_lines
        runtime kill box KILL
        wait "$events"
        jq -se 'length >= 3 and all(.[]; .type == "stats" and .id == "box" and has("data"))' "$BATS_TEST_TMPDIR/events"
}

@test "a container that ends before the interval is over ends the stream at once" {
        busy
        background "$BATS_TEST_TMPDIR/events" runtime events box
        local events=$! begin=$SECONDS
        sleep 0.05
        runtime kill box KILL
        wait "$events"
        [ $((SECONDS - begin)) -le 3 ]
        [ ! -s "$BATS_TEST_TMPDIR/events" ]
}

@test "a created and a paused container have stats, a stopped one is not running" {
        bundle sleep 100
        create box
        detached runtime events --stats box
        succeeded
        start box
        runtime pause box
        detached runtime events --stats box
        succeeded
        runtime kill box KILL
        wait_until has_status box stopped
        detached runtime events --stats box
        failed 1 'container not running'
}

@test "an out-of-memory kill is an event" {
        vm_only 'events: an out of memory kill is an event between the stats'
}

@test "events refuses what is no interval, a container without a cgroup, and one that is not there" {
        bundle sleep 100
        detached runtime --cgroup-manager disabled create --bundle "$BUNDLE" box
        succeeded
        detached runtime events --stats box
        failed 1 'no cgroup'
        detached runtime events --interval soon box
        failed 1 --interval soon
        leaves_nothing runtime events --stats nope
        failed 1 'does not exist'
        detached runtime events
        failed 1 usage
}
