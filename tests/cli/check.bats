# check: what this host can enforce.
load helpers

has_controller() {
        grep -qw "$1" /sys/fs/cgroup/cgroup.controllers
}

@test "a bundle that this host can run is told so, with 0, and nothing is made" {
        bundle
        leaves_nothing runtime check --bundle "$BUNDLE"
        succeeded
        grep -q . <<<"$output"
}

@test "a bundle that it cannot is told what is missing and what to do, with 1" {
        bundle
        config '.linux.resources.unified = {"nocontroller.max": "1"}'
        has_controller memory || config '.linux.resources.memory = {limit: 100000000}'
        leaves_nothing runtime check --bundle "$BUNDLE"
        failed 1 'to do:'
        leaves_nothing runtime check --json --bundle "$BUNDLE"
        [ "$status" -eq 1 ]
        jq -e '.ok == false and .scope == "bundle" and (.missing | length) > 0
                and all(.missing[]; (.code | length) > 0 and (.remedy | length) > 0)' <<<"$output"
}

@test "the exit status and ok of --json say the same, also for the strict sandbox" {
        status=0
        runtime check --json >"$BATS_TEST_TMPDIR/check.json" || status=$?
        [ "$(jq .ok "$BATS_TEST_TMPDIR/check.json")" = "$([ "$status" -eq 0 ] && echo true || echo false)" ]
        jq -e '.scope == "sandbox" and (.enforced | length) > 0 and ((.missing | length == 0) == .ok)' "$BATS_TEST_TMPDIR/check.json"
        has_controller memory || [ "$status" -eq 1 ]
}

@test "check has no side effects" {
        bundle
        leaves_nothing runtime check
        leaves_nothing runtime check --json --bundle "$BUNDLE"
}

@test "a wrong config is an error, not a gap" {
        bundle
        config 'del(.root)'
        leaves_nothing runtime check --bundle "$BUNDLE"
        failed 1 root
}

@test "an ordinary user is told what he lacks" {
        mkdir -m 0755 /run/sage-cli-user
        cp "$SAGE_RUNTIME" /run/sage-cli-user/sage-runtime
        detached setpriv --reuid 1001 --regid 1001 --clear-groups /run/sage-cli-user/sage-runtime check
        rm -r /run/sage-cli-user
        failed 1 'uid 1001'
}
