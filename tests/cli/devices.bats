# linux.devices: real nodes where the runtime can make them, also in a user namespace; the host's own for an ordinary user.
load helpers

HOME_OF_USER=/run/sage-devices

teardown() {
        end_jobs
        rm -rf "$HOME_OF_USER"
        remove_containers
        host_is_as_before
}

USERNS='.linux.namespaces += [{type: "user"}] | .linux.uidMappings = [{containerID: 0, hostID: 100000, size: 1000}]
        | .linux.gidMappings = .linux.uidMappings | .linux.resources.devices = [{allow: true, access: "rwm"}]'

# what KIND: a bundle without or with a user namespace.
what() {
        bundle
        open_to_all
        [ "$1" != plain ] || return 0
        config "$USERNS"
        chown -R 100000:100000 "$BUNDLE/rootfs"
}

# kinds TEST: the same for containers with and without a user namespace.
kinds() {
        local kind
        for kind in plain userns; do
                "$1" "$kind" || {
                        echo "  with $kind"
                        return 1
                }
        done
}

SHOW='for f; do stat -c "%n %F %t:%T %a %u:%g" "$f"; done'

nodes() {
        what "$1"
        mkdir -p "$BUNDLE/rootfs/mnt"
        [ "$1" = plain ] || chown 100000:100000 "$BUNDLE/rootfs/mnt"
        config '.root.readonly = false | .linux.devices = [
                {path: "/dev/mine", type: "c", major: 1, minor: 5, fileMode: 420, uid: 7, gid: 8},
                {path: "/dev/deep/down", type: "u", major: 1, minor: 3},
                {path: "/mnt/x", type: "c", major: 1, minor: 9, fileMode: 292},
                {path: "/mnt/new/block/", type: "b", major: 7, minor: 99, fileMode: 432, gid: 6},
                {path: "/dev/fifo", type: "p", fileMode: 384, uid: 5, gid: 5},
                {path: "/dev/null", type: "c", major: 1, minor: 3, fileMode: 438}]'
        inside "set -- /dev/mine /dev/deep/down /mnt/x /mnt/new/block /dev/fifo /dev/null /dev/tty; $SHOW"'
                head -c 3 /dev/mine | tr "\0" z; echo; head -c 5 /mnt/x | wc -c; echo gone >/dev/deep/down && chmod 600 /dev/deep/down'
        printed "/dev/mine character special file 1:5 644 7:8
/dev/deep/down character special file 1:3 666 0:0
/mnt/x character special file 1:9 444 0:0
/mnt/new/block block special file 7:63 660 0:6
/dev/fifo fifo 0:0 600 5:5
/dev/null character special file 1:3 666 0:0
/dev/tty character special file 5:0 666 0:0
zzz
5" && [ "$(stat -c %a /dev/null)" = 666 ]
}

@test "a node has the path, the numbers, the mode and the owner that are asked for" {
        kinds nodes
}

another_user() {
        what "$1"
        config '.process.user = {uid: 7, gid: 9} | .linux.devices = [
                {path: "/dev/mine", type: "c", major: 1, minor: 5, fileMode: 384, uid: 7, gid: 8},
                {path: "/dev/roots", type: "c", major: 1, minor: 5, fileMode: 384}]'
        inside 'head -c 1 /dev/mine | wc -c; head -c 1 /dev/roots'
        said $'1\n' && said 'Permission denied'
}

@test "mode and owner decide who in the container opens it" {
        kinds another_user
}

# The bundle has /mnt/x, which FILTER says shall be the device 1:5.
there_already() {
        local device='.linux.devices = [{path: "/mnt/x", type: "c", major: 1, minor: 5, fileMode: 438}]' content
        what "$1"
        mkdir "$BUNDLE/rootfs/mnt"
        config "$device"
        mknod -m 666 "$BUNDLE/rootfs/mnt/x" c 1 5
        inside 'head -c 2 /mnt/x | wc -c'
        printed 2 || return 1
        for content in 'mknod x c 1 3' 'echo text >x' 'mkdir x' 'ln -s /dev/zero x' 'mkfifo x'; do
                rm -rf "$BUNDLE/rootfs/mnt/x"
                (cd "$BUNDLE/rootfs/mnt" && eval "$content")
                leaves_nothing runtime run --bundle "$BUNDLE" box
                failed 1 'linux.devices[0]' '/mnt/x exists' || return 1
        done
}

@test "where the right device is already it is taken, anything else is an error" {
        kinds there_already
}

@test "a tree without a tmpfs on /dev serves again and again" {
        local round
        what userns
        config '.mounts |= map(select(.destination | startswith("/dev") | not)) | .root.readonly = false'
        for round in 1 2; do
                inside 'echo x >/dev/null && stat -c %t:%T /dev/zero'
                printed 1:5
        done
}

# refused FILTER TEXT...
refused() {
        config "$USERNS | $1 | .linux.namespaces |= unique"
        leaves_nothing runtime create --bundle "$BUNDLE" box
        failed 1 "${@:2}"
}

