"""Resource limits of a bundle, on real controllers."""

import ctypes
import json
import os
import signal

LOOP0 = "7:0"  # the loop device below the XFS volume: a block device that is surely there


def smallest_container(vm):
    container = vm.container("/bin/true")
    container.resources["memory"] = {"limit": 524288}
    container.resources["pids"] = {"limit": 1}
    container.resources["unified"] = {"memory.max": "524288"}
    return container


def test_the_default_bundle_runs_in_512_kib_of_memory_and_with_one_process(vm):
    smallest_container(vm).run().must_succeed()


def test_the_default_bundle_is_created_and_started_in_512_kib_and_nothing_is_refused(vm):
    container = smallest_container(vm)
    container.create().must_succeed()
    cgroup = container.cgroup()
    assert (cgroup.read("memory.max"), cgroup.read("pids.max")) == ("524288", "1")
    container.start().must_succeed()
    container.wait_until_stopped()
    assert cgroup.count("memory.events", "oom_kill") == 0
    assert cgroup.count("pids.events", "max") == 0
    container.delete().must_succeed()


def test_limits_of_the_bundle_stand_in_the_cgroup_of_the_container(vm):
    container = vm.container("/bin/sleep", "1000")
    container.config["linux"]["cgroupsPath"] = f"/{vm.name('path')}"
    container.resources["memory"] = {"limit": 64 << 20, "swap": 96 << 20}
    container.resources["pids"] = {"limit": 17}
    container.resources["cpu"] = {"quota": 30000, "period": 90000, "cpus": "1", "mems": "0"}
    container.resources["unified"] = {"memory.high": str(48 << 20), "cpu.weight": "250"}
    container.launch()
    cgroup = container.cgroup()

    assert container.config["linux"]["cgroupsPath"] in cgroup.path, cgroup.path
    expected = {
        "memory.max": str(64 << 20),
        "memory.swap.max": str(32 << 20),  # the bundle's swap is memory and swap together
        "memory.high": str(48 << 20),
        "pids.max": "17",
        "cpu.max": "30000 90000",
        "cpu.weight": "250",
        "cpuset.cpus": "1",
        "cpuset.mems": "0",
    }
    found = {name: cgroup.read(name) for name in expected}
    assert found == expected, found


def test_the_container_sees_its_own_limits_at_sys_fs_cgroup(vm):
    container = vm.container("/bin/cat", "/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/pids.max")
    container.resources["memory"] = {"limit": 32 << 20}
    container.resources["pids"] = {"limit": 9}
    container.run().must_print(f"{32 << 20}\n9\n")


def test_cpus_of_the_bundle_are_the_only_ones_the_payload_has(vm):
    container = vm.container("/bin/nproc")
    container.resources["cpu"] = {"cpus": "1"}
    container.run().must_print("1\n")


def test_run_says_137_when_its_payload_is_out_of_memory(vm):
    container = vm.container("/bin/dd", "if=/dev/zero", "of=/dev/null", "bs=200M", "count=1")
    container.resources["memory"] = {"limit": 16 << 20}
    result = container.run()
    assert result.rc == 137, result


def test_an_out_of_memory_kill_is_counted_until_delete(vm):
    container = vm.container("/bin/dd", "if=/dev/zero", "of=/dev/null", "bs=200M", "count=1")
    container.resources["memory"] = {"limit": 16 << 20}
    container.create().must_succeed()
    cgroup = container.cgroup()
    container.start().must_succeed()
    container.wait_until_stopped()
    assert cgroup.count("memory.events", "oom_kill") >= 1
    container.delete().must_succeed()
    assert not cgroup.exists()


def test_what_exec_runs_counts_against_the_limits_of_the_container(vm):
    container = vm.container("/bin/sleep", "1000")
    container.resources["memory"] = {"limit": 16 << 20}
    container.launch()
    result = container.exec("/bin/dd", "if=/dev/zero", "of=/dev/null", "bs=200M", "count=1")
    assert result.rc == 137, result
    assert container.state()["status"] == "running"


