# list: the containers of --root.
load helpers

@test "no containers: a heading, an empty array, nothing" {
        detached runtime list
        succeeded
        [ "$(wc -l <<<"$output")" -eq 1 ]
        [[ $output =~ ^ID\ +PID\ +STATUS\ +BUNDLE\ +CREATED\ +OWNER ]]
        detached runtime list --format json
        printed '[]'
        detached runtime list --quiet
        printed ''
}

@test "a state directory that is not there is an empty one, and is not made" {
        detached "$SAGE_RUNTIME" --root /run/sage-cli-none list -f json
        printed '[]'
        [ ! -e /run/sage-cli-none ]
}

@test "each container is one line, in the order of ids" {
        bundle sleep 100
        create b
        create a
        start a
        detached runtime list -q
        printed $'a\nb'
        detached runtime list
        succeeded
        [ "$(wc -l <<<"$output")" -eq 3 ]
        [ "$(sed -n 2p <<<"$output" | awk '{print $1, $2, $3, $4}')" = "a $(state a .pid) running $(realpath "$BUNDLE")" ]
        [ "$(sed -n 3p <<<"$output" | awk '{print $1, $2, $3, $4}')" = "b $(state b .pid) created $(realpath "$BUNDLE")" ]
}

@test "as JSON each container is what state prints" {
        bundle sleep 100
        create a
        create b
        runtime list --format json >"$BATS_TEST_TMPDIR/list.json"
        [ "$(jq length "$BATS_TEST_TMPDIR/list.json")" -eq 2 ]
        [ "$(jq -S '.[0]' "$BATS_TEST_TMPDIR/list.json")" = "$(state a | jq -S .)" ]
        [ "$(jq -S '.[1]' "$BATS_TEST_TMPDIR/list.json")" = "$(state b | jq -S .)" ]
}

@test "stopped containers are listed until they are deleted" {
        bundle
        create a
        start a
        wait_until has_status a stopped
        [ "$(runtime list -f json | jq -r '.[0].status, .[0].pid')" = $'stopped\n0' ]
        runtime delete a
        detached runtime list -q
        printed ''
}

@test "what is no container of ours is passed over" {
        bundle
        create a
        mkdir "$ROOT/.hidden" "$ROOT/not an id"
        touch "$ROOT/file"
        detached runtime list -q
        printed a
        rm -r "$ROOT/.hidden" "$ROOT/not an id" "$ROOT/file"
}

@test "another format is refused" {
        detached runtime list --format yaml
        failed 1 yaml
}
