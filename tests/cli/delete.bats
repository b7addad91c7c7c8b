# delete: gives back everything a container holds.
load helpers

@test "a stopped container goes, with everything it held" {
        local before
        bundle
        before=$(residue)
        create box
        start box
        wait_until has_status box stopped
        detached runtime delete box
        printed ''
        [ "$(residue)" = "$before" ]
        detached runtime state box
        failed 1 'does not exist'
}

@test "a created container may go too, and its process ends" {
        local before pid
        bundle
        before=$(residue)
        create box
        pid=$(state box .pid)
        detached runtime delete box
        succeeded
        has_ended "$pid"
        [ "$(residue)" = "$before" ]
}

@test "a running container is refused and goes on" {
        bundle sleep 100
        create box
        start box
        detached runtime delete box
        failed 1 running
        [ "$(state box .status)" = running ]
}

@test "--force ends a running container first" {
        local before pid
        bundle sh -c 'trap "" TERM INT; sleep 100 & while :; do sleep 1; done'
        before=$(residue)
        create box
        start box
        pid=$(state box .pid)
        detached runtime delete --force box
        printed ''
        has_ended "$pid"
        [ "$(residue)" = "$before" ]
}

@test "-f means --force" {
        bundle sleep 100
        create box
        start box
        detached runtime delete -f box
        succeeded
}

@test "--force of an unknown container is silent and succeeds; without it is an error" {
        leaves_nothing runtime delete --force nope
        printed ''
        leaves_nothing runtime delete nope
        failed 1 'does not exist'
}

@test "--force with no state directory at all is silent and succeeds" {
        detached "$SAGE_RUNTIME" --root /run/sage-cli-none delete --force nope
        printed ''
        [ ! -e /run/sage-cli-none ]
}

@test "commands that exec started end with the container" {
        bundle sleep 100
        create box
        start box
        detached runtime exec --detach --pid-file "$BATS_TEST_TMPDIR/pid" box sleep 100
        succeeded
        runtime delete --force box
        has_ended "$(<"$BATS_TEST_TMPDIR/pid")"
}

@test "cgroups that the container made below its own go too" {
        bundle sleep 100
        config '.mounts |= map(if .destination == "/sys/fs/cgroup" then .options -= ["ro"] else . end)
                | .process.args = ["sh", "-c", "mkdir -p /sys/fs/cgroup/a/b /sys/fs/cgroup/c && echo ready && sleep 100"]'
        runtime create --bundle "$BUNDLE" box >"$BATS_TEST_TMPDIR/out" 2>&1 </dev/null
        start box
        wait_until grep -q ready "$BATS_TEST_TMPDIR/out"
        [ -d /sys/fs/cgroup/box/a/b ]
        detached runtime delete --force box
        succeeded
        [ ! -d /sys/fs/cgroup/box ]
}

@test "a frozen container goes too" {
        bundle sleep 100
        create box
        start box
        echo 1 >/sys/fs/cgroup/box/cgroup.freeze
        detached runtime delete --force box
        succeeded
        [ ! -d /sys/fs/cgroup/box ]
}

@test "a container whose cgroup somebody removed goes too" {
        bundle
        create box
        start box
        wait_until has_status box stopped
        rmdir /sys/fs/cgroup/box
        detached runtime delete box
        succeeded
}

@test "a container whose process died unseen goes too" {
        bundle sleep 100
        create box
        kill -KILL "$(state box .pid)"
        wait_until has_status box stopped
        detached runtime delete box
        succeeded
}

@test "two deletes at once: both end, and one at least succeeds" {
        bundle sleep 100
        create box
        start box
        background "$BATS_TEST_TMPDIR/out" "$SAGE_RUNTIME" --root "$ROOT" delete --force box
        detached runtime delete --force box
        succeeded
        wait $!
        [ ! -e "$ROOT/box" ]
}

# one_path JQ: a bundle whose containers all want the cgroup /shared, and a stopped one of them, "first".
one_path() {
        bundle "$@"
        config '.linux.cgroupsPath = "/shared" | .linux.resources.unified = {"cgroup.max.depth": "3"}'
        create first
        start first
        wait_until has_status first stopped
        config '.linux.resources = {}'
        arguments sleep 100
}

