"""update: other limits for a container that lives, on real controllers."""

import json

LOOP0 = "7:0"  # the loop device below the XFS volume: a block device that is surely there


def sleeper(vm):
    return vm.container("/bin/sleep", "1000")


def update(container, *options):
    return container.vm.runtime("update", *options, container.id)


def update_by_file(container, resources):
    path = f"{container.bundle}/resources.json"
    with open(path, "w") as file:
        json.dump(resources, file)
    return update(container, "--resources", path)


def read(container, *names):
    cgroup = container.cgroup()
    return {name: cgroup.read(name) for name in names}


def test_every_option_writes_its_file(vm):
    container = sleeper(vm).launch()
    update(
        container,
        *("--memory", "64m", "--memory-swap", "96m", "--memory-reservation", "16m", "--pids-limit", "17"),
        *("--cpu-quota", "30000", "--cpu-period", "90000", "--cpu-burst", "10000", "--cpu-shares", "2048"),
        *("--cpuset-cpus", "1", "--cpuset-mems", "0", "--blkio-weight", "10"),
    ).must_succeed()
    expected = {
        "memory.max": str(64 << 20),
        "memory.swap.max": str(32 << 20),
        "memory.low": str(16 << 20),
        "pids.max": "17",
        "cpu.max": "30000 90000",
        "cpu.max.burst": "10000",
        "cpuset.cpus": "1",
        "cpuset.mems": "0",
    }
    found = read(container, *expected)
    assert found == expected, found
    assert container.cgroup().read("cpu.weight") != "100"


def test_no_limit_is_minus_one(vm):
    container = sleeper(vm)
    container.resources.update({"memory": {"limit": 64 << 20}, "pids": {"limit": 9}, "cpu": {"quota": 30000}})
    container.launch()
    update(container, "--memory", "-1", "--pids-limit", "-1", "--cpu-quota", "-1").must_succeed()
    found = read(container, "memory.max", "pids.max", "cpu.max")
    assert found == {"memory.max": "max", "pids.max": "max", "cpu.max": "max 100000"}, found


def test_an_idle_group_is_made_by_an_option(vm):
    container = sleeper(vm).launch()
    update(container, "--cpu-idle", "1").must_succeed()
    assert container.cgroup().read("cpu.idle") == "1"


def test_a_new_period_keeps_the_quota_and_a_new_quota_the_period(vm):
    container = sleeper(vm)
    container.resources["cpu"] = {"quota": 30000, "period": 90000}
    container.launch()
    update(container, "--cpu-period", "80000").must_succeed()
    assert container.cgroup().read("cpu.max") == "30000 80000"
    update(container, "--cpu-quota", "20000").must_succeed()
    assert container.cgroup().read("cpu.max") == "20000 80000"


def test_burst_and_quota_may_both_go_up_or_down_in_one_update(vm):
    container = sleeper(vm)
    container.resources["cpu"] = {"quota": 30000, "burst": 30000}
    container.launch()
    for value in "20000", "50000", "10000":
        update(container, "--cpu-quota", value, "--cpu-burst", value).must_succeed()
        found = read(container, "cpu.max", "cpu.max.burst")
        assert found == {"cpu.max": f"{value} 100000", "cpu.max.burst": value}, found


def test_a_failing_write_takes_back_those_before_it_and_is_named(vm):
    container = sleeper(vm)
    container.resources.update({"memory": {"limit": 64 << 20}, "cpu": {"quota": 30000, "period": 90000, "cpus": "0-1"}})
    container.launch()
    names = "memory.max", "memory.swap.max", "cpu.max", "cpuset.cpus", "pids.max", "io.max"
    before = read(container, *names)
    result = update_by_file(
        container,
        {
            "memory": {"limit": 32 << 20, "swap": 48 << 20},
            "cpu": {"quota": 20000, "cpus": "1"},
            "pids": {"limit": 9},
            "unified": {"io.max": f"{LOOP0} rbps=1048576", "pids.max": "lots"},
        },
    )
    assert result.rc == 1 and "pids.max" in result.stderr, result
    assert read(container, *names) == before


def test_a_cpu_that_is_not_there_is_refused_by_its_field(vm):
    container = sleeper(vm).launch()
    result = update(container, "--memory", "64m", "--cpuset-cpus", "1000")
    assert result.rc == 1 and "linux.resources.cpu.cpus" in result.stderr, result
    assert container.cgroup().read("memory.max") == "max"


def test_lines_of_a_device_are_set_and_taken_away(vm):
    container = sleeper(vm).launch()
    device = {"major": 7, "minor": 0}
    update_by_file(container, {"blockIO": {"throttleReadBpsDevice": [{**device, "rate": 1 << 20}]}}).must_succeed()
    assert "rbps=1048576" in container.cgroup().read("io.max")
    update_by_file(container, {"blockIO": {"throttleReadBpsDevice": [{**device, "rate": 0}]}}).must_succeed()
    assert "rbps=1048576" not in container.cgroup().read("io.max")


def test_memory_in_use_is_checked_only_when_the_request_or_the_container_says_so(vm):
    container = vm.container("/bin/dd", "if=/dev/zero", "of=/dev/zero", "bs=32M", "count=100000000")
    container.resources["memory"] = {"limit": 128 << 20, "checkBeforeUpdate": True}
    container.launch()
    vm.wait_until(lambda: int(container.cgroup().read("memory.current")) > 24 << 20, "the payload's memory in use")
    result = update(container, "--memory", "8m")
    assert result.rc == 1 and "linux.resources.memory.limit" in result.stderr and "in use" in result.stderr, result
    assert container.cgroup().read("memory.max") == str(128 << 20)


def test_new_limits_hold_for_what_runs_next(vm):
    container = sleeper(vm).launch()
    update(container, "--pids-limit", "1").must_succeed()
    container.exec("/bin/true").must_fail()
    update(container, "--pids-limit", "20").must_succeed()
    container.exec("/bin/true").must_succeed()
    update(container, "--memory", "16m", "--memory-swap", "16m").must_succeed()
    result = container.exec("/bin/dd", "if=/dev/zero", "of=/dev/null", "bs=200M", "count=1")
    assert result.rc == 137, result
