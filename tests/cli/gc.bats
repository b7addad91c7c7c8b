# gc: releases what crashed hosts and killed runtimes left. tests/security/crash.bats kills the runtime everywhere and has gc take the rest.
load helpers

# ended ID: a container whose process has ended, and that nobody deleted.
ended() {
        bundle
        create "$1"
        start "$1"
        wait_until has_status "$1" stopped
}

# rebooted ID: as if the host had been started again since it was made.
rebooted() {
        jq '.bootId = "00000000-0000-0000-0000-000000000000"' "$ROOT/$1/status.json" >"$BATS_TEST_TMPDIR/status"
        cp "$BATS_TEST_TMPDIR/status" "$ROOT/$1/status.json"
}

@test "there is nothing to do where there is nothing" {
        detached runtime gc
        printed ''
        detached "$SAGE_RUNTIME" --root /run/sage-cli-none gc
        printed ''
        [ ! -e /run/sage-cli-none ]
}

@test "what has ended goes with all that it held, what lives stays, and a second time there is nothing left" {
        local before pid
        before=$(residue)
        ended over
        bundle sleep 100
        create waiting
        create running
        start running
        create paused
        start paused
        runtime pause paused
        detached runtime gc
        printed 'over: its process has ended'
        [ ! -e /sys/fs/cgroup/over ]
        detached runtime gc
        printed ''
        [ "$(state waiting .status) $(state running .status) $(state paused .status)" = 'created running paused' ]
        start waiting
        runtime exec running true
        for id in waiting running paused; do
                runtime delete --force "$id"
        done
        [ "$(residue)" = "$before" ]
}

@test "--dry-run says so and changes nothing" {
        ended over
        leaves_nothing runtime gc --dry-run
        printed 'over: its process has ended'
        leaves_nothing runtime gc -n
        printed 'over: its process has ended'
}

@test "a container from before the host was started goes, and the process that has its number now stays" {
        bundle sleep 100
        create box
        start box
        local pid
        pid=$(state box .pid)
        rebooted box
        detached runtime gc
        printed 'box: it is from before the host was started'
        [ ! -e "$ROOT/box" ]
        [ -d "/proc/$pid" ]
        kill -KILL "$pid"
        wait_until has_ended "$pid"
        rmdir /sys/fs/cgroup/box # another's, as far as anybody can tell
}

@test "a create that was cut short before its status goes" {
        mkdir "$ROOT/box"
        : >"$ROOT/box/filter"
        detached runtime gc
        printed 'box: its create was cut short'
        [ ! -e "$ROOT/box" ]
}

@test "poststop hooks run, once" {
        bundle
        config --args '.hooks.poststop = [{path: "/bin/sh", args: ["sh", "-c", "echo stopped >>\($ARGS.positional[0])"]}]' "$BATS_TEST_TMPDIR/hook"
        create box
        start box
        wait_until has_status box stopped
        runtime gc
        runtime gc
        [ "$(<"$BATS_TEST_TMPDIR/hook")" = stopped ]
}

@test "a container that another command is at work on is left to it, and does not keep gc" {
        ended over
        local lock
        exec {lock}<"$ROOT/over"
        flock "$lock"
        detached timeout 5 "$SAGE_RUNTIME" --root "$ROOT" gc
        printed ''
        [ -e "$ROOT/over/status.json" ]
        exec {lock}<&-
        detached runtime gc
        printed 'over: its process has ended'
}

@test "the container of a run whose runtime was killed goes when its program has ended, not before" {
        bundle sh -c 'while [ ! -e /stop ]; do sleep 0.1; done'
        config '.root.readonly = false'
        background "$BATS_TEST_TMPDIR/out" "$SAGE_RUNTIME" --root "$ROOT" run --bundle "$BUNDLE" box
        wait_until has_program box sh
        kill -KILL $!
        wait $! || true
        detached runtime gc
        printed ''
        [ "$(state box .status)" = running ]
        touch "$BUNDLE/rootfs/stop"
        wait_until has_status box stopped
        detached runtime gc
        printed 'box: its process has ended'
}

@test "one that cannot be released does not keep the others, and is an error" {
        ended bad
        ended good
        echo '{' >"$ROOT/bad/status.json"
        detached runtime gc
        failed 1 'good: its process has ended' 'bad: ' status.json '1 containers could not be released'
        [ ! -e "$ROOT/good" ]
        [ -e "$ROOT/bad" ]
        runtime delete --force bad
        rmdir /sys/fs/cgroup/bad 2>/dev/null || true
}

@test "a container whose status was lost is not killed on a guess" {
        local pid
        bundle sleep 100
        create box
        start box
        pid=$(state box .pid)
        rm "$ROOT/box/status.json"
        detached runtime gc
        failed 1 'status of container `box` is lost'
        rm "$ROOT/box/plan.json"
        detached runtime gc
        failed 1 "($pid)"
        [ -d "/proc/$pid" ]
        echo 1 >/sys/fs/cgroup/box/cgroup.kill
        wait_until has_ended "$pid"
        detached runtime gc
        printed 'box: its create was cut short'
        rmdir /sys/fs/cgroup/box
}

@test "gc beside creates and runs takes nothing from them" {
        bundle
        (while :; do "$SAGE_RUNTIME" --root "$ROOT" gc; done) >/dev/null 2>"$BATS_TEST_TMPDIR/gc" 3>&- &
        local gc=$! n
        for ((n = 0; n < 40; n++)); do
                detached runtime run --bundle "$BUNDLE" "box-$n"
                succeeded
        done
        kill "$gc"
        wait "$gc" || true
        [ "$(<"$BATS_TEST_TMPDIR/gc")" = '' ]
        wait_until test -z "$(ls "$ROOT")"
}

# bundle_of ID WORKSPACE: the private bundle of a sandbox, as its runtime leaves it when it is killed.
bundle_of() {
        mkdir -p -m 0700 "$ROOT/.sandbox-$1/rootfs"
        echo '{}' >"$ROOT/.sandbox-$1/config.json"
        ln -s "$2" "$ROOT/.sandbox-$1/workspace"
}

@test "the private bundle of a sandbox and its workspace go with its runtime, and what it claims besides stays" {
        local workspace=/var/tmp/sage-sandbox-cli-test
        mkdir -p "$workspace/a/b" /var/tmp/sage-cli-kept
        : >"$workspace/a/b/f"
        ln -s /var/tmp/sage-cli-kept "$workspace/link"
        bundle_of box "$workspace"
        leaves_nothing runtime gc --dry-run
        printed 'the bundle of box: its runtime was killed'
        detached runtime gc
        printed 'the bundle of box: its runtime was killed'
        [ ! -e "$workspace" ]
        [ ! -e "$ROOT/.sandbox-box" ]
        bundle_of box /var/tmp/sage-cli-kept
        detached runtime gc
        failed 1 'the bundle of box: ' 'no workspace that a sandbox would have made'
        [ -d /var/tmp/sage-cli-kept ]
        rmdir /var/tmp/sage-cli-kept
        rm -r "$ROOT/.sandbox-box"
}

@test "a private bundle whose runtime or container lives stays" {
        local lock
        bundle_of box /var/tmp/sage-sandbox-nothing
        exec {lock}<"$ROOT/.sandbox-box"
        flock "$lock"
        detached runtime gc
        printed ''
        exec {lock}<&-
        bundle sleep 100
        create box
        detached runtime gc
        printed ''
        runtime kill box KILL
        wait_until has_status box stopped
        detached runtime gc
        printed $'box: its process has ended\nthe bundle of box: its runtime was killed'
}
