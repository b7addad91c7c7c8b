"""What the dialer connects to, and what it asks on the way."""

import contextlib

from dialing import *
from world import Broker, client_hello, parse_answer, read_all, refusal


def test_names_of_etc_hosts_and_literal_addresses_are_connected_to():
    with Server(echo) as server, Probe(allow("local.test", "127.0.0.1", ports=[server.port], deny_private_networks=False)) as probe:
        for host in ("local.test", "127.0.0.1"):
            assert probe.connect(f"{host}:{server.port}") == ("ok", "127.0.0.1", "1", "")
            assert probe.ask("talk hello") == "heard hello(end)"


def test_a_lookup_is_one_a_and_one_aaaa_query():
    with NameServer({"a.example": {A: [PUBLIC], AAAA: [PUBLIC6]}}) as dns, Server(echo, PUBLIC, 443, public=True), \
            Server(echo, PUBLIC6, 443, public=True), Probe(allow("a.example")) as probe:  # fmt: skip
        answer = probe.connect("a.example:443")
        assert answer[0] == "ok" and answer[2] == "2" and answer[1] in (PUBLIC, PUBLIC6), answer
        assert sorted(dns.asked) == [("a.example", A), ("a.example", AAAA)], dns.asked
        assert probe.ask("talk hello") == "heard hello(end)"


def test_an_underscore_is_looked_up_like_any_letter():
    with NameServer({"my_bucket.s3.example": {A: [PUBLIC]}, "_a._b.example": {A: [PUBLIC]}}) as dns, \
            Server(echo, PUBLIC, 443, public=True), Probe(allow("*.s3.example", "_a._b.example")) as probe:  # fmt: skip
        for name in ("my_bucket.s3.example", "_a._b.example"):
            assert probe.connect(f"{name}:443")[:2] == ("ok", PUBLIC), name
        assert len(dns.asked) == 4, dns.asked


def test_the_defaults_are_two_ports_https_and_no_private_address():
    with Probe({"mode": "allowlist", "allowed_hosts": ["127.0.0.1"], "deny_private_networks": False}) as probe:
        assert [probe.code(f"127.0.0.1:{port}") for port in (80, 443, 81, 8443)] == ["connect.refused"] * 2 + ["policy.port"] * 2
        assert probe.code("127.0.0.1:80", "http") == "policy.scheme"
    with Probe({"mode": "allowlist", "allowed_hosts": ["127.0.0.1"]}) as probe:
        assert probe.code("127.0.0.1:443") == "policy.address"


def test_what_policy_refuses_is_never_looked_up():
    with NameServer({}) as dns, Probe(allow("a.example", "*.b.example", allowed_schemes=["https"])) as probe:
        for place, scheme, code in (
            ("secret.evil.example:443", "https", "policy.host"), ("b.example:443", "https", "policy.host"),
            ("a.example:444", "https", "policy.port"), ("a.example:443", "http", "policy.scheme"), ("a.example.evil.test:443", "https",
            "policy.host"), ("93.184.216.34:443", "https", "policy.host"),
        ):  # fmt: skip
            assert probe.code(place, scheme) == code, place
        assert dns.asked == []


def web(s):
    """One plain request."""
    data = b""
    while not data.endswith(b"\r\n\r\n"):
        data += s.recv(1000)
    s.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
    return data


def hello_of_nobody(s):
    return s.recv(1000)


def test_a_clients_request_is_one_a_and_one_aaaa_query_and_a_refused_one_is_none():
    both = [("a.example", A), ("a.example", AAAA)]
    with NameServer({"a.example": {A: [PUBLIC]}}) as dns, Server(web, PUBLIC, 80, public=True), Server(hello_of_nobody, PUBLIC, 443, public=True), \
            Broker(allow("a.example", ports=[80, 443], max_request_body_bytes=3000)) as broker:  # fmt: skip
        assert broker.request("GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n")[0] == 200
        assert sorted(dns.asked) == both and broker.audit()["address"] == PUBLIC, dns.asked
        dns.asked.clear()
        for line, fields, code in (
            ("GET http://secret.evil.example/ HTTP/1.1", "Host: secret.evil.example\r\n", "policy.host"),
            ("CONNECT secret.a.example:443 HTTP/1.1", "Host: secret.a.example:443\r\n", "policy.host"),
            ("CONNECT a.example:444 HTTP/1.1", "Host: a.example:444\r\n", "policy.port"),
            ("GET http://a.example/ HTTP/1.1", "Host: b.example\r\n", "parse.host_mismatch"),
            ("POST http://a.example/ HTTP/1.1", "Host: a.example\r\nContent-Length: 3001\r\n", "body.limit"),
            ("POST http://a.example/ HTTP/1.1", "Host: a.example\r\nTransfer-Encoding: chunked\r\n", "body.chunked"),
            ("GET http://a.example/ HTTP/1.1", "Host: a.example\r\nUpgrade: h2c\r\n", "parse.upgrade"),
            ("GET http://a.example%2eevil.test/ HTTP/1.1", "Host: a.example\r\n", "parse.host"),
            ("GET http://u@a.example/ HTTP/1.1", "Host: a.example\r\n", "parse.userinfo"),
        ):  # fmt: skip
            assert refusal(broker.request(f"{line}\r\n{fields}\r\n")) == code, line
        assert dns.asked == []
        # Refused for what comes later: nothing is looked up once more, and no other name.
        with broker.tunnel(443, "a.example") as s:
            s.sendall(client_hello("other.example"))
            assert read_all(s)[:1] == b"\x15" and sorted(dns.asked) == both, dns.asked


