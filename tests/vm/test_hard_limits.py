"""The specification's acceptance test of hard limits (tests/security/hard-limits), with all that it asks an administrator for."""

import os
import shutil

import sandbox
import xfs

SUITE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../security/hard-limits")


def test_every_one_of_the_acceptance_test_holds(vm):
    root = vm.cgroup()
    root.write("cgroup.subtree_control", "+cpu +memory +pids")
    workspace = f"{xfs.ROOT}/{vm.name('acceptance')}"
    xfs.make_project(vm, workspace, 4900, 8 << 20, 2048)
    vm.on_end(shutil.rmtree, workspace)
    os.chown(workspace, sandbox.UID, sandbox.GID)
    variables = {"CGROUP_ROOT": root.path, "QUOTA_MOUNT": xfs.ROOT, "QUOTA_WORKSPACE": workspace, "EXECUTION_UID": sandbox.UID,
                 "EXECUTION_GID": sandbox.GID, "PATIENCE": 60}
    environment = dict(os.environ, **{f"SAGE_TEST_{name}": str(value) for name, value in variables.items()})
    result = vm.run([SUITE, vm.build], 250, env=environment)
    results = [line for line in result.stdout.splitlines() if "ok " in line]
    assert result.rc == 0 and len(results) == 12 and all(line.startswith("ok ") for line in results), result
    skipped = [line for line in vm.run([SUITE, vm.build]).must_succeed().stdout.splitlines() if "ok " in line]
    reason = "# SKIP vm: hard limits: every one of the acceptance test holds"  # which run-tests looks for
    assert len(skipped) == 12 and all(line.startswith("ok ") and line.endswith(reason) for line in skipped), skipped


test_every_one_of_the_acceptance_test_holds.timeout = 280
