# sandbox: one command in a strict sandbox of its own. What its options become is tests/unit/test_spec_sandbox.c's.
load helpers

# What a sandbox has beside its state.
workspaces() {
        ls -d /var/tmp/sage-sandbox-* 2>/dev/null || true
}

# One of their own, in which nobody else makes any.
setup_file() {
        mount -t tmpfs -o mode=1777 tmpfs /var/tmp
}

teardown_file() {
        umount /var/tmp
}

# sandbox [ARGUMENT]...: as uid 1001, and whatever comes of it, nothing is left.
sandbox() {
        leaves_nothing runtime sandbox --uid 1001 --gid 1002 "$@"
        [ -z "$(workspaces)" ]
}

@test "what its options are wrong with is told with status 125, before anything is made" {
        refused() {
                # shellcheck disable=SC2086
                sandbox $1 -- true && failed 125 "$2"
        }
        table refused <<-'ROWS'
		--nope => unknown option
		--memory-mb 0 => --memory-mb: 
		--network-host a_b! => --network-host: 
		--id ../x => --id: 
		--id .x => --id: 
		--tty=maybe => --tty: 
		--env NOT_SET => --env: 
		--workspace /nowhere => --workspace: 
		--result /nowhere/file => --result: 
		--result fd:1 => --result: 
		--timeout never => --timeout: 
		--policy /nowhere => --policy: 
		--cgroup-root /sys/fs/cgroup/x --quota-mount / => --workspace: 
	ROWS
        detached runtime sandbox --uid 0 -- true
        failed 125 '--uid: '
}

@test "an audit of the network is refused until there is a broker" {
        sandbox --egress-log "$BATS_TEST_TMPDIR/log" -- true
        failed 125 '--egress-log: ' 'not supported yet'
}

@test "an id that is taken is told" {
        mkdir "$ROOT/.sandbox-box"
        sandbox --id box -- true
        failed 125 'there already' gc
        rmdir "$ROOT/.sandbox-box"
        sandbox --id "$(printf 'x%.0s' {1..250})" -- true
        failed 125 'at most 246'
}

@test "without --uid root has to have somebody to run it as" {
        getent passwd sage-sandbox && return
        leaves_nothing runtime sandbox -- true
        failed 125 '--uid: ' sage-sandbox
}

@test "what is not supported yet is refused, and not left out" {
        sandbox --network-host pypi.org -- true
        failed 125 'not supported yet'
        sandbox --network-mode unrestricted -- true
        failed 125 'not supported yet'
}
