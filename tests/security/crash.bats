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
@test "the same in a container whose processes may trace others" {
        bundle sleep 100
        config '.process.capabilities |= map_values(. + ["CAP_SYS_PTRACE"])'
        killed_everywhere exec
}
