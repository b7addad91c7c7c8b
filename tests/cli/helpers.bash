# What every bats file loads: `load helpers`. Each test gets an empty --root and, by `bundle`, a bundle of its own; both go with the test,
# and so does every container that is left under that root. README.md has an example.
#
# bats keeps descriptor 3 for itself, so everything that may outlive a command runs with 3>&-. A container's init also keeps the standard
# streams that `create` gave it: a pipe on them (which is what bats' own `run` makes) is read until the container ends. Use `detached`.

bats_require_minimum_version 1.8.0

ROOT=/run/sage-cli
BUNDLE=$BATS_TEST_TMPDIR/bundle

setup() {
        mkdir -m 0700 "$ROOT"
}

teardown() {
        remove_containers
}

runtime() {
        "$SAGE_RUNTIME" --root "$ROOT" "$@" 3>&-
}

# detached CMD...: as bats' `run` sets $status and $output, but through a file, so that it ends when CMD ends.
detached() {
        local file=$BATS_TEST_TMPDIR/detached
        status=0
        "$@" </dev/null >"$file" 2>&1 3>&- || status=$?
        output=$(<"$file")
}

# bundle [ARGUMENT]...: a bundle in $BUNDLE whose process runs ARGUMENT..., /bin/true by default. Copied from one made once a run.
bundle() {
        local template=$BATS_RUN_TMPDIR/bundle
        [ -d "$template" ] || "$SAGE_TESTS/cli/make-bundle" --busybox "$SAGE_BUSYBOX" "$template"
        rm -rf "$BUNDLE"
        cp -a "$template" "$BUNDLE"
        [ $# -eq 0 ] || config --args '.process.args = $ARGS.positional' "$@"
}

# config [--args] FILTER [ARGUMENT]...: changes $BUNDLE/config.json with a jq filter, e.g. config '.process.user.uid = 1000'
config() {
        [ "$1" != --args ] || shift
        local filter=$1
        shift
        jq "$filter" --args "$@" <"$BUNDLE/config.json" >"$BUNDLE/config.json.new"
        mv "$BUNDLE/config.json.new" "$BUNDLE/config.json"
}

# create ID [OPTION]... and start ID: a container of $BUNDLE, or the test fails with what the runtime said.
create() {
        local id=$1
        shift
        detached runtime create --bundle "$BUNDLE" "$@" "$id"
        succeeded
}

start() {
        detached runtime start "$1"
        succeeded
}

succeeded() {
        [ "$status" -eq 0 ] || {
                echo "exit status $status: $output"
                return 1
        }
}

# failed STATUS TEXT...: the last command exited with STATUS and said each TEXT.
failed() {
        local text
        [ "$status" -eq "$1" ] || {
                echo "exit status $status instead of $1: $output"
                return 1
        }
        shift
        for text; do
                said "$text"
        done
}

said() {
        [[ $output == *"$1"* ]] || {
                echo "expected: $1"
                echo "found:    $output"
                return 1
        }
}

# state ID [FILTER]: the container's state, or what the jq FILTER takes of it.
state() {
        runtime state "$1" | jq -r "${2:-.}"
}

# wait_until CMD...: tries until CMD succeeds, for ten seconds.
wait_until() {
        local tries
        for ((tries = 0; tries < 500; tries++)); do
                ! "$@" >/dev/null 2>&1 || return 0
                sleep 0.02
        done
        echo "after ten seconds still not: $*"
        return 1
}

has_status() {
        [ "$(state "$1" .status)" = "$2" ]
}

# What a command may leave behind, as text to compare: mounts of this namespace, cgroups, files under --root, network devices.
residue() {
        cut -d' ' -f5- /proc/self/mountinfo
        find /sys/fs/cgroup -mindepth 1 -type d ! -path '/sys/fs/cgroup/tests*'
        find "$ROOT" | sort
        ls /sys/class/net
}

# leaves_nothing CMD...: CMD may fail, but what residue lists is the same afterwards. Sets $status and $output.
leaves_nothing() {
        local before after
        before=$(residue)
        detached "$@"
        after=$(residue)
        [ "$before" = "$after" ] || {
                echo "exit status $status: $output"
                diff <(echo "$before") <(echo "$after")
                return 1
        }
}

remove_containers() {
        local directory
        for directory in "$ROOT"/*/; do
                [ ! -d "$directory" ] || "$SAGE_RUNTIME" --root "$ROOT" delete --force "$(basename "$directory")" >/dev/null 2>&1 3>&- || true
        done
        rm -rf "$ROOT"
}

# vm_only NAME: skips a test whose subject this host cannot show; NAME is the test of tests/vm that shows it. run-tests checks that it
# exists and passed, so a skip of this kind is no gap.
vm_only() {
        skip "vm: $1"
}