def test_a_client_hears_of_a_resolver_that_was_killed_and_may_ask_again():
    with NameServer({"silent.example": None, "a.example": {A: [PUBLIC]}}, "timeout:10"), Server(web, PUBLIC, 80, public=True), \
            Broker(allow("*.example", ports=[80])) as broker, broker.connect() as s:  # fmt: skip
        resolvers = lambda: [pid for pid in broker.pids() if comm(pid) == "egress-resolver"]
        wait_for(lambda: len(resolvers()) == 1, "a resolver")
        first = resolvers()[0]
        s.sendall(b"GET http://silent.example/ HTTP/1.1\r\nHost: silent.example\r\n\r\n")
        wait_for(lambda: len(resolvers()) == 2, "the next one, ahead")
        os.kill(first, signal.SIGKILL)
        answer = parse_answer(read_all(s))
        assert (answer[0], refusal(answer)) == (502, "dialer.helper"), answer
        assert broker.request("GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n")[0] == 200


def test_search_domains_never_apply():
    zone = {"single.search.test": {A: ["10.0.0.1"]}, "no.example.search.test": {A: ["10.0.0.1"]}}
    for options in ("ndots:1", "ndots:5"):
        with NameServer(zone, options) as dns, Probe(allow("single", "no.example", deny_private_networks=False)) as probe:
            assert probe.code("single:443") == "dns.nxdomain"
            assert probe.code("no.example:443") == "dns.nxdomain"
            assert sorted(dns.asked) == [("no.example", A), ("no.example", AAAA), ("single", A), ("single", AAAA)], dns.asked


def test_a_name_is_resolved_once_and_never_again():
    answers = iter([[PUBLIC], ["127.0.0.1"], ["10.0.0.1"]])
    zone = {"rebind.example": lambda kind: {A: next(answers)} if kind == A else {}}
    with NameServer(zone) as dns, Server(echo, PUBLIC, 443, public=True), Probe(allow("rebind.example")) as probe:
        assert probe.connect("rebind.example:443")[:2] == ("ok", PUBLIC)
        assert len(dns.asked) == 2, dns.asked
        assert probe.connect("rebind.example:443")[:2] == ("dns.non_global_answer", "127.0.0.1")


def test_a_resolv_conf_that_is_a_link_to_anywhere_is_read():
    shutil.copytree("/etc", "etc", symlinks=True)
    os.chmod(".", 0o755)
    os.unlink("etc/resolv.conf")
    os.makedirs("elsewhere")
    # Not where a resolver without a resolv.conf asks.
    with NameServer({"a.example": {A: ["127.0.0.1"]}}, address="127.0.0.53"):
        shutil.copy("/etc/resolv.conf", "elsewhere/resolv.conf")
        shutil.copy("/etc/nsswitch.conf", "etc/nsswitch.conf")
        os.symlink(os.path.abspath("elsewhere/resolv.conf"), "etc/resolv.conf")
        sh("mount", "--bind", "etc", "/etc")
        try:
            with Probe(allow("a.example", deny_private_networks=False)) as probe:
                assert probe.code("a.example:443") == "connect.refused"
        finally:
            sh("umount", "/etc")


def test_failures_have_their_codes():
    many = [f"93.184.{i}.{i}" for i in range(33)]
    zone = {
        "servfail.example": SERVFAIL, "empty.example": {}, "refused.example": 5, "many.example": {A: many[:20], AAAA: [f"2606:2800::{i}" for
        i in range(13)]}, "silent.example": None,
    }  # fmt: skip
    with NameServer(zone, "timeout:1 attempts:1"), Probe(allow("*.example")) as probe:
        for name, code in (
            ("none", "dns.nxdomain"), ("servfail", "dns.failed"), ("empty", "dns.no_address"), ("refused", "dns.failed"),
            ("many", "dns.limit"), ("silent", "dns.timeout"),
        ):  # fmt: skip
            assert probe.code(f"{name}.example:443") == code, name


