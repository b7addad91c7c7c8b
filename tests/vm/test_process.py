"""What only a root with every capability can give to a payload."""

CAPABILITIES = [f"CAP_{name}" for name in (
    "CHOWN DAC_OVERRIDE DAC_READ_SEARCH FOWNER FSETID KILL SETGID SETUID SETPCAP LINUX_IMMUTABLE NET_BIND_SERVICE NET_BROADCAST NET_ADMIN "
    "NET_RAW IPC_LOCK IPC_OWNER SYS_MODULE SYS_RAWIO SYS_CHROOT SYS_PTRACE SYS_PACCT SYS_ADMIN SYS_BOOT SYS_NICE SYS_RESOURCE SYS_TIME "
    "SYS_TTY_CONFIG MKNOD LEASE AUDIT_WRITE AUDIT_CONTROL SETFCAP MAC_OVERRIDE MAC_ADMIN SYSLOG WAKE_ALARM BLOCK_SUSPEND AUDIT_READ "
    "PERFMON BPF CHECKPOINT_RESTORE").split()]


def test_a_payload_gets_every_capability_of_the_kernel_when_asked(vm):
    container = vm.container("/bin/grep", "-E", "CapEff|CapPrm|CapBnd", "/proc/self/status")
    container.add_capabilities(*CAPABILITIES)
    masks = [line.split()[1] for line in container.run().must_succeed().stdout.splitlines()]
    with open("/proc/self/status") as file:
        full = next(line.split()[1] for line in file if line.startswith("CapEff:"))
    assert masks == [full] * 3, masks


def test_hard_limits_above_those_of_the_caller_are_set(vm):
    container = vm.container("/bin/sh", "-c", "ulimit -Hn; ulimit -Sn")
    container.config["process"]["rlimits"] = [{"type": "RLIMIT_NOFILE", "soft": 70000, "hard": 80000}]
    container.run().must_print("80000\n70000\n")


def test_an_oom_score_below_that_of_the_caller_is_set(vm):
    container = vm.container("/bin/cat", "/proc/self/oom_score_adj")
    container.config["process"]["oomScoreAdj"] = -500
    container.run().must_print("-500\n")


def test_an_apparmor_profile_that_is_not_loaded_fails_the_launch(vm):
    container = vm.container("/bin/true")
    container.config["process"]["apparmorProfile"] = "sage-no-such-profile"
    container.run().must_fail()
