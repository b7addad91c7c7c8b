# mounts: those of a container that is there already.
load helpers

FILE=$BATS_TEST_TMPDIR/mounts.json

# running [FILTER]: a container whose /live is a tmpfs, with what the jq FILTER changes.
running() {
        bundle sleep 100
        mkdir "$BUNDLE/rootfs/live"
        config '.mounts += [{destination: "/live", type: "tmpfs", source: "tmpfs", options: ["mode=777"]}]'
        [ $# -eq 0 ] || config "$1"
        chmod 755 "$BATS_RUN_TMPDIR" "$BATS_RUN_TMPDIR"/test "$BATS_TEST_TMPDIR" "$BUNDLE"
        create box
        start box
}

# mounts add|remove MOUNT...: each as jq writes an object.
mounts() {
        local what=$1
        shift
        jq -n "[$(IFS=,; echo "$*")]" >"$FILE"
        detached runtime mounts "$what" box "$FILE"
}

mountinfo() {
        detached runtime exec box cat /proc/self/mountinfo
}

shared() {
        mkdir -p "$BATS_TEST_TMPDIR/shared"
        echo here >"$BATS_TEST_TMPDIR/shared/file"
        SHARED="{destination: \"/live/shared\", type: \"bind\", source: \"$BATS_TEST_TMPDIR/shared\", options: [\"bind\", \"ro\"]}"
}

@test "a directory of the host's and a tmpfs come and go, and the host sees none of it" {
        local before
        shared
        running
        before=$(cat /proc/self/mountinfo)
        mounts add "$SHARED" '{destination: "/live/shm", type: "tmpfs", source: "mine", options: ["size=64k", "nosuid", "ro"]}'
        printed ''
        detached runtime exec box sh -c 'cat /live/shared/file; touch /live/shared/new /live/shm/new'
        failed 1 here 'shared/new: Read-only' 'shm/new: Read-only'
        mountinfo
        grep -Eq ' / /live/shm ro,nosuid.* - tmpfs mine .*size=64k' <<<"$output"
        [ "$before" = "$(cat /proc/self/mountinfo)" ]
        mounts remove "$SHARED" '{destination: "/live/shm"}'
        printed ''
        mountinfo
        [[ $output != *shared* && $output != *mine* ]]
        detached runtime exec box ls /live/shared
        printed ''
}

@test "a file can be bound, and read from stdin what is to be mounted" {
        running
        mount_from_stdin() {
                printf '[{"destination": "/live/name", "source": "/etc/hostname", "options": ["bind"]}]' | runtime mounts add box -
        }
        detached mount_from_stdin
        printed ''
        detached runtime exec box cat /live/name
        printed "$(cat /etc/hostname)"
        mounts remove '{destination: "/live/name"}'
        printed ''
}

@test "in a user namespace, too: its root may not reach the source, and the new file system is the namespace's" {
        shared
        running '.linux.namespaces += [{type: "user"}]
                | .linux.uidMappings = [{containerID: 0, hostID: 100000, size: 65536}] | .linux.gidMappings = .linux.uidMappings'
        chmod 700 "$BATS_TEST_TMPDIR"
        mounts add "$SHARED" '{destination: "/live/t", type: "tmpfs", source: "tmpfs"}'
        printed ''
        detached runtime exec box sh -c 'cat /live/shared/file; touch /live/t/new; ls -n /live/t/new | cut -c1-30'
        said here
        said ' 0        0'
        mounts remove "$SHARED" '{destination: "/live/t"}'
        printed ''
}

@test "mounts of a container that waits for start, and of one that is paused" {
        shared
        bundle sleep 100
        config '.mounts += [{destination: "/live", type: "tmpfs", source: "tmpfs"}]'
        create box
        mounts add "$SHARED"
        printed ''
        start box
        detached runtime exec box cat /live/shared/file
        printed here
        detached runtime pause box
        mounts remove "$SHARED"
        printed ''
        detached runtime resume box
}

@test "of several mounts all are made, or none" {
        shared
        running
        mountinfo
        local before=$output
        mounts add "$SHARED" '{destination: "/live/t", type: "tmpfs", source: "t"}' '{destination: "/live/u", type: "tmpfs", options: ["size=nonsense"]}'
        failed 1 'mounts[2]' nonsense
        mountinfo
        printed "$before"
        mounts add "$SHARED"
        mounts remove "$SHARED" '{destination: "/live/none"}'
        failed 1 'mounts[1]' /live/none
        detached runtime exec box cat /live/shared/file
        printed here
}

# Whoever controls the container's files swaps symlinks while root works on a path in it.
@test "a symlink in the container leads nowhere else: add stays below its root, remove follows none" {
        local masked
        shared
        running
        detached runtime exec box sh -c 'ln -s /../../../../../../../../../../tmp /live/out; ln -s /proc /live/p; ln -s / /live/root'
        mounts add "{destination: \"/live/out/sage-cli-$$\", type: \"bind\", source: \"$BATS_TEST_TMPDIR/shared\", options: [\"bind\"]}"
        [ ! -e "/tmp/sage-cli-$$" ]
        mountinfo
        masked=$(grep -c /proc/ <<<"$output")
        mounts remove '{destination: "/live/p/kcore"}'
        failed 1 'mounts[0]' symlink
        mounts remove '{destination: "/live/root/proc/kcore"}'
        failed 1 'mounts[0]' symlink
        mounts remove '{destination: "/live/shared/../../proc/.."}'
        failed 1 'mounts[0]'
        mountinfo
        [ "$(grep -c /proc/ <<<"$output")" -eq "$masked" ]
}

@test "what cannot be mounted from outside is refused by its field" {
        running
        refused() {
                mounts add "$1"
                failed 1 "$2" "$3"
        }
        table refused <<-'ROWS'
		{destination: "/live/p", type: "proc", source: "proc"} => mounts[0].type => proc
		{destination: "/live/c", type: "cgroup", source: "cgroup"} => mounts[0].type => cgroup
		{destination: "/live/l", source: "/etc/localtime", options: ["bind", "copy-symlink"]} => mounts[0].options => copy-symlink
		{destination: "/", type: "tmpfs"} => mounts[0].destination => root
		{destination: "/live/n", source: "/nowhere", options: ["bind"]} => mounts[0] => /nowhere
		{destination: "/live/n", type: "tmpfs", options: ["iversion"]} => mounts[0].options => iversion
		{destination: "/live/n", type: "tmpfs", options: ["nonsense=1"]} => mounts[0] => nonsense
		{destination: 7} => mounts[0].destination => string
		{source: "/"} => mounts[0].destination => mounts.json
	ROWS
}

@test "the file is one array, and an unknown word or container is told" {
        local text
        running
        for text in '{}' '[] , "x": 1' '[] []' '' '[' 'null' '{"mounts": []}'; do
                echo "$text" >"$FILE"
                detached runtime mounts add box "$FILE"
                failed 1 mounts.json
        done
        echo '[]' >"$FILE"
        detached runtime mounts add box "$FILE"
        printed ''
        detached runtime mounts change box "$FILE"
        failed 1 'add or remove' change
        detached runtime mounts add box
        failed 1 usage
        detached runtime mounts add nobox "$FILE"
        failed 1 'does not exist'
        detached runtime mounts add box /nowhere/file
        failed 1 /nowhere/file
}

@test "a container that has ended has no mounts to change" {
        bundle true
        create box
        start box
        wait_until has_status box stopped
        mounts add '{destination: "/live", type: "tmpfs"}'
        failed 1 'container not running'
}

@test "in a container that joined the user namespace of the runtime itself" {
        running '.linux.namespaces += [{type: "user", path: "/proc/self/ns/user"}]'
        mounts add '{destination: "/live/t", type: "tmpfs", source: "mine"}'
        printed ''
        mountinfo
        said ' /live/t '
        mounts remove '{destination: "/live/t"}'
        printed ''
}

@test "flags and options of a file system are those of mount(2)" {
        running
        mounts add '{destination: "/live/t", type: "tmpfs", source: "mine",
                options: ["nodev", "noexec", "noatime", "nodiratime", "sync", "mode=1700", "", "size=64k", "rnosuid", "rshared"]}'
        printed ''
        mountinfo
        grep -Eq ' / /live/t rw,nosuid,nodev,noexec,noatime,nodiratime shared:[0-9]+ - tmpfs mine rw,sync,.*size=64k,mode=1700' <<<"$output"
        mounts add '{destination: "/live/s", type: "sysfs", source: "sysfs", options: ["ro", "nosuid"]}'
        printed ''
        mountinfo
        grep -Eq ' / /live/s ro,nosuid,relatime - sysfs sysfs ro' <<<"$output"
        mounts add '{destination: "/live/t", options: ["remount", "bind", "ro"]}' '{destination: "/live/u", type: "tmpfs", options: ["nonsense"]}'
        failed 1 'mounts[1]' nonsense
        mountinfo
        said ' / /live/t ro' # what was there before is not taken off
}

