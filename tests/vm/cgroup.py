"""Control groups as tests see them: version 2, mounted at ROOT, every controller enabled at the top."""

import os
import time

ROOT = "/sys/fs/cgroup"


def of_process(pid):
    """The cgroup of a process, as a Cgroup; the tests run in the root cgroup and namespace, so the path in /proc is the whole path."""
    with open(f"/proc/{pid}/cgroup") as file:
        for line in file:
            if line.startswith("0::"):
                return Cgroup(ROOT + line[3:].rstrip("\n"))
    raise AssertionError(f"process {pid} is in no version 2 cgroup")


def all_paths():
    """The paths of all cgroups there are."""
    return {directory for directory, _, _ in os.walk(ROOT)}


class Cgroup:
    def __init__(self, path):
        self.path = path.rstrip("/")

    def exists(self):
        return os.path.isdir(self.path)

    def read(self, name):
        """The content of an interface file without its last newline: cgroup.read("memory.max") == "max"."""
        with open(f"{self.path}/{name}") as file:
            return file.read().rstrip("\n")

    def write(self, name, value):
        with open(f"{self.path}/{name}", "w") as file:
            file.write(str(value))

    def count(self, name, key):
        """One number of a flat-keyed file: cgroup.count("memory.events", "oom_kill")."""
        for line in self.read(name).splitlines():
            found, _, value = line.partition(" ")
            if found == key:
                return int(value)
        raise AssertionError(f"{self.path}/{name} has no {key}")

    def processes(self):
        """The pids in it and below it."""
        pids = []
        for directory, _, _ in os.walk(self.path):
            with open(f"{directory}/cgroup.procs") as file:
                pids += [int(line) for line in file]
        return pids

    def remove(self):
        """Kills what is inside and removes it and all below it; cgroup.kill is asynchronous, so rmdir is tried until it is let."""
        deadline = time.monotonic() + 60
        while self.exists():
            try:
                self.write("cgroup.kill", 1)
                for directory, _, _ in os.walk(self.path, topdown=False):
                    os.rmdir(directory)
            except OSError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.05)
