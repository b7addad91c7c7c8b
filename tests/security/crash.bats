# Whatever moment the runtime dies at, and whatever system call fails, delete --force has nothing left to look for.
load attack

everything() {
        config '[{path: "/bin/true"}] as $hook | .hooks = {prestart: $hook, createRuntime: $hook, createContainer: $hook,
                        startContainer: $hook, poststart: $hook, poststop: $hook}
                | .linux.namespaces += [{type: "user"}] | .linux.uidMappings = [{containerID: 0, hostID: 0, size: 65536}]
                | .linux.gidMappings = .linux.uidMappings'
}

# AddressSanitizer has seven times as many calls of its own to be killed at.
# bats test_tags=bare
@test "killed before any of its system calls, a command leaves nothing that delete --force does not take" {
        bundle sleep 100
        at_every_call kill
}

# bats test_tags=bare
@test "and nothing that gc does not take, which leaves alone what lives" {
        bundle sleep 100
        GC=1 at_every_call kill
}

# In a /var/tmp of its own, which is looked at.
# bats test_tags=bare
@test "a sandbox that is killed anywhere leaves no bundle and no workspace that gc does not take" {
        bundle sleep 100
        mount -t tmpfs -o mode=1777 tmpfs /var/tmp
        SANDBOX=1 GC=1 at_every_call kill || { umount /var/tmp; return 1; }
        umount /var/tmp
}

# bats test_tags=bare
@test "the same with hooks of every kind and a user namespace" {
        bundle sleep 100
        everything
        at_every_call kill
}

# bats test_tags=bare
@test "killed, or any call failing, with the user namespace and the network of another container" {
        local pid
        bundle sleep 100
        config '.linux.namespaces += [{type: "user"}] | .linux.uidMappings = [{containerID: 0, hostID: 0, size: 65536}] | .linux.gidMappings = .linux.uidMappings'
        unshare --user --net sleep 100 3>&- &
        pid=$!
        wait_until sh -c "[ \$(readlink /proc/$pid/ns/net) != \$(readlink /proc/self/ns/net) ]"
        echo 0 0 65536 >"/proc/$pid/uid_map"
        echo 0 0 65536 >"/proc/$pid/gid_map"
        config "del(.linux.uidMappings, .linux.gidMappings) | .linux.namespaces |= map(
                if .type == \"user\" then .path = \"/proc/$pid/ns/user\" elif .type == \"network\" then .path = \"/proc/$pid/ns/net\" else . end)"
        # The first child is the one that looks at the maps.
        EARLIER=1 at_every_call kill create run
        HELPER=1 at_every_call kill create
        EARLIER=1 at_every_call fail 1 create run
        kill "$pid"
}

# bats test_tags=bare
@test "killed, with the process that an id-mapped mount needs" {
        bundle sleep 100
        mkdir -p "$BUNDLE/rootfs/b"
        config --args '.mounts += [{destination: "/b", type: "bind", source: $ARGS.positional[0], options: ["bind"],
                uidMappings: [{containerID: 0, hostID: 1000, size: 10}], gidMappings: [{containerID: 0, hostID: 1000, size: 10}]}]' "$BUNDLE"
        HELPER=1 at_every_call kill create
}

# bats test_tags=bare
@test "killed, or any call failing, with a new user namespace, clocks and the network of another" {
        local pid
        bundle sleep 100
        unshare --net sleep 100 3>&- &
        pid=$!
        wait_until sh -c "[ \$(readlink /proc/$pid/ns/net) != \$(readlink /proc/self/ns/net) ]"
        config '.linux.namespaces += [{type: "user"}, {type: "time"}] | .linux.uidMappings = [{containerID: 0, hostID: 0, size: 65536}]
                | .linux.gidMappings = .linux.uidMappings | .linux.timeOffsets = {boottime: {secs: 10}}'
        config ".linux.namespaces |= map(if .type == \"network\" then .path = \"/proc/$pid/ns/net\" else . end)"
        at_every_call kill create run
        at_every_call fail 1 create run
        kill "$pid"
}

# bats test_tags=bare
@test "when any system call fails, a command says so and leaves nothing, or does without for a reason" {
        bundle sleep 100
        at_every_call fail 3
}

# bats test_tags=bare
@test "the same with hooks of every kind, a user namespace, a filter, a sysctl, and mounts of many kinds" {
        bundle sleep 100
        everything
        mkdir -p "$BUNDLE/rootfs/b" "$BUNDLE/rootfs/etc/x/y"
        config '.linux.seccomp = {defaultAction: "SCMP_ACT_ALLOW", syscalls: [{names: ["chroot"], action: "SCMP_ACT_ERRNO"}]}
                | .linux.sysctl = {"net.ipv4.ip_forward": "1"} | .process.oomScoreAdj = 100
                | .mounts += [{destination: "/b", type: "bind", source: "/etc", options: ["rbind", "rro", "rslave"]},
                        {destination: "/etc/x", type: "tmpfs", source: "tmpfs", options: ["tmpcopyup", "ro"]}]'
        at_every_call fail 1
}

# bats test_tags=bare
@test "the same in a container whose processes may trace others: killed, or any call failing" {
        bundle sleep 100
        config '.process.capabilities |= map_values(. + ["CAP_SYS_PTRACE"])'
        at_every_call kill exec
        at_every_call fail 1 exec
}
