# The ground that the other files stand on.
load helpers

@test "the view is a host with cgroup v2 only, and we are not at its root" {
        [ "$(stat -f -c %T /sys/fs/cgroup)" = cgroup2fs ]
        grep -qx '0::/tests' /proc/self/cgroup
        mkdir /sys/fs/cgroup/probe
        rmdir /sys/fs/cgroup/probe
}

@test "a bundle has a root file system that runs, and a configuration that can be changed" {
        bundle echo 'two words' '$x'
        [ "$(jq -c .process.args "$BUNDLE/config.json")" = '["echo","two words","$x"]' ]
        config '.hostname = "other"'
        [ "$(jq -r .hostname "$BUNDLE/config.json")" = other ]
        [ "$(chroot "$BUNDLE/rootfs" /bin/echo here)" = here ]
}

@test "detached ends when the command ends, whoever keeps its output open" {
        SECONDS=0
        detached sh -c 'sleep 20 & echo $!; exit 3'
        [ "$status" -eq 3 ]
        kill "$output"
        [ "$SECONDS" -lt 15 ]
}

@test "what is left behind is seen" {
        run ! leaves_nothing mkdir "$ROOT/left"
        run ! leaves_nothing mkdir /sys/fs/cgroup/left
        rmdir /sys/fs/cgroup/left
        leaves_nothing true
}

@test "a process that outlives its test is seen" {
        sh -c 'sleep 20 & echo $!' >"$BATS_TEST_TMPDIR/pid" 3>&-
        wait_until grep -qx sleep "/proc/$(<"$BATS_TEST_TMPDIR/pid")/comm"
        find_strays
        kill "$(<"$BATS_TEST_TMPDIR/pid")"
        [[ ${STRAYS[*]} == *" (sleep)"* ]]
}

@test "the program says its version" {
        [[ $(runtime --version) == "sage-runtime version "* ]]
}
