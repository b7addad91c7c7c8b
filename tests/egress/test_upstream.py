"""Mode proxy: CONNECT to the checked address, through http:// and https:// upstreams."""

import select
import ssl

import gnutls
from dialing import *
from world import Broker, client_hello, cpu_of, read_all, read_head, read_record, read_until_reset, reset, server_hello

EC = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1")
OK = b"HTTP/1.1 200 Connection established\r\n\r\n"


def upstream(answer=OK, then=echo):
    """A proxy that says ANSWER to whatever it is asked, and then is the destination."""

    def handler(s):
        head = read_head(s).decode()
        for piece in answer if isinstance(answer, list) else [answer]:
            s.sendall(piece)
            time.sleep(0.01 if isinstance(answer, list) else 0)
        return head, then(s) if then else None

    return handler


def through(url, *hosts, **members):
    return {"mode": "proxy", "proxy_url": url, "allowed_hosts": list(hosts), **members}


def test_the_upstream_is_asked_for_the_checked_address():
    with NameServer({"a.example": {A: [PUBLIC]}, "six.example": {AAAA: [PUBLIC6]}}) as dns, Server(upstream()) as proxy, \
            Probe(through(f"http://127.0.0.1:{proxy.port}")) as probe:  # fmt: skip
        for name, address in (("a.example", PUBLIC), ("six.example", f"[{PUBLIC6}]")):
            assert probe.connect(f"{name}:443")[:2] == ("ok", address.strip("[]"))
            assert probe.ask("talk hello") == "heard hello(end)"
            wait_for(lambda: proxy.results, "the upstream")
            assert proxy.results.pop() == (f"CONNECT {address}:443 HTTP/1.1\r\nHost: {address}:443\r\n\r\n", b"hello")
        assert len(dns.asked) == 4, dns.asked


def test_allowed_hosts_hold_through_it_too_and_without_them_every_name_is_looked_up():
    with NameServer({"a.example": {A: [PUBLIC]}, "b.example": {A: [PUBLIC]}}) as dns, Server(upstream()) as proxy:
        url = f"http://127.0.0.1:{proxy.port}"
        with Probe(through(url, "a.example")) as probe:
            assert probe.code("b.example:443") == "policy.host" and probe.code("a.example:444") == "policy.port"
            assert dns.asked == [] and proxy.accepted == 0
            assert probe.code("a.example:443") == "ok"
        with Probe(through(url)) as probe:
            assert probe.code("b.example:443") == "ok" and probe.code("b.example:8443") == "policy.port"


