"""The strict sandbox where its limits are hard: on real controllers, below a cgroup of the host's choice."""

import json
import os
import time

import cgroup
import sandbox
import xfs

MIB = 1 << 20
EAT = "import os, time\nchunks = []\nwhile True: chunks.append(bytearray(1 << 20))"


def sandbox_of(vm, *args, **resources):
    """A Sandbox that runs ARGS, or waits for commands where there are none."""
    box = sandbox.Sandbox(vm, args)
    for name, value in {"cpu_percent": 100, "memory_mb": 128, "max_processes": 32, **resources}.items():
        box.sage[f"resources.{name}"] = str(value)
    box.sage["process.max_processes"] = "200"
    if not args:
        del box.config["process"]["args"]
    return box


def group(box, leaf=None):
    path = f"{box.cgroup_root.path}/{box.id}"
    return cgroup.Cgroup(f"{path}/{leaf}" if leaf else path)


def leaves(box):
    path = group(box).path
    return sorted(name for name in os.listdir(path) if os.path.isdir(f"{path}/{name}"))


def leaf_of(box, execution):
    """The leaf of an exec under way; of one that has ended, but for its command, too."""
    return group(box, f"exec-{execution.popen.pid}")


def spawn_exec(box, *args):
    return box.vm.spawn([box.runtime_path, "exec", box.id, *args])


def test_limits_stand_in_the_sandbox_and_in_each_leaf(vm):
    box = sandbox_of(vm, "/bin/sleep", "1000", cpu_percent=50, memory_mb=96, max_processes=17).launch()
    limits = {"cpu.max": "50000 100000", "memory.max": str(96 * MIB), "memory.swap.max": "0", "pids.max": "17"}
    command = spawn_exec(box, "sh", "-c", "echo up; sleep 1000")
    vm.wait_until(lambda: "up" in command.output()[0], "the command is up")
    assert [leaf.split("-")[0] for leaf in leaves(box)] == ["exec", "init", "main"], leaves(box)
    for leaf in None, *leaves(box)[0::2]:  # process 1 reads none
        found = {name: group(box, leaf).read(name) for name in limits}
        assert found == limits, (leaf, found)
    assert group(box).read("cgroup.procs") == ""
    assert group(box, "main").read("memory.oom.group") == "1"
    box.exec("cat", "/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/pids.max").must_print(f"{96 * MIB}\n17\n")


def test_a_limit_of_one_percent_and_one_between_two_pages_are_kept_as_numbers(vm):
    box = sandbox_of(vm, cpu_percent=1, memory_mb=64, max_processes=4).launch()
    assert group(box).read("cpu.max") == "1000 100000"
    assert group(box).read("pids.max") == "4"


def test_process_1_is_the_last_that_the_kernel_would_kill_and_commands_are_as_any(vm):
    box = sandbox_of(vm, "/bin/sleep", "1000").launch()
    with open(f"/proc/{box.state()['pid']}/oom_score_adj") as file:
        assert file.read() == "-1000\n"
    box.exec("cat", "/proc/1/oom_score_adj", "/proc/self/oom_score_adj").must_print("0\n0\n")


def outcome(box, *args):
    """What the record of an exec says, which ends by itself."""
    path = f"{box.vm.temporary_directory()}/result"
    box.runtime("exec", "--timeout", "60", "--result", path, box.id, *args)
    with open(path) as file:
        return json.load(file)


def test_bombs_end_as_their_records_say_and_a_neighbour_goes_on(vm):
    box = sandbox_of(vm, "/bin/sleep", "1000", cpu_percent=50, memory_mb=64, max_processes=24).launch()
    neighbour = sandbox_of(vm).launch()

    def median():
        times = []
        for _ in range(5):
            began = time.monotonic()
            neighbour.exec("/bin/true").must_succeed()
            times.append(time.monotonic() - began)
        return sorted(times)[2]

    quiet = median()
    memory = outcome(box, "/usr/bin/python3", "-c", EAT)
    assert (memory["outcome"], memory["processes_left"]) == ("oom_killed", 0), memory
    forks = outcome(box, "bash", "-c", "f() { f | f & }; f 2>/dev/null; for i in $(seq 40); do sleep 1000 & done 2>/dev/null; wait -n; exit 9")
    assert (forks["outcome"], forks["processes_left"]) == ("pids_limited", 0), forks
    bomb = spawn_exec(box, "bash", "-c", "trap '' TERM; while :; do (while :; do :; done) & sleep 0.1; done 2>/dev/null")
    print(f"# exec of a neighbour: {quiet * 1000:.0f} ms quiet, {median() * 1000:.0f} ms beside a bomb of 50% CPU")
    bomb.kill()
    disk = outcome(box, "/usr/bin/dd", "if=/dev/zero", "of=/workspace/fill", "bs=1M")
    assert disk["outcome"] == "quota_exceeded", disk
    assert box.state()["status"] == "running"


