# The container's cgroup: whose it is, where it may be. What needs a controller is in tests/vm/test_limits.py and test_cgroup.py.
load helpers

USERNS='.linux.namespaces += [{type: "user"}] | .linux.uidMappings = [{containerID: 0, hostID: 100000, size: 2000}]
        | .linux.gidMappings = .linux.uidMappings'
WRITABLE='.mounts |= map(if .destination == "/sys/fs/cgroup" then .options -= ["ro"] else . end)'

# owner FILTER OWNERS: of a container with FILTER, who owns its cgroup, cgroup.procs, cgroup.subtree_control and cgroup.kill.
owner() {
        bundle sleep 100
        config "$1"
        chmod 755 "$BATS_RUN_TMPDIR" "$BATS_TEST_TMPDIR"
        create box
        local found
        found=$(cd /sys/fs/cgroup/box && stat -c %u . cgroup.procs cgroup.subtree_control cgroup.kill | paste -sd' ')
        runtime delete --force box
        [ "$found" = "$2" ] || {
                echo "expected $2, found $found"
                return 1
        }
}

@test "a cgroup that is mounted writable is given to the user of the container, but for what the parent limits it by" {
        owner . '0 0 0 0'
        owner "$USERNS" '0 0 0 0'
        owner "$USERNS | $WRITABLE" '100000 100000 100000 0'
        owner "$USERNS | $WRITABLE | .process.user = {uid: 1000, gid: 1000}" '101000 101000 101000 0'
        owner "$WRITABLE | .process.user = {uid: 1000, gid: 1000}" '1000 1000 1000 0'
        owner "$WRITABLE" '0 0 0 0'
        owner "$USERNS | $WRITABLE | .linux.namespaces |= map(select(.type != \"cgroup\"))" '0 0 0 0'
}

@test "whoever is given a cgroup divides it, and it goes with the container" {
        bundle
        chmod 755 "$BATS_RUN_TMPDIR" "$BATS_TEST_TMPDIR"
        config "$USERNS | $WRITABLE | .process.user = {uid: 1000, gid: 1000}"
        inside 'mkdir /sys/fs/cgroup/part && echo 0 >/sys/fs/cgroup/part/cgroup.procs && cat /proc/self/cgroup && cat /sys/fs/cgroup/part/cgroup.procs | wc -l
                echo 1 >/sys/fs/cgroup/cgroup.freeze'
        said 0::/part && said "can't create /sys/fs/cgroup/cgroup.freeze"
        [ ! -d /sys/fs/cgroup/box ]
}

@test "a cgroup with processes, a frozen one and a threaded one are refused, and so is one below a threaded one" {
        bundle
        config '.linux.cgroupsPath = "/there/box"'
        mkdir -p /sys/fs/cgroup/there/box
        echo 1 >/sys/fs/cgroup/there/box/cgroup.freeze
        leaves_nothing runtime run --bundle "$BUNDLE" box
        failed 1 /sys/fs/cgroup/there/box frozen
        echo 0 >/sys/fs/cgroup/there/box/cgroup.freeze
        sleep 100 3>&- &
        echo $! >/sys/fs/cgroup/there/box/cgroup.procs
        leaves_nothing runtime run --bundle "$BUNDLE" box
        failed 1 /sys/fs/cgroup/there/box processes
        kill $!
        wait $! || true
        echo threaded >/sys/fs/cgroup/there/box/cgroup.type
        leaves_nothing runtime run --bundle "$BUNDLE" box
        failed 1 /sys/fs/cgroup/there/box threaded
        rmdir /sys/fs/cgroup/there/box
        mkdir /sys/fs/cgroup/there/box
        echo threaded >/sys/fs/cgroup/there/box/cgroup.type
        config '.linux.cgroupsPath = "/there/other"'
        leaves_nothing runtime run --bundle "$BUNDLE" box
        failed 1 linux.cgroupsPath 'below a threaded cgroup'
        # Here another process than the runtime makes the first one.
        config '.linux.namespaces += [{type: "time"}] | .linux.timeOffsets = {monotonic: {secs: 1}}'
        leaves_nothing runtime run --bundle "$BUNDLE" box
        failed 1 linux.cgroupsPath 'below a threaded cgroup'
        rmdir /sys/fs/cgroup/there/box /sys/fs/cgroup/there
}

# What its delete would end is another's by then.
@test "the cgroup of a container that is stopped is not taken by one below another --root" {
        local other=/run/sage-cli-other
        elsewhere() { detached "$SAGE_RUNTIME" --root "$other" "$@"; }
        bundle sleep 100
        create box
        runtime kill box KILL
        wait_until has_status box stopped
        elsewhere create --bundle "$BUNDLE" box
        failed 1 /sys/fs/cgroup/box --root rmdir
        [ -z "$(ls "$other")" ]
        [ -d /sys/fs/cgroup/box ]
        runtime delete box
        elsewhere create --bundle "$BUNDLE" box
        succeeded
        detached runtime create --bundle "$BUNDLE" box # the living are in the way of everybody
        failed 1 /sys/fs/cgroup/box 'holds processes'
        elsewhere delete --force box
        succeeded
        [ ! -e /sys/fs/cgroup/box ]
        mkdir /sys/fs/cgroup/box # nobody's
        elsewhere create --bundle "$BUNDLE" box
        succeeded
        elsewhere delete --force box
        rmdir /sys/fs/cgroup/box "$other"
}

@test "what is no file of a huge page size is refused by its field" {
        local size
        bundle
        for size in '' 2 2M 0MB 2MB/../.. ../2MB 12345KB; do
                config ".linux.resources.hugepageLimits = [{pageSize: \"$size\", limit: 5}]"
                leaves_nothing runtime create --bundle "$BUNDLE" box
                failed 1 'linux.resources.hugepageLimits[0].pageSize'
        done
}

@test "huge pages, I/O, RDMA and misc are limited" {
        vm_only 'limits: every resource has its file'
}
