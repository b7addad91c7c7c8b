"""What a test gets as its one argument: vm, a Guest. All that it makes through it is gone when the test has ended."""

import collections
import os
import shutil
import signal
import subprocess
import time

import cgroup
import container

# Processes that are started and ended here are slow to come and go: nothing below is a measurement, only an end to waiting.
PATIENCE = 60


class Skip(Exception):
    """Raised by vm.skip()."""


class Result(collections.namedtuple("Result", "argv rc stdout stderr")):
    def must_succeed(self):
        assert self.rc == 0, self
        return self

    def must_fail(self):
        assert self.rc != 0, self
        return self

    def must_print(self, stdout):
        self.must_succeed()
        assert self.stdout == stdout, f"expected on stdout: {stdout!r}\n{self}"

    def __str__(self):
        return f"{' '.join(self.argv)}\nexit status {self.rc}\nstdout: {self.stdout}\nstderr: {self.stderr}"


class Process:
    """A command under way. Its output goes to files: a container keeps the streams it was made with, and a pipe would never end."""

    def __init__(self, argv, directory, **popen):
        self.argv = [str(word) for word in argv]
        self.directory = directory
        with open(f"{directory}/stdout", "wb") as stdout, open(f"{directory}/stderr", "wb") as stderr:
            self.popen = subprocess.Popen(self.argv, stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr,
                                          start_new_session=True, **popen)

    def wait(self, timeout=PATIENCE):
        """Its Result; a command ended by a signal has rc -signal."""
        try:
            rc = self.popen.wait(timeout)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"did not end within {timeout} s: {Result(self.argv, None, *self.output())}") from None
        return Result(self.argv, rc, *self.output())

    def output(self):
        texts = []
        for name in "stdout", "stderr":
            with open(f"{self.directory}/{name}", errors="backslashreplace") as file:
                texts.append(file.read())
        return texts

    def kill(self):
        if self.popen.poll() is None:
            os.killpg(self.popen.pid, signal.SIGKILL)
            self.popen.wait()


class Guest:
    runtime_path = os.environ.get("SAGE_RUNTIME", "")

    def __init__(self, directory, build):
        self.directory = directory
        self.build = build
        self.undo = []
        self.made = 0
        os.makedirs(directory)
        self.on_end(shutil.rmtree, directory)

    def on_end(self, function, *arguments):
        """To be called when the test has ended, however; the last one first."""
        self.undo.append((function, arguments))

    def close(self):
        """Undoes everything and returns the errors met on the way."""
        errors = []
        while self.undo:
            function, arguments = self.undo.pop()
            try:
                function(*arguments)
            except Exception as error:
                errors.append(f"{function.__qualname__}: {error}")
        return errors

    def skip(self, reason):
        raise Skip(reason)

    def name(self, prefix):
        """A name that no other thing of this boot has."""
        self.made += 1
        return f"{prefix}-{os.path.basename(self.directory)}-{self.made}"

    def temporary_directory(self):
        """A new empty directory on tmpfs."""
        path = f"{self.directory}/{self.name('directory')}"
        os.mkdir(path)
        return path

    def spawn(self, argv, **popen):
        """Starts a command; returns a Process to wait() for."""
        process = Process(argv, self.temporary_directory(), **popen)
        self.on_end(process.kill)
        return process

    def run(self, argv, timeout=PATIENCE, **popen):
        """Runs a command to its end: a Result with rc, stdout and stderr."""
        return self.spawn(argv, **popen).wait(timeout)

    def runtime(self, *arguments, timeout=PATIENCE, **popen):
        """Runs the runtime under test with these arguments."""
        return self.run([self.runtime_path, *arguments], timeout, **popen)

    def wait_until(self, condition, what, timeout=PATIENCE):
        """Polls until condition() is true."""
        deadline = time.monotonic() + timeout
        while not condition():
            assert time.monotonic() < deadline, f"waited {timeout} s in vain for: {what}"
            time.sleep(0.05)

    def cgroup(self):
        """A new cgroup below the root, every controller enabled in it."""
        made = cgroup.Cgroup(f"{cgroup.ROOT}/{self.name('test')}")
        os.mkdir(made.path)
        self.on_end(made.remove)
        return made

    def container(self, *args):
        """A Container that is to run ARGS in a busybox root: the bundle that `spec` writes, terminal false, its config open to changes."""
        return container.Container(self, args)
