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
        self.options = ["--systemd", "no"]
        vm.on_end(self.run, "undo", "--with-data")

    def run(self, *arguments):
        return self.vm.run([SETUP, *arguments, "--mount", self.mount, "--policy", self.policy, "--cgroup", self.cgroup, "--list", self.list,
                            "--user", self.user, *self.options], 200)

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


# systemd's part in it, for a guest that has none: units are read and done, and what `$$` in them means is systemd's (systemd.service(5)).
SYSTEMCTL = """#!/usr/bin/python3
import configparser, os, shlex, subprocess, sys

ROOT = "/sys/fs/cgroup"
command, unit = sys.argv[1], sys.argv[-1]
group = f"/systemd-{unit}"
if command == "show":
    print(group)
elif command in ("enable", "disable"):
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    parser.optionxform = str
    parser.read(f"/etc/systemd/system/{unit}")
    if unit.endswith(".mount"):
        m = parser["Mount"]
        do = ["mount", "-t", m["Type"], "-o", m["Options"], m["What"], m["Where"]] if command == "enable" else ["umount", m["Where"]]
        sys.exit(subprocess.call(do))
    if command == "disable":
        subprocess.call(["find", ROOT + group, "-depth", "-type", "d", "-exec", "rmdir", "{}", "+"])
        sys.exit(0)
    os.makedirs(ROOT + group, exist_ok=True)
    line = shlex.split(parser["Service"]["ExecStart"].replace("$$", "$"))

    def enter():
        with open(f"{ROOT}{group}/cgroup.procs", "w") as file:
            file.write("0")
    sys.exit(subprocess.call(line, preexec_fn=enter))
"""


def test_with_systemd_units_do_it_and_are_taken_back(vm):
    host = Host(vm)
    fake = f"{host.directory}/systemctl"
    with open(fake, "w") as file:
        file.write(SYSTEMCTL)
    os.chmod(fake, 0o755)
    vm.run(["mount", "--bind", fake, "/usr/bin/systemctl"]).must_succeed()
    vm.undo.insert(len(vm.undo) - 1, (vm.run, (["umount", "/usr/bin/systemctl"],)))
    host.options = ["--systemd", "yes"]
    image = f"{host.directory}/image"
    with open(image, "w") as file:
        file.truncate(400 << 20)
    vm.run(["mkfs.xfs", "-q", image]).must_succeed()
    units = {name for name in os.listdir("/etc/systemd/system") if os.path.isfile(f"/etc/systemd/system/{name}")}
    result = host.run("setup", "--image", image).must_succeed()
    assert words(result, "there   image") and words(result, "made    unit sage-sandboxes.service"), result
    with open(host.policy) as file:
        root = json.load(file)["linux_cgroup_root"]
    assert root == f"{cgroup.ROOT}/systemd-sage-sandboxes.service", root
    assert set(cgroup.Cgroup(root).read("cgroup.subtree_control").split()) == {"cpu", "memory", "pids"}
    assert cgroup.Cgroup(root).processes() == []
    host.run("undo").must_succeed()
    assert not os.path.exists(root) and not os.path.exists(host.mount) and os.path.exists(image)
    left = {name for name in os.listdir("/etc/systemd/system") if os.path.isfile(f"/etc/systemd/system/{name}")}
    assert left == units, left - units


test_with_systemd_units_do_it_and_are_taken_back.timeout = 250