test_bombs_end_as_their_records_say_and_a_neighbour_goes_on.timeout = 200


def test_a_command_out_of_memory_takes_its_leaf_along_and_nothing_else(vm):
    box = sandbox_of(vm, "/bin/sleep", "1000", memory_mb=64).launch()
    neighbour = spawn_exec(box, "sh", "-c", "echo up; sleep 1000")
    vm.wait_until(lambda: "up" in neighbour.output()[0], "the neighbour is up")
    result = box.exec("sh", "-c", f"sleep 1000 & exec /usr/bin/python3 -c '{EAT}'")
    assert result.rc == 137, result
    assert neighbour.popen.poll() is None
    assert box.state()["status"] == "running"
    assert group(box).count("memory.events", "oom_kill") >= 1
    assert group(box, "main").count("memory.events.local", "oom_kill") == 0
    box.exec("true").must_succeed()


def test_the_limit_on_processes_is_the_sandboxs_and_a_command_too_many_is_told_so(vm):
    box = sandbox_of(vm, max_processes=8).launch()
    bomb = spawn_exec(box, "bash", "-c", "for i in 1 2 3 4 5 6 7 8 9 10 11 12; do sleep 1000 & done 2>/dev/null; sleep 1000")
    vm.wait_until(lambda: group(box).read("pids.current") == "8", "the limit is reached")
    before = cgroup.all_paths()
    result = box.runtime("--log-format", "json", "exec", box.id, "true")
    assert result.rc == 255, result
    error = json.loads(result.stderr)
    assert (error["code"], error["effect"]) == ("sandbox.resource_exhausted", "not_applied"), error
    assert cgroup.all_paths() == before
    assert box.state()["status"] == "running"
    bomb.kill()
    vm.wait_until(lambda: group(box).read("pids.current") == "1", "only process 1 is left")
    box.exec("true").must_succeed()


def test_a_spinner_is_throttled(vm):
    box = sandbox_of(vm, cpu_percent=20).launch()
    box.exec("bash", "-c", "end=$((SECONDS + 3)); while [ $SECONDS -lt $end ]; do :; done").must_succeed()
    assert group(box).count("cpu.stat", "nr_throttled") > 0


def test_two_hundred_commands_at_a_time_all_run_and_leave_nothing(vm):
    box = sandbox_of(vm, memory_mb=1024, max_processes=512, cpu_percent=200).launch()
    commands = [spawn_exec(box, "/bin/sh", "-c", f"exit {n % 100}") for n in range(200)]
    statuses = [command.wait(300).rc for command in commands]
    assert statuses == [n % 100 for n in range(200)], statuses
    assert leaves(box) == ["init"], leaves(box)
    assert group(box).read("pids.current") == "1"


test_two_hundred_commands_at_a_time_all_run_and_leave_nothing.timeout = 320


def test_a_killed_supervisor_leaves_no_process_of_its_command(vm):
    box = sandbox_of(vm).launch()
    command = spawn_exec(box, "bash", "-c", "trap '' TERM HUP; setsid sleep 1000 & sleep 1000")
    vm.wait_until(lambda: leaf_of(box, command).exists() and len(leaf_of(box, command).processes()) == 4, "the command is up")
    command.popen.kill()
    vm.wait_until(lambda: leaf_of(box, command).processes() == [], "it is gone", 1)


def test_what_does_not_die_makes_the_sandbox_lost(vm):
    box = sandbox_of(vm).launch()
    vm.run(["fsfreeze", "-f", xfs.ROOT]).must_succeed()
    thaw = ["fsfreeze", "-u", xfs.ROOT]
    vm.on_end(vm.run, thaw)
    # A write to a frozen file system waits where no signal reaches it.
    began = time.monotonic()
    result = box.exec("sh", "-c", "echo x >/workspace/file & sleep 1")
    assert result.rc == 255 and "does not die" in result.stderr, result
    assert time.monotonic() - began < 30
    result = box.runtime("--log-format", "json", "exec", box.id, "true")
    assert json.loads(result.stderr)["code"] == "sandbox.lost", result
    vm.run(thaw).must_succeed()
    box.delete("--force").must_succeed()
    assert not group(box).exists()


