"""Labels, where a kernel has AppArmor. The profiles are written here in the kernel's own binary form (security/apparmor/policy_unpack.c), so
that no parser is needed: nothing is denied (mode complain), and what counts is whose profile a program is under."""

import os
import struct

POLICY = "/sys/kernel/security/apparmor"
COMPLAIN = 1


def text(code, value):
    data = value.encode() + b"\0"
    return struct.pack("<BH", code, len(data)) + data


def profile(name):
    """Version 5: name, flags {hat, mode, audit}, four sets of capabilities, and no rules at all."""
    def number(value):
        return struct.pack("<BI", 2, value)

    return (text(4, "version") + number(5) + text(4, "profile") + b"\7" + text(5, name) +
            text(4, "flags") + b"\7" + number(0) + number(COMPLAIN) + number(0) + b"\10" + number(0) * 4 + b"\10")


def write(path, data):
    fd = os.open(path, os.O_WRONLY)
    try:
        os.write(fd, data)
    finally:
        os.close(fd)


def load(vm, name):
    write(f"{POLICY}/.load", profile(name))
    vm.on_end(write, f"{POLICY}/.remove", name.encode())


def labelled(vm, name, *arguments):
    load(vm, name)
    container = vm.container(*(arguments or ("/bin/cat", "/proc/self/attr/current")))
    container.config["process"]["apparmorProfile"] = name
    return container


def mount_of(container, destination):
    return next(mount for mount in container.config["mounts"] if mount["destination"] == destination)


def test_the_profile_of_the_config_is_in_force(vm):
    labelled(vm, "sage-test").run().must_print("sage-test (complain)\n")


def test_what_exec_runs_is_under_the_profile_too(vm):
    container = labelled(vm, "sage-test", "/bin/sleep", "100").launch()
    container.exec("/bin/cat", "/proc/self/attr/current").must_print("sage-test (complain)\n")


def test_a_volume_on_proc_does_not_catch_the_label_that_is_written_there(vm):
    container = labelled(vm, "sage-test", "/bin/cat", "/real/self/attr/current")
    volume = vm.temporary_directory()
    os.makedirs(f"{volume}/self/attr/apparmor")
    for name in ("exec", "apparmor/exec"):
        open(f"{volume}/self/attr/{name}", "w").close()
    mount_of(container, "/proc").update(type="bind", source=volume, options=["bind"])
    container.config["root"]["readonly"] = False
    container.config["mounts"].append({"destination": "/real", "type": "proc", "source": "proc"})
    container.run().must_print("sage-test (complain)\n")
    for name in ("exec", "apparmor/exec"):
        assert os.path.getsize(f"{volume}/self/attr/{name}") == 0, name


def test_a_profile_is_in_force_also_where_proc_is_a_symlink(vm):
    container = labelled(vm, "sage-test", "/bin/cat", "/elsewhere/self/attr/current")
    os.rmdir(f"{container.root}/proc")
    os.mkdir(f"{container.root}/elsewhere")
    os.symlink("elsewhere", f"{container.root}/proc")
    mount_of(container, "/proc")["destination"] = "/elsewhere"
    container.run().must_print("sage-test (complain)\n")


def test_a_mount_over_the_attributes_of_proc_is_not_written_through(vm):
    """By somebody who can mount where the runtime is at work: a hook. It goes with the host's tree, and the label to the real file."""
    container = labelled(vm, "sage-test")
    cover = vm.temporary_directory()
    os.makedirs(f"{cover}/apparmor")
    for name in ("exec", "apparmor/exec"):
        open(f"{cover}/{name}", "w").close()
    script = f"pid=$(sed 's/.*\"pid\": *\\([0-9]*\\).*/\\1/'); mount --bind {cover} /proc/$pid/attr && touch {cover}/done"
    container.config["hooks"] = {"createContainer": [{"path": "/bin/sh", "args": ["sh", "-c", script], "env": [f"PATH={os.environ['PATH']}"]}]}
    container.run().must_print("sage-test (complain)\n")
    assert os.path.exists(f"{cover}/done")
    for name in ("exec", "apparmor/exec"):
        assert os.path.getsize(f"{cover}/{name}") == 0, name
