# spec --sandbox: the bundle of a strict sandbox. What each option becomes is tests/unit/test_spec_sandbox.c's; here is what it reads and writes.
load helpers

# A directory for bundles, and a workspace of uid 1001.
places() {
        WORKSPACE=$BATS_TEST_TMPDIR/workspace
        mkdir -p "$BUNDLE" "$WORKSPACE"
        chown 1001:1002 "$WORKSPACE"
        cd "$BUNDLE"
}

# spec [OPTION]...: in $BUNDLE, where there is no config.json yet.
spec() {
        rm -f config.json
        detached runtime spec --sandbox "$@"
}

# member GROUP FILTER: of the annotation sage.sandbox.GROUP that was written.
member() {
        jq -r ".annotations[\"sage.sandbox.$1\"] | fromjson | $2" config.json
}

@test "it writes a bare bundle that nobody else can read, with an empty root" {
        places
        spec --workspace "$WORKSPACE" -- echo hello
        printed ''
        [ "$(stat -c %a config.json)" = 600 ]
        [ "$(jq -c 'keys' config.json)" = '["annotations","ociVersion","process","root"]' ]
        [ "$(jq -c .process.args config.json)" = '["echo","hello"]' ]
        [ -d rootfs ] && [ -z "$(ls -A rootfs)" ]
        [ "$(member filesystem .workspace)" = "$WORKSPACE" ]
        [ "$(member filesystem '"\(.workspace_st_dev) \(.workspace_st_ino)"')" = "$(stat -c '%d %i' "$WORKSPACE")" ]
}

@test "what it writes is what sage.* annotations may say" {
        places
        spec --workspace "$WORKSPACE" --network-host pypi.org --memory-mb 64 -- true
        succeeded
        detached runtime plan --request
        succeeded
        [ "$(jq -r '"\(.request.profile) \(.request.resources.memory_mb) \(.request.network.mode)"' <<<"$output")" = 'strict 64 allowlist' ]
}

@test "without a command there is only what is executed in the sandbox later will have" {
        places
        spec --workspace "$WORKSPACE" --env A=1
        [ "$(jq -c '[.process.args, .process.cwd, .process.env[-1]]' config.json)" = "[null,\"$(jq -r .process.cwd config.json)\",\"A=1\"]" ]
}

@test "a symlink is followed once, to the workspace as it is" {
        places
        ln -s "$WORKSPACE" "$BATS_TEST_TMPDIR/link"
        spec --workspace "$BATS_TEST_TMPDIR/link"
        [ "$(member filesystem .workspace)" = "$WORKSPACE" ]
        (cd "$WORKSPACE" && runtime spec --sandbox --workspace . --bundle "$BUNDLE" --file other.json)
        [ "$(jq -c .annotations other.json)" = "$(jq -c .annotations config.json)" ]
        spec --workspace "$BATS_TEST_TMPDIR/nowhere"
        failed 1 '--workspace: ' nowhere
        spec --workspace "$BASH"
        failed 1 '--workspace: expected a directory'
}

@test "without a workspace it is a directory of the bundle, of whom commands run as" {
        places
        spec --uid 1001 --gid 1002
        [ "$(member filesystem .workspace)" = "$BUNDLE/workspace" ]
        [ "$(stat -c '%u:%g %a' workspace)" = '1001:1002 700' ]
        spec --uid 1001 --gid 1002 --cgroup-root /sys/fs/cgroup/tests --quota-mount /
        failed 1 '--workspace: ' quota
}

@test "root's commands run as the owner of the workspace, and never as root" {
        places
        spec --workspace "$WORKSPACE"
        [ "$(member host '"\(.linux_execution_uid) \(.linux_execution_gid)"')" = '1001 1002' ]
        chown 0:0 "$WORKSPACE"
        getent passwd sage-sandbox || {
                spec --workspace "$WORKSPACE"
                failed 1 '--uid: ' root sage-sandbox
        }
        spec --workspace "$WORKSPACE" --uid 1001
        failed 1 '--gid: '
        spec --workspace "$WORKSPACE" --uid 65534
        [ "$(member host '"\(.linux_execution_uid) \(.linux_execution_gid)"')" = "65534 $(id -g nobody)" ]
        spec --workspace "$WORKSPACE" --uid 0
        failed 1 '--uid: '
        spec --workspace "$WORKSPACE" --uid 1001 --gid 0
        failed 1 '--gid: '
}

