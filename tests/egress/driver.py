"""Finds the tests (functions test_… of test_….py), runs them one after the other, prints TAP."""

import argparse
import glob
import importlib.util
import os
import re
import subprocess
import sys
import tempfile
import time
import traceback

HOSTS = "127.0.0.1 localhost local.test other.test sub.wild.test a_b.wild.test\n"


class Skip(Exception):
    """The reason, in the words of tests/cli/README.md."""


def prepare(scratch):
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    hosts = os.path.join(scratch, "hosts")
    with open(hosts, "w", encoding="ascii") as file:
        file.write(HOSTS)
    subprocess.run(["mount", "--bind", hosts, "/etc/hosts"], check=True)


def find_tests(pattern):
    here = os.path.dirname(os.path.abspath(__file__))
    for path in sorted(glob.glob(os.path.join(here, "test_*.py"))):
        name = os.path.basename(path)[:-3]
        spec = importlib.util.spec_from_file_location(name, path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        for key, value in vars(module).items():
            text = f"{name[5:]}: {key[5:].replace('_', ' ')}"
            if key.startswith("test_") and callable(value) and re.search(pattern, text):
                yield text, value


def run(function):
    """How it went, as TAP has it, and what there is to say."""
    try:
        function()
        return "ok", "", ""
    except Skip as skip:
        return "ok", f" # skip {skip}", ""
    except Exception:  # pylint: disable=broad-except
        return "not ok", "", traceback.format_exc()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("-f", "--filter", default="")
    arguments = parser.parse_args()
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    sys.modules["driver"] = sys.modules["__main__"]
    failed = 0
    with tempfile.TemporaryDirectory() as scratch:
        prepare(scratch)
        os.chdir(scratch)
        tests = list(find_tests(arguments.filter))
        print(f"1..{len(tests)}", flush=True)
        for number, (name, function) in enumerate(tests, 1):
            started = time.monotonic()
            result, skip, said = run(function)
            failed += result != "ok"
            print(f"{result} {number} - {name}{skip} # {time.monotonic() - started:.2f} s" if not skip else f"{result} {number} - {name}{skip}")
            print("".join(f"# {line}\n" for line in said.splitlines()), end="", flush=True)
        os.chdir("/")
    return 1 if failed or not tests else 0


sys.exit(main())
