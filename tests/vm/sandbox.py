"""The bundle of a strict sandbox with hard limits, in a workspace of its own project on the guest's XFS volume."""

import os
import shutil

import cgroup
import container
import xfs

UID = GID = 1001
MIB = 1 << 20

projects = 5000


class Sandbox(container.Container):
    """Its processes are programs of the guest's, not of a root of its own. `sage` are its sage.sandbox.* annotations, open to any change."""

    def __init__(self, vm, args, disk=8 * MIB, inodes=2048):
        global projects
        projects += 1
        self.vm = vm
        self.runtime_path = vm.runtime_path
        self.id = vm.name("sandbox")
        self.bundle = vm.temporary_directory()
        os.mkdir(f"{self.bundle}/rootfs")
        self.written = False
        self.project = projects
        self.workspace = f"{xfs.ROOT}/{vm.name('workspace')}"
        self.cgroup_root = vm.cgroup()
        self.cgroup_root.write("cgroup.subtree_control", "+cpu +memory +pids")
        xfs.make_project(vm, self.workspace, self.project, disk, inodes)
        os.chown(self.workspace, UID, GID)
        vm.on_end(shutil.rmtree, self.workspace)
        self.sage = {
            "profile": "strict",
            "process.allow_shell": "true",
            "filesystem.workspace": self.workspace,
            "resources.disk_mb": str(disk // MIB),
            "host.linux_cgroup_root": self.cgroup_root.path,
            "host.linux_quota_mount": xfs.ROOT,
            "host.linux_execution_uid": str(UID),
            "host.linux_execution_gid": str(GID),
        }
        self.config = {
            "ociVersion": "1.2.0",
            "root": {"path": "rootfs", "readonly": True},
            "process": {"cwd": "/workspace", "env": ["PATH=/usr/bin:/bin", "HOME=/tmp"], "args": list(args)},
        }

    def write_bundle(self):
        self.config["annotations"] = {f"sage.sandbox.{name}": value for name, value in self.sage.items()}
        super().write_bundle()

    def runtime(self, *arguments):
        return self.vm.run([self.runtime_path, *arguments], 90)

    def spawn_run(self):
        self.write_bundle()
        return self.vm.spawn([self.runtime_path, "run", "--bundle", self.bundle, self.id])

    def spawn_create(self):
        """A sandbox keeps its streams and takes no files for them, which is what a Process has: errors come by way of the log."""
        self.write_bundle()
        log = f"{self.vm.temporary_directory()}/log"
        script = '"$@" >/dev/null 2>&1; status=$?; cat "$0" >&2; exit $status'
        return self.vm.spawn(["sh", "-c", script, log, self.runtime_path, "--log", log, "create", "--bundle", self.bundle, self.id])

    def spawn(self, command, *arguments):
        return self.vm.spawn([self.runtime_path, command, *arguments, self.id])

    def start(self):
        return self.runtime("start", self.id)

    def exec(self, *args):
        return self.runtime("exec", self.id, *args)

    def kill(self, signal):
        return self.runtime("kill", self.id, signal)

    def delete(self, *options):
        return self.runtime("delete", *options, self.id)

    def check(self):
        self.write_bundle()
        return self.runtime("check", "--json", "--bundle", self.bundle)
