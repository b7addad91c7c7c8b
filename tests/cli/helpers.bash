# What every bats file loads: `load helpers`. Each test gets an empty --root and, by `bundle`, a bundle of its own; both go with the test,
# and so does every container that is left under that root. README.md has an example.
#
# bats keeps descriptor 3 for itself, so everything that may outlive a command runs with 3>&-. A container's init also keeps the standard
# streams that `create` gave it: a pipe on them (which is what bats' own `run` makes) is read until the container ends. Use `detached`.

bats_require_minimum_version 1.8.0

ROOT=/run/sage-cli
OUR_CGROUP=/sys/fs/cgroup/tests
BUNDLE=$BATS_TEST_TMPDIR/bundle

# After every test: with its containers deleted, the host is as it was.
setup() {
        mkdir -m 0700 "$ROOT"
        RESIDUE_BEFORE=$(residue)
        mapfile -t PROCESSES_BEFORE <"$OUR_CGROUP/cgroup.procs"
}

teardown() {
        end_jobs
        remove_containers
        host_is_as_before
}

# What hangs fails with 124 or 137, and not when the whole run is given up.
runtime() {
        timeout --foreground -k 1 20 "$SAGE_RUNTIME" --root "$ROOT" ${SAGE_LIBEXEC:+--libexec "$SAGE_LIBEXEC"} "$@" 3>&-
}

# detached CMD...: as bats' `run` sets $status and $output, but through a file, so that it ends when CMD ends.
detached() {
        local file=$BATS_TEST_TMPDIR/detached
        if [ -n "${STRICT-}" ]; then
                through_pipe "$@"
                return
        fi
        status=0
        "$@" </dev/null >"$file" 2>&1 3>&- || status=$?
        output=$(<"$file")
}

# The same for a strict sandbox, which takes no file as a standard stream: a pipe, and what came through it by the time CMD ended, whoever has it
# still.
through_pipe() {
        local file=$BATS_TEST_TMPDIR/detached.$BASHPID pipe=$BATS_TEST_TMPDIR/pipe.$BASHPID end=end-of-what-was-printed keep reader
        rm -f "$pipe"
        mkfifo "$pipe"
        exec {keep}<>"$pipe"
        cat <"$pipe" >"$file" 3>&- &
        reader=$!
        status=0
        "$@" </dev/null >"$pipe" 2>&1 3>&- {keep}>&- || status=$?
        printf '\n%s\n' $end >&"$keep"
        until grep -q $end "$file"; do sleep 0.01; done
        kill $reader
        wait $reader || true
        exec {keep}>&-
        output=$(<"$file")
        output=${output%$end}
        while [[ $output == *$'\n' ]]; do output=${output%$'\n'}; done
}

# inside SCRIPT [OPTION]...: what SCRIPT does in a new container of $BUNDLE, by the container's shell. Sets $status and $output.
inside() {
        local script=$1
        shift
        arguments /bin/sh -c "$script"
        detached runtime run --bundle "$BUNDLE" "$@" inside
}

# printed TEXT: the last command succeeded and printed exactly TEXT.
printed() {
        succeeded || return 1
        [ "$output" = "$1" ] || {
                diff <(echo "$1") <(echo "$output") | sed '1s/.*/expected and found:/'
                return 1
        }
}

# background FILE CMD...: starts CMD with its output in FILE. $! is the pid of the program itself when CMD is one.
background() {
        local file=$1
        shift
        if [ -n "${STRICT-}" ]; then
                "$@" </dev/null > >(cat >"$file") 2>&1 3>&- &
                return
        fi
        "$@" </dev/null >"$file" 2>&1 3>&- &
}

