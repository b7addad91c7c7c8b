# spec: writes a default config.json.
load helpers

# A place with a root file system, where spec may write.
empty_bundle() {
        bundle
        rm "$BUNDLE/config.json"
        cd "$BUNDLE"
}

@test "it writes config.json in the current directory, and says nothing" {
        empty_bundle
        detached runtime spec
        printed ''
        [ "$(jq -r '.ociVersion, .root.path, .process.terminal, .process.args[0]' config.json)" = $'1.3.0\nrootfs\ntrue\nsh' ]
        [ "$(stat -c %a config.json)" = 644 ]
}

@test "what it writes runs" {
        empty_bundle
        runtime spec
        config '.process.terminal = false'
        inside 'echo here; hostname'
        [ "$status" -eq 0 ]
        [ "${output%%$'\n'*}" = here ]
}

@test "its capabilities are three, and none is inheritable or ambient" {
        empty_bundle
        runtime spec
        jq -e '.process.capabilities | (.bounding | sort) == ["CAP_AUDIT_WRITE", "CAP_KILL", "CAP_NET_BIND_SERVICE"]
                and .effective == .bounding and .permitted == .bounding
                and (.inheritable // []) == [] and (.ambient // []) == []' config.json
}

@test "a config.json that is there already stays as it is" {
        bundle
        cd "$BUNDLE"
        local before
        before=$(<config.json)
        detached runtime spec
        failed 1 config.json
        [ "$(<config.json)" = "$before" ]
}

@test "--bundle names another directory, --file another file" {
        empty_bundle
        cd /
        runtime spec --bundle "$BUNDLE"
        [ -s "$BUNDLE/config.json" ]
        runtime spec -b "$BUNDLE" -f other.json
        diff "$BUNDLE/config.json" "$BUNDLE/other.json"
        detached runtime spec --bundle /nowhere
        failed 1 nowhere
}

@test "--rootless maps the caller to root and asks for nothing an ordinary user cannot have" {
        empty_bundle
        runtime spec --rootless
        jq -e '([.linux.namespaces[].type] | contains(["user"]) and (contains(["network"]) | not))
                and .linux.uidMappings == [{containerID: 0, hostID: 0, size: 1}] and .linux.gidMappings == .linux.uidMappings
                and (.linux.resources == null) and ([.mounts[].options[]? | select(startswith("gid="))] == [])' config.json
}

@test "what --rootless writes runs as an ordinary user" {
        local home=/run/sage-cli-user
        bundle
        mkdir "$home"
        cp "$SAGE_RUNTIME" "$home/sage-runtime"
        cp -a "$BUNDLE" "$home/bundle"
        rm "$home/bundle/config.json"
        chown -R 1001:1001 "$home"
        chown 0:0 "$home/sage-runtime"
        cat >"$home/script" <<-'SCRIPT'
		cd bundle && ../sage-runtime spec --rootless &&
		jq '.process.terminal = false | .process.args = ["sh", "-c", "id -u; id -g; cat /proc/self/setgroups"]' config.json >new &&
		mv new config.json && ../sage-runtime --root "$PWD/root" --cgroup-manager disabled run box
	SCRIPT
        cd "$home"
        detached setpriv --reuid 1001 --regid 1001 --clear-groups sh "$home/script"
        rm -rf "$home"
        printed $'0\n0\ndeny'
}
