# Limits that are sampled, against a payload that knows how: what it takes is kept from the look at it, or the look is led astray.
load attack

SAGE_RUNTIME=$SAGE_UNREFUSED

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
names = [str(i) for i in range(24)]
for name in names:
    os.makedirs(f"{name}/below")
    os.mkdir(f"{name}-there")
mover = os.fork() == 0
while mover:
    for name in names:
        os.rename(f"{name}/below", f"{name}-there/below"); os.rename(f"{name}-there/below", f"{name}/below")
for name in names:
    open(f"{name}/file", "wb").write(bytes(1 << 20))
time.sleep(15)'
}
