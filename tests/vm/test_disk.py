"""The hard limit on what a sandbox keeps on disk: an XFS project, verified and never set, for the workspace, /tmp and /dev/shm together."""

import errno
import json
import os
import shutil
import stat
import time

import sandbox
import xfs

MIB = sandbox.MIB


def make_sage_directory(vm):
    """What an administrator prepares: where rooms go that are not to be seen in a workspace."""
    os.mkdir(f"{xfs.ROOT}/.sage", 0o711)
    vm.on_end(os.rmdir, f"{xfs.ROOT}/.sage")


def fill(path):
    """A shell command that writes 3 MiB to each of four files and says what became of it."""
    return f"for i in 1 2 3 4; do dd if=/dev/zero of={path}/file$i bs=1M count=3 2>/dev/null || echo full; done; sync"


def missing(box):
    result = box.check()
    assert result.stdout, result
    return {gap["code"] for gap in json.loads(result.stdout)["missing"] if gap["limit"] == "disk"}


def test_workspace_tmp_and_shm_together_hold_no_more_than_the_limit(vm):
    make_sage_directory(vm)
    for path in "/workspace", "/tmp", "/dev/shm":
        box = sandbox.Sandbox(vm, ["/bin/sh", "-c", fill(path)])
        result = box.run().must_succeed()
        assert "full" in result.stdout, result
        assert xfs.usage(vm, box.project)[0] <= 8 * MIB
        assert os.listdir(f"{xfs.ROOT}/.sage") == []
        assert bool(os.listdir(box.workspace)) == (path == "/workspace")
    box = sandbox.Sandbox(vm, ["/bin/sh", "-c", "for d in /workspace /tmp /dev/shm; do dd if=/dev/zero of=$d/f bs=1M count=3 2>/dev/null || echo full; done"])
    box.run().must_print("full\n")


def test_a_record_tells_what_is_kept_on_disk_and_that_it_was_too_much(vm):
    box = sandbox.Sandbox(vm, ["/bin/sleep", "1000"])
    box.create().must_succeed()
    box.start().must_succeed()
    record = f"{vm.temporary_directory()}/record"
    box.runtime("exec", "--result", record, box.id, "/bin/sh", "-c", "echo x >/tmp/x").must_succeed()
    with open(record) as file:
        told = json.load(file)
    assert told["outcome"] == "exited" and told["limits"]["disk"] == "hard", told
    assert told["disk"]["limit_bytes"] == 8 * MIB and told["disk"]["limit_inodes"] == 2048, told
    assert 0 < told["disk"]["used_bytes"] < MIB and 1 < told["disk"]["used_inodes"] < 20, told
    box.runtime("exec", "--result", record, box.id, "/bin/dd", "if=/dev/zero", "of=/dev/shm/x", "bs=1M", "count=9").must_fail()
    with open(record) as file:
        told = json.load(file)
    assert told["outcome"] == "quota_exceeded" and told["disk"]["used_bytes"] <= 8 * MIB, told


def test_files_are_limited_as_bytes_are(vm):
    script = """
made = 0
try:
    while made < 3000:
        open(f"/tmp/{made}", "w").close()
        made += 1
except OSError as error:
    print(made, error.errno)
"""
    box = sandbox.Sandbox(vm, ["/usr/bin/python3", "-c", script])
    made, error = map(int, box.run().must_succeed().stdout.split())
    assert 2000 < made < 2048 and error in (errno.ENOSPC, errno.EDQUOT), (made, error)