def test_its_answers_are_consumed_and_have_their_codes():
    cases = (
        ([b"HTT", b"P/1.1 200 OK\r", b"\nA: b\r\n", b"\r\n"], "ok"), (b"HTTP/1.1 100 Continue\r\n\r\n" + OK, "ok"),
        (b"HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic\r\nContent-Length: 2\r\n\r\nno", "proxy.authentication"),
        (b"HTTP/1.1 403 Forbidden\r\n\r\n", "proxy.refused"), (b"HTTP/1.1 302 Found\r\nLocation: http://evil/\r\n\r\n", "proxy.refused"),
        (b"HTTP/1.1 101 Switching Protocols\r\n\r\n", "proxy.answer"), (b"SSH-2.0-OpenSSH\r\n", "proxy.answer"),
        (b"HTTP/1.1 200 OK\n\n", "proxy.answer"), (b"HTTP/1.1 200 OK\r\nA: b\r\n folded\r\n\r\n", "proxy.answer"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbody", "proxy.answer"), (b"HTTP/1.1 200 OK\r\nA: " + b"x" * 40000, "proxy.answer"),
        (b"", "proxy.closed"), (b"HTTP/1.1 200 OK\r\nA: b\r\n", "proxy.closed"),
    )  # fmt: skip
    for answer, code in cases:
        with Server(upstream(answer, echo if code == "ok" else None)) as proxy, \
                Probe(through(f"http://127.0.0.1:{proxy.port}", PUBLIC)) as probe:  # fmt: skip
            said = probe.connect(f"{PUBLIC}:443")
            assert said[0] == code, (answer, said)
            if code == "ok":
                assert probe.ask("talk hello") == "heard hello(end)"


def test_an_upstream_that_says_nothing_is_left_at_the_deadline():
    with Server(lambda s: s.recv(1) and time.sleep(5)) as proxy, Probe(through(f"http://127.0.0.1:{proxy.port}", PUBLIC)) as probe:
        with timed() as t:
            assert probe.code(f"{PUBLIC}:443", ms=300) == "proxy.timeout"
        assert 0.29 < t.seconds < 0.4, t.seconds


def test_there_is_no_way_around_it():
    with NameServer({"a.example": {A: [PUBLIC]}}), Server(echo, PUBLIC, 443, public=True) as origin:
        with Server(echo) as proxy:
            port = proxy.port
        with Probe(through(f"http://127.0.0.1:{port}")) as probe:
            assert probe.code("a.example:443") == "proxy.connect"
        with Server(upstream(b"HTTP/1.1 503 \r\n\r\n", None)) as proxy, Probe(through(f"http://127.0.0.1:{proxy.port}")) as probe:
            assert probe.code("a.example:443") == "proxy.refused"
        assert origin.accepted == 0


def test_another_address_is_asked_for_where_it_could_not_reach_the_first():
    def handler(s):
        head = read_head(s).decode()
        s.sendall(OK if PUBLIC in head else b"HTTP/1.1 502 Bad Gateway\r\n\r\n")
        return head, echo(s) if PUBLIC in head else None

    with NameServer({"a.example": {A: [SILENT, PUBLIC]}}), Server(handler) as proxy, \
            Probe(through(f"http://127.0.0.1:{proxy.port}")) as probe:  # fmt: skip
        assert probe.connect("a.example:443")[:2] == ("ok", PUBLIC)
        assert probe.ask("talk hello") == "heard hello(end)"


def test_what_is_private_stays_so_and_the_upstream_may_be_private():
    zone = {"a.example": {A: ["10.0.0.1"]}, "b.example": {A: ["127.0.0.1"]}, "proxy.test": {A: ["127.0.0.1"]}}
    with NameServer(zone), Server(upstream()) as proxy:
        with Probe(through(f"http://127.0.0.1:{proxy.port}")) as probe:
            assert probe.code("a.example:443") == "dns.non_global_answer"
            assert probe.code("127.0.0.1:443") == "policy.upstream"
        with Probe(through(f"http://127.0.0.1:{proxy.port}", deny_private_networks=False)) as probe:
            assert probe.code("a.example:443") == "ok"
            assert probe.code("b.example:443") == "policy.upstream"
        with Probe(through(f"http://proxy.test:{proxy.port}", deny_private_networks=False)) as probe:
            assert probe.code("proxy.test:443") == "policy.upstream"
            assert probe.code("127.0.0.1:443") == "policy.upstream"
        assert len(proxy.results) <= 1


def test_the_upstreams_name_is_looked_up_once_until_it_fails():
    addresses = iter((["127.0.0.1"], ["127.0.0.9"], ["127.0.0.1"]))
    zone = {"proxy.test": lambda kind: {A: next(addresses)} if kind == A else {}}
    with NameServer(zone) as dns, Server(upstream()) as proxy, Probe(through(f"http://proxy.test:{proxy.port}", PUBLIC)) as probe:
        for _ in range(3):
            assert probe.code(f"{PUBLIC}:443") == "ok"
        assert dns.asked == [("proxy.test", A), ("proxy.test", AAAA)] or len(dns.asked) == 2, dns.asked
        proxy.close()
        assert probe.code(f"{PUBLIC}:443") == "proxy.connect"
        assert probe.code(f"{PUBLIC}:443") == "proxy.connect"
        assert len(dns.asked) == 4, dns.asked
    with NameServer({}), Probe(through("http://proxy.test:1", PUBLIC)) as probe:
        assert probe.connect(f"{PUBLIC}:443") == ("proxy.dns", "-", "0", "dns.nxdomain")


# ---- https:// --------------------------------------------------------------------------------------------------------


class Authority:
    """A throw-away CA, and the host's only one for as long as the context lasts."""

    def __init__(self):
        self.openssl("req", "-x509", *EC, "-nodes", "-subj", "/CN=Test CA", "-keyout", "ca.key", "-out", "ca.pem", "-days",
                     "2", "-addext", "basicConstraints=critical,CA:TRUE")  # fmt: skip

    @staticmethod
    def openssl(*words):
        subprocess.run(["openssl", *words], check=True, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)

    def certify(self, name, names, days="2", ca="ca"):
        """NAME.pem and NAME.key; NAMES as in subjectAltName."""
        with open("names", "w", encoding="ascii") as file:
            file.write(f"subjectAltName={names}\n" if names else "basicConstraints=CA:FALSE\n")
        self.openssl("req", *EC, "-nodes", "-subj", f"/CN={name}", "-keyout", f"{name}.key", "-out", "request.pem")
        self.openssl("x509", "-req", "-in", "request.pem", "-CA", f"{ca}.pem", "-CAkey", f"{ca}.key", "-CAcreateserial", "-days", days,
                     "-extfile", "names", "-out", f"{name}.pem")  # fmt: skip

    def __enter__(self):
        sh("mount", "-t", "tmpfs", "none", "/etc/ssl/certs")
        shutil.copy("ca.pem", "/etc/ssl/certs/ca.pem")
        self.openssl("rehash", "/etc/ssl/certs")
        return self

    def __exit__(self, *_):
        sh("umount", "/etc/ssl/certs")


made = []


def authority():
    if not made:
        made.append(Authority())
        made[0].certify("good", "DNS:proxy.test,IP:127.0.0.1")
        made[0].certify("other", "DNS:other.test")
        made[0].certify("wild", "DNS:*.corp.test")
        made[0].certify("bare", None)
        made[0].certify("late", "DNS:proxy.test,IP:127.0.0.1", days="0")
        Authority.openssl("req", "-x509", *EC, "-nodes", "-subj", "/CN=Test CA", "-keyout", "rogue.key", "-out",
                          "rogue.pem", "-days", "2", "-addext", "subjectAltName=DNS:proxy.test")  # fmt: skip
    return made[0]


class Seen:
    """What a TLS server was told."""

    name = alpn = version = None


def speaking_tls(certificate, handler, seen=None, adjust=None):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(f"{certificate}.pem", f"{certificate}.key")
    context.set_alpn_protocols(["h2", "http/1.1"])
    if seen:
        context.sni_callback = lambda s, name, _: setattr(seen, "name", name)
    if adjust:
        adjust(context)

    def handle(s):
        with context.wrap_socket(s, server_side=True, suppress_ragged_eofs=False) as tls:
            if seen:
                seen.alpn, seen.version = tls.selected_alpn_protocol(), tls.version()
            result = handler(tls)
            tls.unwrap()
            return result

    return handle


def test_an_https_upstream_is_spoken_to_in_tls_and_named():
    for host, name in (("proxy.test", "proxy.test"), ("127.0.0.1", None)):
        seen = Seen()
        with authority(), NameServer({"proxy.test": {A: ["127.0.0.1"]}}), Server(speaking_tls("good", upstream(), seen)) as proxy, \
                Probe(through(f"https://{host}:{proxy.port}", PUBLIC)) as probe:  # fmt: skip
            assert probe.connect(f"{PUBLIC}:443") == ("ok", PUBLIC, "1", "")
            assert (seen.name, seen.alpn, seen.version) == (name, "http/1.1", "TLSv1.3"), vars(seen)
            assert probe.ask("talk hello") == "heard hello(end)"


def test_certificates_are_verified():
    def old(context):
        context.minimum_version, context.maximum_version = ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1
        context.set_ciphers("ALL:@SECLEVEL=0")

    def two(context):
        context.maximum_version = ssl.TLSVersion.TLSv1_2

    cases = (
        ("good", None, "ok", ""), ("good", two, "ok", ""), ("other", None, "proxy.certificate", "hostname mismatch"),
        ("bare", None, "proxy.certificate", "hostname mismatch"), ("late", None, "proxy.certificate", "expired"),
        ("rogue", None, "proxy.certificate", "self-signed"), ("good", old, "proxy.tls", ""), ("wild", None, "proxy.certificate", "hostname mismatch"),
    )  # fmt: skip
    with authority(), NameServer({"proxy.test": {A: ["127.0.0.1"]}}):
        for certificate, adjust, code, tells in cases:
            with Server(speaking_tls(certificate, upstream(), adjust=adjust)) as proxy, \
                    Probe(through(f"https://proxy.test:{proxy.port}", PUBLIC)) as probe:  # fmt: skip
                said = probe.connect(f"{PUBLIC}:443")
                assert said[0] == code and tells in said[3], (certificate, said)
    with authority(), NameServer({"proxy.corp.test": {A: ["127.0.0.1"]}}), Server(speaking_tls("wild", upstream())) as proxy, \
            Probe(through(f"https://proxy.corp.test:{proxy.port}", PUBLIC)) as probe:  # fmt: skip
        assert probe.code(f"{PUBLIC}:443") == "ok"


def test_bytes_go_both_ways_and_ends_with_them():
    """close_notify of either side is an end of stream at the other one, and the other direction goes on."""

    def destination(tls):
        data = b""
        while not data.endswith(b"\n"):
            data += tls.recv(1 << 16)
        tls.sendall(b"x" * 3000000 + b"end")
        return len(data)

    with authority(), NameServer({}), Server(speaking_tls("good", upstream(then=destination))) as proxy, \
            Probe(through(f"https://127.0.0.1:{proxy.port}", PUBLIC)) as probe:  # fmt: skip
        assert probe.code(f"{PUBLIC}:443") == "ok"
        probe.ask("begin " + "y" * 1000)
        probe.ask("line")
        said = probe.ask("all")
        assert said == "x" * 3000000 + "end(end)", (len(said), said[-60:])


def test_an_upstream_that_speaks_no_tls_is_told():
    for handler in (lambda s: s.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n"), lambda s: None):
        with authority(), Server(handler) as proxy, Probe(through(f"https://127.0.0.1:{proxy.port}", PUBLIC)) as probe:
            assert probe.code(f"{PUBLIC}:443") == "proxy.tls"


def tls_programs(probe):
    return [pid for pid in probe.pids()[2] if comm(pid) == "egress-tls"]


def test_tls_programs_are_no_more_than_connections_and_who_needs_one_waits():
    with authority(), Server(speaking_tls("good", upstream())) as proxy, \
            Probe(through(f"https://127.0.0.1:{proxy.port}", PUBLIC, max_connections=1)) as probe:  # fmt: skip
        assert probe.code(f"{PUBLIC}:443") == "ok"
        first = tls_programs(probe)
        with timed() as t:
            assert probe.connect(f"{PUBLIC}:443", ms=300)[0::3] == ("dialer.busy", "no TLS program became free")
        assert 0.29 < t.seconds < 0.6, t.seconds
        assert probe.ask(f"start 7 {PUBLIC}:443 5000") == "asked"
        wait_for(lambda: proxy.accepted == 3, "the next connection to the upstream")
        # With dialer and front, and the resolver that is kept ready.
        assert tls_programs(probe) == first and len(probe.pids()[2]) == 2
        os.kill(first[0], signal.SIGKILL)
        assert probe.ask("wait").split()[:2] == ["7", "ok"]
        assert probe.ask("talk hello") == "heard hello(end)"


def test_a_tls_program_ends_with_its_tunnel_at_the_deadline_or_by_death():
    with authority(), Server(speaking_tls("good", upstream())) as proxy, \
            Probe(through(f"https://127.0.0.1:{proxy.port}", PUBLIC)) as probe:  # fmt: skip
        wait_for(lambda: len(tls_programs(probe)) == 1, "one ahead")
        ahead = tls_programs(probe)[0]
        with timed() as t:
            assert probe.code(f"{PUBLIC}:443", ms=600) == "ok"
            wait_for(lambda: is_gone(ahead), "the end of its TLS program")
        assert 1.05 < t.seconds < 1.4, t.seconds  # half a second after the front, which resets first
        assert probe.ask("more") == "(end)"
        assert probe.code(f"{PUBLIC}:443") == "ok"
        assert probe.ask("talk hello") == "heard hello(end)"
        wait_for(lambda: len(tls_programs(probe)) == 1, "the one ahead alone")
    with authority(), Server(lambda s: time.sleep(5)) as proxy, Probe(through(f"https://127.0.0.1:{proxy.port}", PUBLIC)) as probe:
        wait_for(lambda: len(tls_programs(probe)) == 1, "one ahead")
        probe.say(f"connect {PUBLIC}:443 https 5000")
        wait_for(lambda: proxy.accepted == 1, "a handshake")
        wait_for(lambda: len(tls_programs(probe)) == 2, "the next one")
        for pid in tls_programs(probe):
            os.kill(pid, signal.SIGKILL)
        assert probe.process.stdout.readline().startswith("dialer.helper ")


def test_a_tls_program_holds_its_sockets_and_nothing_else():
    with authority(), Server(speaking_tls("good", upstream())) as proxy, \
            Probe(through(f"https://127.0.0.1:{proxy.port}", PUBLIC)) as probe:  # fmt: skip
        assert probe.code(f"{PUBLIC}:443") == "ok"
        for pid in (pid for pid in probe.pids()[2] if comm(pid) == "egress-tls"):
            links = [os.readlink(f"/proc/{pid}/fd/{n}") for n in os.listdir(f"/proc/{pid}/fd") if n != "2"]
            wait_for(lambda pid=pid: "Seccomp_filters:\t2" in status_of(pid), "its filter")
            assert all(link.startswith("socket:") or link == "/dev/null" for link in links) and len(links) in (2, 5), links


# ---- by another library ----------------------------------------------------------------------------------------------------


def speaking_gnutls(certificate, handler, priority="NORMAL", names=None):
    def handle(s):
        with gnutls.Session(s, f"{certificate}.pem", f"{certificate}.key", priority=priority) as tls:
            if names is not None:
                names.append(tls.server_name())
            result = handler(tls)
            tls.end()
            while tls.recv(1000):
                pass
            return result

    return handle


def test_an_upstream_of_gnutls():
    """Of TLS 1.3, of 1.3 with a second hello, and of 1.2."""
    for priority in ("NORMAL", gnutls.ASKS_AGAIN, "NORMAL:-VERS-ALL:+VERS-TLS1.2"):
        for host, name in (("proxy.test", "proxy.test"), ("127.0.0.1", None)):
            names = []
            with authority(), NameServer({"proxy.test": {A: ["127.0.0.1"]}}), \
                    Server(speaking_gnutls("good", upstream(), priority, names)) as proxy, \
                    Probe(through(f"https://{host}:{proxy.port}", PUBLIC)) as probe:  # fmt: skip
                assert probe.connect(f"{PUBLIC}:443") == ("ok", PUBLIC, "1", ""), priority
                assert probe.ask("talk hello") == "heard hello(end)" and names == [name], (priority, names)


def test_certificates_of_gnutls_are_verified_as_well():
    cases = (
        ("other", "NORMAL", "proxy.certificate", "hostname mismatch"), ("late", "NORMAL", "proxy.certificate", "expired"),
        ("rogue", "NORMAL", "proxy.certificate", "self-signed"), ("good", "NORMAL:-VERS-ALL:+VERS-TLS1.1:%COMPAT", "proxy.tls", ""),
    )  # fmt: skip
    with authority(), NameServer({"proxy.test": {A: ["127.0.0.1"]}}):
        for certificate, priority, code, tells in cases:
            with Server(speaking_gnutls(certificate, upstream(), priority)) as proxy, \
                    Probe(through(f"https://proxy.test:{proxy.port}", PUBLIC)) as probe:  # fmt: skip
                said = probe.connect(f"{PUBLIC}:443")
                assert said[0] == code and tells in said[3], (certificate, said)


def test_bulk_through_an_upstream_of_gnutls_and_an_end_without_its_close_notify():
    def whole(tls):
        read_head(tls)
        tls.sendall(b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * 3000000)

    def cut_off(tls):
        whole(tls)
        time.sleep(0.2)
        raw = socket.socket(fileno=tls.detach())
        raw.shutdown(socket.SHUT_RDWR)
        raw.close()

    for then, code in ((whole, None), (cut_off, "origin.reset")):
        with authority(), Server(speaking_gnutls("good", upstream(then=then))) as proxy, \
                Broker(through(f"https://127.0.0.1:{proxy.port}", PUBLIC, allowed_schemes=["http"])) as broker, broker.connect() as s:  # fmt: skip
            s.sendall(f"GET http://{PUBLIC}/ HTTP/1.1\r\nHost: {PUBLIC}\r\n\r\n".encode())
            data = bytearray()
            try:
                while chunk := s.recv(1 << 16):
                    data += chunk
                assert code is None, "an end in order"
            except ConnectionResetError:
                assert code, "a reset"
            assert data.count(b"x") == 3000000 and broker.audit().get("code") == code, (len(data), broker.audit())


def test_gnutls_serv_as_an_upstream():
    """It is no proxy: it says back what it hears, which is no answer to CONNECT, but a handshake it has had."""
    with authority(), socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    server = subprocess.Popen(
        ["gnutls-serv", "--echo", "--x509certfile", "good.pem", "--x509keyfile", "good.key", "-p", str(port), "--quiet"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        wait_for(lambda: accepts(port), "gnutls-serv")
        with authority(), NameServer({"proxy.test": {A: ["127.0.0.1"]}, "proxy.corp.test": {A: ["127.0.0.1"]}}):
            for host, code in (("proxy.test", "proxy.answer"), ("proxy.corp.test", "proxy.certificate")):
                with Probe(through(f"https://{host}:{port}", PUBLIC)) as probe:
                    assert probe.code(f"{PUBLIC}:443") == code, host
    finally:
        server.kill()
        server.wait()


def accepts(port):
    try:
        socket.create_connection(("127.0.0.1", port)).close()
        return True
    except OSError:
        return False


# ---- and the whole broker ----------------------------------------------------------------------------------------------


def destination(s):
    """An origin of one plain request, on the other side of the tunnel."""
    head = read_head(s).decode()
    s.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")
    return head


def test_a_client_gets_through_both_kinds_of_upstream():
    with authority(), NameServer({"a.example": {A: [PUBLIC]}}):
        for handler, scheme in ((upstream(then=destination), "http"), (speaking_tls("good", upstream(then=destination)), "https")):
            with Server(handler) as proxy, \
                    Broker(through(f"{scheme}://127.0.0.1:{proxy.port}", allowed_schemes=["http"])) as broker:  # fmt: skip
                status, _, body = broker.request("GET http://a.example/x HTTP/1.1\r\nHost: a.example\r\n\r\n")
                assert (status, body) == (200, b"hello")
                wait_for(lambda proxy=proxy: proxy.results, "the upstream")
                asked, got = proxy.results[0]
                assert asked.startswith(f"CONNECT {PUBLIC}:80 ") and got.startswith("GET /x HTTP/1.1\r\n"), (asked, got)
                assert broker.audit()["address"] == PUBLIC


def test_tls_through_a_tls_upstream_both_by_gnutls():
    """The client's TLS, to a server of GnuTLS, inside of the broker's, to a proxy of GnuTLS that connects to it."""

    def origin_serves(s):
        with gnutls.Session(s, "good.pem", "good.key") as tls:
            tls.sendall(b"from within")
            tls.end()

    def proxy_serves(tls):
        """In one thread; what a record holds is read at once, so none waits unseen."""
        with socket.create_connection(("127.0.0.1", origin.port)) as behind:
            while True:
                for ready in select.select([tls.socket, behind], [], [], PATIENCE)[0]:
                    source, sink = (behind, tls) if ready is behind else (tls, behind)
                    chunk = source.recv(1 << 14)
                    if not chunk:
                        return
                    sink.sendall(chunk)

    with authority() as _, NameServer({"proxy.test": {A: [PUBLIC]}}), Server(origin_serves) as origin, \
            Server(speaking_gnutls("good", upstream(then=proxy_serves))) as proxy, \
            Broker(through(f"https://127.0.0.1:{proxy.port}", "proxy.test", allowed_schemes=["https"])) as broker, \
            broker.tunnel(443, "proxy.test") as s, gnutls.Session(s, ca="ca.pem", name="proxy.test") as client:  # fmt: skip
        data = b""
        while chunk := client.recv(1000):
            data += chunk
        assert data == b"from within", data


def test_a_client_sees_nothing_of_what_an_upstream_says():
    answer = b"HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic realm=secret\r\nContent-Length: 6\r\n\r\nsecret"
    with Server(upstream(answer, None)) as proxy, Broker(through(f"http://127.0.0.1:{proxy.port}", PUBLIC, allowed_schemes=["http"])) as broker:
        said = broker.request(f"GET http://{PUBLIC}/ HTTP/1.1\r\nHost: {PUBLIC}\r\n\r\n")
        assert said[0] == 502 and b"secret" not in repr(said).encode() and b"proxy.authentication" in said[2], said
        assert broker.audit()["code"] == "proxy.authentication"


def test_the_deadline_is_a_reset_behind_a_tls_upstream_too():
    def slow(s):
        read_head(s)
        s.sendall(b"HTTP/1.1 200 OK\r\n\r\nbeginning")
        time.sleep(3)

    with authority(), Server(speaking_tls("good", upstream(then=slow))) as proxy, \
            Broker(through(f"https://127.0.0.1:{proxy.port}", PUBLIC, allowed_schemes=["http"], max_wall_time_seconds=1)) as broker, \
            broker.connect() as s, timed() as t:  # fmt: skip
        s.sendall(f"GET http://{PUBLIC}/ HTTP/1.1\r\nHost: {PUBLIC}\r\n\r\n".encode())
        try:
            while s.recv(1 << 16):
                pass
            raise AssertionError("an end in order")
        except ConnectionResetError:
            pass
    assert 0.9 < t.seconds < 1.4, t.seconds


def cut(how):
    """An answer without a length, whose end is an end of the connection below TLS: anybody in between can make one."""

    def handler(tls):
        read_head(tls)
        tls.sendall(OK)
        read_head(tls)
        tls.sendall(b"HTTP/1.1 200 OK\r\n\r\nnot all")
        time.sleep(0.05)
        how(tls)

    return handler


def test_an_answer_that_is_cut_below_tls_is_not_whole():
    def finish(tls):
        raw = socket.socket(fileno=tls.detach())
        raw.shutdown(socket.SHUT_RDWR)
        raw.close()

    def reset(tls):
        raw = socket.socket(fileno=tls.detach())
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        raw.close()

    def kill_tls_program(_):
        for pid in (pid for pid in broker.pids() if comm(pid) == "egress-tls"):
            os.kill(pid, signal.SIGKILL)

    for how in (finish, reset, kill_tls_program):
        with authority(), Server(speaking_tls("good", cut(how))) as proxy, \
                Broker(through(f"https://127.0.0.1:{proxy.port}", PUBLIC, allowed_schemes=["http"])) as broker, broker.connect() as s:  # fmt: skip
            s.sendall(f"GET http://{PUBLIC}/ HTTP/1.1\r\nHost: {PUBLIC}\r\n\r\n".encode())
            data = b""
            try:
                while chunk := s.recv(1 << 16):
                    data += chunk
                raise AssertionError(f"an end in order: {how.__name__}")
            except ConnectionResetError:
                pass
            assert data.endswith(b"not all"), data
            assert broker.audit()["code"] == "origin.reset", broker.audit()


def test_a_tunnel_is_reset_where_its_tls_program_dies():
    def part(tls):
        read_some = tls.recv(1 << 16)
        tls.sendall(server_hello() + b"part")
        time.sleep(0.1)
        # The one ahead holds nothing but its standard streams.
        for pid in (pid for pid in broker.pids() if comm(pid) == "egress-tls" and len(os.listdir(f"/proc/{pid}/fd")) > 3):
            os.kill(pid, signal.SIGKILL)
        return read_some

    with authority(), Server(speaking_tls("good", upstream(then=part))) as proxy, \
            Broker(through(f"https://127.0.0.1:{proxy.port}", PUBLIC)) as broker, broker.tunnel(443, PUBLIC) as s:  # fmt: skip
        s.sendall(client_hello(None))
        assert read_until_reset(s) == server_hello() + b"part"
        assert broker.audit()["code"] == "origin.reset", broker.audit()
        with broker.tunnel(443, PUBLIC):
            pass


def test_a_reset_behind_its_end_leaves_no_tls_program_spinning():
    def handler(tls):
        read_head(tls)
        tls.sendall(OK)
        time.sleep(0.05)
        tls.setblocking(False)
        try:
            tls.unwrap()
        except ssl.SSLWantReadError:
            pass # close_notify is on its way
        raw = socket.socket(fileno=tls.detach())
        time.sleep(0.05)
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        raw.close()

    with authority(), Server(speaking_tls("good", handler)) as proxy, Probe(through(f"https://127.0.0.1:{proxy.port}", PUBLIC)) as probe:
        wait_for(lambda: any(comm(pid) == "egress-tls" for pid in probe.pids()[2]), "one ahead")
        first = next(pid for pid in probe.pids()[2] if comm(pid) == "egress-tls")
        with timed() as t:
            assert probe.code(f"{PUBLIC}:443") == "ok"
            wait_for(lambda: is_gone(first), "the end of the TLS program")
        assert t.seconds < 3, "not before its deadline"
# ---- ends that are none: a Unix socket, which is what the TLS program and the front have between them, knows no reset ----------------------


def connect(broker):
    s = broker.connect()
    s.sendall(f"CONNECT {PUBLIC}:443 HTTP/1.1\r\nHost: {PUBLIC}:443\r\n\r\n".encode())
    assert read_head(s).startswith(b"HTTP/1.1 200 ")
    s.sendall(client_hello(None))
    return s


def behind(proxy, **members):
    return Broker(through(f"https://127.0.0.1:{proxy.port}", PUBLIC, allowed_ports=[80, 443], allowed_schemes=["http", "https"], **members))


def test_a_tunnel_that_is_cut_below_tls_is_reset_also_where_the_client_has_ended_its_side():
    def handler(tls):
        read_record(tls)
        tls.sendall(server_hello() + b"beginning")
        try:
            tls.recv(1)
        finally:
            reset(tls)

    with authority(), Server(speaking_tls("good", upstream(then=handler))) as proxy, behind(proxy) as broker, connect(broker) as s:
        read_record(s)
        s.shutdown(socket.SHUT_WR)
        assert read_until_reset(s) == b"beginning"


def test_what_is_cut_off_here_does_not_look_whole_to_the_upstream():
    """A limit, and a client's reset."""

    def handler(tls):
        read_record(tls)
        tls.sendall(server_hello())
        try:
            read_all(tls)
            ends.append("in order")
        except (ssl.SSLEOFError, ConnectionResetError):
            ends.append("cut off")

    def too_much(s):
        s.sendall(b"x" * 20000)
        read_until_reset(s)

    def go_away(s):
        s.sendall(b"x" * 2000)
        time.sleep(0.1)
        reset(s)

    def say_goodbye(s):
        s.sendall(b"x" * 2000)
        s.shutdown(socket.SHUT_WR)
        read_all(s)

    ends = []
    with authority():
        for how, seen in ((too_much, "cut off"), (go_away, "cut off"), (say_goodbye, "in order")):
            with Server(speaking_tls("good", upstream(then=handler))) as proxy, behind(proxy, max_request_body_bytes=10000) as broker, \
                    connect(broker) as s:  # fmt: skip
                read_record(s)
                how(s)
                wait_for(lambda: ends, "the upstream")
                assert ends.pop() == seen, how


def test_a_tls_program_waits_for_a_client_that_does_not_read_without_spinning():
    def handler(tls):
        tls.settimeout(0.5)
        read_record(tls)
        tls.sendall(server_hello())
        try:
            while True:
                tls.sendall(b"x" * 65536)
        except TimeoutError:
            reset(tls)

    with authority(), Server(speaking_tls("good", upstream(then=handler))) as proxy, behind(proxy, max_response_bytes=1 << 30) as broker, \
            connect(broker):  # fmt: skip
        wait_for(lambda: proxy.results, "the upstream's reset")
        before = {pid: cpu_of(pid) for pid in broker.pids() if comm(pid) == "egress-tls"}
        time.sleep(0.5)
        assert all(cpu_of(pid) - before[pid] < 0.1 for pid in before), before