@test "an ordinary user's commands run as the user" {
        places
        chown 1001:1002 "$BUNDLE"
        open_to_all
        install -m 0755 "$SAGE_RUNTIME" /run/sage-cli-runtime
        detached setpriv --reuid 1001 --regid 1002 --clear-groups /run/sage-cli-runtime spec --sandbox --workspace "$WORKSPACE"
        rm /run/sage-cli-runtime
        succeeded
        [ "$(member host '"\(.linux_execution_uid) \(.linux_execution_gid)"')" = '1001 1002' ]
}

@test "a file of variables is no symlink and no fifo that a command has left" {
        places
        echo SECRET=of-the-host >"$BATS_TEST_TMPDIR/host"
        ln -s "$BATS_TEST_TMPDIR/host" "$WORKSPACE/env"
        chown -h 1001:1001 "$WORKSPACE/env"
        spec --workspace "$WORKSPACE" --env-file "$WORKSPACE/env" -- env
        failed 1 '--env-file: cannot read' 'symbolic'
        chown -h 0:0 "$WORKSPACE/env"
        spec --workspace "$WORKSPACE" --env-file "$WORKSPACE/env" -- env
        succeeded
        rm "$WORKSPACE/env"
        mkfifo "$WORKSPACE/env"
        spec --workspace "$WORKSPACE" --env-file "$WORKSPACE/env" -- env
        succeeded
        spec --workspace "$WORKSPACE" --env-file <(echo FROM=a-pipe) -- env
        succeeded
        grep -q FROM=a-pipe config.json
}

@test "variables come by value, by name, from a file and from a descriptor; a secret is not told" {
        places
        echo 'TOKEN=from file' >"$BATS_TEST_TMPDIR/env"
        export PASSED='on its way'
        spec --workspace "$WORKSPACE" --env A=1 --env PASSED --env-file "$BATS_TEST_TMPDIR/env" --env-file fd:8 -- env 8<<<'OTHER=x=y'
        succeeded
        [ "$(jq -r '.process.env[6:][]' config.json)" = $'TOKEN=from file\nOTHER=x=y\nA=1\nPASSED=on its way' ]
        [ "$(member process '.allowed_env_names | join(" ")')" = 'TOKEN OTHER A PASSED' ]
        spec --workspace "$WORKSPACE" --env-file fd:9 -- env
        failed 1 '--env-file: descriptor 9 is not open'
        spec --workspace "$WORKSPACE" --env-file fd:x -- env
        failed 1 '--env-file: ' 'fd:N'
        spec --workspace "$WORKSPACE" --env NOT_SET -- env
        failed 1 '--env: NOT_SET is not set'
        spec --workspace "$WORKSPACE" --env-file fd:8 -- env 8<<<'4U=secret'
        failed 1 '--env-file: fd:8:1: '
        [[ $output != *secret* ]]
}

@test "nothing is read from the current directory, the workspace or the environment" {
        local name plain
        places
        spec --workspace "$WORKSPACE" -- env
        plain=$(<config.json)
        for name in .sage sage.json .sage-runtime host.json .env policy.json config.yaml; do
                echo '{"resources": {"memory_mb": 1}}' >"$name"
                echo '{"resources": {"memory_mb": 1}}' >"$WORKSPACE/$name"
        done
        rm -f config.json
        detached env HOME="$WORKSPACE" XDG_CONFIG_HOME="$WORKSPACE" SAGE_POLICY=policy.json SAGE_MEMORY_MB=1 PATH="$PATH:$WORKSPACE" \
                http_proxy=http://evil:1 HTTPS_PROXY=http://evil:1 TERM=evil LANG=xx TMPDIR="$WORKSPACE" LD_PRELOAD= PYTHONPATH=. \
                "$SAGE_RUNTIME" spec --sandbox --workspace "$WORKSPACE" -- env
        succeeded
        [ "$(<config.json)" = "$plain" ]
}