def test_32_addresses_are_not_too_many():
    with NameServer({"a.example": {A: [PUBLIC, *(f"93.184.217.{i}" for i in range(31))]}}), Server(echo, PUBLIC, 443, public=True), \
            Probe(allow("a.example")) as probe:  # fmt: skip
        assert probe.connect("a.example:443") == ("ok", PUBLIC, "32", "")


def test_a_lookup_ends_at_the_deadline():
    with NameServer({"silent.example": None}, "timeout:10 attempts:3"), Probe(allow("silent.example", "gone.example")) as probe:
        for _ in range(3):
            with timed() as t:
                assert probe.code("silent.example:443", ms=300) == "dns.timeout"
            assert 0.29 < t.seconds < 0.4, t.seconds
        assert probe.code("gone.example:443") == "dns.nxdomain"


def test_the_policys_time_is_the_longest_deadline():
    with NameServer({"silent.example": None}, "timeout:10"), Probe(allow("silent.example", max_wall_time_seconds=0.3)) as probe, timed() as t:
        assert probe.code("silent.example:443", ms=100000) == "dns.timeout"
    assert t.seconds < 1, t.seconds


def test_an_address_inside_of_one_is_told():
    zone = {"a.example": {AAAA: ["64:ff9b::a9fe:a9fe"]}, "b.example": {AAAA: ["2001:0:5db8:d822::f5ff:fffe"]}, "c.example": {AAAA: ["fd00::1"]}}
    with NameServer(zone), Probe(allow("*.example")) as probe:
        for name, tells in (("a", "link-local, cloud metadata (169.254.169.254 inside)"), ("b", "Teredo (10.0.0.1 inside)"),
                            ("c", "unique local, cloud metadata")):  # fmt: skip
            assert probe.connect(f"{name}.example:443")[3] == tells, probe.connect(f"{name}.example:443")


def test_one_bad_address_refuses_the_name():
    zone = {
        "mixed.example": {A: [PUBLIC, "10.1.2.3"]}, "six.example": {A: [PUBLIC], AAAA: ["fd00:ec2::254"]}, "fake.example": {A: ["198.18.0.7"]},
        "nat64.example": {AAAA: ["64:ff9b::a9fe:a9fe"]}, "mapped.example": {AAAA: ["::ffff:127.0.0.1"]}, "never.example": {A: ["0.0.0.0"]},
        "meta.example": {A: ["169.254.169.254"]}, "sixtofour.example": {AAAA: ["2002:7f00:1::"]}, "operator.example": {AAAA:
        ["2606:64::a00:1"]},
    }  # fmt: skip
    with NameServer(zone), Probe(allow("*.example", nat64_prefixes=["2606:64::/96"])) as probe:
        for name, code, address in (
            ("mixed", "dns.non_global_answer", "10.1.2.3"), ("six", "dns.non_global_answer", "fd00:ec2::254"),
            ("fake", "dns.fake_ip", "198.18.0.7"), ("nat64", "dns.non_global_answer", "64:ff9b::a9fe:a9fe"),
            ("mapped", "dns.non_global_answer", "127.0.0.1"), ("never", "dns.non_global_answer", "0.0.0.0"),
            ("meta", "dns.non_global_answer", "169.254.169.254"), ("sixtofour", "dns.non_global_answer", "2002:7f00:1::"),
            ("operator", "dns.non_global_answer", "2606:64::a00:1"),
        ):  # fmt: skip
            assert probe.connect(f"{name}.example:443")[:2] == (code, address), name


@contextlib.contextmanager
def with_ip(*words):
    """ip(8) add WORDS, and delete them in the end."""
    sh("ip", words[0], "add", *words[1:])
    try:
        yield
    finally:
        sh("ip", words[0], "delete", *words[1:])


