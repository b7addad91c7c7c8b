"""What a front can do that is not ours any more: talk to the sockets it holds."""

from dialing import *

# What is denied by the socket itself, in a process that is let live.
ALIVE = {"connect_shut_down": "-1 32"}  # EPIPE
# What shows, in a front without lock-down, that the attempts are ones: they succeed or fail for another reason than a filter.
CONTROL = (
    "open_file", "open_proc", "socket_inet", "socket_inet6", "socket_unix", "socket_netlink", "socket_pair", "make_process", "open_process",
    "run_memory", "make_memory_code", "memory_file", "be_dumpable", "mount_something", "open_mount", "new_namespace",
)  # fmt: skip


# In a build with sanitizers, whose runtime makes calls of its own, the filter answers with EPERM; foreign calls kill there too.
SANITIZED = bool(os.environ.get("SAGE_EGRESS_SANITIZED"))
KILLED = ("foreign_call", "x32_call")


def everything(probe_policy):
    with Probe(probe_policy) as probe:
        return probe.ask("try names").split()


def test_whatever_it_tries_the_kernel_ends_it():
    with Server(echo) as server:
        policy = allow("127.0.0.1", ports=[server.port], deny_private_networks=False)
        names = everything(policy)
        assert len(names) > 45
        for name in names:
            probe = Probe(policy).__enter__()
            assert probe.code(f"127.0.0.1:{server.port}") == "ok"
            said = probe.ask(f"try {name}")
            if name in ALIVE or (SANITIZED and name not in KILLED):
                assert said == f"{name} {ALIVE.get(name, '-1 1')}", said
                assert probe.end() == 0
            else:
                assert said == "" and probe.process.wait(PATIENCE) == 128 + signal.SIGSYS, (name, said)


def test_without_lock_down_the_same_attempts_succeed():
    for name in CONTROL:
        with Probe(allow("127.0.0.1", deny_private_networks=False), place="lax") as probe:
            result = probe.ask(f"try {name}")
            assert int(result.split()[1]) >= 0, result


def landlock_knows_ports():
    """landlock(7): the version of the ABI, 4 since Linux 6.7."""
    return libc.syscall(444, None, 0, 1) >= 4


def test_the_dialer_and_its_helpers_could_do_little_either():
    """EPERM is the filter's answer, EACCES is Landlock's or the user's."""
    other_port = {1, 9, 13} if landlock_knows_ports() else {1, 9, 111}
    everywhere = {
        "run_program": {1}, "run_any_program": {1, 13}, "make_file": {1, 13}, "read_file_of_the_host": {13}, "read_home": {13},
        "make_process": {1}, "make_thread": {1}, "trace": {1}, "read_memory": {1}, "kill_all": {1}, "open_process": {1},
        "take_descriptor": {1}, "socket_packet": {1}, "socket_vsock": {1}, "socket_raw": {1}, "connect_other_port": other_port,
        "serve": {1, 9, 13}, "listen_unbound": {1}, "mount_something": {1}, "open_mount": {1}, "leave_root": {1}, "new_namespace": {1},
        "new_namespace_by_clone": {1}, "new_namespace_by_clone3": {1}, "join_namespace": {1}, "become_root": {1}, "take_capabilities": {1},
        "load_bpf": {1}, "use_uring": {1}, "use_perf": {1}, "use_keys": {1}, "watch_faults": {1}, "memory_file": {1}, "push_input": {1},
    }  # fmt: skip
    more = {
        "dialer": {"connect_policy_port": {111}, "connect_name_server": {111}},
        "resolver": {"be_dumpable": {1}},
        "tls": {"be_dumpable": {1}, "socket_inet": {1}, "socket_unix": {1}, "socket_netlink": {1}, "socket_pair": {1}, "connect_policy_port":
                {1}, "run_memory": {1}, "make_memory_code": {1}},
    }  # fmt: skip
    for place, its in more.items():
        with Probe(allow("a.example"), place=place) as probe:
            for name, expected in {**everywhere, **its}.items():
                result = probe.ask(f"try {name}").split()
                assert result[1] == "-1" and int(result[2]) in expected, (place, result)


def test_what_the_filter_lets_through_still_works():
    with Server(echo) as server, Probe(allow("127.0.0.1", ports=[server.port], deny_private_networks=False)) as probe:
        assert probe.code(f"127.0.0.1:{server.port}") == "ok"
        assert probe.ask("talk hello") == "heard hello(end)"


def check_process(pid, uid, name):
    status = status_of(pid)
    for line in ("NoNewPrivs:\t1", "Seccomp:\t2", f"Uid:\t{uid}\t{uid}\t{uid}\t{uid}", "CapInh:\t0000000000000000",
                 "CapPrm:\t0000000000000000", "CapEff:\t0000000000000000", "CapAmb:\t0000000000000000"):  # fmt: skip
        assert line in status, (name, line, status)
    with open(f"/proc/{pid}/limits", encoding="ascii") as file:
        assert re.search(r"^Max core file size +0 +0", file.read(), re.MULTILINE), name
    # proc(5): what belongs to a process that is not dumpable belongs to root.
    assert os.stat(f"/proc/{pid}/mem").st_uid == 0, name


def descriptors(pid):
    return {int(n): os.readlink(f"/proc/{pid}/fd/{n}") for n in os.listdir(f"/proc/{pid}/fd")}


