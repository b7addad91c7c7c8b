# Options before the command, help, and how a failure is told.
load helpers

# one_line FILE LEVEL TEXT: FILE holds exactly one line of JSON, as podman wants it (it parses the whole file as one object).
one_line() {
        [ "$(wc -l <"$1")" -eq 1 ] || {
                echo "not one line:"
                cat "$1"
                return 1
        }
        jq -e --arg level "$2" --arg text "$3" '.level == $level and (.msg | contains($text)) and
                (.time | test("^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}([.][0-9]+)?(Z|[+-][0-9]{2}:[0-9]{2})$"))' <"$1" >/dev/null || {
                cat "$1"
                return 1
        }
}

@test "--version says name, commit and specification in the lines that engines look for" {
        detached runtime --version
        succeeded
        [[ ${output%%$'\n'*} =~ ^sage-runtime\ version\ [0-9]+\.[0-9]+ ]]
        grep -Eq '^commit: [^ ]+$' <<<"$output"
        grep -qx 'spec: 1\.3\.0' <<<"$output"
        local long=$output
        detached runtime -v
        printed "$long"
}

@test "--help lists every command, and each command has a help of its own" {
        local name
        detached runtime --help
        succeeded
        for name in create start run exec kill delete state list ps pause resume update events spec features plan check; do
                grep -Eq "^ +$name " <<<"$output" || { echo "no $name"; return 1; }
                "$SAGE_RUNTIME" "$name" --help | grep -q "^usage: sage-runtime $name" || { echo "no help for $name"; return 1; }
        done
        "$SAGE_RUNTIME" -h | grep -q '^usage: sage-runtime'
}

@test "help of a command names its options" {
        local option
        detached runtime create --help
        for option in bundle console-socket pid-file preserve-fds no-pivot no-new-keyring; do
                said "--$option"
        done
}

@test "without a command, or with an unknown one or an unknown option, the exit status is 1 and nothing is on stdout" {
        usage_error() {
                local stdout
                status=0
                stdout=$("$SAGE_RUNTIME" --root "$ROOT" $1 2>"$BATS_TEST_TMPDIR/stderr" </dev/null) || status=$?
                output=$(<"$BATS_TEST_TMPDIR/stderr")
                [ -z "$stdout" ] && failed 1 "$2"
        }
        table usage_error <<-ROWS
		 => command
		nonsense => nonsense
		--nonsense list => nonsense
		list --nonsense => nonsense
		list -Z => -Z
		--log-format xml list => xml
		--log-level loud list => loud
		--cgroup-manager v1 list => v1
		create => create
		create one two => create
		state => state
		delete => delete
		list surplus => list
		create --preserve-fds x box => preserve-fds
		create --bundle => bundle
	ROWS
}

@test "the options that every engine passes are accepted" {
        accepted() {
                detached "$SAGE_RUNTIME" $1 && printed '[]'
        }
        table accepted <<-ROWS
		--root $ROOT --log $BATS_TEST_TMPDIR/log --log-format json list --format=json
		--root=$ROOT --log=$BATS_TEST_TMPDIR/log --log-format=json list -f json
		-root $ROOT -log $BATS_TEST_TMPDIR/log -log-format json list -format json
		--root $ROOT --debug list --format json
		--root $ROOT --rootless=true list --format json
		--root $ROOT --rootless auto list --format json
		--root $ROOT --cgroup-manager disabled list --format json
		--root $ROOT --cgroup-manager=cgroupfs list --format json
		--root $ROOT --log-level error list --format json
		--root $ROOT --log file:$BATS_TEST_TMPDIR/log list --format json
	ROWS
}

@test "a failure is said on stderr in text" {
        local stdout
        stdout=$("$SAGE_RUNTIME" --root "$ROOT" state nope 2>"$BATS_TEST_TMPDIR/stderr") && false
        [ -z "$stdout" ]
        [ "$(wc -l <"$BATS_TEST_TMPDIR/stderr")" -eq 1 ]
        grep -q 'does not exist' "$BATS_TEST_TMPDIR/stderr"
}

@test "with --log-format json a failure is exactly one line of JSON in the log, and stderr still says it" {
        one_failure() {
                local log=$BATS_TEST_TMPDIR/log.json
                rm -f "$log"
                detached runtime --log "$log" --log-format json $2
                failed "$1" "$3" && one_line "$log" error "$3"
        }
        bundle /bin/nope
        table one_failure <<-ROWS
		1 => state nope => does not exist
		1 => start nope => does not exist
		1 => kill nope TERM => does not exist
		1 => delete nope => does not exist
		255 => exec nope /bin/true => does not exist
		1 => create --bundle $BUNDLE box => /bin/nope
		1 => run --bundle $BUNDLE box => /bin/nope
		1 => create --bundle /nowhere box => /nowhere
		1 => kill box NOSIGNAL => NOSIGNAL
		1 => list --format xml => xml
	ROWS
}

@test "with --log-format json and no log file the one line goes to stderr" {
        "$SAGE_RUNTIME" --root "$ROOT" --log-format json state nope 2>"$BATS_TEST_TMPDIR/stderr" && false
        one_line "$BATS_TEST_TMPDIR/stderr" error 'does not exist'
}

@test "a log file is appended to, and success leaves it empty" {
        local log=$BATS_TEST_TMPDIR/log
        bundle
        runtime --log "$log" --log-format json run --bundle "$BUNDLE" box
        [ ! -s "$log" ]
        echo kept >"$log"
        runtime --log "$log" --log-format json state nope && false
        [ "$(head -n 1 "$log")" = kept ]
        [ "$(wc -l <"$log")" -eq 2 ]
}

@test "a log file that cannot be opened fails the command, and nothing is made" {
        bundle
        leaves_nothing runtime --log /nowhere/log create --bundle "$BUNDLE" box
        failed 1 /nowhere/log
}

@test "control characters of a name do not reach the terminal, and in JSON they are escaped" {
        local log=$BATS_TEST_TMPDIR/log.json
        bundle "$(printf '/bin/a\033]0;b\nc\"')"
        detached runtime --log "$log" --log-format json run --bundle "$BUNDLE" box
        failed 1
        [ "$(tr -d '\n\040-\176' <<<"$output" | wc -c)" -eq 0 ]
        one_line "$log" error /bin/a
}

@test "without --root, root keeps its state in /run/sage-runtime, which nobody else can look into" {
        bundle sleep 100
        detached env -u XDG_RUNTIME_DIR "$SAGE_RUNTIME" create --bundle "$BUNDLE" box
        succeeded
        [ -d /run/sage-runtime/box ]
        [ "$(stat -c %a:%u /run/sage-runtime)" = 700:0 ]
        "$SAGE_RUNTIME" delete box
        rmdir /run/sage-runtime
}
