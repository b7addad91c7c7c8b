# pause and resume: every process of a container stands still, and goes on.
load helpers

# A container that writes a line every 10 ms, and is at it.
ticker() {
        bundle sh -c 'while :; do echo tick; sleep 0.01; done'
        runtime create --bundle "$BUNDLE" box >"$BATS_TEST_TMPDIR/out" 2>&1 </dev/null
        start box
        wait_until grep -q tick "$BATS_TEST_TMPDIR/out"
}

ticks() {
        wc -l <"$BATS_TEST_TMPDIR/out"
}

more_ticks_than() {
        [ "$(ticks)" -gt "$1" ]
}

paused() {
        bundle sleep 100
        create box
        start box
        detached runtime pause box
        succeeded
}

@test "when pause returns nothing runs any more, and after resume it goes on" {
        local before
        ticker
        detached runtime pause box
        printed ''
        before=$(ticks)
        sleep 0.1
        [ "$(ticks)" -eq "$before" ]
        detached runtime resume box
        printed ''
        wait_until more_ticks_than "$before"
}

@test "pause stops what exec runs, and what is in cgroups below the container's own" {
        bundle sleep 100
        create box
        start box
        mkdir /sys/fs/cgroup/box/below
        runtime exec --cgroup below box sh -c 'while :; do echo tick; sleep 0.01; done' >"$BATS_TEST_TMPDIR/out" 3>&- &
        wait_until grep -q tick "$BATS_TEST_TMPDIR/out"
        runtime pause box
        local before
        before=$(ticks)
        sleep 0.1
        [ "$(ticks)" -eq "$before" ]
        runtime resume box
        wait_until more_ticks_than "$before"
}

@test "state and list say paused, with the pid, and running again after resume" {
        paused
        [ "$(state box .status)" = paused ]
        [ -d "/proc/$(state box .pid)" ]
        [ "$(runtime list --format json | jq -r '.[0].status')" = paused ]
        runtime list | grep -q '^box .* paused '
        runtime resume box
        [ "$(state box .status)" = running ]
}

@test "exec in a paused container is refused" {
        paused
        detached runtime exec box true
        failed 255 paused
}

@test "exec --ignore-paused waits for resume, which it does not keep from the container" {
        paused
        background "$BATS_TEST_TMPDIR/out" runtime exec --ignore-paused box echo done
        local command=$!
        two_processes() { [ "$(wc -l </sys/fs/cgroup/box/cgroup.procs)" -eq 2 ]; }
        wait_until two_processes
        [ ! -s "$BATS_TEST_TMPDIR/out" ]
        [ "$(state box .status)" = paused ]
        detached runtime resume box
        succeeded
        wait "$command"
        [ "$(<"$BATS_TEST_TMPDIR/out")" = 'done' ]
}

@test "exec --ignore-paused is no different in a container that runs" {
        bundle sleep 100
        create box
        start box
        detached runtime exec --ignore-paused box echo done
        printed 'done'
}

@test "KILL ends a paused container" {
        paused
        runtime kill box KILL
        wait_until has_status box stopped
        detached runtime delete box
        succeeded
}

@test "another signal waits for resume" {
        paused
        detached runtime kill box HUP
        succeeded
        [ "$(state box .status)" = paused ]
}

@test "a paused container is not deleted without --force, and with it leaves nothing" {
        paused
        detached runtime delete box
        failed 1 paused
        [ "$(state box .status)" = paused ]
        detached runtime delete --force box
        succeeded
        [ ! -e /sys/fs/cgroup/box ]
}

# runc refuses both, crun takes the second: a caller that believes the container to be paused is told that it is not.
@test "one that is paused already is not paused again, and one that is not paused is not resumed" {
        paused
        detached runtime pause box
        failed 1 'not running' paused
        runtime resume box
        detached runtime resume box
        failed 1 'not paused' running
        [ "$(state box .status)" = running ]
}

@test "only a container that runs is paused: start of a created one would wait for what stands still" {
        bundle
        create box
        detached runtime pause box
        failed 1 created
        start box
        wait_until has_status box stopped
        detached runtime pause box
        failed 1 'not running' stopped
        detached runtime resume box
        failed 1 'not paused' stopped
}

@test "start of a paused container says that it runs already" {
        paused
        detached runtime start box
        failed 1 'already running'
}

@test "a container without a cgroup cannot be paused" {
        bundle sleep 100
        detached runtime --cgroup-manager disabled create --bundle "$BUNDLE" box
        succeeded
        start box
        detached runtime pause box
        failed 1 'no cgroup'
        [ "$(state box .status)" = running ]
}

@test "resume below a cgroup that somebody froze fails in time, and the container goes on with the cgroup" {
        bundle sleep 100
        config '.linux.cgroupsPath = "/above/box"'
        create box
        start box
        runtime pause box
        echo 1 >/sys/fs/cgroup/above/cgroup.freeze
        detached runtime resume box
        failed 1 'above it frozen'
        echo 0 >/sys/fs/cgroup/above/cgroup.freeze
        wait_until has_status box running
}

@test "pause and resume need exactly one container that exists" {
        local command
        for command in pause resume; do
                detached runtime $command
                failed 1 usage
                detached runtime $command one two
                failed 1 usage
                leaves_nothing runtime $command nope
                failed 1 'does not exist'
        done
}
