# What every file of this folder loads: `load attack`. The helpers of tests/cli, and what an attacker brings along. README.md.

load ../cli/helpers

# A directory of the host that a container was never given. host_marker makes it, untouched says that nobody was there.
HOST=$BATS_TEST_TMPDIR/host

host_marker() {
        mkdir -p "$HOST"
        echo secret >"$HOST/secret"
        HOST_BEFORE=$(host_listing)
}

# Names, kinds, modes, times of change: a file that was made and taken away again shows in its directory's.
host_listing() {
        find "$HOST" -printf '%p %y %m %C@\n' | sort
}

untouched() {
        local now
        now=$(host_listing)
        [ "$HOST_BEFORE" = "$now" ] || {
                echo 'the host was touched:'
                diff <(echo "$HOST_BEFORE") <(echo "$now")
                return 1
        }
}

# racing NAME TARGET: exchanges the entry NAME and a symlink to TARGET, as fast as it can, until the test ends.
racing() {
        local other=${1%/*}/.other-of-${1##*/}
        ln -s "$2" "$other"
        background "$BATS_TEST_TMPDIR/racer" "$SAGE_TESTS/security/swap" "$1" "$other"
        RACER=$!
        wait_until grep -q racing "$BATS_TEST_TMPDIR/racer"
}

# rounds N CMD...: CMD N times while the racer runs, which ends then. Sets $wins, how often CMD's container ran.
rounds() {
        local left=$1
        shift
        wins=0
        for (( ; left > 0; left--)); do
                "$@" || return 1
                [ "$status" -ne 0 ] || wins=$((wins + 1))
        done
        kill "$RACER" || { cat "$BATS_TEST_TMPDIR/racer"; return 1; }
        wait "$RACER" || true
}

# at_every_call NAME [ARGUMENT]...: security/NAME_at_every_call with $BUNDLE. With groups to lose, so that it shows when they are not.
at_every_call() {
        local program=$BATS_RUN_TMPDIR/$1_at_every_call
        [ -x "$program" ] || "${CC:-cc}" -std=gnu17 -Wall -Wextra -Wno-missing-field-initializers -Wno-unused-function -Werror -O1 -o "$program" \
                "$SAGE_TESTS/security/$1_at_every_call.c" -lseccomp
        detached setpriv --groups 0,5 timeout 150 "$program" "$SAGE_RUNTIME" "$ROOT" "$BUNDLE" "${@:2}"
        succeeded
}

# volume: a directory that other containers write to while ours is being made, bound at /v of a writable bundle.
volume() {
        VOLUME=$BATS_TEST_TMPDIR/volume
        mkdir -p "$VOLUME"
        config --args '.root.readonly = false | .mounts += [{destination: "/v", type: "bind", source: $ARGS.positional[0], options: ["bind"]}]' "$VOLUME"
}

# as_user CMD...: CMD as an ordinary user, uid 1001, in a directory of his own with a copy of $BUNDLE in ./bundle and the runtime as
# ./sage-runtime. Sets $status and $output.
as_user() {
        local home=/run/sage-cli-user
        rm -rf "$home"
        mkdir "$home"
        cp "$SAGE_RUNTIME" "$home/sage-runtime"
        cp -a "$BUNDLE" "$home/bundle"
        mkdir -m 0700 "$home/root"
        chown -R 1001:1001 "$home"
        cd "$home" || return
        detached setpriv --reuid 1001 --regid 1001 --groups 1001,5 "$@"
        cd /
        rm -rf "$home"
}

# rootless [FILTER]: makes the bundle one for an ordinary user: he is root in it.
rootless() {
        config '.linux.namespaces += [{type: "user"}] | .linux.uidMappings = [{containerID: 0, hostID: 1001, size: 1}]
                | .linux.gidMappings = .linux.uidMappings
                | .mounts |= map(if .destination == "/dev/pts" then .options -= ["gid=5"] else . end)'
        [ $# -eq 0 ] || config "$1"
}
