# state: what a container is, as JSON.
load helpers

@test "an unknown container does not exist, and nothing is on stdout" {
        status=0
        output=$(runtime state nope 2>"$BATS_TEST_TMPDIR/stderr") || status=$?
        [ "$status" -eq 1 ]
        [ -z "$output" ]
        grep -q 'does not exist' "$BATS_TEST_TMPDIR/stderr"
}

@test "before create, between create and start, while it runs, stopped, deleted" {
        bundle sleep 100
        detached runtime state box
        failed 1 'does not exist'
        create box
        [ "$(state box .status)" = created ]
        [ -d "/proc/$(state box .pid)" ]
        start box
        [ "$(state box .status)" = running ]
        [ -d "/proc/$(state box .pid)" ]
        runtime kill box KILL
        wait_until has_status box stopped
        [ "$(state box .pid)" = 0 ]
        runtime delete box
        detached runtime state box
        failed 1 'does not exist'
}

@test "while create is at work the status is creating, and state does not wait for it" {
        bundle
        cat >"$BATS_TEST_TMPDIR/hook" <<-SCRIPT
		#!/bin/sh
		timeout 5 "$SAGE_RUNTIME" --root "$ROOT" state box >"$BATS_TEST_TMPDIR/state.json"
	SCRIPT
        chmod +x "$BATS_TEST_TMPDIR/hook"
        config --args '.hooks.createRuntime = [{path: $ARGS.positional[0], env: ["PATH=/usr/bin:/bin"]}]' "$BATS_TEST_TMPDIR/hook"
        create box
        [ "$(jq -r .status "$BATS_TEST_TMPDIR/state.json")" = creating ]
}

@test "it says what engines read: ociVersion, id, status, pid, bundle, rootfs, created, owner, annotations" {
        bundle sleep 100
        config '.annotations = {"org.example.key": "value", "empty": ""}'
        create box
        state box >"$BATS_TEST_TMPDIR/state.json"
        jq -e --arg bundle "$(realpath "$BUNDLE")" '.id == "box" and .bundle == $bundle and .rootfs == $bundle + "/rootfs"
                and .annotations == {"org.example.key": "value", "empty": ""} and (.pid | type) == "number"
                and (.ociVersion | test("^1[.]")) and has("owner")' "$BATS_TEST_TMPDIR/state.json"
}

@test "created is a time as RFC 3339 has it, with fractions, and it is now" {
        bundle
        create box
        local created
        created=$(state box .created)
        [[ $created =~ ^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]+Z$ ]]
        local age=$(($(date +%s) - $(date -d "$created" +%s)))
        [ "$age" -ge 0 ]
        [ "$age" -le 5 ]
}

@test "state needs exactly one container" {
        detached runtime state
        failed 1 usage
        detached runtime state one two
        failed 1 usage
}

@test "state of a running container does not change while it runs" {
        bundle sleep 100
        create box
        start box
        [ "$(state box)" = "$(state box)" ]
}
