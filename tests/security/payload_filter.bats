# The filter that a sandbox's rules come to (plan/payload_filter.h), in containers: that it is there, for whatever begins in one, and that
# nothing a bundle says takes it away. What it refuses is tried by `escape` (tests/security/escape).
# bats file_tags=bare
load attack

# attempts FILTER [JQ]: a bundle whose network policy is none, and whose program tries all that FILTER refuses. JQ changes its config.json.
attempts() {
        make -s -C "$SAGE_BUILD" tests/security/escape/escape >/dev/null
        bundle /bin/escape "$1"
        install "$SAGE_BUILD/tests/security/escape/escape" "$BUNDLE/rootfs/bin/escape"
        config '.annotations = {"sage.sandbox.network.mode": "none"}'
        [ $# -eq 1 ] || config "$2"
}

# The last command printed what `escape` prints when everything was refused.
all_refused() {
        succeeded || return 1
        [[ $(grep -c '^ok ' <<<"$output") -ge ${1:-60} && $output != *'not ok'* ]] || { grep -A 1 '^not ok' <<<"$output"; return 1; }
}

@test "a network policy alone: the program of a container that may have no network makes no socket" {
        attempts sockets-none
        detached runtime run --bundle "$BUNDLE" box
        all_refused
}

@test "without the policy the same program can" {
        attempts sockets-none 'del(.annotations)'
        detached runtime run --bundle "$BUNDLE" box
        failed 1 'not ok'
}

@test "a process that joins the container is under the filter, too" {
        attempts sockets-none '.process.args = ["sleep", "100"]'
        detached runtime run --detach --bundle "$BUNDLE" box
        succeeded
        detached runtime exec box /bin/escape sockets-none
        all_refused
        detached runtime exec --cap CAP_SYS_ADMIN --user 1:1 box /bin/escape sockets-none
        all_refused
}

# The filter then goes on while there is still the privilege for it, and the wait for `start` needs accept4(2).
@test "a container whose privileges may grow waits for its start and is under the filter" {
        attempts sockets-none '.process.noNewPrivileges = false'
        local output_file=$BATS_TEST_TMPDIR/printed
        runtime create --bundle "$BUNDLE" box </dev/null >"$output_file" 2>&1
        runtime start box
        until [ "$(state box .status)" = stopped ]; do sleep 0.05; done
        status=0 output=$(<"$output_file")
        all_refused
}

@test "hooks that are programs of the container are under the filter" {
        attempts sockets-none '.process.args = ["true"]
                | .hooks.startContainer = [{path: "/bin/sh", args: ["sh", "-c", "exec /bin/escape sockets-none >/tmp/printed"]}]
                | .mounts += [{destination: "/tmp", type: "bind", source: "'"$BATS_TEST_TMPDIR"'", options: ["bind"]}]'
        detached runtime run --bundle "$BUNDLE" box
        succeeded
        output=$(<"$BATS_TEST_TMPDIR/printed")
        all_refused
}

@test "a bundle's own filter, which refuses seccomp(2) and lets sockets pass, takes nothing of it away" {
        attempts sockets-none '.linux.seccomp = {defaultAction: "SCMP_ACT_ALLOW", syscalls: [{names: ["seccomp"], action: "SCMP_ACT_ERRNO"},
                {names: ["socket", "bind"], action: "SCMP_ACT_LOG"}]}'
        detached runtime run --bundle "$BUNDLE" box
        # The one that asks seccomp(2) itself.
        [[ $output == *'not ok'*'seccomp(SECCOMP_GET_ACTION_AVAIL)'* && $(grep -c '^not ok' <<<"$output") -eq 1 ]] || { echo "$output"; return 1; }
}

@test "a plan tells what the filter is for" {
        attempts sockets-none
        detached runtime plan --bundle "$BUNDLE"
        succeeded
        said 'refused are those for all sockets'
}

# ---- the strict sandbox ----

# sandboxed [COMMAND...]: a strict sandbox whose workspace has `escape`, and whose program is COMMAND.
sandboxed() {
        make -s -C "$SAGE_BUILD" tests/security/escape/escape >/dev/null
        strict
        install "$SAGE_BUILD/tests/security/escape/escape" "$WORKSPACE/escape"
        arguments "$@"
}

@test "a strict sandbox refuses everything that the filter's suite tries" {
        sandboxed /workspace/escape strict-none
        detached runtime run --bundle "$BUNDLE" box
        all_refused 180
}

@test "every command of a strict sandbox is under the filter" {
        sandboxed sleep 100
        detached runtime run --detach --bundle "$BUNDLE" box
        succeeded
        detached runtime exec box /workspace/escape strict-none
        all_refused 180
}
