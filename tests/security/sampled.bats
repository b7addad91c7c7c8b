# Limits that are sampled, against a payload that knows how: what it takes is kept from the look at it, or the look is led astray.
load attack

# too_much SCRIPT: takes tens of MiB, where ten may be.
too_much() {
        strict
        config 'del(.process.args)'
        sage resources.disk_mb 10 resources.cpu_percent 200
        create box
        start box
        detached runtime exec --timeout 20 --result "$BATS_TEST_TMPDIR/record" box python3 -c "$1"
        [ "$status" -eq 137 ]
        [ "$(jq -r .outcome "$BATS_TEST_TMPDIR/record")" = quota_exceeded ]
}

@test "room that is reserved behind the end of a file counts" {
        too_much '
import ctypes, os, time
fd = os.open("kept", os.O_CREAT | os.O_WRONLY)
assert ctypes.CDLL(None).fallocate(fd, 1, ctypes.c_long(0), ctypes.c_long(40 << 20)) == 0
time.sleep(15)'
}

@test "empty files and directories are not for nothing" {
        too_much '
import os, time
for i in range(4000):
    os.mkdir(str(i)); open(f"{i}/x", "w")
time.sleep(15)'
}

@test "what is in /tmp and /dev/shm counts together with the workspace, also without a name" {
        too_much '
import os, time
for place in "/tmp/a", "/dev/shm/b", "c":
    open(place, "wb").write(bytes(5 << 20))
held = open("/tmp/a"); os.unlink("/tmp/a")
time.sleep(15)'
}

@test "directories that are moved while they are looked at hide nothing" {
        too_much '
import os, time
os.mkdir("there")
for i in range(13):
    for n in range(100):
        os.makedirs(f"{i}/below/{n}")
names = [name for name in os.listdir() if name != "there"]
data = names.pop(0) # of a directory, who looks goes into the last first
mover = os.fork() == 0
while mover:
    for name in names:
        os.rename(f"{name}/below", f"there/{name}")
    for name in names:
        os.rename(f"there/{name}", f"{name}/below")
for i in range(5):
    open(f"{data}/{i}", "wb").write(bytes(8 << 20))
time.sleep(15)'
}

@test "nor do they keep a sandbox that stays within its limits" {
        strict
        config 'del(.process.args)'
        sage resources.disk_mb 10 resources.cpu_percent 200
        create box
        start box
        detached runtime exec --timeout 20 box python3 -c '
import os, time
end = time.time() + 3
os.mkdir("there")
for i in range(12):
    for n in range(100):
        os.makedirs(f"{i}/below/{n}")
while time.time() < end:
    for i in range(12):
        os.rename(f"{i}/below", f"there/{i}")
    for i in range(12):
        os.rename(f"there/{i}", f"{i}/below")
print("done")'
        printed done
}

@test "a fork bomb has no thousands before it is seen, and is gone when its command is" {
        strict
        config 'del(.process.args)'
        sage resources.max_processes 20 resources.cpu_percent 200
        create box
        start box
        detached runtime exec --timeout 20 --result "$BATS_TEST_TMPDIR/record" box python3 -c '
import os, signal
for number in range(1, 65):
    if number not in (9, 19, 32, 33):
        signal.signal(number, signal.SIG_IGN)
while True:
    try:
        if os.fork() == 0:
            os.setsid()
    except OSError:
        pass'
        [ "$status" -eq 137 ]
        [ "$(jq -c '[.outcome, .wall_time_us < 10000000]' "$BATS_TEST_TMPDIR/record")" = '["pids_limited",true]' ]
        detached runtime exec box true
        failed 255 lost process_count
}

@test "the backstop is twice the limit and some" {
        strict bash -c 'ulimit -u'
        sage resources.max_processes 20
        detached runtime run --bundle "$BUNDLE" box
        printed 104
}