@test "a policy is of root or the caller, and options only make it tighter" {
        local policy=/run/sage-cli-policy.json
        places
        echo '{"resources": {"memory_mb": 128}}' >"$policy"
        spec --workspace "$WORKSPACE" --policy "$policy" --cpu-percent 50
        [ "$(member resources '"\(.memory_mb) \(.cpu_percent)"')" = '128 50' ]
        spec --workspace "$WORKSPACE" --policy fd:8 8<"$policy"
        [ "$(member resources .memory_mb)" = 128 ]
        spec --workspace "$WORKSPACE" --policy "$policy" --memory-mb 129
        failed 1 "--memory-mb: " "$policy"
        chown 1001 "$policy"
        spec --workspace "$WORKSPACE" --policy "$policy"
        failed 1 "$policy: " 'uid 1001'
        spec --workspace "$WORKSPACE" --policy fd:8 8<"$policy"
        failed 1 '--policy: fd:8: '
        chown 0 "$policy"
        chmod 0666 "$policy"
        spec --workspace "$WORKSPACE" --policy "$policy"
        failed 1 "$policy: others may write"
        echo '{"resources": {"memory": 128}}' >"$policy"
        chmod 0644 "$policy"
        spec --workspace "$WORKSPACE" --policy "$policy"
        failed 1 "$policy" 'resources.memory: '
        rm "$policy"
        spec --workspace "$WORKSPACE" --policy "$policy"
        failed 1 '--policy: cannot find'
}

@test "a policy in the workspace, where the next sandbox would be its own, is refused" {
        local place=/run/sage-cli-place
        places
        mkdir -m 0755 "$place"
        echo '{}' >"$place/policy.json"
        spec --workspace "$place" --uid 1001 --gid 1002 --policy "$place/policy.json"
        failed 1 '--policy: ' 'which the sandbox can write'
        spec --workspace "$WORKSPACE" --write-path "$place" --policy "$place/policy.json"
        failed 1 '--policy: ' 'which the sandbox can write'
        rm -r "$place"
}

@test "caches are made for their user, and stay" {
        places
        spec --workspace "$WORKSPACE" --cache sage-cli-test -- true
        succeeded
        [ "$(stat -c '%u:%g %a' /var/cache/sage-runtime/1001/sage-cli-test)" = '1001:1002 700' ]
        [ "$(stat -c '%u %a' /var/cache/sage-runtime/1001)" = '0 755' ]
        [ "$(member filesystem '.write_paths[0]')" = /var/cache/sage-runtime/1001/sage-cli-test ]
        rmdir /var/cache/sage-runtime/1001/sage-cli-test
        rmdir /var/cache/sage-runtime/1001 /var/cache/sage-runtime 2>/dev/null || true
}

@test "what is about a run has no place in a bundle" {
        places
        refused() {
                spec --workspace "$WORKSPACE" $1 && failed 1 "${1%% *}: " 'about a run' && [ ! -e config.json ]
        }
        table refused <<-'ROWS'
		--result out
		--egress-log out
		--id box
		--die-with-parent
		--keep
		--quiet
	ROWS
}

@test "options of a sandbox without --sandbox, and a command, are refused; so is a word that is no UTF-8" {
        places
        detached runtime spec --memory-mb 64
        failed 1 '--sandbox: '
        detached runtime spec true
        failed 1 'without --sandbox'
        detached runtime spec --sandbox --rootless --workspace "$WORKSPACE"
        failed 1 '--rootless: '
        spec --workspace "$WORKSPACE" -- echo $'\xff'
        failed 1 'process.args[1]' 'UTF-8'
        spec --workspace "$WORKSPACE" --read-path $'/\xff'
        failed 1 '--read-path: ' 'UTF-8'
        [ ! -e config.json ]
}

@test "a config.json that is there already stays, and nothing is made beside it" {
        places
        echo mine >config.json
        detached runtime spec --sandbox --uid 1001 --gid 1001
        failed 1 config.json
        [ "$(ls)" = config.json ]
        [ "$(<config.json)" = mine ]
}
