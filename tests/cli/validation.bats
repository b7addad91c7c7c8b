# What OCI's own validation programs (opencontainers/runtime-tools, validation/) hold a runtime to, under their names and in their order.
# The other files say more of each; this one says that none is forgotten.
load helpers

@test "config_updates_without_affect: what is changed in config.json after create has no effect" {
        bundle sh -c 'echo created with this'
        runtime create --bundle "$BUNDLE" box </dev/null >"$BATS_TEST_TMPDIR/created" 2>&1
        config '.process.args = ["echo", "changed"] | .hostname = "changed" | .annotations.changed = "yes"'
        start box
        wait_until has_status box stopped
        [ "$(<"$BATS_TEST_TMPDIR/created")" = 'created with this' ]
        [ "$(state box .annotations.changed)" = null ]
}

@test "create: it needs a bundle and an id that is free, and makes a container that waits" {
        bundle sleep 100
        detached runtime create --bundle "$BUNDLE"
        failed 1
        detached runtime create --bundle "$BATS_TEST_TMPDIR/nowhere" box
        failed 1 nowhere
        create box
        has_status box created
        detached runtime create --bundle "$BUNDLE" box
        failed 1 'already exists'
}

@test "default: the usual bundle has its root, names, mounts, devices, links, masks and limits" {
        bundle
        config '.linux.sysctl = {"net.ipv4.ip_forward": "1"}'
        inside 'hostname; pwd; id -u; ulimit -n; cat /proc/sys/net/ipv4/ip_forward; touch /x 2>/dev/null || echo read-only
                for d in null zero full random urandom tty ptmx; do [ -c /dev/$d ] || echo "no $d"; done
                for l in fd stdin stdout stderr; do [ -L /dev/$l ] || echo "no $l"; done
                for m in /proc /dev /dev/pts /dev/shm /dev/mqueue /sys /sys/fs/cgroup; do grep -q " $m " /proc/self/mounts || echo "no $m"; done
                cat /proc/keys | wc -c; echo 2>/dev/null >/proc/sys/kernel/hostname || echo kept'
        printed $'sage\n/\n0\n1024\n1\nread-only\n0\nkept'
}

# The program wants `created` for the first two, as runc says; runtime.md has `creating` until create returns.
@test "hooks_stdin: every hook reads the state of its container: version, id, status, pid, bundle, annotations" {
        local point
        bundle sleep 100
        config '.annotations = {"org.example.key": "value"}'
        for point in prestart createRuntime poststart poststop; do
                config --args '.hooks[$ARGS.positional[0]] = [{path: "/bin/sh", args: ["sh", "-c", "/bin/cat >\($ARGS.positional[1])/\($ARGS.positional[0])"]}]' \
                        "$point" "$BATS_TEST_TMPDIR"
        done
        create box
        local pid
        pid=$(state box .pid)
        start box
        runtime delete --force box
        reads() {
                jq -e --arg status "$2" --argjson pid "$3" --arg bundle "$BUNDLE" '.ociVersion == "1.2.0" and .id == "box" and .status == $status
                        and (.pid // 0) == $pid and .bundle == $bundle and .annotations."org.example.key" == "value"' "$BATS_TEST_TMPDIR/$1" >/dev/null || {
                        echo "$1:"
                        cat "$BATS_TEST_TMPDIR/$1"
                        return 1
                }
        }
        table reads <<-ROWS
		prestart => creating => $pid
		createRuntime => creating => $pid
		poststart => running => $pid
		poststop => stopped => 0
	ROWS
}

@test "hostname: it is set, and without one the namespace's is left" {
        bundle
        config '.hostname = "hostname-specific"'
        inside hostname
        printed hostname-specific
        config 'del(.hostname)'
        inside hostname
        printed "$(hostname)"
}

@test "kill: a created and a running container get the signal, a stopped one and one that is not there are errors" {
        detached runtime kill box KILL
        failed 1
        bundle sleep 100
        create box
        detached runtime kill box KILL
        succeeded
        wait_until has_status box stopped
        detached runtime kill box KILL
        failed 1
        runtime delete box
        create box
        start box
        detached runtime kill box KILL
        succeeded
        wait_until has_status box stopped
}

@test "kill_no_effect: an error of kill changes nothing about a container that is neither created nor running" {
        bundle true
        create box
        start box
        wait_until has_status box stopped
        local before
        before=$(runtime state box)
        detached runtime kill box KILL
        failed 1
        [ "$(runtime state box)" = "$before" ]
}

