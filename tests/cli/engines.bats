# What container engines do with a runtime, in their own command lines, and what they read out of its answers.
load helpers

LOG=$BATS_TEST_TMPDIR/log.json

# As containerd's shim calls it (go-runc): a fresh log for every call.
shim() {
        : >"$LOG"
        detached runtime --log "$LOG" --log-format json "$@"
}

# logged TEXT...: the last call failed with one line of JSON, the whole of the log (podman parses the file as one object), that says each
# TEXT.
logged() {
        local text message
        [ "$status" -ne 0 ]
        [ "$(wc -l <"$LOG")" -eq 1 ]
        [ "$(jq -r .level "$LOG")" = error ]
        message=$(jq -r .msg "$LOG")
        for text; do
                [[ ${message,,} == *"$text"* ]] || { echo "expected: $text"; echo "found:    $message"; return 1; }
        done
}

sleeping() {
        bundle sleep 100
        shim create --bundle "$BUNDLE" --pid-file "$BATS_TEST_TMPDIR/init.pid" box
        succeeded
        shim start box
        succeeded
}

@test "a shim's life of a container: create, start, exec, kill by number, delete, each with a log of its own" {
        local pid
        sleeping
        pid=$(<"$BATS_TEST_TMPDIR/init.pid")
        [ "$(state box .pid)" = "$pid" ]
        jq '.process | .args = ["sh", "-c", "echo $$ >/tmp/exec; exec sleep 100"]' "$BUNDLE/config.json" >"$BATS_TEST_TMPDIR/process.json"
        shim exec --process "$BATS_TEST_TMPDIR/process.json" --detach --pid-file "$BATS_TEST_TMPDIR/exec.pid" box
        succeeded
        [ "$(tr '\0' ' ' <"/proc/$(<"$BATS_TEST_TMPDIR/exec.pid")/cmdline")" != '' ]
        shim list --format=json
        [ "$(jq -r '.[0] | [.id, .status, .pid] | join(" ")' <<<"$output")" = "box running $pid" ]
        shim kill --all box 9
        succeeded
        wait_until has_status box stopped
        shim delete box
        succeeded
        [ ! -s "$LOG" ]
}

@test "what is unknown, stopped, or there already is told in the words that engines look for" {
        sleeping
        shim create --bundle "$BUNDLE" box
        logged 'already exists'
        shim kill box 9
        succeeded
        wait_until has_status box stopped
        shim kill box 9
        logged 'container not running'
        shim delete box
        succeeded
        shim kill box 9
        logged 'does not exist'
        shim delete box
        logged 'does not exist'
        shim delete --force box
        succeeded
        [ ! -s "$LOG" ]
}

# podman: "executable file not found|no such file or directory|open executable" is 127, "permission denied" 126, but for the exit status the
# words "not found" win. Docker's client reads them in small letters only.
@test "a program that is missing reads as 127 for an engine, one that may not be executed as 126" {
        says() {
                config --args '.process.args = $ARGS.positional' "$1"
                shim create --bundle "$BUNDLE" box
                logged "$2" || return
                grep -q 'no such file or directory\|permission denied' "$LOG" || { cat "$LOG"; return 1; }
                [[ -z $3 || $(<"$LOG") != *"$3"* ]] || { cat "$LOG"; return 1; }
        }
        bundle
        echo 'no program' >"$BUNDLE/rootfs/bin/data"
        chmod 0644 "$BUNDLE/rootfs/bin/data"
        table says <<-'ROWS'
		nosuch => executable file `nosuch` not found in $path: no such file or directory => ermission denied
		/bin/nosuch => open executable `/bin/nosuch`: no such file or directory => ermission denied
		data => open executable `data`: permission denied => not found
		/bin/data => open executable `/bin/data`: permission denied => not found
		/bin => open executable `/bin`: permission denied => not found
	ROWS
        printf '#!/no/interpreter\n' >"$BUNDLE/rootfs/bin/script"
        chmod 0755 "$BUNDLE/rootfs/bin/script"
        config '.process.args = ["script"]'
        shim create --bundle "$BUNDLE" box
        succeeded
        shim start box
        logged 'cannot execute `/bin/script`'
        grep -q 'no such file or directory' "$LOG"
        shim delete --force box
        sleeping
        echo 'no program' >"$BUNDLE/rootfs/bin/data"
        shim exec box data
        logged 'open executable `data`: permission denied'
}

# Kubernetes: readOnlyRootFilesystem with a workingDir that the image lacks.
@test "a cwd that is missing in a read-only root is made before the root becomes read-only" {
        bundle
        config '.root.readonly = true | .process.cwd = "/new/dir"'
        inside 'pwd; touch /new/file 2>/dev/null || echo refused'
        printed $'/new/dir\nrefused'
        [ -d "$BUNDLE/rootfs/new/dir" ]
}

@test "so is one in a tmpfs that becomes read-only" {
        bundle
        mkdir "$BUNDLE/rootfs/mnt"
        config '.process.cwd = "/mnt/dir" | .mounts += [{destination: "/mnt", type: "tmpfs", source: "tmpfs", options: ["ro"]}]'
        inside 'pwd; touch file 2>/dev/null || echo refused'
        printed $'/mnt/dir\nrefused'
}

@test "exec makes no cwd: a missing one fails it" {
        bundle sleep 100
        config '.root.readonly = false'
        create box
        start box
        shim exec --cwd /new box /bin/true
        failed 255
        logged process.cwd /new 'no such file or directory'
        [ ! -e "$BUNDLE/rootfs/new" ]
}

