# Whatever moment the runtime dies at, and whatever system call fails, delete --force has nothing left to look for.
load attack

# killed_everywhere [COMMAND]...: security/kill_at_every_call with $BUNDLE, where those commands take an usher.
killed_everywhere() {
        local program=$BATS_RUN_TMPDIR/kill_at_every_call
        [ -x "$program" ] || "${CC:-cc}" -std=gnu17 -Wall -Wextra -Wno-missing-field-initializers -Werror -O1 -o "$program" "$SAGE_TESTS/security/kill_at_every_call.c"
        detached timeout 90 "$program" "$SAGE_RUNTIME" "$ROOT" "$BUNDLE" "$@"
        succeeded
}

# AddressSanitizer has seven times as many calls of its own to be killed at.
# bats test_tags=bare
@test "killed before any of its system calls, a command leaves nothing that delete --force does not take" {
        bundle sleep 100
        killed_everywhere
}

# bats test_tags=bare
@test "the same with hooks of every kind and a user namespace" {
        bundle sleep 100
        config '[{path: "/bin/true"}] as $hook | .hooks = {prestart: $hook, createRuntime: $hook, createContainer: $hook,
                        startContainer: $hook, poststart: $hook, poststop: $hook}
                | .linux.namespaces += [{type: "user"}] | .linux.uidMappings = [{containerID: 0, hostID: 0, size: 65536}]
                | .linux.gidMappings = .linux.uidMappings'
        killed_everywhere
}

# bats test_tags=bare
@test "the same with the user namespace and the network of another container" {
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
        EARLIER=1 killed_everywhere create run
        kill "$pid"
}

# bats test_tags=bare
@test "the same with a new user namespace, clocks and the network of another" {
        local pid
        bundle sleep 100
        unshare --net sleep 100 3>&- &
        pid=$!
        wait_until sh -c "[ \$(readlink /proc/$pid/ns/net) != \$(readlink /proc/self/ns/net) ]"
        config '.linux.namespaces += [{type: "user"}, {type: "time"}] | .linux.uidMappings = [{containerID: 0, hostID: 0, size: 65536}]
                | .linux.gidMappings = .linux.uidMappings | .linux.timeOffsets = {boottime: {secs: 10}}'
        config ".linux.namespaces |= map(if .type == \"network\" then .path = \"/proc/$pid/ns/net\" else . end)"
        killed_everywhere create run
        kill "$pid"
}

# bats test_tags=bare
@test "the same in a container whose processes may trace others" {
        bundle sleep 100
        config '.process.capabilities |= map_values(. + ["CAP_SYS_PTRACE"])'
        killed_everywhere exec
}
