"""From create to delete: what ends ends wholly, and nothing stays behind."""

import os

import residue

# A tree in which nobody minds TERM: the parent ignores it, and what it starts inherits that.
STUBBORN = ("/bin/sh", "-c", "trap '' TERM; (sleep 1000 & sleep 1000 & wait) & sleep 1000 & wait; wait")
STUBBORN_PROCESSES = 5


def launch_stubborn(vm):
    container = vm.container(*STUBBORN).launch()
    cgroup = container.cgroup()
    vm.wait_until(lambda: len(cgroup.processes()) == STUBBORN_PROCESSES, "the tree has grown")
    return container, cgroup


def test_kill_with_term_leaves_a_tree_that_ignores_it_and_kill_ends_it_all(vm):
    container, cgroup = launch_stubborn(vm)
    container.kill("TERM").must_succeed()
    assert container.state()["status"] == "running"
    assert len(cgroup.processes()) == STUBBORN_PROCESSES
    container.delete().must_fail()

    container.kill("KILL").must_succeed()
    container.wait_until_stopped()
    vm.wait_until(lambda: not cgroup.processes(), "no process of the tree left")
    container.delete().must_succeed()
    assert not cgroup.exists()


def test_forced_delete_ends_a_running_tree_that_ignores_term(vm):
    container, cgroup = launch_stubborn(vm)
    pids = cgroup.processes()
    container.delete("--force").must_succeed()
    assert not cgroup.exists()
    assert not set(pids) & {pid for pid, _ in residue.processes()}
    vm.runtime("state", container.id).must_fail()


def test_twenty_containers_at_once_each_return_their_own_status(vm):
    containers = [vm.container("/bin/sh", "-c", f"exit {number}") for number in range(100, 120)]
    results = [process.wait() for process in [container.spawn_run() for container in containers]]
    assert [result.rc for result in results] == list(range(100, 120)), "\n".join(map(str, results))


def whole_lives(vm):
    """Containers that end in every way there is."""
    vm.container("/bin/true").run().must_succeed()
    vm.container("/bin/nowhere").run().must_fail()

    created = vm.container("/bin/true")
    created.create().must_succeed()
    created.delete().must_succeed()

    ended = vm.container("/bin/true").launch()
    ended.wait_until_stopped()
    ended.delete().must_succeed()

    killed = vm.container("/bin/sleep", "1000").launch()
    killed.exec("/bin/true").must_succeed()
    killed.kill("KILL").must_succeed()
    killed.wait_until_stopped()
    killed.delete().must_succeed()

    vm.container("/bin/sleep", "1000").launch().delete("--force").must_succeed()


def test_after_delete_cgroups_mounts_processes_and_files_are_as_before(vm):
    # The first container may make what later ones share, such as the directory that holds all states.
    vm.container("/bin/true").run().must_succeed()
    before, files_before = residue.Snapshot(), residue.files("/run", "/dev/shm")
    whole_lives(vm)
    added = before.wait_until_same()
    assert not added, added
    new_files = residue.files("/run", "/dev/shm") - files_before
    assert not new_files, new_files


def test_a_container_in_an_existing_cgroup_tree_takes_only_its_own_cgroup_away(vm):
    parent = vm.cgroup()
    container = vm.container("/bin/true")
    container.config["linux"]["cgroupsPath"] = parent.path.removeprefix("/sys/fs/cgroup") + "/inner"
    container.run().must_succeed()
    assert parent.exists()


def hung_source(vm, how):
    """A directory whose file system does not answer, the server's Process, and the file that says what was asked of it."""
    directory = vm.temporary_directory()
    server = vm.spawn([os.path.join(os.path.dirname(__file__), "../cli/hung-fuse"), directory, how])
    vm.on_end(lambda: (server.kill(), vm.run(["umount", directory])))
    said = lambda word: word in server.output()[0]  # noqa: E731
    vm.wait_until(lambda: said("mounted"), "a file system")
    return directory, server, said


def test_delete_force_ends_a_create_whose_source_does_not_answer(vm):
    userns = {"uidMappings": [{"containerID": 0, "hostID": 0, "size": 65536}]}
    userns["gidMappings"] = userns["uidMappings"]
    for other_namespace in False, True:  # then it is the runtime itself that waits
        directory, server, said = hung_source(vm, "unread")
        other = vm.container("/bin/sleep", "1000").launch()
        container = vm.container("/bin/true")
        container.config["mounts"].append({"destination": "/mnt", "type": "bind", "source": f"{directory}/sub", "options": ["bind"]})
        if other_namespace:
            container.config["linux"].update(userns)
            container.config["linux"]["namespaces"].append({"type": "user"})
        create = container.spawn_create()
        vm.wait_until(lambda: said("asked"), "somebody who waits")  # noqa: B023
        assert container.state()["status"] == "creating"
        assert container.id in vm.runtime("list").must_succeed().stdout
        other.exec("/bin/true").must_succeed()
        container.delete("--force").must_succeed()
        create.wait().must_fail()
        vm.runtime("state", container.id).must_fail()
        other.delete("--force").must_succeed()
