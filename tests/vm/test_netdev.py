"""Network devices on the kernels that these machines run, which are older than those that the CLI tests mostly see."""

BUSYBOX = "/bin/busybox"


def make_device(vm, name, *addresses):
    vm.run([BUSYBOX, "ip", "link", "add", "name", name, "type", "dummy"]).must_succeed()
    vm.on_end(vm.run, [BUSYBOX, "ip", "link", "delete", name])  # fails where the container took it along
    for address in addresses:
        vm.run([BUSYBOX, "ip", "address", "add", address, "dev", name]).must_succeed()


def run(vm, container):
    """From the build tree: its helper programs are not installed."""
    container.write_bundle()
    return vm.runtime("--libexec", vm.build, "run", "--bundle", container.bundle, container.id)


def addresses(vm, name):
    return [line.split()[3] for line in vm.run([BUSYBOX, "ip", "-o", "address", "show", "dev", name]).must_succeed().stdout.splitlines()
            if "fe80:" not in line]  # fmt: skip


def make_network(vm):
    """A network namespace that lasts as long as the test, by path."""
    path = f"{vm.temporary_directory()}/net"
    with open(path, "w"):
        pass
    vm.run(["unshare", f"--net={path}", "true"]).must_succeed()
    vm.on_end(vm.run, ["umount", path])
    return path


def test_devices_move_with_their_addresses_and_names(vm):
    make_device(vm, "nd0", "192.0.2.1/24", "2001:db8::1/64")
    make_device(vm, "nd1")
    container = vm.container("/bin/sh", "-c", "cd /sys/class/net; echo *; cat net0/flags; ip -o address show dev net0")
    container.config["linux"]["netDevices"] = {"nd0": {"name": "net%d"}, "nd1": {"name": "c1"}}
    lines = run(vm, container).must_succeed().stdout.splitlines()
    assert lines[0] == "c1 lo net0", lines
    assert int(lines[1], 16) & 1, "net0 is not up"
    found = [line.split()[3] for line in lines[2:] if "fe80:" not in line]
    assert found == ["192.0.2.1/24", "2001:db8::1/64"], lines


def test_devices_that_have_moved_come_back_when_another_cannot(vm):
    make_device(vm, "nd2", "192.0.2.1/24")
    make_device(vm, "nd3", "2001:db8::1/64")
    container = vm.container("/bin/true")
    path = make_network(vm)
    vm.run(["nsenter", f"--net={path}", BUSYBOX, "sysctl", "-w", "net.ipv6.conf.all.disable_ipv6=1",
            "net.ipv6.conf.default.disable_ipv6=1"]).must_succeed()  # fmt: skip
    for namespace in container.config["linux"]["namespaces"]:
        if namespace["type"] == "network":
            namespace["path"] = path
    container.config["linux"]["netDevices"] = {"nd2": {"name": "c2"}, "nd3": {}}
    result = run(vm, container)
    result.must_fail()
    assert 'linux.netDevices["nd3"]' in result.stderr, result
    assert addresses(vm, "nd2") == ["192.0.2.1/24"] and addresses(vm, "nd3") == ["2001:db8::1/64"]
