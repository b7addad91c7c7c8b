"""events: what a container uses, on real controllers."""

import json


def stats(container):
    result = container.vm.runtime("events", "--stats", container.id).must_succeed()
    assert result.stdout.count("\n") == 1, result
    event = json.loads(result.stdout)
    assert (event["type"], event["id"]) == ("stats", container.id), event
    return event["data"]


def test_stats_are_those_of_the_cgroup(vm):
    container = vm.container("/bin/sleep", "1000")
    container.resources.update({"memory": {"limit": 64 << 20, "swap": 96 << 20}, "pids": {"limit": 9}})
    container.launch()
    found = stats(container)
    assert found["memory"]["usage"]["limit"] == 64 << 20, found
    assert found["memory"]["swap"]["limit"] == 96 << 20, found
    assert 0 < found["memory"]["usage"]["usage"] < 64 << 20, found
    assert found["memory"]["raw"]["anon"] > 0, found
    assert found["pids"] == {"current": 1, "limit": 9}, found
    assert found["cpu"]["usage"]["total"] > 0, found


def test_throttled_time_is_counted(vm):
    container = vm.container("/bin/sh", "-c", "while :; do :; done")
    container.resources["cpu"] = {"quota": 5000, "period": 50000}
    container.launch()
    vm.wait_until(lambda: stats(container)["cpu"]["throttling"]["throttledTime"] > 0, "throttled time")
    assert stats(container)["cpu"]["throttling"]["periods"] > 0


def test_an_out_of_memory_kill_is_an_event_between_the_stats(vm):
    container = vm.container("/bin/sleep", "1000")
    container.resources["memory"] = {"limit": 16 << 20, "swap": 16 << 20}
    container.launch()
    events = vm.spawn([vm.runtime_path, "events", "--interval", "100ms", container.id])
    assert container.exec("/bin/dd", "if=/dev/zero", "of=/dev/null", "bs=200M", "count=1").rc == 137
    assert container.exec("/bin/dd", "if=/dev/zero", "of=/dev/null", "bs=200M", "count=1").rc == 137
    container.kill("KILL").must_succeed()
    result = events.wait().must_succeed()
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    assert {line["type"] for line in lines} >= {"oom"}, result
    assert {"type": "oom", "id": container.id} in lines, result
