"""The place where sage-runtime and its peers meet: a tree of Debian sid with crun, runc and bwrap in it, entered without a trace.

tree()    makes that tree once, in a cache directory
Ground    a private mount namespace with the tree as its root, and a sub-cgroup of its own; commands run in it
bundles() the bundles that everybody is given
RUNTIMES  how each of them is called
"""
import contextlib
import copy
import ctypes
import fcntl
import json
import os
import platform
import shutil
import signal
import subprocess
import sys
import tempfile
import time

CGROUP_PREFIX = "sage-bench."
HERE = os.path.dirname(os.path.realpath(__file__))
PACKAGES = ("crun", "runc", "bubblewrap", "busybox-static", "strace")
COMPARED = {"crun": "1.28"}  # what the aims of the project were set against


class Failed(Exception):
    """A run that did not succeed, or a machine that cannot be measured on; the text is for a person."""


# ---- the tree -------------------------------------------------------------------------------------------------------------


def cache_directory():
    return os.environ.get("SAGE_BENCH_CACHE") or os.path.join(os.environ.get("XDG_CACHE_HOME") or "/var/cache", "sage-runtime-bench")


def tree():
    """The directory of the sid tree. It appears by a rename when it is whole, so an interrupted run leaves nothing that looks like it."""
    cache = cache_directory()
    done, unfinished = os.path.join(cache, "sid"), os.path.join(cache, "sid.unfinished")
    os.makedirs(cache, exist_ok=True)
    with open(os.path.join(cache, "lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # a second bench waits for the first one's tree
        if os.path.isdir(done):
            return done
        if not shutil.which("debootstrap"):
            raise Failed("debootstrap is missing: apt-get install debootstrap")
        print(f"making a tree of Debian sid in {done} (once)", file=sys.stderr)
        shutil.rmtree(unfinished, ignore_errors=True)
        with open(os.path.join(cache, "debootstrap.log"), "w") as log:
            # Namespaces of its own: what it mounts goes with it; killed with this process, all of it is, not just a shell.
            subprocess.run(
                ["unshare", "--mount", "--propagation", "private", "--pid", "--fork", "--kill-child", "--mount-proc",
                 "debootstrap", "--variant=minbase", "--include=" + ",".join(PACKAGES), "sid", unfinished],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, check=False, preexec_fn=die_with_parent)  # fmt: skip
        missing = [name for name in ("crun", "runc", "bwrap", "busybox", "strace") if not find_program(unfinished, name)]
        if missing or not os.path.isdir(os.path.join(unfinished, "proc")):
            raise Failed(f"debootstrap did not make {', '.join(missing) or 'the tree'}: see {log.name}")
        os.rename(unfinished, done)
    return done


def find_program(root, name):
    for directory in ("usr/bin", "usr/sbin", "bin", "sbin"):
        if os.path.isfile(os.path.join(root, directory, name)):
            return "/" + os.path.join(directory, name)
    return None


def versions(root):
    """Package versions in the tree, as dpkg there knows them."""
    found = {}
    with open(os.path.join(root, "var/lib/dpkg/status"), encoding="utf-8") as status:
        for line in status:
            key, _, value = line.rstrip("\n").partition(": ")
            if key == "Package":
                package = value
            elif key == "Version" and package in PACKAGES:
                found[package] = value
    return found


# ---- our own programs ------------------------------------------------------------------------------------------------------


def program(name, build, scratch):
    """The static program NAME: from the build directory when there is one, else compiled here with the same flags."""
    if build and os.path.exists(os.path.join(build, "Makefile")):
        subprocess.run(["make", "-s", "-C", build, f"tests/bench/{name}"], stdout=subprocess.DEVNULL, check=True)
        return os.path.join(build, "tests/bench", name)
    output = os.path.join(scratch, name)
    command = [os.environ.get("CC", "cc"), "-std=gnu17", "-O2", "-static", "-o", output, os.path.join(HERE, name + ".c")]
    if subprocess.run(command, check=False).returncode != 0:
        raise Failed(f"cannot compile {name}.c")
    return output


# ---- the ground --------------------------------------------------------------------------------------------------------------

# Enters the cgroup first, so that it is the root of the new cgroup namespace, then makes the tree the root of a mount namespace that
# nothing leaves. The tree itself is read-only; what runs in it writes to /run, /tmp and /var/cache. pivot_root rather than chroot: the
# kernel refuses user namespaces, and bwrap its work, to a chrooted process. The shell stays as the namespace's holder.
ENTER = r"""
set -eu
echo 0 > "$2/cgroup.procs"
exec unshare --mount --cgroup --propagation private sh -euc '
    mount --bind "$1" "$1"
    cd "$1"
    mount -o remount,bind,ro .
    mount --rbind /dev dev
    mount -t proc proc proc
    mount -t sysfs sysfs sys
    mount -t cgroup2 cgroup2 sys/fs/cgroup
    for directory in run tmp var/cache; do mount -t tmpfs tmpfs "$directory"; done
    pivot_root . mnt
    cd /
    umount -l /mnt
    echo ready
    exec sleep infinity
' sh "$1"
"""

# A command joins the cgroup, then the holder's namespaces.
JOIN = 'echo 0 > "$1/cgroup.procs"; holder=$2; shift 2; exec nsenter --target "$holder" --mount --cgroup -- "$@"'


def own_cgroup():
    """Where this process stands in the cgroup2 tree, as a directory."""
    with open("/proc/self/cgroup", encoding="ascii") as lines:
        path = next((line.split(":", 2)[2].strip() for line in lines if line.startswith("0::")), None)
    with open("/proc/self/mountinfo", encoding="utf-8") as lines:
        for line in lines:
            fields = line.split()
            if path and "cgroup2" in fields[fields.index("-") + 1 :][:1]:
                return fields[4] + path.rstrip("/")
    raise Failed("no cgroup2 file system is mounted here")


def cgroups_below(top):
    return [directory for directory, _, _ in os.walk(top)]


def remove_cgroup(top):
    """Kills what is in a cgroup and below it, and removes it."""
    for _ in range(200):
        with contextlib.suppress(OSError), open(os.path.join(top, "cgroup.kill"), "w", encoding="ascii") as kill:
            kill.write("1")
        for directory in reversed(cgroups_below(top)):
            with contextlib.suppress(OSError):
                os.rmdir(directory)
        if not os.path.isdir(top):
            return
        time.sleep(0.05)
    print(f"warning: cannot remove {top}", file=sys.stderr)


class Ground(contextlib.AbstractContextManager):
    """Entered with `with`; on the way out everything that still runs in it is killed, and its cgroup is removed."""

    def __init__(self, root):
        self.root = root
        # Two levels: a cgroup namespace's root one level down still shows files of the machine's root cgroup.
        self.top = os.path.join(own_cgroup(), f"{CGROUP_PREFIX}{os.getpid()}")
        self.cgroup = os.path.join(self.top, "ground")
        self.holder = None

    def __enter__(self):
        if os.geteuid() != 0:
            raise Failed("this needs root: namespaces, mounts and cgroups are what is measured")
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that __exit__ runs
        for name in os.listdir(os.path.dirname(self.top)):  # of a bench that was killed
            if name.startswith(CGROUP_PREFIX) and not os.path.exists("/proc/" + name[len(CGROUP_PREFIX) :]):
                remove_cgroup(os.path.join(os.path.dirname(self.top), name))
        try:
            os.makedirs(self.cgroup)
            self.holder = subprocess.Popen(
                ["sh", "-c", ENTER, "sh", self.root, self.cgroup], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                preexec_fn=die_with_parent)  # fmt: skip
            if self.holder.stdout.readline() != "ready\n":
                raise Failed("cannot enter the tree")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        if self.holder:
            self.holder.kill()
            self.holder.wait()
            self.holder.stdout.close()
        remove_cgroup(self.top)

    def path(self, inside):
        """A path of the ground as this process sees it."""
        return f"/proc/{self.holder.pid}/root{inside}"

    def install(self, source, inside, mode=0o755):
        os.makedirs(os.path.dirname(self.path(inside)), exist_ok=True)
        shutil.copyfile(source, self.path(inside))
        os.chmod(self.path(inside), mode)

    def run(self, *command, stdin="", stdout=subprocess.DEVNULL):
        """Runs a command in the ground; a failure raises Failed with what it said."""
        with tempfile.TemporaryFile("w+") as given:
            given.write(stdin)
            given.seek(0)
            done = subprocess.run(
                ["sh", "-euc", JOIN, "sh", self.cgroup, str(self.holder.pid), *command], stdin=given, stdout=stdout, stderr=subprocess.PIPE,
                env={"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}, text=True, check=False,
                preexec_fn=die_with_parent)  # fmt: skip
        if done.returncode != 0:
            raise Failed(done.stderr.strip() or f"{command[0]}: exit status {done.returncode}")

    def time(self, plan, rounds, workers=1):
        """Carries out a plan of timer.c; returns its samples in order: (name, nanoseconds, KiB)."""
        text = "".join("\t".join(line) + "\n" for line in plan)
        with tempfile.TemporaryFile("w+") as samples:
            os.set_inheritable(samples.fileno(), True)
            fcntl.fcntl(samples, fcntl.F_SETFL, os.O_APPEND)  # workers share it
            self.run("/run/bench/timer", "-n", str(rounds), "-j", str(workers), stdin=text, stdout=samples)
            samples.seek(0)
            rows = [line.rstrip("\n").split("\t") for line in samples]
        return [(name, int(nanoseconds), int(kib)) for name, nanoseconds, kib in rows]


def die_with_parent():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG: nothing goes on when a bench was killed


# ---- bundles -------------------------------------------------------------------------------------------------------------------


def docker_seccomp():
    """Docker's default profile for a container without added capabilities: what decides its size, not its text."""
    with open(os.path.join(HERE, "docker-seccomp.names"), encoding="ascii") as lines:
        names = [name for line in lines if not line.startswith("#") for name in line.split()]
    architectures = {
        "x86_64": ["SCMP_ARCH_X86_64", "SCMP_ARCH_X86", "SCMP_ARCH_X32"],
        "aarch64": ["SCMP_ARCH_AARCH64", "SCMP_ARCH_ARM"],
    }

    def allow(name, value, operator, value_two=0):
        argument = {"index": 0, "value": value, "valueTwo": value_two, "op": operator}
        return {"names": [name], "action": "SCMP_ACT_ALLOW", "args": [argument]}

    return {
        "defaultAction": "SCMP_ACT_ERRNO",
        "defaultErrnoRet": 1,
        "architectures": architectures[platform.machine()],
        "syscalls": [
            {"names": names, "action": "SCMP_ACT_ALLOW"},
            *(allow("personality", value, "SCMP_CMP_EQ") for value in (0, 8, 0x20000, 0x20008, 0xFFFFFFFF)),
            allow("socket", 40, "SCMP_CMP_NE"),  # AF_VSOCK reaches the host around every network namespace
            allow("clone", 0x7E020000, "SCMP_CMP_MASKED_EQ"),  # the CLONE_NEW… flags
            {"names": ["clone3"], "action": "SCMP_ACT_ERRNO", "errnoRet": 38},  # its flags cannot be seen; ENOSYS makes libcs use clone
        ],
    }


def bundles(ground):
    """Writes the image and the bundles /run/bench/{true,live,small,seccomp}."""
    with open(os.path.join(HERE, "config.json"), encoding="utf-8") as file:
        config = json.load(file)
    live, small, seccomp = copy.deepcopy(config), copy.deepcopy(config), copy.deepcopy(config)
    live["process"]["args"] = ["/bin/sleep", "1000"]
    small["process"]["args"] = ["/bin/nothing"]
    seccomp["linux"]["seccomp"] = docker_seccomp()

    for directory in ("bin", "proc", "dev", "sys"):
        os.makedirs(ground.path(f"/run/bench/rootfs/{directory}"))
    busybox = find_program(ground.root, "busybox")
    for name in ("busybox", "true", "sleep"):
        ground.install(ground.root + busybox, f"/run/bench/rootfs/bin/{name}")
    for name, value in (("true", config), ("live", live), ("small", small), ("seccomp", seccomp)):
        os.makedirs(ground.path(f"/run/bench/{name}"))
        with open(ground.path(f"/run/bench/{name}/config.json"), "w", encoding="utf-8") as file:
            json.dump(value, file)


# ---- who is compared -------------------------------------------------------------------------------------------------------------

# All are run from one tmpfs: from the read-only tree crun would skip the copy of itself that it makes wherever a container could write to
# its file, as it can where crun is installed, and its libraries are the same in both.
FILTER = "/run/bench/filter"
RUNTIMES = {"sage": "/run/bench/sage-runtime", "crun": "/run/bench/crun", "runc": "/run/bench/runc"}


def call(runtime, command, *arguments):
    """The command line of an OCI command; every runtime has a state directory of its own."""
    return [RUNTIMES[runtime], "--root", state_directory(runtime), command, *arguments]


def state_directory(runtime):
    return f"/run/state/{runtime}"


def forget_caches(runtime):
    """The command that removes whatever a runtime may have kept from earlier runs: its state directory and directories of its name."""
    name = {"sage": "sage-runtime"}.get(runtime, runtime)
    return ["rm", "-rf", state_directory(runtime), f"/run/{name}", f"/var/cache/{name}", f"/tmp/{name}"]


def take_filter(ground):
    """Has sage-runtime compile the profile and keeps the program at FILTER, for the floor. False for a runtime that leaves none."""
    bundle, place = "/run/bench/seccomp", state_directory("sage")
    try:
        # The container keeps the standard streams that `create` had, and run() waits for the end of its pipe.
        ground.run("sh", "-c", 'exec "$@" 2>/dev/null', "sh", *call("sage", "create", "--bundle", bundle, "take-filter"))
        ground.run("cp", f"{place}/take-filter/filter", FILTER)
    except Failed:
        return False
    finally:
        with contextlib.suppress(Failed):
            ground.run(*call("sage", "delete", "--force", "take-filter"))
    return True


def bwrap(payload):
    """bwrap with the namespaces and mounts of the bundle. It has no cgroup, device program or masks to make, and so less to do."""
    return ["/run/bench/bwrap", "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup",
            "--hostname", "bench", "--ro-bind", "/run/bench/rootfs", "/", "--proc", "/proc", "--dev", "/dev",
            "--tmpfs", "/dev/shm", "--mqueue", "/dev/mqueue", "--ro-bind", "/sys", "/sys", "--chdir", "/", payload]  # fmt: skip


def prepare(ground, runtime_path, build, scratch):
    """Everything that has to be in the ground before the first run."""
    if not os.access(runtime_path, os.X_OK):
        raise Failed(f"{runtime_path}: no such program; give --runtime PATH or set BUILDDIR")
    bundles(ground)
    for name, place in (("timer", "/run/bench"), ("floor", "/run/bench"), ("nothing", "/run/bench/rootfs/bin")):
        ground.install(program(name, build, scratch), f"{place}/{name}")
    for name in ("crun", "runc", "bwrap"):
        ground.install(ground.root + find_program(ground.root, name), f"/run/bench/{name}")
    ground.install(runtime_path, RUNTIMES["sage"])
    for runtime in RUNTIMES:
        os.makedirs(ground.path(state_directory(runtime)), mode=0o700)