def test_a_payload_cannot_have_more_processes_than_its_limit(vm):
    container = vm.container("/bin/sh", "-c", "for i in 1 2 3 4 5 6 7 8; do sleep 1000 & done; echo all started")
    container.resources["pids"] = {"limit": 4}
    result = container.run()
    assert "all started" not in result.stdout, result
    assert "fork" in result.stderr, result


def test_exec_into_a_container_without_room_for_a_process_fails_and_leaves_it_running(vm):
    container = vm.container("/bin/sleep", "1000")
    container.resources["pids"] = {"limit": 1}
    container.launch()
    container.exec("/bin/true").must_fail()
    assert container.state()["status"] == "running"
    assert len(container.cgroup().processes()) == 1


def test_exec_needs_room_for_one_process_only_also_where_it_takes_an_usher(vm):
    container = vm.container("/bin/sleep", "1000")
    container.add_capabilities("CAP_SYS_PTRACE")
    container.resources["pids"] = {"limit": 2}
    container.launch()
    for _ in range(20):
        container.exec("/bin/cat", "/proc/self/cgroup").must_print("0::/\n")
    assert container.cgroup().read("pids.current") == "1"
    container.exec("/bin/sh", "-c", "true | true; echo survived").must_fail()  # its own fork is one too many
    assert len(container.cgroup().processes()) == 1


ALL_CHILDREN = 0x40000000  # waitpid(2), __WALL


def ptrace(request, pid, data):
    call = ctypes.CDLL(None).ptrace
    call.argtypes = [ctypes.c_long] * 4
    call(request, pid, 0, data)


def traced(argv):
    """Starts ARGV. All that it makes stops where it begins, and ends with us."""
    trace_me, set_options, fork_clone_exitkill = 0, 0x4200, 0x2 | 0x8 | 0x100000
    first = os.fork()
    if first == 0:
        ptrace(trace_me, 0, 0)
        os.execv(argv[0], argv)
    os.waitpid(first, 0)
    ptrace(set_options, first, fork_clone_exitkill)
    go_on(first, signal.SIGTRAP)
    return first


def go_on(pid, stop):
    ptrace(7, pid, 0 if stop in (signal.SIGTRAP, signal.SIGSTOP) else stop)  # PTRACE_CONT


def cgroups_at_birth(*argv):
    """Runs ARGV to its end, and returns what /proc/PID/cgroup says of each process that it makes before that one's first instruction."""
    first = traced(argv)
    known, cgroups = {first}, []
    while first in known:
        pid, status = os.waitpid(-1, ALL_CHILDREN)
        if not os.WIFSTOPPED(status):
            known.discard(pid)
            continue
        if pid not in known:
            known.add(pid)
            with open(f"/proc/{pid}/cgroup") as file:
                cgroups.append(file.read())
        go_on(pid, os.WSTOPSIG(status))
    return cgroups


def test_what_exec_makes_is_in_the_cgroup_from_its_birth_on_also_with_room_for_one(vm):
    """Who may trace it could fork from it elsewhere: a process without the limits and device rules of the container."""
    container = vm.container("/bin/sleep", "1000")
    container.add_capabilities("CAP_SYS_PTRACE")
    container.resources["pids"] = {"limit": 2}
    container.launch()
    with open(f"/proc/{container.state()['pid']}/cgroup") as file:
        ours = file.read()
    assert cgroups_at_birth(vm.runtime_path, "exec", container.id, "/bin/true") == [ours, ours]
    assert container.cgroup().read("pids.max") == "2"


def kill_at_second_birth(*argv):
    """Kills what ARGV runs when it has made its second process, before that one's first instruction."""
    first = traced(argv)
    known, ended = [first], set()
    while len(known) < 3:
        pid, status = os.waitpid(-1, ALL_CHILDREN)
        if pid not in known:
            known.append(pid)
        if not os.WIFSTOPPED(status):
            ended.add(pid)
        elif len(known) < 3:
            go_on(pid, os.WSTOPSIG(status))
    assert first not in ended
    for pid in set(known) - ended:
        os.kill(pid, signal.SIGKILL)
        while os.WIFSTOPPED(os.waitpid(pid, ALL_CHILDREN)[1]):
            pass