# table CMD [ARGUMENT]... <<ROWS: calls CMD for every row, whose columns are separated by " => ". Goes on after a failure, so that one run
# shows them all. CMD runs without errexit: its steps must be chained with && or || return.
table() {
        local row failures=0 columns rest
        while IFS= read -r row; do
                columns=() rest=$row
                while [[ $rest == *" => "* ]]; do
                        columns+=("${rest%%" => "*}")
                        rest=${rest#*" => "}
                done
                columns+=("$rest")
                "$@" "${columns[@]}" </dev/null || {
                        echo "  in the row: $row"
                        failures=$((failures + 1))
                }
        done
        [ "$failures" -eq 0 ]
}

# bundle [ARGUMENT]...: a bundle in $BUNDLE whose process runs ARGUMENT..., /bin/true by default. Copied from one made once a run.
bundle() {
        local template=$BATS_RUN_TMPDIR/bundle
        [ -d "$template" ] || "$SAGE_TESTS/cli/make-bundle" --busybox "$SAGE_BUSYBOX" "$template"
        rm -rf "$BUNDLE"
        cp -a "$template" "$BUNDLE"
        ARGUMENTS=$DEFAULT_ARGUMENTS
        [ $# -eq 0 ] || arguments "$@"
}

# strict [ARGUMENT]...: a bundle in $BUNDLE that is a strict sandbox of uid 1001, its workspace in $WORKSPACE, whose process runs ARGUMENT... of
# this host's programs. Its limits are sampled; a shell may run in it, and eight commands at a time.
strict() {
        STRICT=yes
        WORKSPACE=$BATS_TEST_TMPDIR/workspace
        mkdir -p "$BUNDLE/rootfs" "$WORKSPACE"
        chown 1001:1001 "$WORKSPACE"
        jq -n --arg workspace "$WORKSPACE" '{
                ociVersion: "1.3.0", root: {path: "rootfs", readonly: true},
                process: {cwd: "/workspace", env: ["PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/tmp"], args: ["/bin/true"]},
                annotations: {
                        "sage.sandbox.profile": "strict",
                        "sage.sandbox.filesystem.workspace": $workspace,
                        "sage.sandbox.resources.require_hard_limits": "false",
                        "sage.sandbox.process.allow_shell": "true",
                        "sage.sandbox.process.max_processes": "8",
                        "sage.sandbox.host.linux_execution_uid": "1001",
                        "sage.sandbox.host.linux_execution_gid": "1001"}}' >"$BUNDLE/config.json"
        ARGUMENTS='"args": [
      "/bin/true"
    ]'
        open_to_all
        [ $# -eq 0 ] || arguments "$@"
}

# sage MEMBER VALUE...: annotations sage.sandbox.MEMBER of the bundle; an empty VALUE takes one away.
sage() {
        config --args 'reduce range(0; $ARGS.positional | length; 2) as $i (.; ("sage.sandbox." + $ARGS.positional[$i]) as $key |
                if $ARGS.positional[$i + 1] == "" then del(.annotations[$key]) else .annotations[$key] = $ARGS.positional[$i + 1] end)' "$@"
}

DEFAULT_ARGUMENTS='"args": [
      "/bin/true"
    ]'