@test "a stopped container's cgroup passes to the next one with its path, and deleting the former leaves that alone" {
        one_path
        create second
        start second
        [ "$(</sys/fs/cgroup/shared/cgroup.max.depth)" = max ] # nothing of the first one's limits
        runtime delete --force first
        runtime ps second
        [ "$(state second .status)" = running ]
        [ "$(wc -l </sys/fs/cgroup/shared/cgroup.procs)" -eq 1 ]
        runtime delete --force second
        [ ! -d /sys/fs/cgroup/shared ]
}

@test "a cgroup that was removed and made anew by somebody else is not the container's any more" {
        local stranger
        one_path
        rmdir /sys/fs/cgroup/shared
        mkdir /sys/fs/cgroup/shared
        sleep 100 3>&- &
        stranger=$!
        echo "$stranger" >/sys/fs/cgroup/shared/cgroup.procs
        detached runtime ps --format json first
        printed '[]'
        runtime kill --all first KILL
        runtime delete --force first
        kill -0 "$stranger"
        [ -d /sys/fs/cgroup/shared ]
        kill "$stranger"
        wait_until rmdir /sys/fs/cgroup/shared
}

@test "of a cgroup from before the host was started nothing is touched" {
        one_path
        jq '.bootId = "00000000-0000-0000-0000-000000000000"' "$ROOT/first/status.json" >"$BATS_TEST_TMPDIR/status"
        cp "$BATS_TEST_TMPDIR/status" "$ROOT/first/status.json"
        runtime delete first
        rmdir /sys/fs/cgroup/shared
}

@test "the cgroup of a container that lives, or that left something there, is refused to another, by name" {
        bundle sleep 100
        config '.linux.cgroupsPath = "/shared"'
        create first
        leaves_nothing runtime create --bundle "$BUNDLE" second
        failed 1 'container `first`' lives linux.cgroupsPath
        runtime kill first KILL
        wait_until has_status first stopped
        mkdir /sys/fs/cgroup/shared/below
        leaves_nothing runtime create --bundle "$BUNDLE" second
        failed 1 'container `first`' 'not empty'
        runtime delete first
        [ ! -d /sys/fs/cgroup/shared ]
        create second
}

@test "damaged state does not keep a container from being deleted by force" {
        bundle
        create box
        runtime kill box KILL
        wait_until has_status box stopped
        echo '{' >"$ROOT/box/status.json"
        detached runtime delete box
        failed 1
        detached runtime delete --force box
        rmdir /sys/fs/cgroup/box 2>/dev/null || true
        succeeded
        [ ! -e "$ROOT/box" ]
}

# lost_state CMD...: a running container, to whose state CMD, called in its directory, does something.
lost_state() {
        local pid
        bundle sleep 100
        create box
        start box
        pid=$(state box .pid)
        (cd "$ROOT/box" && "$@")
        detached runtime delete --force box
        failed 1 /sys/fs/cgroup/box "($pid)" cgroup.kill
        [ -e "/proc/$pid" ]
        echo 1 >/sys/fs/cgroup/box/cgroup.kill
        wait_until has_ended "$pid"
        detached runtime delete --force box
        succeeded
        [ ! -e "$ROOT/box" ]
        rmdir /sys/fs/cgroup/box
}

@test "when nothing is left of a living container's state, its processes are named and nobody is killed on a guess" {
        lost_state sh -c 'echo "{" >status.json; echo "{" >plan.json'
        lost_state rm status.json plan.json
}

@test "state of an aborted create, a directory and nothing in it, is deleted by force" {
        mkdir "$ROOT/box"
        detached runtime delete --force box
        printed ''
        [ ! -e "$ROOT/box" ]
}

@test "--regex deletes every stopped container whose id matches, and with --force those that run" {
        bundle sleep 100
        local id
        for id in web-1 web-2 db-1; do
                create $id
                start $id
        done
        runtime kill web-1 KILL
        wait_until has_status web-1 stopped
        detached runtime delete --regex '^web'
        failed 1 'web-2' running
        [ "$(runtime list --quiet | tr '\n' ' ')" = 'db-1 web-2 ' ]
        detached runtime delete --force -r '^web'
        printed ''
        [ "$(runtime list --quiet)" = db-1 ]
        leaves_nothing runtime delete --force --regex nobody
        printed ''
        detached runtime delete --regex '['
        failed 1 --regex
        [ "$(state db-1 .status)" = running ]
}
