# plan: what would be done for a bundle.
load helpers

@test "it says what can be read, written and reached, and touches nothing" {
        bundle
        leaves_nothing runtime plan --bundle "$BUNDLE"
        succeeded
        grep -qi '^readable' <<<"$output"
        grep -qi '^writable' <<<"$output"
        grep -qi '^reachable' <<<"$output"
}

@test "what is mounted for writing stands in the list of what can be written" {
        bundle
        config '.mounts += [{destination: "/data", type: "bind", source: "/srv/data", options: ["bind"]},
                {destination: "/seen", type: "bind", source: "/srv/seen", options: ["bind", "ro"]}]'
        detached runtime plan --bundle "$BUNDLE"
        succeeded
        sed -n '/^[Ww]ritable/,/^$/p' <<<"$output" | grep -q /data
        ! sed -n '/^[Ww]ritable/,/^$/p' <<<"$output" | grep -q /seen || false
        sed -n '/^[Rr]eadable/,/^$/p' <<<"$output" | grep -q /seen
}

@test "--json is the plan in full, with nothing of this run in it" {
        bundle
        runtime plan --json --bundle "$BUNDLE" >"$BATS_TEST_TMPDIR/plan.json"
        jq -e --arg bundle "$(realpath "$BUNDLE")" '.bundle == $bundle and .process.args == ["/bin/true"] and .rootfs.readonly
                and (.mounts | length) == 7' "$BATS_TEST_TMPDIR/plan.json"
        [ "$(runtime plan --json --bundle "$BUNDLE")" = "$(<"$BATS_TEST_TMPDIR/plan.json")" ]
}

@test "a wrong config is refused as create refuses it" {
        bundle
        config '.process.cwd = "relative"'
        leaves_nothing runtime plan --bundle "$BUNDLE"
        failed 1 process.cwd
}

@test "control characters of a bundle do not reach the terminal" {
        bundle "$(printf '/bin/a\033]0;b')"
        config --args '.mounts += [{destination: $ARGS.positional[0], type: "tmpfs"}]' "$(printf '/x\033[2Jy')"
        detached runtime plan --bundle "$BUNDLE"
        succeeded
        [ "$(tr -d '\n\040-\176\200-\377' <<<"$output" | wc -c)" -eq 0 ]
}

@test "a recorded host takes the place of this one" {
        bundle
        runtime check --json >"$BATS_TEST_TMPDIR/check.json" || true
        jq .facts "$BATS_TEST_TMPDIR/check.json" >"$BATS_TEST_TMPDIR/facts.json"
        detached runtime plan --facts "$BATS_TEST_TMPDIR/facts.json" --bundle "$BUNDLE"
        succeeded
}