def test_a_program_that_leaves_what_does_not_die_keeps_run_no_longer_than_that(vm):
    box = sandbox_of(vm, "bash", "-c", "trap 'echo x >/workspace/file & sleep 1; exit 0' USR1; while :; do sleep 0.1; done")
    run = box.spawn_run()
    vm.wait_until(lambda: group(box, "main").exists() and len(group(box, "main").processes()) == 3, "the program runs")
    vm.run(["fsfreeze", "-f", xfs.ROOT]).must_succeed()
    thaw = ["fsfreeze", "-u", xfs.ROOT]
    vm.on_end(vm.run, thaw)
    box.kill("USR1").must_succeed()
    result = run.wait(40)
    assert result.rc == 1 and "does not die" in result.stderr, result
    vm.run(thaw).must_succeed()
    box.delete("--force").must_succeed()
    assert not group(box).exists()


def refused(box):
    """What `create` says, in JSON; nothing may have been made."""
    before = cgroup.all_paths()
    box.write_bundle()
    result = box.runtime("--log-format", "json", "create", "--bundle", box.bundle, box.id)
    assert result.rc == 1, result
    assert cgroup.all_paths() == before
    assert not os.path.exists(f"/run/sage-runtime/{box.id}")
    error = json.loads(result.stderr)
    assert (error["code"], error["side_effect_state"]) == ("sandbox.resource_limits_unsupported", "not_applied"), error
    return error


def test_a_cgroup_root_that_is_not_there_is_refused_before_anything_is_made(vm):
    box = sandbox_of(vm, "/bin/true")
    box.sage["host.linux_cgroup_root"] = f"{cgroup.ROOT}/nowhere"
    error = refused(box)
    assert "cgroup.root_missing" in error["msg"], error
    assert error["missing_limits"] == ["cpu", "memory", "process_count"], error


def keep_controllers(root):
    for name in root.read("cgroup.subtree_control").split():
        root.write("cgroup.subtree_control", f"-{name}")


def occupy(vm, root):
    """No controller can be handed out there any more, because a process lives there."""
    keep_controllers(root)
    root.write("cgroup.procs", vm.spawn(["sleep", "1000"]).popen.pid)


def test_a_threaded_cgroup_root_is_refused(vm):
    box = sandbox_of(vm, "/bin/true")
    below = f"{box.cgroup_root.path}/threaded"
    os.mkdir(below)
    keep_controllers(box.cgroup_root)
    cgroup.Cgroup(below).write("cgroup.type", "threaded")
    box.sage["host.linux_cgroup_root"] = below
    error = refused(box)
    assert "cgroup.root_threaded" in error["msg"], error
    assert error["missing_limits"] == ["cpu", "memory", "process_count"], error


def test_a_cgroup_root_in_which_processes_live_is_refused(vm):
    box = sandbox_of(vm, "/bin/true")
    occupy(vm, box.cgroup_root)
    error = refused(box)
    assert "cgroup.root_occupied" in error["msg"], error
    assert error["missing_limits"] == ["cpu", "memory", "process_count"], error


def test_a_controller_that_does_not_reach_the_cgroup_root_is_named(vm):
    box = sandbox_of(vm, "/bin/true")
    # Where processes live above, nothing more can be switched on for what is below.
    below = f"{box.cgroup_root.path}/below"
    os.mkdir(below)
    box.cgroup_root.write("cgroup.subtree_control", "-memory")
    os.mkdir(f"{below}/leaf")
    box.sage["host.linux_cgroup_root"] = below
    box.create().must_succeed()  # memory can still be switched on in both
    box.delete("--force").must_succeed()
    keep_controllers(cgroup.Cgroup(below))
    occupy(vm, box.cgroup_root)
    error = refused(box)
    assert f"cgroup.root_occupied: processes live in {box.cgroup_root.path} itself" in error["msg"], error


def test_a_quota_that_is_missing_is_one_of_the_missing_limits(vm):
    box = sandbox_of(vm, "/bin/true")
    xfs.limit(vm, box.project, "bhard=0", "ihard=0")
    assert refused(box)["missing_limits"] == ["disk"]


def test_limits_that_nothing_was_configured_for_are_all_missing(vm):
    box = sandbox_of(vm, "/bin/true")
    del box.sage["host.linux_cgroup_root"], box.sage["host.linux_quota_mount"]
    error = refused(box)
    assert "limits.not_configured" in error["msg"], error
    assert error["missing_limits"] == ["cpu", "memory", "disk", "process_count"], error