def test_what_is_not_verified_is_refused_and_nothing_is_made(vm):
    cases = [
        ("quota.block_limit_too_high", lambda box: xfs.limit(vm, box.project, f"bhard={8 * MIB + 4096}")),
        ("quota.inode_limit_too_high", lambda box: xfs.limit(vm, box.project, "ihard=2049")),
        ("quota.no_block_limit", lambda box: xfs.limit(vm, box.project, "bhard=0")),
        ("quota.no_inode_limit", lambda box: xfs.limit(vm, box.project, "ihard=0")),
        ("quota.not_inherited", lambda box: xfs.set_project(box.workspace, box.project, 0)),
        ("quota.no_project", lambda box: xfs.set_project(box.workspace, 0)),
        ("quota.not_xfs", lambda box: box.sage.update({"host.linux_quota_mount": "/tmp"})),
        ("quota.workspace_elsewhere", move_to_tmp),
    ]
    for code, change in cases:
        box = sandbox.Sandbox(vm, ["/bin/true"])
        assert missing(box) == set(), code
        box.written = False
        change(box)
        assert code in missing(box), f"{code}: {missing(box)}"
        result = box.run().must_fail()
        assert code in result.stderr, result
        assert not os.path.exists(f"/run/sage-runtime/{box.id}")


def move_to_tmp(box):
    path = box.vm.temporary_directory()
    os.chown(path, sandbox.UID, sandbox.GID)
    box.sage["filesystem.workspace"] = path


def test_a_name_in_the_workspace_that_would_escape_the_limit_is_refused_with_its_path(vm):
    def foreign(path):
        os.mkdir(path)
        xfs.set_project(path, 7)

    def outside(path):
        os.link(other, path)

    other = f"{xfs.ROOT}/{vm.name('other')}"
    cases = [("foreign", foreign, "belongs to project 7"), ("link", lambda path: os.symlink("/etc/passwd", path), "allow_symlinks"),
             ("mounted", lambda path: (os.mkdir(path), vm.run(["mount", "-t", "tmpfs", "none", path]).must_succeed(),
                                       vm.on_end(vm.run, ["umount", path])), "mounted")]
    for name, make, text in cases:
        box = sandbox.Sandbox(vm, ["/bin/true"])
        path = f"{box.workspace}/{name}"
        make(path)
        result = box.run().must_fail()
        assert path in result.stderr and text in result.stderr, result
        assert os.listdir(box.workspace) == [name]
    box = sandbox.Sandbox(vm, ["/bin/true"])
    os.mkdir(other)
    vm.on_end(shutil.rmtree, other)
    xfs.set_project(other, box.project)
    with open(f"{other}/file", "w"):
        pass
    os.link(f"{other}/file", f"{box.workspace}/inside")
    assert "hard links" in box.run().must_fail().stderr
    os.unlink(f"{other}/file")
    box.run().must_succeed()


def test_the_private_room_inside_a_workspace_is_hidden_and_goes_with_the_sandbox(vm):
    box = sandbox.Sandbox(vm, ["/bin/sh", "-c", "touch /tmp/mine; ls -a /workspace/.sage-sandbox; mv /workspace/.sage-sandbox /workspace/x"])
    result = box.run().must_fail()
    assert result.stdout == ".\n..\n", result
    assert "busy" in result.stderr.lower(), result
    assert os.listdir(box.workspace) == []


def test_the_room_goes_whenever_the_runtime_was_killed(vm):
    make_sage_directory(vm)
    box = sandbox.Sandbox(vm, ["/bin/sleep", "1000"])
    rooms = 0
    for wait in 0, 20, 40, 60, 80, 100, 130, 160, 200, 300, 500, "a room":
        process = box.spawn_run()
        if wait == "a room":
            vm.wait_until(lambda: os.listdir(f"{xfs.ROOT}/.sage"), wait)
        else:
            time.sleep(wait / 1000)
        process.kill()
        process.wait()
        rooms += bool(os.listdir(f"{xfs.ROOT}/.sage"))
        box.delete("--force")
        assert os.listdir(f"{xfs.ROOT}/.sage") == [] and os.listdir(box.workspace) == [], wait
    assert rooms


