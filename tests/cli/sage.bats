# sage.* annotations, and the policies of an administrator over them: what is read, who may have written it, and that it is refused in the end.
load helpers

# policies: a directory that only root can have written, in $POLICIES, with an empty host policy.
policies() {
        POLICIES=$BATS_TEST_TMPDIR/etc
        mkdir -p -m 0755 "$POLICIES/policies"
        chmod 0755 "$POLICIES" "$POLICIES/policies"
        echo '{}' >"$POLICIES/host.json"
        bundle
}

# annotations NAME VALUE...: sage.sandbox.NAME, in place of those that were there.
annotations() {
        config '.annotations = ([$ARGS.positional | range(0; length; 2) as $i | {("sage.sandbox." + .[$i]): .[$i + 1]}] | add)' "$@"
}

# requested JSON [OPTION]...: what plan --request prints of the bundle holds at least JSON.
requested() {
        local expected=$1
        shift
        detached runtime --host-policy "$POLICIES/host.json" "$@" plan --request --bundle "$BUNDLE"
        succeeded || return 1
        jq -e --argjson expected "$expected" '.request | contains($expected)' <<<"$output" >/dev/null || {
                echo "expected $expected in $output"
                return 1
        }
}

refused() {
        local what=$1
        shift
        leaves_nothing runtime --host-policy "$POLICIES/host.json" "$@" plan --request --bundle "$BUNDLE"
        failed 1 "$what"
}

@test "a bundle asks for nothing where it has no annotation" {
        policies
        detached runtime plan --request --bundle "$BUNDLE"
        printed '{"fingerprint":null,"request":null}'
}

@test "the fingerprint is the SHA-256 of the canonical form, which both spellings come to" {
        policies
        annotations resources '{"cpu_percent": 50, "memory_mb": 64}' network.mode allowlist network.allowed_hosts 'pypi.org *.npmjs.org'
        requested '{"resources":{"memory_mb":64},"network":{"allowed_hosts":["pypi.org","*.npmjs.org"],"allowed_ports":[443]}}'
        local first=$output
        [ "$(jq -r .fingerprint <<<"$first")" = "sha256:$(jq -cj .request <<<"$first" | sha256sum | cut -d ' ' -f 1)" ]
        annotations resources.memory_mb 64 resources.cpu_percent 50 network '{"allowed_hosts":["pypi.org","*.npmjs.org"],"mode":"allowlist"}'
        requested '{}'
        [ "$output" = "$first" ]
}

