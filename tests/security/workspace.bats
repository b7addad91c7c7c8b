# Whoever may rename what leads to a workspace, or the workspace itself, puts a symlink in its place while a sandbox is being made: a runtime that
# looks it up twice mounts what the second look finds, and gives commands a directory that nobody meant. Other runtimes have no workspaces.
load attack

# elsewhere: a directory of the same owner, and a symlink to it beside the workspace, in $LINK.
elsewhere() {
        mkdir "$BATS_TEST_TMPDIR/elsewhere"
        echo secret >"$BATS_TEST_TMPDIR/elsewhere/secret"
        chown -R 1001:1001 "$BATS_TEST_TMPDIR/elsewhere"
        LINK=$BATS_TEST_TMPDIR/link
        ln -s elsewhere "$LINK"
}

# bats test_tags=bare
@test "a workspace swapped for a symlink before any system call never wins" {
        strict /usr/bin/touch touched
        elsewhere
        STRICT='' at_every_call swap "$WORKSPACE" "$LINK" "$BATS_TEST_TMPDIR/elsewhere"
        said 'ok 1'
        [ "$(ls "$BATS_TEST_TMPDIR/elsewhere")" = secret ]
}

@test "nor does one that is swapped all the time" {
        strict /usr/bin/touch touched
        elsewhere
        racing "$WORKSPACE" elsewhere
        rounds 60 detached runtime run --bundle "$BUNDLE" box
        [ "$(ls "$BATS_TEST_TMPDIR/elsewhere")" = secret ]
}

# bats test_tags=bare
@test "a runtime that is killed at any system call leaves no placeholder once its sandbox is deleted" {
        strict /bin/sleep 100
        sage filesystem.protected_paths '.git/hooks .env'
        STRICT='' ALONE=1 at_every_call kill create
        [ -z "$(ls -A "$WORKSPACE")" ]
}