def test_commands_of_a_sandbox_share_a_room_that_nobody_else_can_enter(vm):
    make_sage_directory(vm)
    box = sandbox.Sandbox(vm, ["/bin/sleep", "1000"])
    box.create().must_succeed()
    box.start().must_succeed()
    box.exec("/bin/sh", "-c", "echo one >/tmp/file && echo two >/dev/shm/file").must_succeed()
    box.exec("/bin/cat", "/tmp/file", "/dev/shm/file").must_print("one\ntwo\n")
    box.exec("/usr/bin/stat", "-c", "%u %a", "/tmp").must_print(f"{sandbox.UID} 1777\n")
    room, = os.listdir(f"{xfs.ROOT}/.sage")
    assert stat.S_IMODE(os.stat(f"{xfs.ROOT}/.sage/{room}").st_mode) == 0o700
    vm.run(["cat", f"{xfs.ROOT}/.sage/{room}/tmp/file"], user=65534, group=65534, extra_groups=[]).must_fail()
    box.delete("--force").must_succeed()
    assert os.listdir(f"{xfs.ROOT}/.sage") == []


def test_a_workspace_that_is_used_again_may_hold_what_commands_make(vm):
    box = sandbox.Sandbox(vm, ["/bin/sh", "-c", "mkdir -p a/b && : >a/file && ln a/file a/b/hard && mkfifo fifo"])
    box.run().must_succeed()
    box.run().must_fail()  # mkfifo: there is one; the sandbox itself began
    assert os.path.exists(f"{box.workspace}/a/b/hard")


def test_write_paths_belong_to_the_project_or_are_refused(vm):
    box = sandbox.Sandbox(vm, ["/bin/dd", "if=/dev/zero", "of=", "bs=1M", "count=5"])
    cache = f"{xfs.ROOT}/{vm.name('cache')}"
    os.mkdir(cache)
    vm.on_end(shutil.rmtree, cache)
    os.chown(cache, sandbox.UID, sandbox.GID)
    box.sage["filesystem.write_paths"] = cache
    box.config["process"]["args"][2] = f"of={cache}/x"
    result = box.run().must_fail()
    assert cache in result.stderr and "belongs to project 0" in result.stderr, result
    xfs.set_project(cache, box.project)
    with open(f"{box.workspace}/file", "wb") as file:
        file.write(bytes(5 * MIB))
    os.link(f"{box.workspace}/file", f"{cache}/file")  # all its names are in what is walked
    result = box.run().must_fail()
    assert "No space left" in result.stderr, result
    assert xfs.usage(vm, box.project)[0] <= 8 * MIB


def test_a_workspace_that_can_only_be_read_has_room_beside_it(vm):
    make_sage_directory(vm)
    box = sandbox.Sandbox(vm, ["/bin/sh", "-c", "echo x >/tmp/x && cat /tmp/x; echo x >/workspace/x"])
    box.sage["filesystem.read_only"] = "true"
    result = box.run().must_fail()
    assert result.stdout == "x\n" and "Read-only" in result.stderr, result
    assert os.listdir(box.workspace) == []


def test_two_sandboxes_of_a_workspace_have_each_a_room_and_one_limit(vm):
    one = sandbox.Sandbox(vm, ["/bin/sleep", "1000"])
    one.create().must_succeed()
    one.start().must_succeed()
    one.exec("/bin/sh", "-c", "dd if=/dev/zero of=/tmp/x bs=1M count=5 2>/dev/null && echo theirs >/tmp/file").must_succeed()
    other = sandbox.Sandbox(vm, ["/bin/sh", "-c", "ls /tmp; dd if=/dev/zero of=/tmp/y bs=1M count=5 2>/dev/null || echo full"])
    other.sage["filesystem.workspace"] = one.workspace
    other.run().must_print("full\n")
    assert len(os.listdir(f"{one.workspace}/.sage-sandbox")) == 1
    one.exec("/bin/cat", "/tmp/file").must_print("theirs\n")
    one.delete("--force").must_succeed()
    assert os.listdir(one.workspace) == []
