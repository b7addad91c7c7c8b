"""The record of a supervised command (--result) where a kernel with every controller counts: what ended it, and the numbers."""

import json

EAT = "x=0123456789; while :; do x=$x$x; done"


def record_of(vm, *arguments):
    """Runs the runtime's ARGUMENTS with --result behind the first; its record, and what came of it."""
    path = f"{vm.temporary_directory()}/record"
    result = vm.runtime(arguments[0], "--result", path, *arguments[1:], timeout=90)
    with open(path) as file:
        return json.load(file), result


def launched(vm, **resources):
    container = vm.container("/bin/sleep", "1000")
    container.resources.update(resources)
    container.launch()
    return container


def test_a_command_that_runs_out_of_memory_is_oom_killed(vm):
    container = launched(vm, memory={"limit": 24 << 20})
    record, result = record_of(vm, "exec", container.id, "/bin/sh", "-c", EAT)
    assert (record["outcome"], record["signal"], result.rc) == ("oom_killed", 9, 137), (record, result)
    record, result = record_of(vm, "exec", container.id, "/bin/sh", "-c", f"sh -c '{EAT}'; exit $?")
    assert record["outcome"] == "oom_killed" and result.rc == 137, (record, result)
    record, _ = record_of(vm, "exec", container.id, "/bin/sh", "-c", "kill -9 $$")
    assert (record["outcome"], record["signal"]) == ("signalled", 9), record
    container.delete("--force").must_succeed()


def test_a_container_that_runs_out_of_memory_is_oom_killed_and_its_peak_is_told(vm):
    container = vm.container("/bin/sh", "-c", EAT)
    container.resources["memory"] = {"limit": 24 << 20}
    container.write_bundle()
    record, result = record_of(vm, "run", "--bundle", container.bundle, container.id)
    assert (record["outcome"], result.rc) == ("oom_killed", 137), (record, result)
    assert record["memory_peak_bytes"] is None or 16 << 20 < record["memory_peak_bytes"] <= 24 << 20, record


def test_a_command_that_finds_no_room_for_a_process_is_pids_limited(vm):
    container = launched(vm, pids={"limit": 4})
    script = "sleep 9 & sleep 9 & sleep 9 & sleep 9 & sleep 9 & exit 3"
    record, result = record_of(vm, "exec", container.id, "/bin/sh", "-c", script)
    assert record["outcome"] == "pids_limited" and result.rc != 0, (record, result)
    assert record["processes_left"] == 0 and record["processes_killed"] >= 1, record
    record, _ = record_of(vm, "exec", container.id, "/bin/sh", "-c", "exit 3")
    assert (record["outcome"], record["exit_code"]) == ("exited", 3), record
    container.delete("--force").must_succeed()


def test_throttling_is_counted_and_cpu_time_is_the_commands_own(vm):
    container = launched(vm, cpu={"quota": 20000, "period": 100000})
    record, result = record_of(vm, "exec", "--timeout", "3", container.id, "/bin/sh", "-c", "while :; do :; done")
    assert (record["outcome"], result.rc) == ("timed_out", 124), (record, result)
    assert record["throttled_periods"] > 0 and record["throttled_time_us"] > 0, record
    assert 0 < record["cpu_time_us"] < record["wall_time_us"] / 2, record
    record, _ = record_of(vm, "exec", container.id, "/bin/true")
    assert record["outcome"] == "exited" and record["cpu_time_us"] < 2000000, record
    container.delete("--force").must_succeed()
