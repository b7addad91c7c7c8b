"""driver.py SOURCE BUILD PATTERN [units]: runs the vm tests one after another inside the guest.

Tests are the functions test_* of the files test_*.py beside this one, and the programs in BUILD/tests/vm, one for each *.c file here.
Results go to the console and to /out/results.tap as they come, in TAP (testanything.org), so that a guest that dies half-way has said
what it did. The plan comes first: what is never reached is a failure to whoever reads it. With `units`, each unit test program of BUILD is
one test more: for a machine that cannot run them itself.
"""

import fnmatch
import glob
import importlib
import os
import signal
import sys
import time
import traceback

import guest
import residue

RESULTS = "/out/results.tap"
CURRENT = "/out/current"

# Seconds that one test may take, on a machine that may be shared by many. A function's attribute `timeout` overrides it.
TIMEOUT = 100
CLEAN_UP_TIMEOUT = 60

# How long what a passed test made may take to vanish.
RESIDUE_TIMEOUT = 15

# What a program's exit status says beside success and failure, as in automake.
PROGRAM_SKIPS = 77


class TimedOut(BaseException):
    """Not an Exception, so that no test catches it by accident."""


def on_alarm(_signal, _frame):
    raise TimedOut


class Test:
    def __init__(self, group, name, function):
        self.name = f"{group}: {name.replace('_', ' ')}"
        self.function = function
        self.timeout = getattr(function, "timeout", TIMEOUT)


class Report:
    def __init__(self, planned):
        self.file = open(RESULTS, "w")
        self.number = 0
        self.failed = 0
        self.say(f"1..{planned}")

    def say(self, line):
        print(line, flush=True)
        print(line, file=self.file, flush=True)

    def result(self, test, failure, skipped, seconds):
        self.number += 1
        self.failed += failure is not None
        verdict = "ok" if failure is None else "not ok"
        end = f" # SKIP {skipped}" if skipped is not None else f" # {seconds:.1f} s"
        self.say(f"{verdict} {self.number} - {test.name}{end}")
        for line in (failure or "").splitlines():
            self.say(f"#   {line}")


def program_function(path):
    def run_program(vm):
        assert os.access(path, os.X_OK), f"{path} is not built"
        result = vm.run([path], TIMEOUT)
        if result.rc == PROGRAM_SKIPS:
            vm.skip(result.stderr.strip() or result.stdout.strip())
        result.must_succeed()
    return run_program


def is_program(path):
    with open(path, "rb") as file:
        return os.access(path, os.X_OK) and file.read(4) == b"\x7fELF"


def discover_programs(source, build):
    """Every source file must have its program: one that was forgotten in the build must not vanish silently."""
    here = f"{source}/tests/vm"
    names = {os.path.basename(path)[:-2] for path in glob.glob(f"{here}/*.c")}
    built = glob.glob(f"{build}/tests/vm/*")
    names |= {os.path.basename(path) for path in built if os.path.isfile(path) and "." not in path[len(build):] and is_program(path)}
    return [Test("program", name, program_function(f"{build}/tests/vm/{name}")) for name in sorted(names)]


def unit_function(source, build, path):
    def run_unit(vm):
        environment = dict(os.environ, srcdir=source, CMOCKA_MESSAGE_OUTPUT="TAP")
        result = vm.run([path], TIMEOUT, cwd=build, env=environment).must_succeed()
        assert "# SKIP" not in result.stdout, result
    return run_unit


def discover_units(source, build):
    paths = sorted(glob.glob(f"{build}/tests/unit/test_*"))
    tests = [Test("unit", os.path.basename(path), unit_function(source, build, path)) for path in paths
             if os.path.isfile(path) and is_program(path)]
    return tests or [Test("unit", "programs_are_built", failing_function(f"none in {build}/tests/unit"))]


def failing_function(text):
    def fail(_vm):
        raise AssertionError(text)
    return fail


def discover_functions(source):
    tests = []
    for path in sorted(glob.glob(f"{source}/tests/vm/test_*.py")):
        name = os.path.basename(path)[:-3]
        group = name[len("test_"):].replace("_", " ")
        try:
            module = importlib.import_module(name)
        except Exception:
            tests.append(Test(group, "can_be_loaded", failing_function(traceback.format_exc())))
            continue
        # vars() keeps the order of definition: a file's first tests are those that its later ones build upon.
        tests += [Test(group, key[len("test_"):], value) for key, value in vars(module).items()
                  if key.startswith("test_") and callable(value)]
    return tests


def limited(seconds, function, *arguments):
    signal.alarm(seconds)
    try:
        return function(*arguments)
    finally:
        signal.alarm(0)


def describe(error):
    """The message and the line of the test that it comes from; a whole traceback only for what no test meant to raise."""
    if not isinstance(error, AssertionError):
        return traceback.format_exc()
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if os.path.basename(frame.filename).startswith("test_")]
    place = f"{os.path.basename(frames[-1].filename)}:{frames[-1].lineno}: {frames[-1].line}\n" if frames else ""
    return place + str(error)


def run_test(test, directory, build):
    """Returns (failure, skipped): text or None each."""
    before = residue.Snapshot()
    vm = guest.Guest(directory, build)
    failure = skipped = None
    try:
        limited(test.timeout, test.function, vm)
    except guest.Skip as reason:
        skipped = str(reason)
    except TimedOut:
        failure = f"did not end within {test.timeout} s\n{traceback.format_exc()}"
    except Exception as error:
        failure = describe(error)
    try:
        problems = limited(CLEAN_UP_TIMEOUT, vm.close)
        # What a failed test left is swept away without a word: it has said enough, and waiting for each would eat the boot's time.
        patience = 0 if failure else RESIDUE_TIMEOUT
        residues = limited(CLEAN_UP_TIMEOUT, before.wait_until_same, patience)
        if residues:
            limited(CLEAN_UP_TIMEOUT, before.sweep)
        if not failure:
            problems += [f"left behind: {what}" for what in residues]
    except (Exception, TimedOut):
        problems = [f"cleaning up: {traceback.format_exc()}"]
    if problems:
        failure = "\n".join([failure] * (failure is not None) + problems)
        skipped = None
    return failure, skipped


def main():
    source, build, pattern, *what = sys.argv[1:]
    wanted = f"*{pattern.replace('_', ' ')}*"
    tests = discover_functions(source) + discover_programs(source, build) + (discover_units(source, build) if "units" in what else [])
    tests = [test for test in tests if fnmatch.fnmatchcase(test.name, wanted)]
    signal.signal(signal.SIGALRM, on_alarm)
    report = Report(len(tests))
    for test in tests:
        began = time.monotonic()
        with open(CURRENT, "w") as file:
            print(test.name, file=file)
        failure, skipped = run_test(test, f"/tmp/test{report.number + 1}", build)
        report.result(test, failure, skipped, time.monotonic() - began)
    return 1 if report.failed or not tests else 0


if __name__ == "__main__":
    sys.exit(main())
