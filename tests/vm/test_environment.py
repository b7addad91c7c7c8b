"""The guest has what the other tests take for granted. No runtime is involved: a failure here is one of the guest, not of the product."""

import errno
import os

import cgroup
import xfs


def test_the_controllers_that_limits_need_are_enabled_below_the_root(_vm):
    enabled = cgroup.Cgroup(cgroup.ROOT).read("cgroup.subtree_control").split()
    missing = {"cpu", "memory", "pids", "io", "cpuset"} - set(enabled)
    assert not missing, f"missing: {missing}"


def test_there_are_two_cpus(_vm):
    assert os.sched_getaffinity(0) == {0, 1}


def test_root_has_every_capability_that_the_kernel_knows(_vm):
    with open("/proc/sys/kernel/cap_last_cap") as file:
        full = (1 << (int(file.read()) + 1)) - 1
    with open("/proc/self/status") as file:
        effective = next(int(line.split()[1], 16) for line in file if line.startswith("CapEff:"))
    assert effective == full, f"{effective:x} is not {full:x}"


def test_apparmor_and_landlock_are_active(_vm):
    with open("/sys/kernel/security/lsm") as file:
        active = file.read().split(",")
    assert "landlock" in active, active
    assert "apparmor" in active, active
    with open("/sys/module/apparmor/parameters/enabled") as file:
        assert file.read() == "Y\n"


def test_an_xfs_project_takes_no_byte_more_than_its_hard_limit(vm):
    limit = 8 << 20
    directory = f"{xfs.ROOT}/{vm.name('project')}"
    xfs.make_project(vm, directory, 4711, limit)
    vm.on_end(os.rmdir, directory)
    path = f"{directory}/file"
    vm.on_end(os.unlink, path)

    written = 0
    fd = os.open(path, os.O_WRONLY | os.O_CREAT)
    try:
        while written < 20 << 20:
            written += os.write(fd, bytes(64 << 10))
        raise AssertionError("20 MiB went into a project of 8 MiB")
    except OSError as error:
        assert error.errno == errno.ENOSPC, error
    finally:
        os.close(fd)
    assert limit - (1 << 20) <= written <= limit, written


def test_an_unprivileged_user_can_make_a_user_namespace(vm):
    result = vm.run(["unshare", "--user", "--map-root-user", "id", "-u"], user=65534, group=65534, extra_groups=[])
    result.must_print("0\n")


def test_loopback_is_up_and_devices_can_be_made_and_opened(vm):
    with open("/sys/class/net/lo/flags") as file:
        assert int(file.read(), 16) & 1, "lo is down"
    node = f"{vm.temporary_directory()}/null"
    os.mknod(node, 0o20666, os.makedev(1, 3))
    with open(node, "wb") as file:
        file.write(b"x")


def test_a_process_left_behind_by_its_parent_is_reaped(vm):
    # Process 1 is a shell that waits for the driver, and has to reap what containers orphan, or every leak check would see zombies.
    pid = int(vm.run(["sh", "-c", "sleep 0 >/dev/null & echo $!"]).must_succeed().stdout)
    vm.wait_until(lambda: not os.path.exists(f"/proc/{pid}"), f"process {pid} reaped")