# In a pod whose containers share a pid namespace, another one may look through /proc/PID/fd while this one waits for `start`.
@test "a container that waits for start holds nothing of the host open but its standard streams and sockets" {
        local fd target
        bundle
        config '.linux.namespaces += [{type: "network", path: "/proc/self/ns/net"}] | .linux.namespaces |= unique_by(.type)'
        detached runtime create --bundle "$BUNDLE" box 7<"$BUNDLE" 8<"$BUNDLE/config.json"
        succeeded
        for fd in "/proc/$(state box .pid)/fd"/*; do
                target=$(readlink "$fd") || continue # it was closed since
                [[ ${fd##*/} -le 2 || $target == socket:* ]] || { echo "${fd##*/}: $target"; return 1; }
        done
}

@test "--preserve-fds keeps as many and no more" {
        bundle
        config '.process.args = ["sh", "-c", "cat <&3; ls /proc/self/fd/4 2>/dev/null || echo closed"]'
        echo kept >"$BATS_TEST_TMPDIR/kept"
        preserve() {
                timeout 20 "$SAGE_RUNTIME" --root "$ROOT" run --preserve-fds 1 --bundle "$BUNDLE" box 3<"$BATS_TEST_TMPDIR/kept" 4</etc/hostname
        }
        detached preserve
        printed $'kept\nclosed'
}

# Whoever may make a user namespace in the container may mount a proc of its own there, but not where masks cover part of the container's.
@test "with --no-pivot the masks of /proc hold as they do without" {
        bundle
        config '.process.capabilities |= map_values(. + ["CAP_SETFCAP"]) | .linux.seccomp = null | del(.linux.seccomp)'
        mkdir -p "$BUNDLE/rootfs/tmp"
        for option in --no-new-keyring --no-pivot; do
                inside 'unshare -Urmpf true && echo can; unshare -Urmpf mount -t proc proc /tmp && echo mounted' "$option"
                said can
                said 'ermission denied'
                [[ $output != *mounted* ]]
        done
        config '.linux.namespaces += [{type: "user"}] | .linux |= . + {uidMappings: [{containerID: 0, hostID: 0, size: 65536}],
                gidMappings: [{containerID: 0, hostID: 0, size: 65536}]}'
        inside 'unshare -Urmpf true && echo can; unshare -Urmpf mount -t proc proc /tmp && echo mounted' --no-pivot
        said can
        said 'ermission denied'
}

@test "an ordinary user may open /dev/stdout and /dev/stderr when they are an engine's pipes" {
        bundle
        config '.process.user = {uid: 1000, gid: 1000} | del(.process.capabilities)
                | .process.args = ["sh", "-c", "echo out >/dev/stdout; echo err >/dev/stderr"]'
        [ "$(runtime run --bundle "$BUNDLE" box 2>&1)" = $'out\nerr' ]
        config '.process.user = {uid: 0, gid: 0} | .process.args = ["sleep", "100"]'
        create box
        start box
        [ "$(runtime exec --user 1000 box sh -c 'echo out >/dev/stdout')" = out ]
}

@test "a file that output goes to keeps its owner" {
        bundle
        config '.process.user = {uid: 1000, gid: 1000} | del(.process.capabilities) | .process.args = ["echo", "out"]'
        runtime run --bundle "$BUNDLE" box >"$BATS_TEST_TMPDIR/out"
        [ "$(stat -c '%u %s' "$BATS_TEST_TMPDIR/out")" = '0 4' ]
}

# The shim's death takes the runtime along (PDEATHSIG), at any moment.
@test "a create that is killed while a hook runs is deleted by force, and its poststop hooks run" {
        local log=$BATS_TEST_TMPDIR/hooks
        bundle
        config --args '$ARGS.positional[0] as $log | .hooks = {
                createRuntime: [{path: "/bin/sh", args: ["sh", "-c", "echo createRuntime >>\($log); exec sleep 1"], env: ["PATH=/bin:/usr/bin"]}],
                poststop: [{path: "/bin/sh", args: ["sh", "-c", "echo poststop >>\($log)"]}]}' "$log"
        background "$BATS_TEST_TMPDIR/out" "$SAGE_RUNTIME" --root "$ROOT" create --bundle "$BUNDLE" box
        wait_until grep -q createRuntime "$log"
        kill -KILL $!
        wait $! || true
        detached runtime delete --force box
        succeeded
        [ "$(tr '\n' ' ' <"$log")" = 'createRuntime poststop ' ]
        sleep 1 # the hook's own end
}

@test "a container whose plan is lost is deleted all the same" {
        bundle
        config '.hooks = {poststop: [{path: "/bin/true"}]}'
        create box
        rm "$ROOT/box/plan.json"
        detached runtime delete --force box
        succeeded
        create box
        echo '{' >"$ROOT/box/plan.json"
        detached runtime delete --force box
        succeeded
        said hooks.poststop
        [ ! -e "$ROOT/box" ]
}

# buildah, for every RUN.
@test "ambient capabilities that are not inheritable are one warning, however many" {
        bundle
        config '.process.capabilities |= (.permitted = .bounding | .effective = .bounding | .inheritable = [] | .ambient = .bounding)'
        detached runtime run --bundle "$BUNDLE" box
        succeeded
        [ "$(wc -l <<<"$output")" -eq 1 ]
        said 'process.capabilities.ambient: CAP_'
}
