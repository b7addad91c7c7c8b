"""CONNECT: TLS to the very host that was asked for, and nothing else."""

import json
import shutil
import subprocess
import threading

import gnutls
from world import *


def echo(s):
    """What comes goes back, until the client ends its side."""
    while chunk := s.recv(1 << 16):
        s.sendall(chunk)


def tls_server(handler):
    certificate, key = make_certificate()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)

    def wrapped(s):
        with context.wrap_socket(s, server_side=True) as secure:
            return handler(secure)

    return wrapped


def test_real_tls_end_to_end():
    with Origin(tls_server(echo)) as origin, Broker(policy(origin)) as broker:
        context = ssl.create_default_context(cafile=make_certificate()[0])
        data = os.urandom(200000)
        with context.wrap_socket(broker.tunnel(origin.port, "local.test"), server_hostname="local.test") as s:
            for start in range(0, len(data), 5000):  # not from two threads: one TLS connection of OpenSSL takes one at a time
                s.sendall(data[start : start + 5000])
                assert read_exactly(s, 5000) == data[start : start + 5000]
        line = broker.audit()
        assert line["verdict"] == "allowed" and line["sent_bytes"] > len(data) and line["received_bytes"] > len(data), line


def test_curl_and_gnutls():
    with Origin(tls_server(lambda s: (read_head(s), s.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")))) as origin:
        with Broker(policy(origin)) as broker:
            proxy = "http://%s:%d" % broker.addresses[0]
            said = subprocess.run(["curl", "-sS", "-m", "5", "--cacert", "certificate.pem", "-x", proxy, f"https://local.test:{origin.port}/"],
                                  check=True, stdout=subprocess.PIPE).stdout  # fmt: skip
            assert said == b"hi", said
            if not shutil.which("gnutls-cli"):
                raise AssertionError("gnutls-cli is missing (Debian: gnutls-bin)")

            # gnutls-cli knows no proxies: a port of ours that is the tunnel.
            def forward(s):
                with broker.tunnel(origin.port, "local.test") as t:
                    threading.Thread(target=lambda: pour(s, t), daemon=True).start()
                    pour(t, s)

            with Origin(forward) as entrance:
                done = subprocess.run(
                    ["gnutls-cli", "--x509cafile", "certificate.pem", "--sni-hostname", "local.test", "--verify-hostname", "local.test", "-p",
                     str(entrance.port), "127.0.0.1"], input=b"GET / HTTP/1.1\r\n\r\n", stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                    timeout=PATIENCE, check=False,
                )  # fmt: skip
                assert done.returncode == 0 and b"Handshake was completed" in done.stdout, done


def test_a_gnutls_server():
    certificate, key = make_certificate()
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    server = subprocess.Popen(
        ["gnutls-serv", "--echo", "--x509certfile", certificate, "--x509keyfile", key, "-p", str(port), "--quiet"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        wait_for(lambda: can_connect(port), "gnutls-serv")
        with Broker(policy([port])) as broker:
            context = ssl.create_default_context(cafile=certificate)
            with context.wrap_socket(broker.tunnel(port, "local.test"), server_hostname="local.test") as s:
                s.sendall(b"echo this\n")
                assert read_exactly(s, 10) == b"echo this\n"
    finally:
        server.kill()
        server.wait()


def openssl_serves(s, again):
    certificate, key = make_certificate()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    if again:
        context.set_ecdh_curve("secp521r1")
    return context.wrap_socket(s, server_side=True, suppress_ragged_eofs=False)


def gnutls_serves(s, again):
    return gnutls.Session(s, *make_certificate(), priority=gnutls.ASKS_AGAIN if again else "NORMAL")


def openssl_asks(s):
    return ssl.create_default_context(cafile=make_certificate()[0]).wrap_socket(s, server_hostname="local.test", suppress_ragged_eofs=False)


def gnutls_asks(s):
    return gnutls.Session(s, ca=make_certificate()[0], name="local.test")


def end_tls(s):
    """close_notify, and no more."""
    if isinstance(s, gnutls.Session):
        s.end()
        return
    s.setblocking(False)
    try:
        s.unwrap()
    except ssl.SSLWantReadError:
        s.setblocking(True)


def read_to_close_notify(s):
    try:
        return s.recv(1)
    except ssl.SSLZeroReturnError: # how Python says it where our own was sent before
        return b""


def test_openssl_and_gnutls_on_either_side_with_one_hello_and_with_two():
    make_certificate() # before two threads do
    data = os.urandom(100000)
    hellos = {}
    for ask in (openssl_asks, gnutls_asks):
        for serve in (openssl_serves, gnutls_serves):
            for again in (False, True):

                def handler(s, serve=serve, again=again):
                    with serve(s, again) as tls:
                        seen = read_exactly(tls, len(data))
                        tls.sendall(seen[::-1])
                        end_tls(tls)
                        return seen == data, read_to_close_notify(tls)

                with Origin(handler) as origin, Broker(policy(origin)) as broker:
                    with ask(broker.tunnel(origin.port, "local.test")) as tls:
                        tls.sendall(data)
                        assert read_exactly(tls, len(data)) == data[::-1]
                        assert tls.recv(1) == b"", "close_notify is an end in order"
                        end_tls(tls)
                        assert origin.result() == (True, b""), origin.result()
                    line = broker.audit()
                    assert line["verdict"] == "allowed" and line["host"] == "local.test" and "code" not in line, (ask, serve, again, line)
                    hellos[ask, serve, again] = line["sent_bytes"]
    # Where there were two, they can be told by what was sent.
    for ask in (openssl_asks, gnutls_asks):
        for serve in (openssl_serves, gnutls_serves):
            assert hellos[ask, serve, True] > hellos[ask, serve, False] + 200, hellos


def test_both_refuse_a_server_of_another_name_through_the_tunnel():
    """Verification is the client's, and the broker is not in its way."""
    make_certificate()
    for serve in (openssl_serves, gnutls_serves):
        for ask in (
            lambda s: gnutls.Session(s, ca=make_certificate()[0], name="sub.wild.test"),
            lambda s: ssl.create_default_context(cafile=make_certificate()[0]).wrap_socket(s, server_hostname="sub.wild.test"),
        ):
            with Origin(lambda s, serve=serve: swallow(serve, s, False)) as origin, Broker(policy(origin)) as broker:
                try:
                    ask(broker.tunnel(origin.port, "sub.wild.test")).__exit__(None, None, None)
                    raise AssertionError("it was accepted")
                except (ssl.SSLCertVerificationError, gnutls.Failure):
                    pass


def test_a_gnutls_hello_for_another_host_is_refused():
    with Origin(hello_is_read) as origin, Broker(policy(origin)) as broker:
        try:
            gnutls.Session(broker.tunnel(origin.port, "local.test"), ca=make_certificate()[0], name="other.test")
            raise AssertionError("a handshake")
        except gnutls.Failure as failure:
            assert failure.code == -12, failure # GNUTLS_E_FATAL_ALERT_RECEIVED
        assert broker.audit()["code"] == "tls.sni_mismatch" and origin.result() == b""


def pour(source, sink):
    try:
        while chunk := source.recv(1 << 16):
            sink.sendall(chunk)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        pass


def alert(s):
    """The one alert that the broker sends: level and description; then the end."""
    kind, body = read_record(s)
    assert kind == 21 and len(body) == 2 and body[0] == 2, (kind, body)
    assert read_all(s) == b""
    return body[1]


def with_extension(hello, kind, body):
    """The hello with one more extension at its end."""
    handshake = bytearray(hello[5:])
    at = 4 + 2 + 32
    at += 1 + handshake[at]
    at += 2 + int.from_bytes(handshake[at:at + 2], "big")
    at += 1 + handshake[at]
    size = int.from_bytes(handshake[at:at + 2], "big")
    more = kind.to_bytes(2, "big") + len(body).to_bytes(2, "big") + body
    handshake[at:at + 2] = (size + len(more)).to_bytes(2, "big")
    handshake += more
    handshake[1:4] = (len(handshake) - 4).to_bytes(3, "big")
    return record(22, bytes(handshake))


def test_hellos_that_are_refused_reach_nobody():
    for hello, code, description in (
        (client_hello("other.test"), "tls.sni_mismatch", 112),
        (client_hello("sub.local.test"), "tls.sni_mismatch", 112),
        (client_hello(None), "tls.sni_missing", 112),
        (with_extension(client_hello(), 0xFE0D, b"\0" * 40), "tls.ech", 49),
        (with_extension(client_hello(), 0, b"\0\x0d\0\0\x0alocal.test"), "tls.hello", 49),
        (record(23, b"x" * 20), "tls.record", 49),
        (record(22, server_hello()[5:]), "tls.message", 49),
        (client_hello()[:5] + b"\x01\x00\x90\x00", "tls.hello_too_large", 49),
    ):
        with Origin(read_until_reset) as origin, Broker(policy(origin)) as broker, broker.tunnel(origin.port, "local.test") as s:
            s.sendall(hello)
            found = alert(s)
            line = broker.audit()
            assert (found, line["code"], line["verdict"]) == (description, code, "refused"), (hello[:20], found, line)
            assert origin.result() == b"", origin.result()


def with_ballast_first(hello, size):
    """The hello with an extension of SIZE bytes before all others, as large key shares are."""
    handshake = bytearray(hello[5:])
    at = 4 + 2 + 32
    at += 1 + handshake[at]
    at += 2 + int.from_bytes(handshake[at:at + 2], "big")
    at += 1 + handshake[at]
    more = struct.pack(">HH", 0x0A0A, size) + bytes(size)
    handshake[at:at + 2] = (int.from_bytes(handshake[at:at + 2], "big") + len(more)).to_bytes(2, "big")
    handshake[at + 2:at + 2] = more
    handshake[1:4] = (len(handshake) - 4).to_bytes(3, "big")
    return record(22, bytes(handshake))


def test_a_name_far_behind_the_first_segment():
    for size in (1500, 8000):
        hello = with_ballast_first(client_hello(), size)
        with Origin(tls_origin(None)) as origin, Broker(policy(origin)) as broker:
            with broker.tunnel(origin.port, "local.test") as s:
                s.sendall(hello[:1460])
                time.sleep(0.01)
                s.sendall(hello[1460:])
                assert read_record(s)[0] == 22 and origin.result() == hello[5:]
        with Origin(hello_is_read) as origin, Broker(policy(origin)) as broker, broker.tunnel(origin.port, "local.test") as s:
            s.sendall(with_ballast_first(client_hello("other.test"), size))
            assert alert(s) == 112 and origin.result() == b""


def test_ech_where_it_is_allowed():
    hello = with_extension(client_hello(), 0xFE0D, bytes(40))
    with Origin(tls_origin(None)) as origin, Broker(policy(origin, allow_ech=True)) as broker:
        with broker.tunnel(origin.port, "local.test") as s:
            s.sendall(hello)
            assert read_record(s)[0] == 22 and origin.result() == hello[5:]


def test_what_is_no_tls_is_told_so_in_http():
    for first in (b"G", b"GET / HTTP/1.1\r\nHost: local.test\r\n\r\n", b"SSH-2.0-OpenSSH\r\n", b"\x80\x2e\x01\x03\x01"):
        with Origin(hello_is_read) as origin, Broker(policy(origin)) as broker, broker.tunnel(origin.port, "local.test") as s:
            s.sendall(first)
            answer = parse_answer(read_all(s))
            assert (answer[0], refusal(answer)) == (403, "tls.not_clienthello"), answer
            assert origin.result() == b""


def test_an_address_has_no_name():
    with Origin(lambda s: swallow(tls_origin(echo), s)) as origin, Broker(policy(origin)) as broker:
        with broker.tunnel(origin.port) as s:
            s.sendall(client_hello(None))
            assert read_record(s)[0] == 22
        with broker.tunnel(origin.port) as s:
            s.sendall(client_hello("local.test"))
            assert alert(s) == 112


def test_a_hello_cut_anywhere_is_the_same():
    hello = client_hello()
    with Origin(tls_origin(None)) as origin, Broker(policy(origin, max_connections=2000)) as broker:
        for cut in range(1, len(hello)):
            with broker.tunnel(origin.port, "local.test") as s:
                s.sendall(hello[:cut])
                # Every eighth waits for the first part to be looked at by itself; else the two may arrive as one.
                if cut % 8 == 0:
                    time.sleep(0.002)
                s.sendall(hello[cut:])
                assert read_record(s)[0] == 22
        wait_for(lambda: len(origin.results) == len(hello) - 1, "all hellos")
        assert set(origin.results) == {hello[5:]}
        for byte in [broker.tunnel(origin.port, "local.test")]:
            for at in range(len(hello)):
                byte.sendall(hello[at:at + 1])
            assert read_record(byte)[0] == 22
            byte.close()


def test_a_hello_in_many_records_goes_on_as_it_came():
    body = client_hello()[5:]
    pieces = [body[at:at + 10] for at in range(0, len(body), 10)][:63]
    pieces = [body[at:at + 1] for at in range(30)] + [body[30:]]

    def handler(s):
        seen = swallow(read_exactly, s, sum(len(piece) + 5 for piece in pieces))
        s.sendall(server_hello())
        read_all(s)
        return seen

    with Origin(lambda s: swallow(handler, s)) as origin, Broker(policy(origin)) as broker:
        with broker.tunnel(origin.port, "local.test") as s:
            for piece in pieces:
                s.sendall(record(22, piece))
            assert read_record(s)[0] == 22
        assert origin.result() == b"".join(record(22, piece) for piece in pieces)
        with broker.tunnel(origin.port, "local.test") as s:
            try:
                s.sendall(b"".join(record(22, body[at:at + 1]) for at in range(len(body))))
            except OSError:
                pass
            assert alert(s) == 49
            assert broker.audit(1)["code"] == "tls.hello_too_large"


def test_a_hello_may_come_with_the_request():
    with Origin(tls_origin(echo)) as origin, Broker(policy(origin)) as broker:
        with broker.tunnel(origin.port, "local.test", early=client_hello()) as s:
            assert read_record(s)[0] == 22
            s.sendall(b"on")
            assert read_exactly(s, 2) == b"on"
    with Origin(hello_is_read) as origin, Broker(policy(origin)) as broker:
        with broker.connect() as s:
            s.sendall(b"CONNECT evil.test:443 HTTP/1.1\r\nHost: evil.test\r\n\r\n" + client_hello())
            answer = parse_answer(read_all(s))
            assert (answer[0], refusal(answer)) == (403, "policy.host")
        with broker.tunnel(origin.port, "local.test", early=client_hello("other.test")) as s:
            assert alert(s) == 112


def test_what_stands_behind_the_hello_waits_for_the_servers_word():
    def handler(s):
        read_record(s)
        early = is_readable(s, 0.2)
        s.sendall(server_hello())
        return early, read_exactly(s, 5)

    with Origin(handler) as origin, Broker(policy(origin)) as broker, broker.tunnel(origin.port, "local.test") as s:
        s.sendall(client_hello() + b"early")
        assert read_record(s)[0] == 22
        assert origin.result() == (False, b"early")


def test_the_second_hello_is_checked_too():
    for second, behind, passes in (
        (client_hello(), False, True),
        (record(20, b"\1") + client_hello(), False, True),
        (client_hello("other.test"), False, False),
        (client_hello(None), False, False),
        (client_hello("other.test"), True, False), # sent before anybody had asked for it
        (client_hello(), True, True),
        (record(23, b"x" * 30), False, False),
    ):
        expected = len(second)

        def handler(s, expected=expected):
            read_record(s)
            s.sendall(server_hello(retry=True))
            try:
                seen = read_exactly(s, expected)
                s.sendall(server_hello() + b"tail")
                return seen
            except (AssertionError, ConnectionResetError):
                return b""

        with Origin(handler) as origin, Broker(policy(origin)) as broker, broker.tunnel(origin.port, "local.test") as s:
            s.sendall(client_hello() + (second if behind else b""))
            assert read_record(s)[1] == server_hello(retry=True)[5:]
            if not behind:
                s.sendall(second)
            if passes:
                assert read_all(s) == server_hello() + b"tail"
                assert origin.result() == second
            else:
                assert alert(s) in (49, 112)
                assert origin.result() == b"" and broker.audit()["verdict"] == "refused", broker.audit()


def test_a_real_hello_retry_request():
    certificate, key = make_certificate()
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    server = subprocess.Popen(["openssl", "s_server", "-accept", f"127.0.0.1:{port}", "-cert", certificate, "-key", key, "-groups", "P-521",
                               "-quiet", "-rev"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip
    try:
        wait_for(lambda: can_connect(port), "openssl s_server")
        with Broker(policy([port])) as broker:
            context = ssl.create_default_context(cafile=certificate)
            with context.wrap_socket(broker.tunnel(port, "local.test"), server_hostname="local.test") as s:
                s.sendall(b"abc\n")
                assert read_exactly(s, 4) == b"cba\n"
    finally:
        server.kill()
        server.wait()


def test_a_server_that_does_not_speak_tls():
    def handler(s):
        read_record(s)
        s.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        return hello_is_read(s)

    with Origin(handler) as origin, Broker(policy(origin)) as broker, broker.tunnel(origin.port, "local.test") as s:
        s.sendall(client_hello())
        assert alert(s) == 80
        assert broker.audit()["code"] == "origin.tls"


def test_refused_connects_answer_in_json():
    with Origin(hello_is_read) as origin, Broker(policy(origin)) as broker:
        for target, status, code in (("evil.test:443", 403, "policy.host"), ("local.test:22", 403, "policy.port"), ("local.test", 400, "parse.port"),
                                     ("[::ffff:127.0.0.1]:1", 403, "policy.port"), ("127.1:443", 400, "parse.host")):  # fmt: skip
            answer = broker.request(f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n")
            assert (answer[0], refusal(answer)) == (status, code), (target, answer)
            json.loads(answer[2])
        assert origin.accepted == 0
