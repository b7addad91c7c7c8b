"""What the payload filter refuses, tried where root has every capability and files have quota projects (tests/security/escape)."""

import os
import shutil

import sandbox


def escape(vm):
    return f"{vm.build}/tests/security/escape/escape"


def test_what_the_payload_filter_refuses_only_it_refuses(vm):
    output = vm.spawn([escape(vm)]).wait(200).must_succeed().stdout
    assert output.count("\nok ") > 200 and "\nnot ok " not in output, output
    lines = output.splitlines()
    changes_the_project = next(i for i, line in enumerate(lines) if line.endswith("ioctl(FS_IOC_FSSETXATTR)"))
    # Else a note tells how it ended without a filter.
    assert not lines[changes_the_project + 1].startswith("#"), lines[changes_the_project + 1]


test_what_the_payload_filter_refuses_only_it_refuses.timeout = 250


def test_a_strict_sandbox_with_a_quota_refuses_all_of_it(vm):
    box = sandbox.Sandbox(vm, ["/workspace/escape", "strict-none"])
    shutil.copy(escape(vm), f"{box.workspace}/escape")
    os.chown(f"{box.workspace}/escape", sandbox.UID, sandbox.GID)
    output = box.spawn_run().wait(200).must_succeed().stdout
    assert output.count("\nok ") > 180 and "\nnot ok " not in output, output


test_a_strict_sandbox_with_a_quota_refuses_all_of_it.timeout = 250