def test_a_runtime_that_is_killed_while_it_makes_room_leaves_no_room(vm):
    container = vm.container("/bin/sleep", "1000")
    container.add_capabilities("CAP_SYS_PTRACE")
    container.resources["pids"] = {"limit": 2}
    container.launch()
    limit = lambda: container.cgroup().read("pids.max")  # noqa: E731

    def kill_with_room():
        for _ in range(20):  # who made the process may have gone on before it is seen
            kill_at_second_birth(vm.runtime_path, "exec", container.id, "/bin/true")
            if limit() == "3":
                return
            assert limit() == "2"
        raise AssertionError("the moment that is meant never came")

    kill_with_room()
    container.exec("/bin/true").must_succeed()
    assert limit() == "2"

    kill_with_room()
    vm.runtime("pause", container.id).must_succeed()
    assert limit() == "2"
    vm.runtime("resume", container.id).must_succeed()

    kill_with_room()
    container.cgroup().write("pids.max", "7")
    container.exec("/bin/true").must_succeed()
    assert limit() == "7"  # somebody else's word


def test_exec_with_an_usher_fails_without_room_for_a_process(vm):
    container = vm.container("/bin/sleep", "1000")
    container.add_capabilities("CAP_SYS_PTRACE")
    container.resources["pids"] = {"limit": 1}
    container.launch()
    container.exec("/bin/true").must_fail()
    assert len(container.cgroup().processes()) == 1


def test_a_cgroup_file_that_does_not_exist_fails_the_launch_and_leaves_nothing(vm):
    container = vm.container("/bin/true")
    container.resources["unified"] = {"bogus.max": "1"}
    container.run().must_fail()  # the driver looks for what is left


def device_container(vm, script):
    container = vm.container("/bin/sh", "-c", f"mknod /blk b {LOOP0.replace(':', ' ')} && {script}")
    container.config["root"]["readonly"] = False
    container.add_capabilities("CAP_MKNOD")
    return container


def test_a_block_device_that_the_payload_makes_cannot_be_opened_but_null_can(vm):
    container = device_container(vm, "echo x >/dev/null && dd if=/dev/zero of=/dev/null bs=1 count=1 && dd if=/blk of=/dev/null count=1")
    result = container.run().must_fail()
    assert result.stderr.count("records out") == 1 and "Operation not permitted" in result.stderr, result
    # The very node can be read outside: it is the device program that refuses, not the node or its mount.
    with open(f"{container.root}/blk", "rb") as file:
        assert len(file.read(512)) == 512


def test_a_device_rule_allows_exactly_the_access_it_names(vm):
    container = device_container(vm, "dd if=/blk of=/dev/null count=1 && ! dd if=/dev/zero of=/blk count=0 conv=notrunc")
    major, minor = map(int, LOOP0.split(":"))
    container.resources["devices"] = [
        {"allow": False, "access": "rwm"},
        {"allow": True, "type": "b", "major": major, "minor": minor, "access": "rm"},
    ]
    result = container.run().must_succeed()
    assert "Operation not permitted" in result.stderr, result


def test_twenty_containers_at_once_each_keep_their_own_limit(vm):
    containers = [vm.container("/bin/sleep", "1000") for _ in range(20)]
    for number, container in enumerate(containers):
        container.resources["pids"] = {"limit": 10 + number}
    for process in [container.spawn_create() for container in containers]:
        process.wait().must_succeed()
    for process in [container.spawn("start") for container in containers]:
        process.wait().must_succeed()
    cgroups = [container.cgroup() for container in containers]
    limits = [cgroup.read("pids.max") for cgroup in cgroups]
    assert limits == [str(limit) for limit in range(10, 30)], limits
    for process in [container.spawn("delete", "--force") for container in containers]:
        process.wait().must_succeed()
    assert not any(os.path.exists(cgroup.path) for cgroup in cgroups)


def swap_of(vm, memory):
    container = vm.container("/bin/sleep", "1000")
    container.resources["memory"] = memory
    container.create().must_succeed()
    found = container.cgroup().read("memory.swap.max")
    container.delete("--force").must_succeed()
    return found


