"""An ordinary user with delegated controllers; devices of a user namespace on the kernel of a distribution. The rest is in tests/cli."""

import json
import os
import shutil

UID = 1001


class User:
    """Runs the runtime as user 1001, in a leaf of a cgroup that is his, or wherever the tests are."""

    def __init__(self, vm, cgroup=None):
        self.vm = vm
        self.home = vm.temporary_directory()
        self.cgroup = cgroup
        self.runtime = f"{self.home}/sage-runtime"
        shutil.copy(vm.runtime_path, self.runtime)
        os.chmod(self.runtime, 0o755)
        os.mkdir(f"{self.home}/state", 0o700)
        os.chown(f"{self.home}/state", UID, UID)
        if cgroup:
            os.mkdir(f"{cgroup.path}/host")
            for path in "", "cgroup.procs", "cgroup.threads", "cgroup.subtree_control", "host", "host/cgroup.procs":
                os.chown(f"{cgroup.path}/{path}", UID, UID)

    def enter(self):
        if self.cgroup:
            with open(f"{self.cgroup.path}/host/cgroup.procs", "w") as file:
                file.write("0")
        os.setgroups([])
        os.setresgid(UID, UID, UID)
        os.setresuid(UID, UID, UID)

    def __call__(self, *arguments):
        return self.vm.run([self.runtime, "--root", f"{self.home}/state", *arguments], preexec_fn=self.enter)


def rootless(vm, user, *args):
    """A container for one id, whose commands USER runs."""
    container = vm.container(*args)
    linux = container.config["linux"]
    linux["namespaces"].append({"type": "user"})
    linux["uidMappings"] = linux["gidMappings"] = [{"containerID": 0, "hostID": UID, "size": 1}]
    linux["resources"].pop("devices", None)
    for mount in container.config["mounts"]:
        mount["options"] = [option for option in mount.get("options", []) if option != "gid=5"]
    vm.on_end(user, "delete", "--force", container.id)
    return container


def write_bundle(container):
    with open(f"{container.bundle}/config.json", "w") as file:
        json.dump(container.config, file)
    return container.bundle


def test_limits_hold_in_a_delegated_cgroup_and_go_with_it(vm):
    cgroup = vm.cgroup()
    user = User(vm, cgroup)
    container = rootless(vm, user, "/bin/sleep", "1000")
    container.resources.update({"memory": {"limit": 64 << 20, "swap": 64 << 20}, "pids": {"limit": 17}, "cpu": {"quota": 30000}})
    user("create", "--bundle", write_bundle(container), container.id).must_succeed()
    user("start", container.id).must_succeed()
    own = f"{cgroup.path}/{container.id}"
    found = {name: open(f"{own}/{name}").read().strip() for name in ("memory.max", "memory.swap.max", "pids.max", "cpu.max")}
    assert found == {"memory.max": str(64 << 20), "memory.swap.max": "0", "pids.max": "17", "cpu.max": "30000 100000"}, found

    user("update", "--memory", "32m", "--pids-limit", "-1", "--cpu-shares", "512", container.id).must_succeed()
    assert open(f"{own}/memory.max").read() == f"{32 << 20}\n"
    assert open(f"{own}/pids.max").read() == "max\n"
    result = user("exec", container.id, "/bin/dd", "if=/dev/zero", "of=/dev/null", "bs=200M", "count=1")
    assert result.rc == 137, result
    user("pause", container.id).must_succeed()
    user("resume", container.id).must_succeed()
    stats = json.loads(user("events", "--stats", container.id).must_succeed().stdout)
    assert stats["data"]["memory"]["usage"]["limit"] == 32 << 20, stats
    user("delete", "--force", container.id).must_succeed()
    assert not os.path.exists(own)


def test_a_controller_that_was_not_delegated_is_refused_by_field_and_no_limit_of_it_passes(vm):
    parent = vm.cgroup()
    parent.write("cgroup.subtree_control", "+pids")  # memory, cpu and the others stay with root
    os.mkdir(f"{parent.path}/user")
    cgroup = type(parent)(f"{parent.path}/user")
    user = User(vm, cgroup)
    container = rootless(vm, user, "/bin/true")
    container.resources["memory"] = {"limit": 64 << 20}
    result = user("run", "--bundle", write_bundle(container), container.id)
    assert result.rc == 1 and "linux.resources.memory.limit" in result.stderr and "Delegate=" in result.stderr, result
    container.resources["memory"] = {"limit": -1, "swap": -1}
    container.resources["cpu"] = {"quota": -1}
    container.resources["pids"] = {"limit": 20}
    user("run", "--bundle", write_bundle(container), container.id).must_succeed()


def test_nodes_in_a_user_namespace_have_the_mode_and_owner_that_are_asked_for(vm):
    script = "stat -c '%t:%T %a %u:%g' /dev/mine /mnt/x /dev/null; dd if=/mnt/x bs=3 count=1 2>/dev/null | wc -c; echo x >/dev/null"
    container = vm.container("/bin/sh", "-c", script)
    linux = container.config["linux"]
    linux["namespaces"].append({"type": "user"})
    linux["uidMappings"] = linux["gidMappings"] = [{"containerID": 0, "hostID": 100000, "size": 1000}]
    container.config["root"]["readonly"] = False
    linux["devices"] = [
        {"path": "/dev/mine", "type": "b", "major": 7, "minor": 0, "fileMode": 0o640, "uid": 7, "gid": 8},
        {"path": "/mnt/x", "type": "c", "major": 1, "minor": 5, "fileMode": 0o444},
    ]
    container.resources["devices"] = [{"allow": True, "access": "rwm"}]
    os.chown(container.root, 100000, 100000)
    container.run().must_print("7:0 640 7:8\n1:5 444 0:0\n1:3 666 0:0\n3\n")