def test_the_hosts_own_public_address_is_no_public_one():
    zone = {"self.example": {A: ["93.184.200.1"]}, "back.example": {AAAA: ["64:ff9b::5db8:c801"]}, "again.example": {AAAA:
            ["2606:64::5db8:c801"]}}  # fmt: skip
    with with_ip("address", "93.184.200.1/32", "dev", "lo"), NameServer(zone), Server(echo, "93.184.200.1", 443):
        with Probe(allow("*.example", "93.184.200.1", nat64_prefixes=["2606:64::/96"])) as probe:
            assert probe.connect("self.example:443") == ("dns.non_global_answer", "93.184.200.1", "1", "an address of this host")
            assert probe.code("93.184.200.1:443") == "policy.address"
            for name, address in (("back", "64:ff9b::5db8:c801"), ("again", "2606:64::5db8:c801")):
                assert probe.connect(f"{name}.example:443") == (
                    "dns.non_global_answer", address, "1", "an address of this host (93.184.200.1 inside)")  # fmt: skip
        with Probe(allow("self.example", deny_private_networks=False)) as probe:
            assert probe.code("self.example:443") == "ok"


def test_addresses_are_tried_in_turn_and_a_silent_one_costs_a_moment():
    zone = {"a.example": {A: [SILENT, PUBLIC]}, "b.example": {A: [PUBLIC], AAAA: ["2606:2800:220:1::99"]}, "c.example": {A: [SILENT]}}
    with NameServer(zone), Server(echo, PUBLIC, 443, public=True), Probe(allow("*.example")) as probe:
        for name in ("a", "b"):
            with timed() as t:
                assert probe.connect(f"{name}.example:443")[:2] == ("ok", PUBLIC)
            assert t.seconds < 1, t.seconds
            assert probe.ask("talk x") == "heard x(end)"
        with timed() as t:
            assert probe.code("c.example:443", ms=500) == "connect.timeout"
        assert 0.49 < t.seconds < 0.6, t.seconds


def test_a_refused_connection_is_told_from_an_unreachable_one():
    with Probe(allow("127.0.0.1", "240.0.0.1", "255.255.255.255", deny_private_networks=False)) as probe:
        assert probe.connect("127.0.0.1:443") == ("connect.refused", "127.0.0.1", "1", "Connection refused")
        assert probe.code("255.255.255.255:443") == "policy.address"
    with with_ip("route", "unreachable", "198.51.100.0/24"), Probe(allow("198.51.100.1", deny_private_networks=False)) as probe:
        assert probe.code("198.51.100.1:443") == "connect.unreachable"


def test_a_resolver_that_dies_is_an_answer():
    with NameServer({"silent.example": None, "a.example": {A: [PUBLIC]}}, "timeout:10"), Server(echo, PUBLIC, 443, public=True), \
            Probe(allow("*.example")) as probe:  # fmt: skip
        wait_for(lambda: len(probe.resolvers()) == 1, "a resolver")
        first = probe.resolvers()[0]
        with timed() as t:
            probe.say("connect silent.example:443 https 5000")
            time.sleep(0.1)
            os.kill(first, signal.SIGKILL)
            assert probe.process.stdout.readline().startswith("dialer.helper ")
        assert t.seconds < 1, t.seconds
        assert probe.code("a.example:443") == "ok"


def test_resolvers_are_few_and_the_others_wait_their_turn():
    with NameServer({"silent.example": None, "a.example": {A: [PUBLIC]}}, "timeout:10"), Server(echo, PUBLIC, 443, public=True), \
            Probe(allow("*.example")) as probe:  # fmt: skip
        for tag in range(20):
            assert probe.ask(f"start {tag} silent.example:443 400") == "asked"
        assert probe.ask("start 100 a.example:443 5000") == "asked"
        wait_for(lambda: len(probe.resolvers()) == 8, "eight resolvers")
        # All that a broker without TLS programs is: with dialer and front, ten.
        assert len(probe.pids()[2]) == 8
        answers = dict(probe.ask("wait").split()[:2] for _ in range(21))
        assert answers.pop("100") == "ok" and len(answers) == 20 and set(answers.values()) == {"dns.timeout"}, answers
        assert len(probe.resolvers()) <= 8


def test_where_the_host_has_no_more_processes_for_it_requests_wait_for_one_or_are_refused():
    # setrlimit(2), RLIMIT_NPROC: all processes of the user, so one that nobody else has. The dialer is one, and by the first request the front
    # another; the helper that is started ahead may come before that.
    for limit, code in ((1, "dialer.helper"), (3, "dns.timeout")):
        user = 1000000000 + os.getpid() * 4 + limit
        with NameServer({"silent.example": None}, "timeout:10"), Probe(allow("*.example"), f"{user}:{user}", ["prlimit", f"--nproc={limit}"]) as probe:
            assert probe.ask("start 1 silent.example:443 400") == "asked"
            assert probe.ask("start 2 silent.example:443 800") == "asked"
            answers = [probe.ask("wait").split()[:2] for _ in range(2)]
            assert answers == [["1", code], ["2", code]], answers
            assert probe.ask("start 3 gone.example:443 10000") == "asked"
            assert probe.ask("wait").split()[:2] == ["3", "dns.nxdomain" if limit == 3 else code]


