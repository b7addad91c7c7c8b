"""contrib/sage-host-setup: what it makes is enough for a sandbox with hard limits, is made once, and can be taken away again."""

import json
import os

import cgroup
import sandbox
import xfs

SETUP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../contrib/sage-host-setup")


class Host:
    def __init__(self, vm):
        self.vm = vm
        self.directory = vm.temporary_directory()
        self.mount = f"{self.directory}/volume"
        self.policy = f"{self.directory}/etc/host.json"
        self.cgroup = f"{cgroup.ROOT}/{vm.name('setup')}"
        self.list = f"{self.directory}/list/made"
        self.user = "sage-setup"
        vm.on_end(self.run, "undo", "--with-data")

    def run(self, *arguments):
        return self.vm.run([SETUP, *arguments, "--mount", self.mount, "--policy", self.policy, "--cgroup", self.cgroup, "--list", self.list,
                            "--user", self.user, "--systemd", "no"], 200)

    def disk(self):
        """A block device of 400 MiB with nothing on it."""
        path = f"{self.directory}/disk"
        with open(path, "w") as file:
            file.truncate(400 << 20)
        device = self.vm.run(["losetup", "--find", "--show", path]).must_succeed().stdout.strip()
        self.vm.undo.insert(len(self.vm.undo) - 1, (self.vm.run, (["losetup", "--detach", device],)))
        return device


def words(result, first):
    return [line for line in result.stdout.splitlines() if line.startswith(first)]


def test_a_host_is_prepared_once_runs_a_sandbox_and_is_as_before(vm):
    host = Host(vm)
    device = host.disk()
    first = host.run("setup", "--device", device, "--disk-mb", "8").must_succeed()
    assert len(words(first, "made")) == 9, first
    second = host.run("setup", "--device", device, "--disk-mb", "8").must_succeed()
    assert not words(second, "made") and len(words(second, "there")) == 8, second

    box = sandbox.Sandbox(vm, ["/bin/sh", "-c", "id -u; dd if=/dev/zero of=/tmp/x bs=1M count=20 2>/dev/null || echo full"])
    box.sage = {"profile": "strict", "process.allow_shell": "true", "filesystem.workspace": f"{host.mount}/workspace", "resources.disk_mb": "8"}
    box.write_bundle()
    result = vm.run([box.runtime_path, "--host-policy", host.policy, "run", "--bundle", box.bundle, box.id])
    result.must_print(f"{vm.run(['id', '-u', host.user]).stdout}full\n")

    more = host.run("workspace", "second", "--disk-mb", "16").must_succeed()
    assert words(more, "made    project 1002"), more

    # What somebody has changed or filled since is not taken away.
    with open(host.policy) as file:
        policy = json.load(file)
    with open(host.policy, "w") as file:
        json.dump({**policy, "allow_symlinks": True}, file)
    with open(f"{host.mount}/workspace/work", "w") as file:
        file.write("mine")
    result = host.run("undo").must_fail()
    assert "not empty" in result.stdout and os.path.exists(f"{host.mount}/workspace/work"), result
    assert not os.path.exists(f"{host.mount}/second") and not os.path.exists(host.cgroup)
    host.run("undo", "--with-data").must_succeed()
    assert os.path.exists(host.policy) and not os.path.exists(host.mount) and not os.path.exists(host.list)
    vm.run(["id", host.user]).must_fail()
    assert host.run("undo").must_succeed().stdout == "nothing was made\n"


test_a_host_is_prepared_once_runs_a_sandbox_and_is_as_before.timeout = 250


def test_what_holds_something_is_not_formatted(vm):
    host = Host(vm)
    device = host.disk()
    vm.run(["mkfs.ext4", "-q", device]).must_succeed()
    result = host.run("setup", "--device", device).must_fail()
    assert "holds ext4" in result.stderr and not os.path.exists(host.mount), result
    assert vm.run(["blkid", "-p", "-o", "value", "-s", "TYPE", device]).stdout == "ext4\n"
    result = vm.run([SETUP, "setup", "--mount", "/tmp", "--systemd", "no", "--list", host.list]).must_fail()
    assert "instead of xfs" in result.stderr, result
    result = vm.run([SETUP, "setup", "--mount", xfs.ROOT, "--user", "root", "--systemd", "no", "--list", host.list]).must_fail()
    assert "is root" in result.stderr, result
    vm.run([SETUP, "undo", "--list", host.list]).must_succeed()
    assert not os.path.exists(f"{xfs.ROOT}/.sage")