@test "killsig: TERM, USR1 and USR2 arrive as what they are" {
        local signal file
        for signal in TERM USR1 USR2; do
                bundle sh -c 'for s in TERM USR1 USR2; do trap "echo got $s; exit" $s; done; echo ready; while :; do sleep 0.02; done'
                file=$BATS_TEST_TMPDIR/out.$signal
                runtime create --bundle "$BUNDLE" box </dev/null >"$file" 2>&1
                start box
                wait_until grep -q ready "$file"
                runtime kill box "$signal"
                wait_until has_status box stopped
                [ "$(<"$file")" = $'ready\ngot '"$signal" ]
                runtime delete box
        done
}

@test "linux_devices: character and block devices and a FIFO are made, with mode and owner" {
        bundle
        config '.linux.devices = [
                {path: "/dev/test1", type: "c", major: 10, minor: 666, fileMode: 432, uid: 3, gid: 4},
                {path: "/dev/test2", type: "b", major: 8, minor: 666, fileMode: 432, uid: 0, gid: 0},
                {path: "/dev/test3", type: "p", fileMode: 256, uid: 5, gid: 6}]'
        inside 'stat -c "%n %F %t:%T %a %u:%g" /dev/test1 /dev/test2 /dev/test3'
        printed $'/dev/test1 character special file a:29a 660 3:4\n/dev/test2 block special file 8:29a 660 0:0\n/dev/test3 fifo 0:0 400 5:6'
}

@test "linux_masked_paths: files, directories and devices, nested too, cannot be read; a relative path and a symlink to itself are errors" {
        local name
        bundle
        mkdir -p "$BUNDLE/rootfs/masked/deep" "$BUNDLE/rootfs/dir/deep"
        for name in masked/file masked/deep/file dir/deep/file masked-file; do echo secret >"$BUNDLE/rootfs/$name"; done
        mkfifo "$BUNDLE/rootfs/fifo"
        mknod -m 666 "$BUNDLE/rootfs/zero" c 1 5
        config '.linux.maskedPaths = ["/masked", "/masked/deep", "/masked/file", "/dir/deep/file", "/masked-file", "/fifo", "/zero", "/not/there"]'
        inside 'cat /masked-file /dir/deep/file /fifo /zero; ls /masked; touch /masked/x 2>/dev/null || echo refused'
        printed refused
        config '.linux.maskedPaths = ["masked-file"]'
        leaves_nothing runtime run --bundle "$BUNDLE" box
        failed 1 'linux.maskedPaths[0]'
        ln -s ../itself "$BUNDLE/rootfs/itself"
        config '.linux.maskedPaths = ["/itself"]'
        leaves_nothing runtime run --bundle "$BUNDLE" box
        failed 1 /itself linux.maskedPaths
}

# The label itself, as an option of each mount, is seen in unit tests (apply/mounts.h, mount_data()).
@test "linux_mount_label: a label that the host cannot give is an error" {
        [ ! -e /sys/fs/selinux/enforce ] || skip 'this host has SELinux'
        bundle
        config '.linux.mountLabel = "system_u:object_r:svirt_sandbox_file_t:s0:c715,c811"'
        leaves_nothing runtime run --bundle "$BUNDLE" box
        failed 1 selinux
}

