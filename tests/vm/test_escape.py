"""What the payload filter refuses, tried where root has every capability and files have quota projects (tests/security/escape)."""


def try_all(vm):
    return vm.spawn([f"{vm.build}/tests/security/escape/escape"]).wait(200).must_succeed().stdout


def test_what_the_payload_filter_refuses_only_it_refuses(vm):
    output = try_all(vm)
    assert output.count("\nok ") > 200 and "\nnot ok " not in output, output
    lines = output.splitlines()
    changes_the_project = next(i for i, line in enumerate(lines) if line.endswith("ioctl(FS_IOC_FSSETXATTR)"))
    # Else a note tells how it ended without a filter.
    assert not lines[changes_the_project + 1].startswith("#"), lines[changes_the_project + 1]


test_what_the_payload_filter_refuses_only_it_refuses.timeout = 250