@test "what cannot be a node is refused by its field" {
        what userns
        table refused <<-'ROWS'
		.linux.devices = [{path: "/dev/x", type: "c", major: 1, minor: 5, uid: 1000}] => linux.devices[0].uid => uidMappings
		.linux.devices = [{path: "/dev/x", type: "c", major: 1, minor: 5, gid: 5000}] => linux.devices[0].gid => gidMappings
		.linux.devices = [{path: "dev/x", type: "c", major: 1, minor: 5}] => linux.devices[0].path => absolute
		.linux.devices = [{path: "///", type: "c", major: 1, minor: 5}] => linux.devices[0].path
		.linux.devices = [{path: "/dev/x/..", type: "c", major: 1, minor: 5}] => linux.devices[0].path => directory
		.linux.devices = [{path: "/dev/x/./", type: "c", major: 1, minor: 5}] => linux.devices[0].path => directory
	ROWS
}

@test "a path through a link or dots ends in the container, whatever it is made of" {
        what userns
        ln -s / "$BUNDLE/rootfs/out"
        ln -s ../../../../../.. "$BUNDLE/rootfs/up"
        config '.root.readonly = false | .linux.devices = [{path: "/out/run/sage-1", type: "c", major: 1, minor: 5},
                {path: "/up/tmp/../sage-2", type: "c", major: 1, minor: 5}, {path: "/dev/../sage-3", type: "c", major: 1, minor: 5}]'
        inside 'for f in /run/sage-1 /sage-2 /sage-3; do stat -c %t:%T $f; done'
        printed $'1:5\n1:5\n1:5'
        [ ! -e /run/sage-1 ] && [ ! -e /sage-2 ] && [ ! -e /sage-3 ]
}

@test "in a user namespace that is joined nodes are made as in one of the container's own" {
        what userns
        arguments sleep 100
        create box
        config '.linux.devices = [{path: "/dev/mine", type: "c", major: 1, minor: 5, fileMode: 384, uid: 7, gid: 8}]
                | del(.linux.uidMappings, .linux.gidMappings)'
        config --args '.linux.namespaces |= map(if .type == "user" then .path = $ARGS.positional[0] else . end)' \
                "/proc/$(state box .pid)/ns/user"
        inside "set -- /dev/mine /dev/null; $SHOW; echo x >/dev/null"
        printed '/dev/mine character special file 1:5 600 7:8
/dev/null character special file 1:3 666 0:0'
        config '.linux.devices[0].uid = 1000'
        leaves_nothing runtime create --bundle "$BUNDLE" other
        failed 1 'linux.devices[0].uid'
}

# ---- an ordinary user ----------------------------------------------------------------------------------------------------

as_user() {
        rm -rf "$HOME_OF_USER"
        mkdir "$HOME_OF_USER"
        cp "$SAGE_RUNTIME" "$HOME_OF_USER/sage-runtime"
        cp -a "$BUNDLE" "$HOME_OF_USER/bundle"
        chown -R 1001:1001 "$HOME_OF_USER"
        chown 0:0 "$HOME_OF_USER/sage-runtime"
        detached timeout 20 setpriv --reuid 1001 --regid 1001 --clear-groups "$HOME_OF_USER/sage-runtime" \
                --root "$HOME_OF_USER/run" run --bundle "$HOME_OF_USER/bundle" box
}

ROOTLESS='.linux.namespaces += [{type: "user"}] | .linux.uidMappings = [{containerID: 0, hostID: 1001, size: 1}]
        | .linux.gidMappings = .linux.uidMappings | .mounts |= map(if .destination == "/dev/pts" then .options -= ["gid=5"] else . end)'

@test "an ordinary user's container has the host's own node, and is told of another mode" {
        bundle sh -c 'stat -c "%t:%T %a" /dev/full /dev/zero; head -c 1 /dev/zero | wc -c'
        config "$ROOTLESS"' | .linux.devices = [{path: "/dev/full", type: "c", major: 1, minor: 7, fileMode: 438},
                {path: "/dev/zero", type: "c", major: 1, minor: 5, fileMode: 384}]'
        as_user
        succeeded
        said $'1:7 666\n1:5 666\n1'
        said 'linux.devices[1].fileMode'
        [[ $output != *'linux.devices[0]'* ]]
}

not_the_hosts() {
        config "$ROOTLESS | .linux.devices = [$1] | .linux.namespaces |= unique"
        as_user
        failed 1 'linux.devices[0]' 'only root of the host' "${@:2}"
        [ -z "$(ls -A "$HOME_OF_USER/run")" ]
}

@test "a node that the host does not have is refused to an ordinary user by its field" {
        bundle
        table not_the_hosts <<-'ROWS'
		{path: "/mnt/x", type: "c", major: 1, minor: 5} => /mnt/x
		{path: "/dev/zero", type: "c", major: 1, minor: 3} => 1:3
		{path: "/dev/zero", type: "b", major: 1, minor: 5} => block device 1:5
	ROWS
}
