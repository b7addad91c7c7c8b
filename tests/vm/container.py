"""A bundle and the container made from it."""

import copy
import json
import os
import shutil

import cgroup

APPLETS = ("sh true false cat dd echo grep id kill ls mkdir mknod mount nproc ps rm sleep stat touch wc").split()

# One copy of busybox serves all root file systems by hard links: linking costs nothing, and the memory of its pages is charged to no test.
BUSYBOX = "/tmp/busybox-of-all-bundles"

default_config = None


def read_default_config(vm):
    """What `spec` writes, asked for once."""
    global default_config
    if default_config is None:
        directory = vm.temporary_directory()
        vm.runtime("spec", cwd=directory).must_succeed()
        with open(f"{directory}/config.json") as file:
            default_config = json.load(file)
    return copy.deepcopy(default_config)


def make_root(path):
    if not os.path.exists(BUSYBOX):
        shutil.copy(shutil.which("busybox"), BUSYBOX)
    for directory in "bin", "dev", "etc", "proc", "sys", "tmp":
        os.makedirs(f"{path}/{directory}")
    for applet in APPLETS:
        os.link(BUSYBOX, f"{path}/bin/{applet}")
    with open(f"{path}/etc/passwd", "w") as file:
        file.write("root:x:0:0:root:/:/bin/sh\n")


class Container:
    """The bundle is written at the first command. Methods named like the runtime's commands run them and return a Result."""

    def __init__(self, vm, args):
        self.vm = vm
        self.id = vm.name("container")
        self.bundle = vm.temporary_directory()
        self.root = f"{self.bundle}/rootfs"
        self.config = read_default_config(vm)
        self.config["process"]["terminal"] = False
        self.config["process"]["args"] = list(args)
        self.resources = self.config["linux"].setdefault("resources", {})
        self.written = False
        make_root(self.root)

    def write_bundle(self):
        if not self.written:
            with open(f"{self.bundle}/config.json", "w") as file:
                json.dump(self.config, file)
            self.vm.on_end(self.vm.runtime, "delete", "--force", self.id)
            self.written = True

    def spawn_run(self):
        self.write_bundle()
        return self.vm.spawn([self.vm.runtime_path, "run", "--bundle", self.bundle, self.id])

    def spawn_create(self):
        self.write_bundle()
        return self.vm.spawn([self.vm.runtime_path, "create", "--bundle", self.bundle, self.id])

    def spawn(self, command, *arguments):
        return self.vm.spawn([self.vm.runtime_path, command, *arguments, self.id])

    def run(self):
        return self.spawn_run().wait()

    def create(self):
        return self.spawn_create().wait()

    def start(self):
        return self.vm.runtime("start", self.id)

    def exec(self, *args):
        return self.vm.runtime("exec", self.id, *args)

    def kill(self, signal):
        return self.vm.runtime("kill", self.id, signal)

    def delete(self, *options):
        return self.vm.runtime("delete", *options, self.id)

    def launch(self):
        """create and start, both of which must succeed; returns the container."""
        self.create().must_succeed()
        self.start().must_succeed()
        return self

    def state(self):
        return json.loads(self.vm.runtime("state", self.id).must_succeed().stdout)

    def cgroup(self):
        """The cgroup that its first process is in."""
        return cgroup.of_process(self.state()["pid"])

    def wait_until_stopped(self):
        self.vm.wait_until(lambda: self.state()["status"] == "stopped", f"{self.id} stopped")

    def add_capabilities(self, *names):
        """Adds to what the process may do."""
        for kind in "bounding", "effective", "permitted":
            known = self.config["process"]["capabilities"].setdefault(kind, [])
            known += [name for name in names if name not in known]