@test "what is right is refused all the same, and nothing was touched" {
        policies
        annotations resources.memory_mb 64
        local command
        for command in 'create x' 'run x' plan 'check'; do
                # shellcheck disable=SC2086
                leaves_nothing runtime ${command%% *} --bundle "$BUNDLE" ${command#"${command%% *}"}
                failed 1 sage.sandbox.resources.memory_mb 'not supported yet (request sha256:'
        done
        config '.annotations = {}'
        echo '{"resources": {"memory_mb": 64}}' >"$POLICIES/limits.json"
        leaves_nothing runtime --sandbox-policy "$POLICIES/limits.json" create --bundle "$BUNDLE" x
        failed 1 --sandbox-policy
}

@test "a network policy wants a network namespace that is made for the container" {
        policies
        annotations network.mode none
        requested '{"network":{"mode":"none"}}'
        config '(.linux.namespaces[] | select(.type == "network")).path = "/proc/1/ns/net"'
        refused '].path: '
        config 'del(.linux.namespaces[] | select(.type == "network"))'
        refused 'linux.namespaces: '
        annotations network '{"mode": "unrestricted", "deny_private_networks": false}'
        requested '{"network":{"mode":"unrestricted"}}'
}

@test "what is wrong elsewhere in the bundle is told before that" {
        policies
        annotations resources.memory_mb 64
        config '.process.user.umask = 512'
        leaves_nothing runtime create --bundle "$BUNDLE" x
        failed 1 process.user.umask
        annotations resources.memory_mb 0
        leaves_nothing runtime create --bundle "$BUNDLE" x
        failed 1 sage.sandbox.resources.memory_mb
}

@test "a policy is found by its name or by a path, and a bundle only makes it tighter" {
        policies
        echo '{"resources": {"memory_mb": 128}}' >"$POLICIES/policies/small.json"
        echo '{"resources": {"max_processes": 8}}' >"$POLICIES/policies/few.json"
        requested '{"resources":{"memory_mb":128}}' --sandbox-policy small
        requested '{"resources":{"memory_mb":128}}' --sandbox-policy "$POLICIES/policies/small.json"
        (cd "$POLICIES" && requested '{"resources":{"memory_mb":128}}' --sandbox-policy ./policies/small.json)
        annotations policy few resources.memory_mb 64
        requested '{"resources":{"memory_mb":64,"max_processes":8}}' --sandbox-policy small
        annotations policy few resources.memory_mb 129
        refused sage.sandbox.resources.memory_mb --sandbox-policy small
        annotations policy few resources.max_processes 9
        refused sage.sandbox.resources.max_processes
}

@test "a policy that is not there, or is none, is an error" {
        policies
        refused policies/none.json --sandbox-policy none
        refused "$POLICIES/no: " --sandbox-policy "$POLICIES/no/such"
        refused sandbox-policy --sandbox-policy .hidden
        annotations policy none
        refused policies/none.json
        annotations policy ../host
        refused sage.sandbox.policy
        echo '{"resources": {"memory_mb": 0}}' >"$POLICIES/policies/wrong.json"
        refused 'resources.memory_mb' --sandbox-policy wrong
        echo '{"resource": {}}' >"$POLICIES/policies/wrong.json"
        refused 'did you mean resources' --sandbox-policy wrong
}

@test "only root can have written a policy: owner, mode, kind, and every directory on the way" {
        policies
        local file=$POLICIES/policies/p.json
        fresh() {
                rm -rf "$file"
                echo '{"resources": {"memory_mb": 64}}' >"$file"
                chmod 0644 "$file"
                chown 0:0 "$POLICIES" "$POLICIES/policies"
                chmod 0755 "$POLICIES" "$POLICIES/policies"
        }
        spoilt() {
                fresh && eval "$1" && refused "$2" --sandbox-policy p && fresh && requested '{"resources":{"memory_mb":64}}' --sandbox-policy p
        }
        table spoilt <<'ROWS'
chown 1000 "$file" => expected root as the owner
chmod g+w "$file" => others may write this
chmod o+w "$file" => others may write this
chmod 1666 "$file" => others may write this
mv "$file" "$file.x"; ln -s "$file.x" "$file" => expected no symlink
rm "$file"; mkfifo "$file" => expected a regular file
rm "$file"; mkdir "$file" => expected a regular file
chmod o+w "$POLICIES/policies" => others may write this
chmod g+w "$POLICIES" => others may write this
chown 1000 "$POLICIES/policies" => expected root as the owner
ROWS
}

@test "the sticky bit of a directory is enough, a symlink on the way is not" {
        policies
        echo '{"resources": {"memory_mb": 64}}' >"$POLICIES/policies/p.json"
        chmod 1777 "$POLICIES"
        requested '{"resources":{"memory_mb":64}}' --sandbox-policy p
        ln -s etc "$BATS_TEST_TMPDIR/link"
        refused 'expected no symlink' --sandbox-policy "$BATS_TEST_TMPDIR/link/policies/p.json"
}

@test "the host policy need not exist, but one that is named must" {
        policies
        annotations resources.memory_mb 64
        detached runtime plan --request --bundle "$BUNDLE"
        succeeded
        rm "$POLICIES/host.json"
        refused host.json
}

@test "the host policy must be root's alone, and bounds what is asked" {
        policies
        annotations resources.memory_mb 64
        echo '{"ceilings": {"memory_mb": 63}}' >"$POLICIES/host.json"
        refused 'ceilings.memory_mb'
        echo '{"linux_cgroup_root": "/c", "linux_quota_mount": "/q"}' >"$POLICIES/host.json"
        requested '{"host":{"linux_cgroup_root":"/c"}}'
        echo '{"ceiling": {}}' >"$POLICIES/host.json"
        refused 'did you mean ceilings'
        echo '{}' >"$POLICIES/host.json"
        chmod o+w "$POLICIES/host.json"
        refused 'others may write this'
}

@test "the author of a pod sets less, and a pod's pause container ignores all of it" {
        policies
        annotations resources.memory_mb 64 filesystem.read_only true
        requested '{"filesystem":{"read_only":true}}'
        config '.annotations["io.kubernetes.cri.container-type"] = "container"'
        refused sage.sandbox.filesystem.read_only
        config '.annotations["io.kubernetes.cri.container-type"] = "sandbox"'
        detached runtime plan --request --bundle "$BUNDLE"
        printed '{"fingerprint":null,"request":null}'
        detached runtime run --bundle "$BUNDLE" pause
        succeeded
}

@test "the state of a container has the fingerprint of what is asked for it, and no other has one" {
        policies
        annotations network.mode none
        detached runtime plan --request --bundle "$BUNDLE"
        local fingerprint
        fingerprint=$(jq -r .fingerprint <<<"$output")
        [[ $fingerprint == sha256:* ]]
        create box
        [ "$(state box .sage.fingerprint)" = "$fingerprint" ]
        [ "$(state box .sage.limits)" = null ] # of a strict sandbox alone
        config '.annotations = {}'
        create plain
        [ "$(state plain .sage)" = null ]
}
