"""Plain HTTP: one request, one answer."""

import json
import subprocess
import threading

from world import *


def answering(*pieces, read=read_head, end=None):
    """Reads the request's head, sends PIECES, and ends; its result is what it read."""

    def handler(s):
        seen = read(s)
        for piece in pieces:
            s.sendall(piece)
        if end:
            end(s)
        return seen

    return handler


def get(origin, extra="", method="GET", version="1.1", path="/a?b"):
    return f"{method} http://127.0.0.1:{origin.port}{path} HTTP/{version}\r\nHost: 127.0.0.1:{origin.port}\r\n{extra}\r\n"


OK = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"


def test_a_request_goes_out_written_anew():
    with Origin(answering(OK)) as origin, Broker(policy(origin)) as broker:
        status, lines, body = broker.request(get(origin, "Proxy-Authorization: Basic x\r\nX: y\r\n"))
        assert (status, body) == (200, b"hello") and "Connection: close" in lines, lines
        seen = origin.result().decode()
        assert seen.startswith("GET /a?b HTTP/1.1\r\n") and "X: y\r\n" in seen and "Proxy" not in seen, seen
        line = broker.audit()
        assert (line["verdict"], line["host"], line["port"], line["method"]) == ("allowed", "127.0.0.1", origin.port, "GET"), line
        assert line["received_bytes"] == len(OK) and line["sent_bytes"] == 0 and "code" not in line, line


def test_an_answer_and_its_end_are_one_segment():
    """So the client is woken once. Behind what answers its SYN and its request there is one more (linux/tcp.h, tcpi_segs_in)."""
    with Origin(answering(OK)) as origin, Broker(policy(origin)) as broker, broker.connect() as client:
        client.sendall(get(origin).encode())
        assert read_all(client).endswith(b"hello")
        (segments,) = struct.unpack_from("=I", client.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 144), 140)
        assert segments <= 3, segments


def test_curl_fetches_by_name():
    with Origin(answering(OK)) as origin, Broker(policy(origin)) as broker:
        said = subprocess.run(["curl", "-sS", "-m", "5", "-x", "http://%s:%d" % broker.addresses[0], f"http://local.test:{origin.port}/"],
                              check=True, stdout=subprocess.PIPE).stdout  # fmt: skip
        assert said == b"hello", said
        assert broker.audit()["address"] == "127.0.0.1"


def test_a_redirect_is_followed_by_the_client_and_checked_anew():
    def handler(s):
        head = read_head(s)
        away = b"other.test" if b"/away" in head else b"local.test:%d" % origin.port
        s.sendall(OK if b"/end" in head else b"HTTP/1.1 302 Found\r\nLocation: http://%s/end\r\nContent-Length: 0\r\n\r\n" % away)

    with Origin(handler) as origin, Broker(policy(origin)) as broker:
        proxy = "http://%s:%d" % broker.addresses[0]
        for path, said in (("/here", b"hello 200"), ("/away", b" 403")):
            done = subprocess.run(["curl", "-sSL", "-m", "5", "-w", " %{http_code}", "-x", proxy, f"http://local.test:{origin.port}{path}"],
                                  check=True, stdout=subprocess.PIPE).stdout  # fmt: skip
            assert done.endswith(said), done
        assert [line.get("code") for line in broker.audit_lines()] == [None, None, None, "policy.host"]


def test_what_policy_refuses_says_so_and_reaches_nobody():
    with Origin(answering(OK)) as origin, Broker(policy(origin)) as broker:
        for host, port, code, member in (
            ("evil.test", origin.port, "policy.host", "allowed_hosts"),
            ("wild.test", origin.port, "policy.host", "allowed_hosts"),
            ("127.0.0.1", 81, "policy.port", "allowed_ports"),
        ):
            answer = broker.request(f"GET http://{host}:{port}/ HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n")
            body = json.loads(answer[2])
            assert answer[0] == 403 and body["code"] == code and body["member"] == member, answer
            assert body["message"] == "refused by sandbox policy; retrying will not help"
            assert (body["host"], body["port"]) == (host, port)
        assert origin.accepted == 0
        assert [line["code"] for line in broker.audit_lines()] == ["policy.host", "policy.host", "policy.port"]


