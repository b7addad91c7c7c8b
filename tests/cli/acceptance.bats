# What the specification's own tests ask of a sandbox and no other test here has: streams that nobody reads, sessions, processes of the host.
load helpers

# A sandbox that runs and waits for commands, one at a time.
sandbox() {
        strict
        config 'del(.process.args)'
        sage process.max_processes 1
        create box
        start box
}

# free: the one slot is, and the sandbox takes commands.
free() {
        detached runtime exec --no-wait box true
        succeeded
}

record() {
        jq -rc "$1" "$BATS_TEST_TMPDIR/record"
}

nobody_reads() {
        pgrep -f '^sleep 86429' >/dev/null
}

# four_megabytes COMMAND...: with a standard input that is a file, which comes by a relay, and then with a pipe.
four_megabytes() {
        head -c 4000000 /dev/zero >"$BATS_TEST_TMPDIR/input"
        "$@" <"$BATS_TEST_TMPDIR/input"
        head -c 4000000 /dev/zero | "$@"
}

@test "four megabytes of input for a program that reads none: a timeout ends it, and its slot is free" {
        timed_out() {
                local found=0
                runtime exec --timeout 0.3 --result "$BATS_TEST_TMPDIR/record" box sleep 86429 || found=$?
                [ "$found" -eq 124 ] && [ "$(record '[.outcome, .processes_left]')" = '["timed_out",0]' ] && ! nobody_reads && free
        }
        sandbox
        four_megabytes timed_out
}

@test "the same for a cancel" {
        cancelled() {
                local found=0 pid
                # of a command in the background the shell takes the input away
                { "$SAGE_RUNTIME" --root "$ROOT" exec --timeout 100 --result "$BATS_TEST_TMPDIR/record" box sleep 86429 <&4 4<&- 3>&- & } 4<&0
                pid=$!
                wait_until nobody_reads
                kill -TERM $pid
                wait $pid || found=$?
                [ "$found" -eq 143 ] && [ "$(record .processes_left)" = 0 ] && ! nobody_reads && free
        }
        sandbox
        four_megabytes cancelled
}

@test "a program that ends without having read its four megabytes of input has ended well" {
        ended() {
                runtime exec --timeout 60 --result "$BATS_TEST_TMPDIR/record" box true && [ "$(record '[.outcome, .exit_code]')" = '["exited",0]' ] && free
        }
        sandbox
        four_megabytes ended
}

@test "a session of question and answer works, twice, and gives its slot back" {
        local answer session
        sandbox
        for session in 1 2; do
                coproc SERVER { exec "$SAGE_RUNTIME" --root "$ROOT" exec --timeout 60 box bash -c 'while read -r line; do echo "answer to $line"; done' 3>&-; }
                local pid=$SERVER_PID in=${SERVER[1]} out=${SERVER[0]} question
                for question in one two three; do
                        echo "$question" >&"$in"
                        read -r -t 20 answer <&"$out"
                        [ "$answer" = "answer to $question" ]
                done
                detached runtime exec --no-wait box true
                failed 255 'may have (1)'
                exec {in}>&-
                wait "$pid"
                free
        done
}

@test "a command reaches no process of the host, by number or by all numbers" {
        local pid
        sandbox
        background /dev/null setpriv --reuid 1001 --regid 1001 --clear-groups sleep 86428
        pid=$!
        detached runtime exec box bash -c "kill -KILL $pid 2>&1; kill -KILL -- -1 2>/dev/null; ls /proc/$pid 2>&1"
        sleep 0.1
        kill -0 "$pid"
        kill "$pid"
}

@test "every test of the specification that is to be met has its test here" {
        local file name rest missing=0
        while IFS='|' read -r rest rest file name rest; do
                read -r file <<<"${file//\`/}"
                read -r name <<<"$name"
                case $file in
                *.bats) grep -qF "@test \"$name" "$SAGE_TESTS/$file" ;;
                *) grep -q "${name//[!a-zA-Z0-9]/_}" "$SAGE_TESTS/$file" ;;
                esac || { echo "no test \"$name\" in $file"; missing=1; }
        done < <(grep -F '| `' "$SAGE_TESTS/cli/acceptance.md")
        [ "$missing" -eq 0 ] && [ "$(grep -cF '| `' "$SAGE_TESTS/cli/acceptance.md")" -ge 18 ]
}
