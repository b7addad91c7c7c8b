# Options before the command, help, and how a failure is told.
load helpers

# one_line FILE LEVEL TEXT: FILE holds exactly one line of JSON, as podman wants it (it parses the whole file as one object).
one_line() {
        [ "$(wc -l <"$1")" -eq 1 ] || {
                echo "not one line:"
                cat "$1"
                return 1
        }
        jq -e --arg level "$2" --arg text "$3" '(.code | startswith("sandbox.")) and .effect == "not_applied" and .level == $level and (.msg | contains($text)) and
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
        detached runtime -V
        printed "$long"
}

@test "--help lists every command, and each command has a help of its own" {
        local name
        detached runtime --help
        succeeded
        for name in create start run exec kill delete state list ps pause resume update mounts events spec features plan check; do
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

@test "help speaks of options only where there are any, and what they do stands in one column" {
        local command
        for command in create run exec update kill delete list events spec plan check egress sandbox gc ''; do
                # shellcheck disable=SC2086
                "$SAGE_RUNTIME" $command --help | awk -v columns=0 'match($0, /^  (-., |    )--[a-z0-9-]+( VALUE)? +/) { seen[RLENGTH] = 1 }
                        END { for (n in seen) columns++; exit columns != 1 }' || { echo "columns of $command --help"; return 1; }
        done
        detached runtime start --help
        said 'usage: sage-runtime start ID'
        detached runtime start
        failed 1 'usage: sage-runtime start ID'
        detached runtime kill --help
        said 'usage: sage-runtime kill [options] ID'
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
		--rootless=bogus list => --rootless
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

@test "a failure in JSON names code, field and line for a program to read" {
        local log=$BATS_TEST_TMPDIR/log.json
        bundle
        sed -i 's/"uid": 0/"uid": -1/' "$BUNDLE/config.json"
        runtime --log "$log" --log-format json create --bundle "$BUNDLE" box && false
        jq -e '.level == "error" and .code == "sandbox.config_invalid" and .field == "process.user.uid" and .effect == "not_applied"
                and .errno > 0 and .line > 1 and (.msg | contains("process.user.uid"))' "$log"
}

@test "--debug and --log-level debug tell the steps, in the log only, and --log-level error nothing but errors" {
        local log=$BATS_TEST_TMPDIR/log
        bundle sleep 100
        detached runtime --debug --log "$log" create --bundle "$BUNDLE" box
        printed ''
        for text in planned 'making the cgroup' 'its first process is' 'everything is in place'; do
                grep -q "^sage-runtime: debug: box: .*$text" "$log" || { cat "$log"; return 1; }
        done
        detached runtime --log-level debug start box
        said 'debug: box: the program runs'
        detached runtime --debug --log-format json delete --force box
        jq -es 'length > 1 and all(.level == "debug")' <<<"$output"
        config '.process.capabilities.ambient = ["CAP_KILL"]'
        detached runtime --log-level error create --bundle "$BUNDLE" box
        printed ''
        ! runtime --log-level error --log "$log.2" create --bundle "$BUNDLE" box || false
        [ "$(wc -l <"$log.2")" -eq 1 ]
}

@test "--log journald:NAME speaks the journal's protocol, syslog:NAME that of syslog" {
        local text
        cat >"$BATS_TEST_TMPDIR/daemon" <<-'PYTHON'
		import os, socket, sys
		daemon = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
		daemon.bind(sys.argv[1])
		daemon.settimeout(10)
		open(sys.argv[2] + ".ready", "w")
		open(sys.argv[2], "w").write(daemon.recv(65536).decode())
	PYTHON
        mkdir -p /run/systemd/journal
        background /dev/null python3 "$BATS_TEST_TMPDIR/daemon" /run/systemd/journal/socket "$BATS_TEST_TMPDIR/journal"
        wait_until test -e "$BATS_TEST_TMPDIR/journal.ready"
        detached runtime --log journald:mine state nope
        failed 1 'does not exist'
        wait $!
        rm -r /run/systemd
        diff - <(sed 's/^MESSAGE=.*does not exist.*/MESSAGE/' "$BATS_TEST_TMPDIR/journal") <<-'ENTRY'
		PRIORITY=3
		SYSLOG_IDENTIFIER=mine
		MESSAGE
		SAGE_CODE=sandbox.not_found
		SAGE_FIELD=
	ENTRY

        # /dev/log is where the machine's daemon listens: this one has a /dev of its own.
        cat >"$BATS_TEST_TMPDIR/script" <<-'SCRIPT'
		set -e
		mount -t tmpfs tmpfs /dev
		mknod -m 666 /dev/null c 1 3
		python3 "$1/daemon" /dev/log "$1/syslog" &
		while [ ! -e "$1/syslog.ready" ]; do sleep 0.02; done
		"$2" --root "$3" --log syslog:mine state nope || true
		wait
	SCRIPT
        detached unshare -m sh "$BATS_TEST_TMPDIR/script" "$BATS_TEST_TMPDIR" "$SAGE_RUNTIME" "$ROOT"
        grep -Eq '^<11>mine\[[0-9]+\]: .*does not exist' "$BATS_TEST_TMPDIR/syslog"
}

@test "a daemon that is not there to log to keeps nothing from being done, and errors are on stderr" {
        detached runtime --log journald: list -q
        printed ''
        detached runtime --log journald: state nope
        failed 1 'does not exist'
}

@test "--criu is ignored with a warning" {
        detached runtime --criu /usr/sbin/criu list -q
        printed 'sage-runtime: warning: --criu is ignored'
}