def test_both_halves_and_the_helpers_have_given_up_what_they_can():
    with Probe(allow("a.example"), user="61234:61235") as probe:
        wait_for(lambda: len(probe.resolvers()) == 1, "a resolver")
        wait_for(lambda: "Seccomp_filters:\t2" in status_of(probe.resolvers()[0]), "its filter")
        dialer, front, (resolver,) = probe.pids()
        assert probe.greeting == "ready, missing: nothing\n", probe.greeting
        for pid, name in ((dialer, "dialer"), (front, "front"), (resolver, "resolver")):
            check_process(pid, 61234, name)
            assert "Gid:\t61235\t61235\t61235\t61235" in status_of(pid) and "Groups:\t \n" in status_of(pid), name
            assert "CapBnd:\t0000000000000000" in status_of(pid), name
        for kind in ("pid", "mnt", "ipc"):
            assert os.readlink(f"/proc/{front}/ns/{kind}") != os.readlink(f"/proc/{dialer}/ns/{kind}"), kind
        assert os.listdir(f"/proc/{front}/root") == []
        with open(f"/proc/{front}/mountinfo", encoding="ascii") as file:
            mounts = file.read().splitlines()
        assert len(mounts) == 1 and " ro," in mounts[0], mounts
        # Standard input and output are the test's; the listener is what the probe asked to keep.
        assert all(link.startswith(("socket:", "pipe:")) for n, link in descriptors(front).items() if n != 2) and len(descriptors(front)) == 5
        kinds = sorted(re.sub(r"\[\d+\]$", "[]", link) for n, link in descriptors(dialer).items() if n > 2)
        programs = os.environ["SAGE_EGRESS_PROGRAMS"]
        assert kinds == sorted(["/dev/null", f"{programs}/sage-egress-resolver", "anon_inode:[eventpoll]", "anon_inode:[pidfd]",
                "anon_inode:[pidfd]", "anon_inode:[signalfd]", "socket:[]", "socket:[]", "socket:[]"]), kinds  # fmt: skip
        assert sorted(descriptors(resolver)) == [0, 1, 2] and descriptors(resolver)[1] == "/dev/null"
        # A sanitizer's report needs a place to go to.
        for pid in (dialer, resolver):
            assert (descriptors(pid)[2] == "/dev/null") is not SANITIZED, descriptors(pid)


def test_a_report_of_a_sanitizer_comes_out_of_each_process():
    reports = {"heap": "heap-buffer-overflow", "pointer": "SEGV on unknown address", "undefined": "signed integer overflow"}
    for place in (None, "dialer", "resolver", "tls") if SANITIZED else ():
        for fault, report in reports.items():
            with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as stderr:
                probe = Probe(allow("a.example"), place=place, stderr=stderr).__enter__()
                probe.say(f"fault {fault}")
                assert probe.process.wait(PATIENCE) == 1, (place, fault, probe.process.returncode)
                stderr.seek(0)
                said = stderr.read()
            # With the line, which is read from a file that nobody could open any more.
            assert report in said and "probe.c:" in said, (place, fault, said)


def elf(path):
    """elf(5), 64 bits: its type, the types of its segments, and its dynamic entries as a map."""
    with open(path, "rb") as file:
        data = file.read()
    kind, offset, size, n = (*struct.unpack_from("<H", data, 16), *struct.unpack_from("<Q", data, 32), *struct.unpack_from("<HH", data, 54))
    segments = [struct.unpack_from("<IIQQQQ", data, offset + i * size) for i in range(n)]
    dynamic = [struct.iter_unpack("<QQ", data[s[2]:s[2] + s[5] // 16 * 16]) for s in segments if s[0] == 2]
    return kind, {s[0] for s in segments}, dict(entry for entries in dynamic for entry in entries)


def test_nobody_knows_where_its_programs_lie_and_their_tables_cannot_be_written():
    programs = os.environ["SAGE_EGRESS_PROGRAMS"]
    for name in ("sage-egress-broker", "sage-egress-resolver", "sage-egress-tls"):
        kind, segments, dynamic = elf(f"{programs}/{name}")
        assert kind == 3 and 0x6474E552 in segments, name  # ET_DYN, PT_GNU_RELRO
        assert SANITIZED or dynamic.get(24) is not None or dynamic.get(30, 0) & 8 or dynamic.get(0x6FFFFFFB, 0) & 1, name  # bound at start


AS_SOMEBODY = ["setpriv", "--reuid=61234", "--regid=61234", "--clear-groups"]


def open_scratch():
    """For somebody who is not root."""
    os.chmod(".", 0o755)


def test_without_root_a_user_namespace_gives_the_same():
    open_scratch()
    policy = allow("127.0.0.1", ports=[443], deny_private_networks=False)
    with Probe(policy, before=AS_SOMEBODY, programs=copy_programs()) as probe:
        assert probe.greeting == "ready, missing: nothing\n", probe.greeting
        dialer, front, _ = probe.pids()
        check_process(front, 61234, "front")
        check_process(dialer, 61234, "dialer")
        assert os.listdir(f"/proc/{front}/root") == []
        assert probe.code("127.0.0.1:443") == "connect.refused"


def test_where_there_are_no_namespaces_it_says_so():
    open_scratch()
    command = [
        *AS_SOMEBODY, "unshare", "--user", "--map-current-user", "--keep-caps", "sh", "-c",
        'echo 0 >/proc/sys/user/max_user_namespaces && exec "$@"', "sh", "setpriv", "--inh-caps=-all", "--ambient-caps=-all",
        "--bounding-set=-all",
    ]  # fmt: skip
    with Probe(allow("127.0.0.1", deny_private_networks=False), before=command, programs=copy_programs()) as probe:
        assert probe.greeting == "ready, missing: pid namespace, mount namespace, ipc namespace\n", probe.greeting
        assert probe.code("127.0.0.1:443") == "connect.refused"


def test_programs_in_a_directory_of_roots_are_started_all_the_same():
    programs = copy_programs()
    os.chmod(programs, 0o700)
    with NameServer({}), Probe(allow("a.example"), programs=programs) as probe:
        assert probe.code("a.example:443") == "dns.nxdomain"
