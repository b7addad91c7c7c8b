# No CVE, but the same kind: whoever can write to a runtime's state decides what the next kill, delete or exec reaches.
load attack

@test "a state directory that others can write, or that is not ours, is not trusted" {
        bundle
        mkdir -m 0777 "$BATS_TEST_TMPDIR/root"
        chown 1001 "$BATS_TEST_TMPDIR/root"
        detached "$SAGE_RUNTIME" --root "$BATS_TEST_TMPDIR/root" run --bundle "$BUNDLE" box
        failed 1 "$BATS_TEST_TMPDIR/root"
}

@test "a state directory of a container that is a symlink is not followed" {
        mkdir "$BATS_TEST_TMPDIR/precious"
        touch "$BATS_TEST_TMPDIR/precious/status.json" "$BATS_TEST_TMPDIR/precious/kept"
        ln -s "$BATS_TEST_TMPDIR/precious" "$ROOT/box"
        detached runtime delete --force box
        [ -e "$BATS_TEST_TMPDIR/precious/status.json" ]
        detached runtime state box
        failed 1
        rm -f "$ROOT/box"
}
