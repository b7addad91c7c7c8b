"""`sandbox`, `spec --sandbox` and `gc` where limits are hard."""

import json
import os
import signal

import cgroup
import sandbox
import xfs

MIB = 1 << 20


def hard(box, *options):
    """`sandbox` of BOX's workspace, cgroup and volume; commands run as the workspace's owner."""
    return [box.runtime_path, *options, "sandbox", "--id", box.id, "--workspace", box.workspace, "--cgroup-root", box.cgroup_root.path,
            "--quota-mount", xfs.ROOT, "--disk-mb", "8", "--memory-mb", "64", "--max-processes", "16", "--cpu-percent", "50"]


def nothing_is_left(box):
    assert box.id not in os.listdir(box.cgroup_root.path)
    assert not [name for name in os.listdir(box.workspace) if name.startswith(".sage")], os.listdir(box.workspace)
    assert not os.path.exists(f"{xfs.ROOT}/.sage") or not os.listdir(f"{xfs.ROOT}/.sage")


def test_one_command_has_hard_limits_and_a_record_of_them(vm):
    box = sandbox.Sandbox(vm, ())
    record = f"{vm.temporary_directory()}/record"
    script = "cat /sys/fs/cgroup/memory.max /sys/fs/cgroup/pids.max; id -u; dd if=/dev/zero of=big bs=1M count=20 2>/dev/null || echo full"
    result = vm.run([*hard(box), "--result", record, "--", "sh", "-c", script], 90).must_succeed()
    assert result.stdout == f"{64 * MIB}\n16\n{sandbox.UID}\nfull\n", result
    assert "limits: cpu hard, memory hard, disk hard, processes hard" in result.stderr, result
    with open(record) as file:
        found = json.load(file)
    assert set(found["limits"].values()) == {"hard"}, found
    assert found["outcome"] in ("exited", "quota_exceeded") and found["disk"]["limit_bytes"] == 8 * MIB, found
    assert found["memory_peak_bytes"] > 0 and found["processes_left"] == 0, found
    nothing_is_left(box)


def test_limits_that_do_not_hold_are_refused_before_anything_is_made(vm):
    box = sandbox.Sandbox(vm, (), disk=16 * MIB)
    result = vm.run([*hard(box, "--log-format", "json"), "--", "true"], 90)
    assert result.rc == 125, result
    error = json.loads(result.stderr.splitlines()[-1])
    assert error["code"] == "sandbox.resource_limits_unsupported" and error["effect"] == "not_applied", error
    assert error["missing_limits"] == ["disk"], error
    nothing_is_left(box)


def test_a_memory_hog_ends_as_what_it_was(vm):
    box = sandbox.Sandbox(vm, ())
    record = f"{vm.temporary_directory()}/record"
    eat = "chunks = []\nwhile True: chunks.append(bytearray(1 << 20))"
    result = vm.run([*hard(box), "--quiet", "--result", record, "--", "python3", "-c", eat], 90)
    assert result.rc == 137, result
    with open(record) as file:
        assert json.load(file)["outcome"] == "oom_killed"
    nothing_is_left(box)


def test_what_a_killed_runtime_leaves_of_a_sandbox_gc_takes(vm):
    box = sandbox.Sandbox(vm, ())
    running = vm.spawn([*hard(box), "--quiet", "--", "sh", "-c", "echo up; sleep 1000"])
    vm.wait_until(lambda: "up" in running.output()[0], "it runs")
    assert box.id in os.listdir(box.cgroup_root.path)
    running.popen.send_signal(signal.SIGKILL)
    running.popen.wait()
    path = f"{box.cgroup_root.path}/{box.id}"
    vm.wait_until(lambda: not os.path.isdir(path) or "populated 0" in cgroup.Cgroup(path).read("cgroup.events"), "all of it has ended")
    result = box.runtime("gc").must_succeed()
    assert f"{box.id}: its process has ended\n" in result.stdout, result
    assert f"the bundle of {box.id}: its runtime was killed\n" in result.stdout, result
    nothing_is_left(box)
    box.runtime("gc").must_print("")


def test_equal_limits_may_be_sent_again_and_others_change_nothing(vm):
    box = sandbox.Sandbox(vm, ())
    box.sage.update({"resources.memory_mb": "64", "resources.max_processes": "16", "resources.cpu_percent": "50"})
    del box.config["process"]["args"]
    box.launch()
    state = box.state()
    assert state["sage"]["fingerprint"].startswith("sha256:") and set(state["sage"]["limits"].values()) == {"hard"}, state
    box.runtime("update", "--memory", str(64 * MIB), "--memory-swap", str(64 * MIB), "--pids-limit", "16", "--cpu-quota", "25000",
                "--cpu-period", "50000", box.id).must_succeed()
    for option, value in ("--memory", str(65 * MIB)), ("--memory", "-1"), ("--pids-limit", "17"), ("--cpu-quota", "60000"):
        result = box.runtime("--log-format", "json", "update", option, value, box.id).must_fail()
        assert json.loads(result.stderr)["code"] == "sandbox.invalid_state", result
    group = cgroup.Cgroup(f"{box.cgroup_root.path}/{box.id}")
    assert [group.read(name) for name in ("memory.max", "pids.max", "cpu.max")] == [str(64 * MIB), "16", "50000 100000"]
    box.runtime("update", "--cpu-share", "2048", box.id).must_succeed()
