# Terminals: process.terminal, --console-socket, exec --tty.
load helpers

TERMINAL=$BATS_TEST_DIRNAME/terminal

# A bundle with a terminal, whose program is the shell with SCRIPT.
terminal_bundle() {
        bundle
        config --args '.process.terminal = true | .process.args = ["/bin/sh", "-c", $ARGS.positional[0]]' "$1"
}

# on_terminal [STEP]... -- CMD...: see tests/cli/terminal. Sets $status and $output, without the terminal's carriage returns.
on_terminal() {
        local steps=()
        while [ "$1" != -- ]; do
                steps+=("$1")
                shift
        done
        shift
        detached "$TERMINAL" "${steps[@]}" -- "$SAGE_RUNTIME" --root "$ROOT" "$@"
        output=${output//$'\r'/}
}

receiver() {
        background "$BATS_TEST_TMPDIR/console" "$BATS_TEST_DIRNAME/receive-console" "$BATS_TEST_TMPDIR/socket" "$@"
        RECEIVER=$!
        wait_until test -S "$BATS_TEST_TMPDIR/socket"
}

@test "in the foreground the program has a terminal of its own, and its status is the runtime's" {
        terminal_bundle 'tty; test -t 0 && test -t 1 && test -t 2 && echo all; exit 5'
        on_terminal -- run --bundle "$BUNDLE" box
        failed 5 $'/dev/pts/0\nall'
}

@test "what is typed arrives, and control-C is a signal to the program" {
        terminal_bundle 'trap "echo interrupted; exit 3" INT; echo ready; read line; echo "got $line"; while :; do sleep 0.02; done'
        on_terminal expect=ready 'send=typed\n' 'expect=got typed' 'send=\x03' expect=interrupted -- run --bundle "$BUNDLE" box
        [ "$status" -eq 3 ]
}

@test "the program's terminal has the size of the caller's, and changes with it" {
        terminal_bundle 'trap "stty size" WINCH; trap "exit 3" INT; stty size; echo ready; while :; do sleep 0.02; done'
        on_terminal size=100x30 'expect=30 100' expect=ready size=77x22 'expect=22 77' 'send=\x03' -- run --bundle "$BUNDLE" box
        failed 3 '22 77'
}

@test "consoleSize is the size where the caller has no terminal" {
        terminal_bundle 'stty size'
        config '.process.consoleSize = {width: 91, height: 37}'
        detached runtime run --bundle "$BUNDLE" box
        [ "$status" -eq 0 ]
        said '37 91'
}

@test "the caller's terminal is afterwards as it was" {
        terminal_bundle 'stty -a >/dev/null; exit 0'
        cat >"$BATS_TEST_TMPDIR/script" <<-'SCRIPT'
		before=$(stty -g)
		"$@" || exit 90
		[ "$(stty -g)" = "$before" ] || exit 91
	SCRIPT
        detached "$TERMINAL" -- sh "$BATS_TEST_TMPDIR/script" "$SAGE_RUNTIME" --root "$ROOT" run --bundle "$BUNDLE" box
        succeeded
}

@test "stdin from a file or /dev/null, or no terminal anywhere, is no reason to fail" {
        terminal_bundle 'echo here; exit 4'
        on_terminal stdin=/dev/null -- run --bundle "$BUNDLE" box
        failed 4 here
        detached setsid -w "$SAGE_RUNTIME" --root "$ROOT" run --bundle "$BUNDLE" box
        failed 4 here
        terminal_bundle 'read line; echo "got $line"'
        echo 'from a file' >"$BATS_TEST_TMPDIR/input"
        status=0
        output=$(runtime run --bundle "$BUNDLE" box <"$BATS_TEST_TMPDIR/input" 2>&1) || status=$?
        failed 0 'got from a file'
}

@test "everything that the program wrote comes out before run ends" {
        terminal_bundle 'stty -opost; cat /big; echo end'
        yes 0123456789abcdefghijklmnopqrstuvwxyz | head -c 200000 >"$BUNDLE/rootfs/big"
        detached runtime run --bundle "$BUNDLE" box
        succeeded
        [ "$(printf '%s\n' "$output" | head -c 200000 | cmp - "$BUNDLE/rootfs/big" 2>&1)" = '' ]
        [[ $output == *end ]] || [[ $output == *$'end\r' ]]
}

@test "exec --tty gives a terminal, and all of a long output" {
        bundle sleep 100
        yes 0123456789abcdefghijklmnopqrstuvwxyz | head -c 200000 >"$BUNDLE/rootfs/big"
        create box
        start box
        on_terminal -- exec --tty box sh -c 'tty; exit 6'
        failed 6 /dev/pts/0
        detached runtime exec -t box sh -c 'stty -opost; cat /big'
        succeeded
        [ "$(printf '%s' "$output" | wc -c)" -ge 199999 ]
        printf '%s\n' "$output" | head -c 200000 | cmp - "$BUNDLE/rootfs/big"
}

@test "exec --tty without a terminal around works" {
        bundle sleep 100
        create box
        start box
        detached setsid -w "$SAGE_RUNTIME" --root "$ROOT" exec -t box sh -c 'test -t 0 && echo terminal'
        succeeded
        said terminal
}

@test "create with a terminal needs --console-socket, and run --detach too" {
        terminal_bundle 'sleep 100'
        leaves_nothing runtime create --bundle "$BUNDLE" box
        failed 1 console-socket
        leaves_nothing runtime run --detach --bundle "$BUNDLE" box
        failed 1 console-socket
}

@test "--console-socket without a terminal is refused" {
        bundle sleep 100
        leaves_nothing runtime create --bundle "$BUNDLE" --console-socket "$BATS_TEST_TMPDIR/socket" box
        failed 1 terminal
        create box
        start box
        detached runtime exec --console-socket "$BATS_TEST_TMPDIR/socket" box true
        failed 255 terminal
}

@test "--console-socket gets exactly one descriptor, the terminal's master, of the right size" {
        terminal_bundle 'tty; echo ready; read line; echo "got $line"'
        config '.process.consoleSize = {width: 120, height: 40}'
        receiver 'expect=ready' 'send=typed\n' 'expect=got typed'
        create box --console-socket "$BATS_TEST_TMPDIR/socket"
        start box
        wait "$RECEIVER"
        [ "$(head -n 1 "$BATS_TEST_TMPDIR/console")" = 'received 1 descriptor, terminal 120x40' ]
        tr -d '\r' <"$BATS_TEST_TMPDIR/console" | grep -qx 'got typed'
}

@test "run --detach hands the terminal over too" {
        terminal_bundle 'echo here'
        receiver
        detached runtime run --detach --bundle "$BUNDLE" --console-socket "$BATS_TEST_TMPDIR/socket" box
        succeeded
        wait "$RECEIVER"
        grep -q here "$BATS_TEST_TMPDIR/console"
}

@test "exec --console-socket too, with --process as engines call it" {
        bundle sleep 100
        create box
        start box
        echo '{"terminal": true, "cwd": "/", "args": ["/bin/sh", "-c", "tty; echo here"], "user": {"uid": 0, "gid": 0}}' \
                >"$BATS_TEST_TMPDIR/process.json"
        receiver
        detached runtime exec --detach --process "$BATS_TEST_TMPDIR/process.json" --console-socket "$BATS_TEST_TMPDIR/socket" box
        succeeded
        wait "$RECEIVER"
        grep -q 'received 1 descriptor, terminal' "$BATS_TEST_TMPDIR/console"
        grep -q here "$BATS_TEST_TMPDIR/console"
}

@test "exec --detach --tty without a socket is refused" {
        bundle sleep 100
        create box
        start box
        detached runtime exec --detach --tty box sh
        failed 255 console-socket
}

@test "a relative console socket is taken from the caller's directory, and a path longer than 107 bytes works" {
        local long
        terminal_bundle 'echo here'
        receiver
        cd "$BATS_TEST_TMPDIR"
        create box --console-socket socket
        runtime delete box
        wait "$RECEIVER" || true
        rm -f "$BATS_TEST_TMPDIR/socket"

        long=$BATS_TEST_TMPDIR/$(printf 'd%.0s' {1..120})
        mkdir "$long"
        receiver
        mv "$BATS_TEST_TMPDIR/socket" "$long/socket"
        create box --console-socket "$long/socket"
        start box
        wait "$RECEIVER"
        grep -q here "$BATS_TEST_TMPDIR/console"
}

@test "a console socket that nobody listens on fails create, and nothing is left" {
        terminal_bundle 'sleep 100'
        leaves_nothing runtime create --bundle "$BUNDLE" --console-socket "$BATS_TEST_TMPDIR/socket" box
        failed 1 "$BATS_TEST_TMPDIR/socket"
}

@test "a program that is not there is told also when there is a terminal" {
        bundle /bin/nope
        config '.process.terminal = true'
        on_terminal -- run --bundle "$BUNDLE" box
        failed 1 'no such file or directory'
        bundle sleep 100
        create box
        start box
        on_terminal -- exec -t box /bin/nope
        failed 255 'no such file or directory'
}

@test "with --log-format json a failure with a terminal is one line as well" {
        bundle sleep 100
        create box
        start box
        detached runtime --log "$BATS_TEST_TMPDIR/log" --log-format json exec --tty --cwd /missing/x box true
        failed 255
        [ "$(wc -l <"$BATS_TEST_TMPDIR/log")" -eq 1 ]
}

@test "/dev/console is the program's terminal, and belongs to the user" {
        terminal_bundle 'echo to the console >/dev/console; stat -L -c %F /dev/console; stat -L -c %u $(tty)'
        config '.process.user = {uid: 1000, gid: 1000}'
        on_terminal -- run --bundle "$BUNDLE" box
        failed 0 'to the console' 'character special file' $'\n1000'
}

@test "without a terminal there is no /dev/console" {
        bundle
        inside '[ -e /dev/console ] || echo none'
        printed none
}

@test "a reader that is slow loses nothing" {
        terminal_bundle 'stty -opost; cat /big; echo end'
        yes 0123456789abcdefghijklmnopqrstuvwxyz | head -c 200000 >"$BUNDLE/rootfs/big"
        { timeout 20 "$SAGE_RUNTIME" --root "$ROOT" run --bundle "$BUNDLE" box </dev/null 3>&- || echo "failed $?"; } |
                { sleep 0.5; cat; } >"$BATS_TEST_TMPDIR/out"
        head -c 200000 "$BATS_TEST_TMPDIR/out" | cmp - "$BUNDLE/rootfs/big"
        [ "$(tail -n 1 "$BATS_TEST_TMPDIR/out" | tail -c 4)" = end ]
}

@test "lines reach a pipe or a file as the program ended them, a terminal with a carriage return" {
        terminal_bundle 'printf "one\ntwo\n"'
        detached runtime run --bundle "$BUNDLE" box
        [ "$output" = $'one\ntwo' ]
        detached "$TERMINAL" -- "$SAGE_RUNTIME" --root "$ROOT" run --bundle "$BUNDLE" box
        [ "$output" = $'one\r\ntwo\r' ]
}

# The shell edits lines: it switches the terminal to that mode for its prompt, and a ^D from before would be lost with the switch.
@test "an interactive shell sees the end of a pipe as fd 0, at its first prompt and after a command" {
        bundle /bin/sh
        config '.process.terminal = true'
        for input in '' $'echo got-$((1+1))\n' $'cat\n'; do
                piped() { printf %s "$input" | timeout 10 "$SAGE_RUNTIME" --root "$ROOT" run --bundle "$BUNDLE" box; }
                detached piped
                succeeded
        done
}
