# A bind mount's source on a file system that does not answer: whoever asks waits, and nobody else.
load helpers

HUNG=$BATS_TEST_TMPDIR/hung
OTHERS_USERNS='.linux.namespaces += [{type: "user"}] | .linux.uidMappings = [{containerID: 0, hostID: 0, size: 65536}]
        | .linux.gidMappings = .linux.uidMappings'

# serve read|unread: what is at $HUNG answers nothing.
serve() {
        [ -w /dev/fuse ] || vm_only 'lifecycle: delete force ends a create whose source does not answer'
        mkdir -p "$HUNG"
        background "$BATS_TEST_TMPDIR/server" "$BATS_TEST_DIRNAME/hung-fuse" "$HUNG" "$1"
        SERVER=$!
        wait_until grep -q mounted "$BATS_TEST_TMPDIR/server" || vm_only 'lifecycle: delete force ends a create whose source does not answer'
}

bind() {
        config --args '.mounts += [{destination: "/mnt", type: "bind", source: $ARGS.positional[0], options: ["bind"]}]' "$1"
}

# hung read|unread [FILTER]: another container, and `create box`, in $CREATE, that waits for the source of a mount. With a user namespace it is
# the runtime that opens it, otherwise the container's first process.
hung() {
        serve "$1"
        bundle sleep 100
        create other
        bind "$HUNG/sub"
        [ $# -eq 1 ] || config "$2"
        background "$BATS_TEST_TMPDIR/create" "$SAGE_RUNTIME" --root "$ROOT" create --bundle "$BUNDLE" box
        CREATE=$!
        wait_until grep -q asked "$BATS_TEST_TMPDIR/server"
}

# within SECONDS COMMAND...: ends in time and succeeds.
within() {
        detached timeout -k 1 "$1" "$SAGE_RUNTIME" --root "$ROOT" "${@:2}"
        succeeded
}

answered() {
        kill -KILL "$SERVER"
        wait "$SERVER" || true
        wait_until umount -q "$HUNG" # those who waited have it open for a moment more
}

others_go_on() {
        within 2 state box
        within 2 list
        [[ $output == *box*creating* ]]
        within 2 exec other true
        within 2 state other
}

@test "delete --force ends a create whose source does not answer, and others wait for nothing" {
        local filter
        for filter in . "$OTHERS_USERNS"; do
                hung unread "$filter"
                others_go_on
                within 4 delete --force box
                ! wait "$CREATE" || false
                [ "$(ls "$ROOT")" = other ]
                [ ! -e /sys/fs/cgroup/box ]
                within 2 delete --force other
                answered
                rm "$BATS_TEST_TMPDIR/server"
        done
}

@test "kill ends a created container's process that waits for a source" {
        hung unread
        within 2 kill box KILL
        ! wait "$CREATE" || false
        [ "$(ls "$ROOT")" = other ]
        answered
}

@test "a runtime that the kernel does not let die before the answer comes is in nobody's way, and does nothing any more" {
        hung read "$OTHERS_USERNS"
        others_go_on
        within 5 delete --force box
        [ "$(ls "$ROOT")" = other ]
        [ ! -e /sys/fs/cgroup/box ]
        kill -0 "$CREATE"
        config 'del(.mounts[-1])'
        within 5 create --bundle "$BUNDLE" box 3>&-
        within 2 delete --force box
        answered
        ! wait "$CREATE" || false
        [ "$(ls "$ROOT")" = other ]
}

@test "a container's process that the kernel does not let die is told, and goes with the next delete --force" {
        hung read
        others_go_on
        within 2 kill box KILL
        detached timeout -k 1 8 "$SAGE_RUNTIME" --root "$ROOT" delete --force box
        failed 1 'does not die' 'file system'
        within 2 list
        within 2 delete --force other
        answered
        within 2 delete --force box
        ! wait "$CREATE" || false
        [ -z "$(ls "$ROOT")" ]
}

@test "a program that waits for a mount without an answer keeps nobody waiting either" {
        serve read
        bundle sh -c 'sleep 100 & cat /mnt/sub'
        mkdir "$BUNDLE/rootfs/mnt"
        bind "$HUNG"
        create box
        start box
        wait_until grep -q asked "$BATS_TEST_TMPDIR/server"
        within 2 state box
        within 2 list
        detached timeout -k 1 8 "$SAGE_RUNTIME" --root "$ROOT" delete --force box # as the first process of its pid namespace it waits for the other
        failed 1 'does not die'
        within 2 list
        answered
        within 2 delete --force box
}
