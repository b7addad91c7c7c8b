# Limits of a strict sandbox that are sampled: a monitor throttles, and ends what goes too far.
load helpers

CGROUP=/sys/fs/cgroup/box

# sandbox [MEMBER VALUE]...: a sandbox without a process of its own, with these members of sage.sandbox.resources.
sandbox() {
        local members=()
        strict
        config 'del(.process.args)'
        while [ $# -gt 0 ]; do
                members+=("resources.$1" "$2")
                shift 2
        done
        [ ${#members[@]} -eq 0 ] || sage "${members[@]}"
        create box
        start box
}

in_box() {
        detached runtime exec --result "$BATS_TEST_TMPDIR/record" "$@"
}

monitor() {
        jq -r .monitor.pid "$ROOT/box/status.json"
}

lives() {
        pgrep -f "^$1" >/dev/null
}

record() {
        jq -rc "$1" "$BATS_TEST_TMPDIR/record"
}

@test "a sandbox has one monitor, with nothing of its caller's, and it goes with the sandbox" {
        local pid
        sandbox
        pid=$(monitor)
        [ "$(<"/proc/$pid/comm")" = sage-monitor ]
        [ "$(readlink /proc/$pid/fd/0 /proc/$pid/fd/1 /proc/$pid/fd/2 | sort -u)" = /dev/null ]
        ! readlink "/proc/$pid/fd/"* | grep -vE "^(/dev/null|/proc|anon_inode:\[pidfd\]|/tmp|/dev/shm|/workspace|pipe:.*|/sys/fs/cgroup/box|$ROOT/box/lost|$WORKSPACE|/)$" || false
        grep -q '^Seccomp:.2' "/proc/$pid/status"
        grep -q '^NoNewPrivs:.1' "/proc/$pid/status"
        [ "$(stat -c %u "/proc/$pid/exe")" = 0 ] # not dumpable (proc(5))
        runtime kill box KILL
        wait_until has_ended "$pid"
        runtime delete box
        sandbox
        pid=$(monitor)
        runtime delete --force box
        has_ended "$pid"
}

@test "its death is the sandbox's" {
        sandbox
        background /dev/null "$SAGE_RUNTIME" --root "$ROOT" exec box sleep 86451
        wait_until lives 'sleep 86451'
        kill -KILL "$(monitor)"
        wait_until has_status box stopped
        in_box box true
        failed 255 'not running'
        [ -z "$(cat $CGROUP/*/cgroup.procs)" ]
}

@test "CPU beyond its share is throttled, and the record tells what was used" {
        sandbox cpu_percent 20
        in_box --timeout 2 box sh -c 'while :; do :; done'
        [ "$status" -eq 124 ]
        record 'if .cpu_time_us > 150000 and .cpu_time_us < 900000 then empty else error("used \(.cpu_time_us)") end'
        [ "$(record .limits.cpu)" = sampled ]
        in_box box true
        succeeded
}

@test "a command that uses less than its share is not held up" {
        sandbox cpu_percent 100
        in_box box sh -c 'i=0; while [ $i -lt 20 ]; do sleep 0.01; i=$((i+1)); done'
        succeeded
        record 'if .wall_time_us < 3000000 then empty else error("took \(.wall_time_us)") end'
}

@test "memory beyond the limit ends the sandbox, which is lost" {
        sandbox memory_mb 50
        in_box --timeout 20 box python3 -c 'import time; x = bytearray(200 << 20); x[::4096] = b"1" * len(x[::4096]); print("had it", flush=True); time.sleep(15)'
        [ "$status" -eq 137 ]
        [ "$(record .outcome)" = oom_killed ]
        wait_until has_status box stopped
        in_box box true
        failed 255 lost memory
        [ "$(record '[.outcome, .error.code]')" = '["lost","sandbox.lost"]' ]
}

@test "more processes than allowed end the sandbox" {
        sandbox max_processes 12
        in_box --timeout 20 box sh -c 'for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do sleep 15 & done; wait'
        [ "$status" -eq 137 ]
        [ "$(record .outcome)" = pids_limited ]
        in_box box true
        failed 255 lost process_count
}

@test "files beyond disk_mb end the sandbox, while a command runs and when it has ended" {
        sandbox disk_mb 1
        in_box --timeout 20 box sh -c 'head -c 700000 /dev/zero >a; head -c 700000 /dev/zero >b; sleep 15'
        [ "$status" -eq 137 ]
        [ "$(record .outcome)" = quota_exceeded ]
        in_box box true
        failed 255 lost disk
        runtime delete --force box
        rm -f "$WORKSPACE"/*
        create box
        start box
        in_box box sh -c 'truncate -s 700000 one two' # RLIMIT_FSIZE is about one file
        [ "$(record '[.outcome, .disk.limit_bytes, .disk.used_bytes]')" = '["quota_exceeded",1048576,1400000]' ]
        in_box box true
        failed 255 lost disk
}

@test "what stays within its limits stays" {
        sandbox disk_mb 10 memory_mb 200 max_processes 30
        in_box box sh -c 'head -c 5000000 /dev/zero >a; ln a b; mkdir -p d/e/f; cp a d/e/f; rm d/e/f/a; for i in 1 2 3 4 5 6 7 8; do sleep 0.3 & done; wait'
        succeeded
        [ "$(record '[.outcome, .disk.used_bytes]')" = '["exited",5000000]' ]
        has_status box running
}

@test "without a cgroup it is signals that stop the processes of a sandbox" {
        SAGE_OPTIONS=(--cgroup-manager disabled)
        strict
        config 'del(.process.args)'
        sage resources.cpu_percent 20 resources.max_processes 12
        detached runtime --cgroup-manager disabled create --bundle "$BUNDLE" box
        succeeded
        start box
        detached runtime exec --timeout 2 box sh -c '(while :; do :; done) & i=0; while :; do i=$((i+1)); echo $i >count; done'
        [ "$status" -eq 124 ]
        [ ! -d $CGROUP ]
        detached runtime exec --timeout 15 box python3 -c '
import time
end = time.time() + 1.5
while time.time() < end: pass
print(time.process_time() < 0.9)'
        printed True
        detached runtime exec --timeout 20 box sh -c 'for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do sleep 15 & done; wait'
        [ "$status" -eq 137 ]
        detached runtime exec box true
        failed 255 lost process_count
}