@test "on a shared mount, too, a new one has the propagation that is asked for" {
        running '.mounts[-1].options += ["rshared"]'
        mounts add '{destination: "/live/t", type: "tmpfs", source: "mine", options: ["private"]}' \
                "{destination: \"/live/b\", source: \"$BATS_TEST_TMPDIR\", options: [\"bind\", \"private\"]}"
        printed ''
        mountinfo
        grep -Eq ' / /live rw.* shared:' <<<"$output"
        grep -Eq ' /live/t rw,relatime - tmpfs mine' <<<"$output"
        grep -Eq ' /live/b rw,relatime - ' <<<"$output"
}

@test "a tmpfs that could not be filled is taken off again" {
        running
        mkdir "$BUNDLE/rootfs/full"
        dd if=/dev/zero of="$BUNDLE/rootfs/full/file" bs=64k count=4 status=none
        mounts add '{destination: "/full", type: "tmpfs", source: "mine", options: ["tmpcopyup", "size=64k"]}'
        failed 1 'No space left'
        mountinfo
        [[ $output != *mine* ]]
        mounts add '{destination: "/full", type: "tmpfs", source: "mine", options: ["tmpcopyup", "size=1m"]}'
        printed ''
}

# The child of mounts is stopped in the middle, and its runtime killed.
@test "what is left of a killed mounts keeps nobody from the container" {
        local child
        running '.root.readonly = false'
        mkdir -p "$BUNDLE/rootfs/many"
        for i in $(seq 200); do dd if=/dev/zero of="$BUNDLE/rootfs/many/$i" bs=1M count=2 status=none; done
        jq -n '[{destination: "/many", type: "tmpfs", source: "mine", options: ["tmpcopyup"]}]' >"$FILE"
        background /dev/null "$SAGE_RUNTIME" --root "$ROOT" mounts add box "$FILE"
        wait_until pgrep -P $!
        child=$(pgrep -P $!)
        kill -STOP "$child"
        kill -KILL $!
        detached runtime delete --force box
        kill -KILL "$child"
        succeeded
}
