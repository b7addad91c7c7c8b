"""Every row of the tables of what is let through and what is not (cases/): against the broker, and against one without judgement.

A case that the broker without judgement passes as well shows nothing. What is refused must be let through by the lax one, in one way or
another, and what is let through must be refused by the one that is shut (wrong.c); of policies likewise, by one that loads anything and one
that loads nothing."""

import contextlib
import glob

import addresses
import cases
from world import *


@contextlib.contextmanager
def wrong_broker(how):
    program, right = os.environ["SAGE_EGRESS_PROGRAMS"] + "/tests/egress/wrong-broker", os.environ["SAGE_EGRESS_BROKER"]
    if not os.path.exists(program):
        raise AssertionError("make tests/egress/wrong-broker (make check-egress does)")
    os.environ.update(SAGE_EGRESS_BROKER=program, WRONG=how)
    try:
        yield
    finally:
        os.environ["SAGE_EGRESS_BROKER"] = right
        del os.environ["WRONG"]


@contextlib.contextmanager
def row_of(seconds=PATIENCE):
    row = cases.Row(seconds)
    try:
        yield row
    finally:
        row.close()


def passes(case):
    """Where nobody can be reached at an address, having gone there is enough."""
    words = case.words["expect"].split()
    return words[0] in ("200", "204", "passes", "accepted") or words[-1] == "connect.unreachable"


def check(path):
    _, found, _ = cases.read_row(path)
    with row_of() as row:
        for case in found:
            row.run(case)


# A program that does not work at all would fail every case, too.
CONTROL = {
    "lax": cases.Case("control", "lax", {"expect": "200"}), "shut": cases.Case("control", "shut", {"expect": "403 policy.mode"}),
    "closed": cases.Case("control", "closed", {"members": "{}", "expect": "refused WRONG"}),
}  # fmt: skip


def check_that_it_can_fail(path):
    _, found, _ = cases.read_row(path)
    same = []
    for how, passing in (("lax", False), ("closed" if cases.is_about_a_policy(found[0]) else "shut", True)):
        with wrong_broker(how), row_of() as row:
            row.run(CONTROL[how])
            row.seconds = 0.3 # no answer is an outcome, too
            for case in found:
                if passes(case) != passing:
                    continue
                try:
                    row.run(case)
                except (AssertionError, OSError):
                    continue
                same.append(f"{case}: the same without judgement")
    assert not same, "\n".join(same)


def held_elsewhere(name):
    """NAME is one of the other tests, "FILE: what it says"; its file is read, not run. Or one of tests/unit, "unit FILE: what it says", or a
    row of cases/."""
    file, colon, what = name.partition(": ")
    if not colon:
        if not glob.glob(os.path.join(cases.FOLDER, f"{name}.case")) and not os.path.exists(os.path.join(cases.FOLDER, name)):
            raise AssertionError(f"no such row: {name}")
        return
    if file.startswith("unit "):
        with open(os.path.join(cases.FOLDER, f"../../unit/test_{file[5:]}.c"), encoding="utf-8") as source:
            if f"static void {what.replace(' ', '_')}(void **state)" not in source.read():
                raise AssertionError(f"no such test: {name}")
        return
    with open(os.path.join(os.path.dirname(cases.FOLDER), f"test_{file}.py"), encoding="utf-8") as source:
        if f"def test_{what.replace(' ', '_')}(" not in source.read():
            raise AssertionError(f"no such test: {name}")


def add(name, function, *arguments):
    globals()[f"test_{name}".replace("/", " ").replace("-", " ").replace(" ", "_")] = lambda: function(*arguments)


for _path in cases.rows():
    _name = os.path.relpath(_path, cases.FOLDER)[:-5]
    _title, _cases, _elsewhere = cases.read_row(_path)
    if _cases:
        add(_name, check, _path)
        add(f"can fail {_name}", check_that_it_can_fail, _path)


def test_every_row_has_a_title_and_cases_or_a_test_that_holds_it():
    for path in cases.rows():
        title, found, elsewhere = cases.read_row(path)
        assert title and (found or elsewhere), path
        assert all("expect" in case.words for case in found), path
        for name in elsewhere:
            held_elsewhere(name)


def test_every_sentence_and_every_report_has_what_holds_it():
    for path in sorted(glob.glob(os.path.join(cases.FOLDER, "*.list"))):
        if path.endswith("addresses.list"):
            continue
        found, subject = {}, None
        with open(path, encoding="utf-8") as file:
            for line in map(str.rstrip, file):
                if line.startswith("    "):
                    found[subject].append(line.strip())
                elif line and not line.startswith("#"):
                    subject = line
                    found[subject] = []
        assert len(found) > 20, path
        for subject, holders in found.items():
            assert holders, subject
            for name in holders:
                if not name.startswith("elsewhere: "):
                    held_elsewhere(name)


def test_addresses_are_classed_as_the_table_says():
    addresses.check()


def test_can_fail_addresses():
    for how in ("lax", "shut"):
        with wrong_broker(how):
            addresses.check_that_all_differ(passing=how == "shut")