def test_swap_is_what_is_beyond_the_memory_of_the_bundle(vm):
    mib = 1 << 20
    rows = [
        ({"limit": 64 * mib, "swap": 96 * mib}, str(32 * mib)),
        ({"limit": 64 * mib, "swap": 64 * mib}, "0"),
        ({"limit": 64 * mib, "swap": -1}, "max"),
        ({"limit": 64 * mib}, "max"),
        ({"limit": -1, "swap": 32 * mib}, str(32 * mib)),
        ({"limit": -1, "swap": -1}, "max"),
        ({"swap": 0}, "0"),
    ]
    for memory, expected in rows:
        found = swap_of(vm, memory)
        assert found == expected, f"{memory}: {found} instead of {expected}"


def test_every_resource_has_its_file(vm):
    container = vm.container("/bin/sleep", "1000")
    loop1 = {"major": 7, "minor": 1}
    loop0 = {"major": 7, "minor": 0}
    container.resources.update({
        "memory": {"limit": 64 << 20, "reservation": 16 << 20},
        "cpu": {"shares": 2048, "quota": 30000, "period": 90000, "burst": 20000},
        "pids": {"limit": 0},
        "hugepageLimits": [{"pageSize": "2MB", "limit": 4 << 20}],
        "blockIO": {
            "weight": 505,
            "throttleReadBpsDevice": [{**loop0, "rate": 1 << 20}, {**loop1, "rate": 2 << 20}],
            "throttleWriteBpsDevice": [{**loop0, "rate": 3 << 20}],
            "throttleReadIOPSDevice": [{**loop0, "rate": 400}],
            "throttleWriteIOPSDevice": [{**loop0, "rate": 500}],
        },
        "unified": {"memory.high": str(48 << 20), "pids.max": "30", "memory.oom.group": "1"},
    })
    container.create().must_succeed()
    cgroup = container.cgroup()
    expected = {
        "memory.max": str(64 << 20), "memory.low": str(16 << 20), "memory.high": str(48 << 20), "memory.oom.group": "1",
        "cpu.max": "30000 90000", "cpu.max.burst": "20000", "pids.max": "30",
        "hugetlb.2MB.max": str(4 << 20), "hugetlb.2MB.rsvd.max": str(4 << 20),
    }
    found = {name: cgroup.read(name) for name in expected}
    assert found == expected, found
    throttles = set(cgroup.read("io.max").splitlines())
    assert f"{LOOP0} rbps={1 << 20} wbps={3 << 20} riops=400 wiops=500" in throttles, throttles
    assert f"7:1 rbps={2 << 20} wbps=max riops=max wiops=max" in throttles, throttles
    if os.path.exists(f"{cgroup.path}/io.bfq.weight"):
        assert cgroup.read("io.bfq.weight").splitlines()[0] in ("505", "default 505")
    else:
        assert cgroup.read("io.weight").splitlines()[0] == f"default {1 + (505 - 10) * 9999 // 990}"
    assert int(cgroup.read("cpu.weight")) > 100


def test_what_a_container_may_have_of_an_rdma_device(vm):
    """A device of software only, on a network device of none (rxe(7))."""
    vm.run(["ip", "link", "add", "rdma-under", "type", "dummy"]).must_succeed()
    vm.on_end(lambda: vm.run(["ip", "link", "delete", "rdma-under"]).must_succeed())
    vm.run(["rdma", "link", "add", "soft0", "type", "rxe", "netdev", "rdma-under"]).must_succeed()  # goes with what it is on
    container = vm.container("/bin/sleep", "1000")
    container.resources["rdma"] = {"soft0": {"hcaHandles": 3, "hcaObjects": 10000}}
    container.launch()
    limits = lambda: container.cgroup().read("rdma.max").split()  # noqa: E731  the kernel ends a line with a blank
    assert limits() == ["soft0", "hca_handle=3", "hca_object=10000"], limits()
    with open(f"{container.bundle}/update.json", "w") as file:
        json.dump({"rdma": {"soft0": {"hcaObjects": 7}}}, file)
    vm.runtime("update", "--resources", f"{container.bundle}/update.json", container.id).must_succeed()
    assert limits() == ["soft0", "hca_handle=3", "hca_object=7"], limits()
    # A limit that outlives its cgroup is written to when the device goes (kernel/cgroup/rdma.c of 6.1, free_cg_rpool_locked()).
    container.cgroup().write("rdma.max", "soft0 hca_handle=max hca_object=max")
    container.delete("--force").must_succeed()

    container = vm.container("/bin/true")
    container.resources["rdma"] = {"soft0": {"hcaObjects": 5}, "nowhere0": {"hcaHandles": 1}}
    result = container.run().must_fail()
    assert 'linux.resources.rdma["nowhere0"]' in result.stderr, result