def test_a_private_address_is_refused():
    with Origin(answering(OK)) as origin, Broker(policy(origin, deny_private_networks=True)) as broker:
        answer = broker.request(get(origin))
        assert (answer[0], refusal(answer)) == (403, "policy.address"), answer
        answer = broker.request(f"GET http://local.test:{origin.port}/ HTTP/1.1\r\nHost: local.test:{origin.port}\r\n\r\n")
        assert (answer[0], refusal(answer)) == (403, "dns.non_global_answer"), answer
        assert origin.accepted == 0


def test_a_scheme_that_is_not_allowed():
    with Origin(answering(OK)) as origin, Broker(policy(origin, allowed_schemes=["https"])) as broker:
        answer = broker.request(get(origin))
        assert (answer[0], refusal(answer)) == (403, "policy.scheme"), answer


def test_malformed_heads_are_answered_and_closed():
    with Origin(answering(OK)) as origin, Broker(policy(origin)) as broker:
        host = f"127.0.0.1:{origin.port}"
        for text, status, code in (
            ("GET / HTTP/1.1\r\nHost: x\r\n\r\n", 400, "parse.target"),
            (f"GET http://{host}/ HTTP/1.1\nHost: {host}\n\n", 400, "parse.line_end"),
            (f"GET http://{host}/ HTTP/1.1\r\nHost: evil\r\n\r\n", 400, "parse.host_mismatch"),
            (f"GET http://{host}/ HTTP/1.1\r\nHost: {host}\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 411, "body.chunked"),
            (f"GET http://{host}/ HTTP/1.1\r\nHost: {host}\r\nUpgrade: websocket\r\n\r\n", 501, "parse.upgrade"),
            (f"GET http://{host}/ HTTP/1.1\r\nHost: {host}\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\nhello", 400, "parse.framing"),
            ("GET https://local.test/ HTTP/1.1\r\nHost: local.test\r\n\r\n", 400, "parse.scheme"),
            ("GET http://x/" + "a" * 8200, 414, "head.limit"),
            (f"GET http://{host}/ HTTP/1.1\r\nHost: {host}\r\n" + "".join(f"A: {'x' * 8000}\r\n" for _ in range(5)), 431, "head.limit"),
        ):
            answer = broker.request(text)
            assert (answer[0], refusal(answer)) == (status, code), (text[:100], answer)
        assert origin.accepted == 0


def test_a_head_may_come_byte_by_byte():
    with Origin(answering(OK)) as origin, Broker(policy(origin)) as broker, broker.connect() as s:
        for byte in get(origin).encode():
            s.send(bytes([byte]))
        assert parse_answer(read_all(s))[2] == b"hello"


def test_a_body_goes_up_exactly():
    for size in (0, 1, 5, 70000, 1 << 20):
        body = bytes(i % 251 for i in range(size))

        def handler(s, size=size):
            head = read_head(s)
            seen = read_exactly(s, size)
            s.sendall(OK)
            rest = read_rest(s)
            return head, seen, rest

        with Origin(handler) as origin, Broker(policy(origin)) as broker:
            with broker.connect() as s:
                s.sendall(get(origin, f"Content-Length: {size}\r\n", "POST").encode() + body)
                assert parse_answer(read_all(s))[2] == b"hello"
            head, seen, rest = origin.result()
            assert seen == body and rest == b"" and f"Content-Length: {size}\r\n".encode() in head, head
            assert broker.audit()["sent_bytes"] == size


def test_a_second_request_goes_nowhere():
    def handler(s):
        head = read_head(s)
        more = is_readable(s, 0.1) and s.recv(1000)
        s.sendall(OK)
        return head, more or read_rest(s)

    for first, body in (("", b""), ("Content-Length: 3\r\n", b"abc")):
        with Origin(handler) as origin, Broker(policy(origin)) as broker:
            with broker.connect() as s:
                s.sendall(get(origin, first).encode() + body + get(origin).encode())
                assert read_all(s).count(b"HTTP/1.1 ") == 1
            assert origin.accepted == 1 and origin.result()[1] == body, origin.result()


def test_a_body_above_its_limit_is_refused_before_any_connection():
    with Origin(answering(OK, read=lambda s: read_head(s) and read_exactly(s, 100))) as origin:
        with Broker(policy(origin, max_request_body_bytes=100)) as broker:
            answer = broker.request(get(origin, "Content-Length: 101\r\n", "POST") + "x" * 101)
            assert (answer[0], refusal(answer)) == (413, "body.limit"), answer
            assert origin.accepted == 0
            assert broker.request(get(origin, "Content-Length: 100\r\n", "POST") + "x" * 100)[0] == 200


def test_answers_end_where_they_say():
    chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    for sent, expected in (
        (OK + b"surplus", b"hello"),
        (b"HTTP/1.1 200 OK\r\n\r\nuntil the end", b"until the end"),
        (chunked + b"5;x\r\nhello\r\n0\r\nT: v\r\n\r\nsurplus", b"5;x\r\nhello\r\n0\r\nT: v\r\n\r\n"),
        (b"HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\nhello", b""),
        (b"HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\nhello", b""),
        (b"HTTP/1.1 100 Continue\r\n\r\n" + OK, b"hello"),
        (b"HTTP/1.0 200 OK\r\n\r\nold", b"old"),
    ):
        with Origin(answering(sent)) as origin, Broker(policy(origin)) as broker:
            answer = broker.request(get(origin))
            assert answer[2] == expected, (sent, answer)
            assert broker.audit()["verdict"] == "allowed"


def test_head_has_no_body():
    with Origin(answering(OK)) as origin, Broker(policy(origin)) as broker:
        status, lines, body = broker.request(get(origin, method="HEAD"))
        assert (status, body) == (200, b"") and "Content-Length: 5" in lines
        answer = broker.request("HEAD http://evil.test/ HTTP/1.1\r\nHost: evil.test\r\n\r\n")
        assert answer[0] == 403 and answer[2] == b"", answer


def test_interim_answers_go_on_to_whom_they_mean_something():
    early = b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
    with Origin(answering(early + OK)) as origin, Broker(policy(origin)) as broker:
        with broker.connect() as s:
            s.sendall(get(origin).encode())
            assert read_all(s).startswith(early + b"HTTP/1.1 200 OK\r\n")
        with broker.connect() as s:
            s.sendall(get(origin, version="1.0").encode())
            assert read_all(s).startswith(b"HTTP/1.1 200 OK\r\n")
    with Origin(answering(early * 9 + OK)) as origin, Broker(policy(origin)) as broker:
        with broker.connect() as s:
            s.sendall(get(origin).encode())
            assert b"502 Bad Gateway" in read_all(s)


def test_continue_is_said_by_the_broker_once_the_destination_is_there():
    def handler(s):
        head = read_head(s)
        body = read_exactly(s, 5)
        s.sendall(OK)
        return head, body

    with Origin(handler) as origin, Broker(policy(origin)) as broker, broker.connect() as s:
        s.sendall(get(origin, "Content-Length: 5\r\nExpect: 100-continue\r\n", "PUT").encode())
        assert read_head(s) == b"HTTP/1.1 100 Continue\r\n\r\n"
        s.sendall(b"12345")
        assert parse_answer(read_all(s))[2] == b"hello"
        head, body = origin.result()
        assert body == b"12345" and b"Expect" not in head


def test_a_client_of_1_0_is_forwarded_as_one():
    with Origin(answering(OK)) as origin, Broker(policy(origin)) as broker:
        assert broker.request(f"GET http://127.0.0.1:{origin.port}/ HTTP/1.0\r\n\r\n")[2] == b"hello"
        assert origin.result().startswith(b"GET / HTTP/1.0\r\n")


def test_options_for_the_last_hop_are_answered_here():
    with Origin(answering(OK)) as origin, Broker(policy(origin)) as broker:
        status, lines, _ = broker.request(get(origin, "Max-Forwards: 0\r\n", "OPTIONS"))
        assert status == 204 and any(line.startswith("Allow: ") for line in lines), lines
        assert origin.accepted == 0 and broker.audit()["verdict"] == "allowed"


def test_answers_that_are_cut_off_end_in_a_reset():
    chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    for sent, end, code in (
        (b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhello", None, "origin.truncated"),
        (chunked + b"5\r\nhello\r\n", None, "origin.truncated"),
        (chunked + b"5\r\nhello\r\n0\r\n", None, "origin.truncated"),
        (chunked + b"5\r\nhelloX", None, "origin.chunks"),
        (b"HTTP/1.1 200 OK\r\n\r\nhello", reset, "origin.reset"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhello", reset, "origin.reset"),
    ):
        # The bytes arrive before the end does.
        with Origin(answering(sent, end=lambda s, end=end: (time.sleep(0.05), end and end(s)))) as origin:
            with Broker(policy(origin)) as broker, broker.connect() as s:
                s.sendall(get(origin).encode())
                data = read_until_reset(s)
                assert b"hello" in data, (sent, data)
                assert broker.audit()["code"] == code, broker.audit()


def test_what_is_no_answer_becomes_a_502():
    for sent, end, code in (
        (b"", None, "origin.truncated"),
        (b"HTTP/1.1 200 OK\r\nContent-", None, "origin.truncated"),
        (b"", reset, "origin.reset"),
        (b"SSH-2.0-x\r\n", None, "origin.head"),
        (b"HTTP/1.1 200 OK\nA: b\n\n", None, "origin.head"),
        (b"HTTP/1.1 101 Switching Protocols\r\n\r\n", None, "origin.upgrade"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", None, "origin.framing"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", None, "origin.framing"),
        (b"HTTP/1.1 200 OK\r\nA: " + b"x" * 40000, None, "origin.head"),
    ):
        with Origin(answering(sent, end=end)) as origin, Broker(policy(origin)) as broker:
            answer = broker.request(get(origin))
            assert (answer[0], refusal(answer)) == (502, code), (sent[:60], answer)


def test_an_early_answer_arrives_although_the_client_still_sends():
    def handler(s):
        read_head(s)
        s.sendall(b"HTTP/1.1 413 No\r\nContent-Length: 3\r\n\r\nno.")

    with Origin(handler) as origin, Broker(policy(origin)) as broker, broker.connect() as s:
        s.sendall(get(origin, "Content-Length: 1000000\r\n", "POST").encode())

        failures = []

        def send_on():
            try:
                for _ in range(20):
                    s.sendall(b"x" * 1000)
                    time.sleep(0.005)
            except OSError as error:
                failures.append(error)

        sender = threading.Thread(target=send_on)
        sender.start()
        answer = parse_answer(read_all(s))
        sender.join()
        # Many a client looks for an answer only when it could send all of its body.
        assert answer[0] == 413 and answer[2] == b"no." and not failures, (answer, failures)


def test_a_client_may_end_its_side_behind_the_request_only():
    with Origin(answering(OK, read=read_head)) as origin, Broker(policy(origin)) as broker:
        with broker.connect() as s:
            s.sendall(get(origin).encode())
            s.shutdown(socket.SHUT_WR)
            assert parse_answer(read_all(s))[2] == b"hello"

    def handler(s):
        read_head(s)
        return read_until_reset(s)

    with Origin(handler) as origin, Broker(policy(origin)) as broker:
        with broker.connect() as s:
            s.sendall(get(origin, "Content-Length: 6\r\n", "POST").encode() + b"hello")
            s.shutdown(socket.SHUT_WR)
            answer = parse_answer(read_all(s))
            assert (answer[0], refusal(answer)) == (400, "body.incomplete"), answer
        origin.result()
        with broker.connect() as s:
            s.sendall(b"GET http://x/")
            s.shutdown(socket.SHUT_WR)
            answer = parse_answer(read_all(s))
            assert (answer[0], refusal(answer)) == (400, "parse.incomplete"), answer


def test_a_client_that_resets_takes_the_origin_with_it():
    with Origin(lambda s: (read_head(s), read_until_reset(s))) as origin, Broker(policy(origin)) as broker:
        s = broker.connect()
        s.sendall(get(origin).encode())
        wait_for(lambda: origin.accepted == 1, "the origin")
        time.sleep(0.05)
        reset(s)
        origin.result()
        assert broker.audit()["code"] == "relay.client_reset"


def test_a_client_that_closes_takes_the_origin_with_it_as_soon_as_it_shows():
    """A close looks like the end of one direction, until something is sent to it."""

    def handler(s):
        read_head(s)
        try:
            s.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
            while True:
                s.sendall(b"x" * 10000)
                time.sleep(0.005)
        except OSError:
            return "reset"

    with Origin(handler) as origin, Broker(policy(origin)) as broker:
        with broker.connect() as s:
            s.sendall(get(origin).encode())
        assert origin.result() == "reset"
        assert broker.audit()["code"] == "relay.client_reset"


def test_urgent_data_in_a_body_or_an_answer():
    def reads(s):
        read_head(s)
        return read_until_reset(s)

    with Origin(reads) as origin, Broker(policy(origin)) as broker, broker.connect() as s:
        s.sendall(get(origin, "Content-Length: 100\r\n", "POST").encode() + b"before")
        time.sleep(0.05)
        s.send(b"!", socket.MSG_OOB)
        read_until_reset(s)
        assert origin.result() in (b"before", b"") and broker.audit()["code"] == "relay.urgent", (origin.result(), broker.audit())

    def answers(s):
        read_head(s)
        s.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nbefore")
        time.sleep(0.05)
        s.send(b"!", socket.MSG_OOB)
        return read_until_reset(s)

    with Origin(answers) as origin, Broker(policy(origin)) as broker, broker.connect() as s:
        s.sendall(get(origin).encode())
        assert read_until_reset(s).endswith(b"before")
        assert broker.audit()["code"] == "relay.urgent", broker.audit()


def test_nobody_there():
    with Origin(answering(OK)) as origin:
        with Broker(policy(origin)) as broker:
            origin.close()
            answer = broker.request(get(origin))
            assert (answer[0], refusal(answer)) == (502, "connect.refused"), answer


def test_a_slow_reader_gets_all_of_a_long_answer():
    body = os.urandom(1 << 20) * 9
    with Origin(answering(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body)) as origin, Broker(policy(origin)) as broker:
        with broker.connect() as s:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
            s.sendall(get(origin).encode())
            time.sleep(0.3)
            assert parse_answer(read_all(s))[2] == body


def test_thousands_of_short_requests_at_once():
    """The dialer and the broker hold the same socket for a moment, and a connection may be over before that is."""
    with Origin(answering(OK)) as origin, Broker(policy(origin)) as broker:
        failures = []

        def client():
            try:
                for _ in range(250):
                    answer = broker.request(get(origin))
                    assert answer[0] == 200 and answer[2] == b"hello", answer
            except Exception as error:  # pylint: disable=broad-except
                failures.append(error)

        clients = [threading.Thread(target=client) for _ in range(8)]
        for thread in clients:
            thread.start()
        for thread in clients:
            thread.join()
        assert not failures, failures[0]
        wait_for(lambda: len(broker.audit_lines()) == 2000, "all lines")


def test_an_origin_that_waits_for_us_to_close_costs_no_port():
    """tcp(7): who ends first is in TIME_WAIT, and its port in use, for a minute; 28,000 of them, and the host reaches that origin no more."""

    def lazy(s):
        if read_rest_of_head(s):
            s.sendall(OK)
        read_rest(s)

    def read_rest_of_head(s):
        try:
            return read_head(s)
        except (AssertionError, ConnectionResetError):
            return None

    def waiting(port):
        with open("/proc/net/tcp", encoding="ascii") as file:
            return sum(words[3] == "06" and words[2].endswith(f":{port:04X}") for words in map(str.split, file))

    with Origin(lazy) as origin, Broker(policy(origin)) as broker:
        for _ in range(20):
            assert broker.request(get(origin))[0] == 200
            assert broker.request(get(origin, "Content-Length: 2\r\n", "POST") + "ab")[0] == 200
            broker.tunnel(origin.port).close()
        wait_for(lambda: len(origin.results) == 60, "the ends of all")
        assert waiting(origin.port) == 0, waiting(origin.port)
