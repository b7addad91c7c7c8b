# `mounts add` works on paths that processes of the container may change at the same moment: what leads to the destination is renamed, so that
# a second look at it would find another mount of the same container. Not in other runtimes, which have no such command.
load attack

# bats test_tags=bare
@test "what is asked for a new mount is never done to another that somebody puts in its place" {
        local file=$BATS_TEST_TMPDIR/mounts.json rootfs=$BUNDLE/rootfs
        bundle sleep 100
        mkdir -p "$rootfs/a/m" "$rootfs/b/m"
        config '.mounts += [("/a/m", "/b/m") as $where | {destination: $where, type: "tmpfs", source: "victim"}]'
        printf '[{"destination": "/a/m", "type": "tmpfs", "source": "mine", "options": ["ro", "rnoexec", "shared"]}]' >"$file"
        at_every_call rename "$file" "$rootfs/a" "$rootfs/b"
}