# The program leaves out the mount namespace too; that is refused here (namespaces.bats): its mounts would be the host's.
@test "linux_ns_itype: a namespace that the config does not name is the runtime's own" {
        local type
        for type in pid:pid network:net ipc:ipc uts:uts cgroup:cgroup; do
                bundle readlink "/proc/self/ns/${type#*:}"
                config ".linux.namespaces |= map(select(.type != \"${type%:*}\")) | del(.hostname)
                        | .mounts |= map(select(.destination != \"/sys\" or \"${type%:*}\" != \"network\"))"
                detached runtime run --bundle "$BUNDLE" box
                printed "$(readlink "/proc/self/ns/${type#*:}")" || { echo "$type"; return 1; }
        done
}

@test "linux_ns_nopath: a namespace without a path is a new one" {
        local kind
        bundle
        inside 'for kind in pid net ipc uts mnt cgroup; do echo "$kind $(readlink /proc/self/ns/$kind)"; done'
        succeeded
        for kind in pid net ipc uts mnt cgroup; do
                said "$kind $kind:["
                [[ $output != *"$(readlink "/proc/self/ns/$kind")"* ]]
        done
}

# The program does the same for the mount namespace: mount_namespace.bats.
@test "linux_ns_path: a namespace with a path is that one" {
        local pid type
        bundle sleep 100
        create other
        pid=$(state other .pid)
        for type in pid:pid network:net ipc:ipc uts:uts cgroup:cgroup; do
                bundle readlink "/proc/self/ns/${type#*:}"
                config "del(.hostname) | .linux.namespaces |= map(if .type == \"${type%:*}\" then .path = \"/proc/$pid/ns/${type#*:}\" else . end)"
                detached runtime run --bundle "$BUNDLE" box
                printed "$(readlink "/proc/$pid/ns/${type#*:}")" || { echo "$type"; return 1; }
        done
}

@test "linux_ns_path_type: a path of another kind of namespace is an error" {
        local type
        for type in network ipc uts pid; do
                bundle
                config "del(.hostname) | .linux.namespaces |= map(if .type == \"$type\" then .path = \"/proc/self/ns/mnt\" else . end)"
                leaves_nothing runtime run --bundle "$BUNDLE" box
                failed 1 'namespace, found mount' || { echo "$type"; return 1; }
        done
}

@test "linux_process_apparmor_profile: the program is under the profile" {
        vm_only 'apparmor: the profile of the config is in force'
}

@test "linux_readonly_paths: files and directories, nested too, cannot be written; a relative path and a symlink to itself are errors" {
        bundle
        mkdir -p "$BUNDLE/rootfs/ro/deep/er"
        echo text >"$BUNDLE/rootfs/ro-file"
        config '.root.readonly = false | .linux.readonlyPaths = ["/ro/deep/er", "/ro-file", "/not/there"]'
        inside 'cat /ro-file; for f in /ro/deep/er/x /ro-file /ro/deep/x; do echo 2>/dev/null >$f && echo "wrote $f"; done; true'
        printed $'text\nwrote /ro/deep/x'
        config '.linux.readonlyPaths = ["ro-file"]'
        leaves_nothing runtime run --bundle "$BUNDLE" box
        failed 1 'linux.readonlyPaths[0]'
        ln -s ../itself "$BUNDLE/rootfs/itself"
        config '.linux.readonlyPaths = ["/itself"]'
        leaves_nothing runtime run --bundle "$BUNDLE" box
        failed 1 /itself linux.readonlyPaths
}

@test "linux_rootfs_propagation: / is shared, a slave, private or unbindable" {
        propagated() {
                bundle
                config ".linux.rootfsPropagation = \"$1\""
                inside "grep -E '^([^ ]+ ){4}/ ' /proc/self/mountinfo | grep -o 'shared:\|master:\|unbindable' | head -n 1"
                [ "$output" = "$2" ] || { echo "$output"; return 1; }
        }
        table propagated <<-'ROWS'
		shared => shared:
		rshared => shared:
		private => 
		rprivate => 
		unbindable => unbindable
	ROWS
}

@test "linux_seccomp: a call that the profile forbids fails" {
        bundle
        config '.linux.seccomp = {defaultAction: "SCMP_ACT_ALLOW", syscalls: [{names: ["mkdir", "mkdirat"], action: "SCMP_ACT_ERRNO"}]}'
        inside 'mkdir /tmp/x'
        failed 1 'Operation not permitted'
}

@test "linux_sysctl: a setting of the container's namespaces is set" {
        bundle
        config '.linux.sysctl = {"net.ipv4.ip_forward": "1"}'
        inside 'cat /proc/sys/net/ipv4/ip_forward'
        printed 1
}

@test "linux_uid_mappings: the maps are those of the config" {
        bundle
        config '.linux.namespaces += [{type: "user"}] | .linux.uidMappings = [{containerID: 0, hostID: 1000, size: 2000}]
                | .linux.gidMappings = [{containerID: 0, hostID: 3000, size: 4000}]'
        # Uid 1000 has to get there.
        chmod 755 "$BATS_RUN_TMPDIR" "$BATS_TEST_TMPDIR"
        inside 'cat /proc/self/uid_map /proc/self/gid_map | tr -s " "'
        printed $' 0 1000 2000\n 0 3000 4000'
}

@test "mounts: they are made in their order, the later on or over the earlier" {
        bundle
        config '.root.readonly = false | .mounts += [{destination: "/a", type: "tmpfs", source: "tmpfs", options: ["mode=711"]},
                {destination: "/a/b", type: "tmpfs", source: "tmpfs", options: ["mode=722"]},
                {destination: "/c", type: "tmpfs", source: "tmpfs", options: ["mode=733"]}, {destination: "/c", type: "tmpfs", source: "tmpfs", options: ["mode=744"]}]'
        inside 'stat -c %a /a /a/b /c'
        printed $'711\n722\n744'
}

@test "poststart: its hooks run when start does, not before" {
        bundle sleep 100
        config ".hooks.poststart = [{path: \"/bin/touch\", args: [\"touch\", \"$BATS_TEST_TMPDIR/hook\"]}]"
        create box
        [ ! -e "$BATS_TEST_TMPDIR/hook" ]
        start box
        [ -e "$BATS_TEST_TMPDIR/hook" ]
}

# runtime-spec 1.3, runtime.md, "Lifecycle" 9: an error, the container is stopped, and what delete does follows. The program asks for what
# an older version said, a warning.
@test "poststart_fail: a hook that fails fails start, and the container is gone" {
        bundle sleep 100
        config '.hooks.poststart = [{path: "/bin/false"}]'
        create box
        detached runtime start box
        failed 1 'hooks.poststart[0]'
        detached runtime state box
        failed 1 'does not exist'
}

@test "poststop: its hooks run when delete does, not before" {
        bundle true
        config ".hooks.poststop = [{path: \"/bin/touch\", args: [\"touch\", \"$BATS_TEST_TMPDIR/hook\"]}]"
        create box
        start box
        wait_until has_status box stopped
        [ ! -e "$BATS_TEST_TMPDIR/hook" ]
        runtime delete box
        [ -e "$BATS_TEST_TMPDIR/hook" ]
}

@test "poststop_fail: a hook that fails is a warning; the next one runs, and the container is deleted" {
        bundle true
        config ".hooks.poststop = [{path: \"/bin/false\"}, {path: \"/bin/touch\", args: [\"touch\", \"$BATS_TEST_TMPDIR/hook\"]}]"
        create box
        detached runtime delete box
        succeeded
        said 'hooks.poststop[0]'
        [ -e "$BATS_TEST_TMPDIR/hook" ]
        detached runtime state box
        failed 1 'does not exist'
}

@test "prestart_fail: a hook that fails fails create, and nothing is left" {
        bundle sleep 100
        config '.hooks.prestart = [{path: "/bin/false"}]'
        leaves_nothing runtime create --bundle "$BUNDLE" box
        failed 1 'hooks.prestart[0]'
}

@test "process: arguments, environment and working directory are those of the config" {
        bundle
        mkdir "$BUNDLE/rootfs/test"
        config '.process.cwd = "/test" | .process.env += ["testa=valuea", "testb=123"]'
        inside 'pwd; echo "$testa $testb"'
        printed $'/test\nvaluea 123'
}

@test "process_oom_score_adj: it is that of the config" {
        bundle cat /proc/self/oom_score_adj
        config '.process.oomScoreAdj = 500'
        detached runtime run --bundle "$BUNDLE" box
        printed 500
}

@test "process_rlimits_fail: a limit of no known kind, and one named twice, are errors" {
        bundle
        config '.process.rlimits = [{type: "RLIMIT_TEST", soft: 1024, hard: 1024}]'
        leaves_nothing runtime run --bundle "$BUNDLE" box
        failed 1 'process.rlimits[0]'
        config '.process.rlimits = [{type: "RLIMIT_NOFILE", soft: 1024, hard: 1024}, {type: "RLIMIT_NOFILE", soft: 512, hard: 512}]'
        leaves_nothing runtime run --bundle "$BUNDLE" box
        failed 1 'process.rlimits[1]'
}

@test "process_user: user, group, further groups and umask are those of the config" {
        bundle sh -c 'id -u; id -g; id -G; umask'
        config '.process.user = {uid: 10, gid: 20, additionalGids: [5, 7], umask: 2}'
        detached runtime run --bundle "$BUNDLE" box
        printed $'10\n20\n20 5 7\n0002'
}

@test "root_readonly_true: a read-only root cannot be written" {
        bundle
        inside 'touch /x'
        failed 1 'Read-only file system'
}

@test "start: it starts what was created, once, with the program of the config; anything else is an error" {
        detached runtime start
        failed 1
        detached runtime start box
        failed 1 'does not exist'
        bundle sleep 100
        create box
        start box
        has_status box running
        detached runtime start box
        failed 1
        has_status box running
}

@test "state: it needs an id that there is, and says version, id, status, pid and bundle" {
        detached runtime state
        failed 1
        detached runtime state box
        failed 1 'does not exist'
        bundle sleep 100
        create box
        runtime state box | jq -e --arg bundle "$BUNDLE" '(.ociVersion | startswith("1.")) and .id == "box" and .status == "created" and .pid > 1 and .bundle == $bundle'
}