# arguments ARGUMENT...: what the bundle's process runs. Done here where the file has them as make-bundle, jq or we wrote them: a jq takes
# 20 ms, and nearly every test needs this.
arguments() {
        local text argument new='' back='\'
        text=$(<"$BUNDLE/config.json")
        [[ $text == *"$ARGUMENTS"* ]] || {
                config --args '.process.args = $ARGS.positional' "$@"
                return
        }
        for argument; do
                argument=${argument//"$back"/"$back$back"}
                argument=${argument//\"/"$back\""}
                argument=${argument//$'\n'/"${back}n"}
                argument=${argument//$'\t'/"${back}t"}
                argument=${argument//$'\033'/"${back}u001b"}
                new+="${new:+, }\"$argument\""
        done
        printf '%s' "${text%%"$ARGUMENTS"*}" "\"args\": [$new]" "${text#*"$ARGUMENTS"}" >"$BUNDLE/config.json"
        ARGUMENTS="\"args\": [$new]"
}

# config [--args] FILTER [ARGUMENT]...: changes $BUNDLE/config.json with a jq filter, e.g. config '.process.user.uid = 1000'
config() {
        [ "$1" != --args ] || shift
        local filter=$1
        shift
        jq "$filter" --args -- "$@" <"$BUNDLE/config.json" >"$BUNDLE/config.json.new"
        mv "$BUNDLE/config.json.new" "$BUNDLE/config.json"
}

# Lets anybody through to the bundle, which bats keeps to itself: users of a user namespace are strangers to the host's directories.
open_to_all() {
        local directory=$BUNDLE
        while [ "$directory" != "${BATS_RUN_TMPDIR%/*}" ]; do
                chmod a+x "$directory"
                directory=${directory%/*}
        done
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
                said "$text" || return 1
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
        local text
        text=$(runtime state "$1") || return
        case ${2:-.} in
        .) echo "$text" ;;
        .status | .pid) [[ $text =~ \"${2#.}\":\ *\"?([a-z0-9]+) ]] && echo "${BASH_REMATCH[1]}" ;; # a jq is 20 ms
        *) jq -r "$2" <<<"$text" ;;
        esac
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

# has_program ID NAME: the container's program runs. "running" alone may be a moment before that, while what starts it still can fail.
has_program() {
        [ "$(cat "/proc/$(state "$1" .pid)/comm")" = "$2" ]
} 2>/dev/null

# has_ended PID: there is no such process, or whoever adopted it has only not asked for its status yet.
has_ended() {
        ! grep -Eq '^State:[[:space:]]+[^ZX[:space:]]' "/proc/$1/status" 2>/dev/null
}

# What a command may leave behind, as text to compare: mounts of this namespace, cgroups, files under --root, network devices.
residue() {
        local id parent device top rest
        shopt -s globstar nullglob dotglob
        while read -r id parent device top rest; do
                echo "$rest"
        done </proc/self/mountinfo
        while read -r device rest; do
                echo "$device"
        done </proc/self/net/dev
        printf '%s\n' /sys/fs/cgroup/*/**/ "$ROOT"/**
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
                [ ! -d "$directory" ] || "$SAGE_RUNTIME" --root "$ROOT" delete --force "$(basename "$directory")" 3>&- || true
        done
}

end_jobs() {
        local pid
        for pid in $(jobs -p); do
                kill -KILL "$pid" 2>/dev/null || true
                wait "$pid" 2>/dev/null || true
        done
}

# Processes of our cgroup that were not there when the test began: in $STRAYS. No subshell here, it would find itself.
find_strays() {
        local pid comm now
        STRAYS=()
        mapfile -t now <"$OUR_CGROUP/cgroup.procs"
        for pid in "${now[@]}"; do
                [[ " ${PROCESSES_BEFORE[*]} " == *" $pid "* ]] || ! read -r comm 2>/dev/null <"/proc/$pid/comm" || STRAYS+=("$pid ($comm)")
        done
}

# What a runtime mounted on this side of its container is taken off again before anybody deletes files below it.
unmount_leaks() {
        local mountpoint
        tac /proc/self/mountinfo | cut -d' ' -f5 | while read -r mountpoint; do
                case $mountpoint in
                "$BATS_TEST_TMPDIR"* | "$ROOT"*) umount -l "$mountpoint" ;;
                esac
        done
}

# Cgroups that were not there before go with what is in them, so that one leak fails one test.
kill_leaks() {
        local directory
        for directory in /sys/fs/cgroup/*/; do
                [[ $RESIDUE_BEFORE != *"$directory"* && $directory != "$OUR_CGROUP/" ]] || continue
                echo 1 >"$directory/cgroup.kill"
                wait_until find "$directory" -depth -type d -exec rmdir {} +
        done
}

host_is_as_before() {
        local tries after leak=0
        for ((tries = 0; tries < 100; tries++)); do
                find_strays
                [ ${#STRAYS[@]} -gt 0 ] || break
                sleep 0.02
        done
        [ ${#STRAYS[@]} -eq 0 ] || { echo "left running: ${STRAYS[*]}"; leak=1; }
        after=$(residue)
        [ "$RESIDUE_BEFORE" = "$after" ] || { echo "left behind:"; diff <(echo "$RESIDUE_BEFORE") <(echo "$after") || leak=1; }
        [ "$leak" -eq 0 ] || kill_leaks
        unmount_leaks
        rm -rf --one-file-system "$ROOT"
        return "$leak"
}

# vm_only NAME: skips a test whose subject this host cannot show; NAME is the test of tests/vm that shows it. run-tests checks that it
# exists and passed, so a skip of this kind is no gap.
vm_only() {
        skip "vm: $1"
}
