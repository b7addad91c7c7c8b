"""What a test leaves behind in the guest: cgroups, mounts and processes that were not there before it."""

import os
import signal
import subprocess
import time

import cgroup


def processes():
    """Every process but kernel threads (children of process 2) as (pid, start time): pids are used again."""
    found = {}
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            with open(f"/proc/{entry}/stat") as file:
                text = file.read()
        except OSError:
            continue
        # proc_pid_stat(5): the name stands in parentheses and may hold anything; after it state, ppid, … and starttime as field 22.
        fields = text[text.rindex(")") + 2:].split()
        if entry != "2" and fields[1] != "2":
            found[(int(entry), fields[19])] = text[:text.rindex(")") + 1]
    return found


def mounts():
    """Mount points by mount id, of the driver's mount namespace."""
    with open("/proc/self/mountinfo") as file:
        return {line.split()[0]: line.split()[4] for line in file}


def files(*directories):
    """All paths below these directories."""
    return {os.path.join(path, name) for top in directories for path, inner, names in os.walk(top) for name in inner + names}


class Snapshot:
    def __init__(self):
        self.cgroups = cgroup.all_paths()
        self.mounts = mounts()
        self.processes = processes()

    def added_since(self):
        """Sentences about what there is now and was not then."""
        now = Snapshot()
        return ([f"cgroup {path}" for path in sorted(now.cgroups - self.cgroups)] +
                [f"mount on {now.mounts[key]}" for key in sorted(now.mounts.keys() - self.mounts.keys())] +
                [f"process {now.processes[key]}" for key in sorted(now.processes.keys() - self.processes.keys())])

    def wait_until_same(self, timeout=15):
        """The kernel and process 1 need a moment to take away what has ended. Returns what is still there then."""
        deadline = time.monotonic() + timeout
        while True:
            added = self.added_since()
            if not added or time.monotonic() > deadline:
                return added
            time.sleep(0.05)

    def sweep(self):
        """Removes what was added, so that one failing test does not take others along."""
        for path in sorted(cgroup.all_paths() - self.cgroups):
            cgroup.Cgroup(path).remove()
        for pid, _ in processes().keys() - self.processes.keys():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        now = mounts()
        for key in sorted(now.keys() - self.mounts.keys(), key=int, reverse=True):
            subprocess.run(["/bin/busybox", "umount", "-l", now[key]], check=False)