def test_an_idle_group_has_no_weight_and_the_bundle_is_told(vm):
    container = vm.container("/bin/true")
    container.resources["cpu"] = {"idle": 1, "shares": 512}
    result = container.run()
    result.must_succeed()
    assert "cpu.shares" in result.stderr, result
    container = vm.container("/bin/sleep", "1000")
    container.resources["cpu"] = {"idle": 0, "shares": 512}
    container.create().must_succeed()
    assert container.cgroup().read("cpu.idle") == "0"


def test_a_resource_that_this_host_does_not_have_is_refused_by_its_field(vm):
    rows = [
        ({"rdma": {"mlx5_1": {"hcaHandles": 3, "hcaObjects": 10000}}}, 'linux.resources.rdma["mlx5_1"]'),
        ({"unified": {"misc.max": "nothing 5"}}, 'linux.resources.unified["misc.max"]'),
        ({"hugepageLimits": [{"pageSize": "16GB", "limit": 5}]}, "linux.resources.hugepageLimits[0]"),
        ({"blockIO": {"throttleReadBpsDevice": [{"major": 250, "minor": 9, "rate": 5}]}}, "linux.resources.blockIO.throttleReadBpsDevice[0]"),
        ({"memory": {"swappiness": 60}}, "linux.resources.memory.swappiness"),
    ]
    for resources, field in rows:
        container = vm.container("/bin/true")
        container.resources.update(resources)
        result = container.run()
        assert result.rc == 1 and field in result.stderr, result


def test_no_limit_is_written_where_it_takes_one_back(vm):
    container = vm.container("/bin/sleep", "1000")
    parent = vm.cgroup()
    container.config["linux"]["cgroupsPath"] = f"{parent.path[len('/sys/fs/cgroup'):]}/own"
    os.mkdir(f"{parent.path}/own")
    parent.write("cgroup.subtree_control", "+memory +pids")
    for name, value in ("memory.max", 64 << 20), ("pids.max", 9):
        with open(f"{parent.path}/own/{name}", "w") as file:
            file.write(str(value))
    container.resources.update({"memory": {"limit": -1}, "pids": {"limit": -1}})
    container.create().must_succeed()
    cgroup = container.cgroup()
    assert (cgroup.read("memory.max"), cgroup.read("pids.max")) == ("max", "max")


def test_a_limit_too_low_to_start_is_told_by_its_field(vm):
    container = vm.container("/bin/true")
    container.resources["memory"] = {"limit": 65536}
    result = container.run().must_fail()
    assert "linux.resources.memory.limit" in result.stderr, result


def test_no_process_at_all_is_the_one_that_there_is(vm):
    """As everywhere: who wants a container wants its process; systemd takes no 0 at all."""
    container = vm.container("/bin/sleep", "1000")
    container.resources["pids"] = {"limit": 0}
    assert container.launch().cgroup().read("pids.max") == "1"


def test_swap_of_the_bundle_is_memory_and_swap_together(vm):
    container = vm.container("/bin/sleep", "1000")
    container.resources["memory"] = {"limit": 64 << 20, "swap": 64 << 20}
    assert container.launch().cgroup().read("memory.swap.max") == "0"


def test_a_period_without_a_quota_is_no_limit(vm):
    container = vm.container("/bin/sleep", "1000")
    container.resources["cpu"] = {"quota": -1, "period": 90000}
    assert container.launch().cgroup().read("cpu.max") == "max 90000"