def test_a_cancelled_request_has_no_answer():
    with NameServer({"silent.example": None}, "timeout:10"), Probe(allow("silent.example", "none.example")) as probe:
        assert probe.ask("start 7 silent.example:443 400") == "asked"
        assert probe.ask("cancel 7") == "cancelled"
        assert probe.ask("start 8 none.example:443 5000") == "asked"
        assert probe.ask("wait").split()[:2] == ["8", "dns.nxdomain"]


def test_the_dialer_decides_by_itself_and_trusts_no_message():
    with Probe(allow("a.example")) as probe:
        probe.say("raw this is no request")
        assert probe.process.wait(PATIENCE) == 128 + signal.SIGKILL


def test_neither_half_outlives_the_other():
    for victim in (0, 1):
        probe = Probe(allow("a.example")).__enter__()
        wait_for(lambda: len(probe.resolvers()) == 1, "a resolver")
        dialer, front, helpers = probe.pids()
        os.kill((dialer, front)[victim], signal.SIGKILL)
        probe.process.wait(PATIENCE)
        for pid in (front, *helpers):
            wait_for(lambda pid=pid: is_gone(pid), f"the end of {pid}")


def test_a_front_that_does_not_end_when_it_is_told_to_is_ended():
    """The probe has no handler, and is the first process of its pid namespace: pid_namespaces(7) protects it from what it does not handle."""
    for line in (None, "flood"):
        probe = Probe(allow("a.example")).__enter__()
        if line:
            probe.say(line)
            time.sleep(0.1)
        with timed() as t:
            probe.process.terminate()
            assert line or probe.code("b.example:443") == "policy.host"
            assert probe.process.wait(PATIENCE) == 128 + signal.SIGKILL
        assert 1.9 < t.seconds < 3, t.seconds


def test_a_front_that_hears_nothing_any_more_is_ended():
    with Probe(allow("a.example")) as probe:
        assert probe.ask("deaf") == "0"
        probe.ask("start 7 b.example:443 5000")
        assert probe.process.wait(PATIENCE) == 128 + signal.SIGKILL


def test_a_front_moves_the_dialer_to_no_processor_that_it_was_not_started_on():
    allowed = sorted(os.sched_getaffinity(0))
    with Probe(allow("a.example"), before=["taskset", "-c", str(allowed[0])]) as probe:
        for processor in (allowed[-1], -1, 1023, 1024, 2147483647, -2147483648):
            probe.ask(f"move {processor}")
            assert probe.process.stdout.readline().split()[1].startswith("parse."), processor
            assert os.sched_getaffinity(probe.process.pid) == {allowed[0]}, processor


def test_descriptors_of_others_on_their_way_are_no_reason_to_wait():
    """unix(7), ETOOMANYREFS: those of all processes of one user are counted together."""
    others = "import array, socket, sys\nends = [socket.socketpair() for _ in range(4)]\nfor a, _ in ends:\n" \
             "  a.sendmsg([b'x'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', [0] * 200))])\nprint(1, flush=True)\nsys.stdin.read()"  # fmt: skip
    with Server(echo) as server, \
            Probe(allow("127.0.0.1", ports=[server.port], deny_private_networks=False), before=["prlimit", "--nofile=256"]) as probe:  # fmt: skip
        assert probe.code(f"127.0.0.1:{server.port}") == "ok"
        with subprocess.Popen(["setpriv", "--reuid=65534", "--clear-groups", "python3", "-c", others], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE) as process:  # fmt: skip
            process.stdout.readline()
            assert probe.code(f"127.0.0.1:{server.port}") == "dialer.busy"
        wait_for(lambda: probe.code(f"127.0.0.1:{server.port}") == "ok", "their arrival")


def test_it_does_not_start_without_its_programs_or_as_root():
    programs = copy_programs()
    os.unlink(f"{programs}/sage-egress-tls")
    with Probe(allow("a.example"), programs=programs):
        pass
    os.unlink(f"{programs}/sage-egress-resolver")
    for policy, arguments, tells in (
        (allow("a.example"), {"user": "0:0"}, "sandbox.identity_invalid user: the broker does not run as root"),
        (allow("a.example"), {"programs": programs}, "sandbox.launch_failed sage-egress-resolver: cannot open this program"),
        ({"mode": "none"}, {}, "sandbox.network_policy_invalid mode: expected allowlist or proxy"),
    ):  # fmt: skip
        probe = Probe(policy, **arguments)
        assert tells in probe.greeting, probe.greeting
        assert probe.end() == 1
