"""Scheduling, CPUs and memory nodes together with the cgroup controllers for them."""

import json
import os

MS = 1000000


def policy(pid):
    """Nice value, real-time priority and policy: fields 19, 40 and 41 of proc_pid_stat(5)."""
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rpartition(")")[2].split()
    return tuple(int(fields[n - 3]) for n in (19, 40, 41))


def cpus(pid):
    with open(f"/proc/{pid}/status") as file:
        return next(line.split()[1] for line in file if line.startswith("Cpus_allowed_list:"))


def process_file(vm, container, **members):
    path = f"{container.bundle}/process.json"
    with open(path, "w") as file:
        json.dump({"cwd": "/", "args": ["/bin/grep", "Cpus_allowed_list", "/proc/self/status"], **members}, file)
    return path


def exec_process(vm, container, **members):
    return vm.runtime("exec", "--process", process_file(vm, container, **members), container.id)


def deadline(container):
    container.config["process"]["scheduler"] = {"policy": "SCHED_DEADLINE", "runtime": 20 * MS, "deadline": 200 * MS, "period": 200 * MS}


def test_a_deadline_policy_is_set_before_the_cpuset_makes_that_impossible(vm):
    container = vm.container("/bin/sleep", "100")
    deadline(container)
    container.resources["cpu"] = {"cpus": "1"}
    container.launch()
    pid = container.state()["pid"]
    assert policy(pid)[2] == 6, policy(pid)
    assert cpus(pid) == "1", cpus(pid)


def test_an_exec_into_a_cgroup_with_fewer_cpus_cannot_have_a_deadline_policy(vm):
    container = vm.container("/bin/sleep", "100")
    container.resources["cpu"] = {"cpus": "1"}
    container.launch()
    scheduler = {"policy": "SCHED_DEADLINE", "runtime": 20 * MS, "deadline": 200 * MS}
    failed = exec_process(vm, container, scheduler=scheduler)
    failed.must_fail()
    assert "process.scheduler" in failed.stderr and "cpuset.cpus" in failed.stderr, failed.stderr
    exec_process(vm, container, scheduler={"policy": "SCHED_RR", "priority": 3}).must_print("Cpus_allowed_list:\t1\n")


def test_real_time_policies_are_had_with_every_controller_on(vm):
    container = vm.container("/bin/sleep", "100")
    container.config["process"]["scheduler"] = {"policy": "SCHED_FIFO", "priority": 42}
    container.resources["cpu"] = {"quota": 50000, "period": 100000}
    container.launch()
    assert policy(container.state()["pid"]) == (0, 42, 1)


def test_a_pinned_runtime_gives_a_container_the_cpus_of_its_cgroup(vm):
    container = vm.container("/bin/sleep", "100")
    container.resources["cpu"] = {"cpus": "0-1"}
    os.sched_setaffinity(0, {0})
    try:
        container.launch()
        assert cpus(container.state()["pid"]) == "0-1"
        exec_process(vm, container).must_print("Cpus_allowed_list:\t0-1\n")
    finally:
        os.sched_setaffinity(0, {0, 1})


def test_an_exec_gets_the_cpus_it_asks_for(vm):
    container = vm.container("/bin/sleep", "100").launch()
    for affinity, wanted in (({}, "0-1"), ({"final": "1"}, "1"), ({"initial": "0", "final": "1"}, "1"),
                             ({"initial": "0,1,5000", "final": "1-2000"}, "1")):
        exec_process(vm, container, execCPUAffinity=affinity).must_print(f"Cpus_allowed_list:\t{wanted}\n")
    # Without a final one the kernel decides: before 6.2 a change of the cpuset takes the mask away.
    result = exec_process(vm, container, execCPUAffinity={"initial": "0"}).must_succeed()
    assert result.stdout.split()[1] in ("0", "0-1"), result


def test_an_initial_cpu_outside_of_the_cpuset_gives_way_to_it(vm):
    container = vm.container("/bin/sleep", "100")
    container.resources["cpu"] = {"cpus": "1"}
    container.launch()
    exec_process(vm, container, execCPUAffinity={"initial": "0"}).must_print("Cpus_allowed_list:\t1\n")
    failed = exec_process(vm, container, execCPUAffinity={"final": "0"})
    failed.must_fail()
    assert "process.execCPUAffinity.final" in failed.stderr, failed.stderr


def test_a_memory_policy_and_a_cpuset_of_nodes_go_together(vm):
    container = vm.container("/bin/sleep", "100")
    container.config["linux"]["memoryPolicy"] = {"mode": "MPOL_BIND", "nodes": "0", "flags": ["MPOL_F_STATIC_NODES"]}
    container.resources["cpu"] = {"mems": "0"}
    container.launch()
    with open(f"/proc/{container.state()['pid']}/numa_maps") as file:
        assert file.readline().split()[1] == "bind=static:0"


def test_a_class_of_service_without_resctrl_is_refused(vm):
    container = vm.container("/bin/true")
    container.config["linux"]["intelRdt"] = {"closID": "gold", "l3CacheSchema": "L3:0=f"}
    failed = container.run()
    failed.must_fail()
    assert "rdt.missing" in failed.stderr, failed.stderr
