"""The container's cgroup where controllers are real: made along its path, read back, given up without a trace."""

import os

import cgroup

PAGE = os.sysconf("SC_PAGE_SIZE")


def container_at(vm, path):
    container = vm.container("/bin/sleep", "1000")
    container.config["linux"]["cgroupsPath"] = path
    return container


def test_controllers_are_enabled_from_the_root_down_to_a_new_nested_path(vm):
    top = vm.name("top")
    container = container_at(vm, f"/{top}/middle/leaf")
    container.resources["memory"] = {"limit": 64 << 20}
    container.resources["pids"] = {"limit": 9}
    container.launch()
    assert container.cgroup().path.endswith(f"/{top}/middle/leaf"), container.cgroup().path
    assert (container.cgroup().read("memory.max"), container.cgroup().read("pids.max")) == (str(64 << 20), "9")
    container.delete("--force").must_succeed()
    assert not os.path.exists(f"{cgroup.ROOT}/{top}")


def test_a_memory_limit_between_two_pages_is_taken_and_rounded_down(vm):
    container = container_at(vm, f"/{vm.name('rounded')}")
    container.resources["memory"] = {"limit": (64 << 20) + 5}
    container.launch()
    assert container.cgroup().read("memory.max") == str((64 << 20) // PAGE * PAGE)


def test_a_limit_that_the_kernel_refuses_leaves_no_cgroup_and_names_its_field(vm):
    before = cgroup.all_paths()
    for name, value in ("bogus.max", "1"), ("memory.max", "lots"), ("pids.max", "-7"):
        container = container_at(vm, f"/{vm.name('refused')}/below")
        container.resources["unified"] = {name: value}
        result = container.create()
        assert result.rc == 1, result
        assert "linux.resources.unified" in result.stderr, result
        assert cgroup.all_paths() == before


def test_a_parent_that_holds_processes_and_so_cannot_hand_out_controllers_is_named(vm):
    parent = vm.cgroup()
    sleeper = vm.spawn(["sleep", "1000"])
    parent.write("cgroup.procs", sleeper.popen.pid)
    for field, limits in ("memory.limit", {"memory": {"limit": 64 << 20}}), ("pids.limit", {"pids": {"limit": 9}}):
        container = container_at(vm, parent.path[len(cgroup.ROOT):] + "/below")
        container.resources.update(limits)
        result = container.create()
        assert result.rc == 1, result
        assert f"linux.resources.{field}" in result.stderr and "holds processes" in result.stderr, result
    assert parent.read("cgroup.type") == "domain" and parent.read("cgroup.subtree_control") == ""


def test_an_existing_cgroup_of_somebody_else_is_used_and_left(vm):
    own = vm.cgroup()
    container = container_at(vm, own.path[len(cgroup.ROOT):])
    container.resources["pids"] = {"limit": 9}
    container.launch()
    assert own.read("pids.max") == "9"
    container.delete("--force").must_succeed()
    assert own.exists() and not own.processes()


def test_cgroups_that_the_payload_made_are_removed_with_its_own(vm):
    container = container_at(vm, f"/{vm.name('nested')}")
    container.launch()
    path = container.cgroup().path
    for below in "a", "a/b", "a/b/c", "d":
        os.mkdir(f"{path}/{below}")
    container.delete("--force").must_succeed()
    assert not os.path.exists(path)


def test_exec_follows_the_payload_into_a_cgroup_below_when_the_container_has_split_its_own(vm):
    container = container_at(vm, f"/{vm.name('split')}")
    container.launch()
    path = container.cgroup().path
    os.mkdir(f"{path}/payload")
    own, below = cgroup.Cgroup(path), cgroup.Cgroup(f"{path}/payload")
    below.write("cgroup.procs", container.state()["pid"])
    own.write("cgroup.subtree_control", "+pids")  # from now on it may hold no processes
    container.exec("/bin/grep", "^0::/payload$", "/proc/self/cgroup").must_succeed()
    result = vm.runtime("exec", "--cgroup", "/", container.id, "/bin/true")
    assert result.rc == 255 and "busy" in result.stderr, result
    container.delete("--force").must_succeed()
    assert not os.path.exists(path)


def test_a_delegated_cgroup_lies_below_the_limits_and_can_be_split(vm):
    container = container_at(vm, f"/{vm.name('delegated')}")
    container.config["annotations"] = {"run.oci.delegate-cgroup": "own"}
    container.resources["pids"] = {"limit": 9}
    container.launch()
    path = container.cgroup().path
    assert path.endswith("/own"), path
    above = cgroup.Cgroup(path[:-len("/own")])
    assert above.read("pids.max") == "9"
    above.write("cgroup.subtree_control", "+pids")
    container.exec("/bin/grep", "^0::/own$", "/proc/self/cgroup").must_succeed()
    container.delete("--force").must_succeed()
    assert not above.exists()


def test_only_devices_of_the_rules_can_be_opened(vm):
    script = "for n in 1 7; do mknod /tmp/$n c 1 $n && dd if=/tmp/$n of=/dev/null bs=1 count=1 2>/dev/null; echo $?; done"
    container = vm.container("/bin/sh", "-c", script)
    container.add_capabilities("CAP_MKNOD", "CAP_DAC_OVERRIDE")
    container.config["root"]["readonly"] = False
    container.run().must_print("1\n0\n")  # /dev/mem may be made but not read, /dev/full both
