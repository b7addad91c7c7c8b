"""sage-runtime egress shows what a broker wrote."""

import json
import subprocess
import threading

from test_limits import ANSWER, tunnel_for
from test_plain import OK, answering, get
from test_tunnel import swallow, with_extension
from world import *


def shown(audit, *options):
    command = [os.environ["SAGE_EGRESS_PROGRAMS"] + "/sage-runtime", "egress", "--audit", audit, *options]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, timeout=PATIENCE).stdout


def test_the_sum_of_a_brokers_own_audit():
    with Origin(answering(OK)) as origin, Broker(policy(origin, max_request_body_bytes=3)) as broker:
        broker.request(get(origin))
        for _ in range(2):
            broker.request("GET http://evil.test/ HTTP/1.1\r\nHost: evil.test\r\n\r\n")
        broker.request("GET http://local.test:81/ HTTP/1.1\r\nHost: local.test:81\r\n\r\n")
        broker.request(get(origin, "Content-Length: 4\r\n", "POST") + "1234")
        broker.request("nonsense\r\n\r\n")
        broker.audit(5)
        text = shown(broker.audit_path)
        assert "6 connections: 1 allowed, 4 refused, 1 limited, 0 failed" in text, text
        for change in ('allowed_hosts: add "evil.test"', "allowed_ports: add 81", "max_request_body_bytes: at least 4"):
            assert change in text, (change, text)
        lines = [json.loads(line) for line in shown(broker.audit_path, "--json").splitlines()]
        assert lines[:-1] == broker.audit_lines()
        reasons = {reason["code"]: reason for reason in lines[-1]["summary"]["reasons"]}
        assert reasons["policy.host"]["count"] == 2 and reasons["policy.host"]["member"] == "allowed_hosts", reasons


def advice(broker, code):
    """What the sum says to a code: the member, and what to make of it."""
    for line in shown(broker.audit_path).splitlines():
        words = line.split(None, 3)
        if len(words) == 4 and words[1] == code:
            return words[3]
    raise AssertionError(f"no {code} in {shown(broker.audit_path)}")


def plain(host, port, fields="", body=""):
    def ask(broker):
        return broker.request(f"POST http://{host}:{port}/ HTTP/1.1\r\nHost: {host}:{port}\r\n{fields}\r\n{body}")[0] == 200

    return ask


def one_at_a_time(origin):
    def ask(broker):
        with tunnel_for(broker, origin), broker.connect() as s:
            s.sendall(b"OPTIONS http://local.test:%d/ HTTP/1.1\r\nHost: local.test:%d\r\nMax-Forwards: 0\r\n\r\n" % (origin.port, origin.port))
            return parse_answer(read_all(s))[0] == 204

    return ask


def hello_of(origin, hello):
    def ask(broker):
        with broker.tunnel(origin.port, "local.test") as s:
            s.sendall(hello)
            return read_record(s)[0] == 22

    return ask


def whole_of(origin, size):
    def ask(broker):
        with tunnel_for(broker, origin) as s:
            try:
                s.sendall(b"x" * 5000)
                s.shutdown(socket.SHUT_WR)
                return len(read_all(s)) == size
            except OSError: # a reset, which a send or the end may be told first
                return False

    return ask


def in_exchange(seconds):
    """Five thousand bytes come, as many go, and that takes SECONDS."""

    def handler(s):
        read_exactly(s, 5000)
        time.sleep(seconds)
        s.sendall(b"y" * 5000)

    return lambda s: swallow(tls_origin(handler), s)


def test_who_does_what_the_sum_says_gets_through():
    with Origin(answering(OK, read=lambda s: read_head(s) and s.settimeout(0.2))) as web, \
            Origin(lambda s: swallow(tls_origin(read_all), s)) as tls, Origin(in_exchange(0)) as quick, Origin(in_exchange(1.2)) as slow:  # fmt: skip
        hello, web_hosts = client_hello(), ["local.test"]
        with_ech = with_extension(hello, 0xFE0D, bytes(40))
        for origin, ask, code, before, says, after in (
            (web, plain("sub.wild.test", web.port), "policy.host", {"allowed_hosts": web_hosts}, 'allowed_hosts: add "sub.wild.test"',
             {"allowed_hosts": [*web_hosts, "sub.wild.test"]}),
            (web, plain("local.test", web.port), "policy.port", {"allowed_ports": [443]}, f"allowed_ports: add {web.port}",
             {"allowed_ports": [443, web.port]}),
            (web, plain("local.test", web.port), "policy.scheme", {"allowed_schemes": ["https"]},
             'allowed_schemes: add "http" for plain requests, "https" for CONNECT', {"allowed_schemes": ["https", "http"]}),
            (web, plain("local.test", web.port), "dns.non_global_answer", {"deny_private_networks": True},
             "deny_private_networks: false, for a private address; opens all of those to allowed hosts", {"deny_private_networks": False}),
            (web, plain("127.0.0.1", web.port), "policy.address", {"deny_private_networks": True},
             "deny_private_networks: false, for a private address; opens all of those to allowed hosts", {"deny_private_networks": False}),
            (web, plain("local.test", web.port, "Content-Length: 4\r\n", "1234"), "body.limit", {"max_request_body_bytes": 3},
             "max_request_body_bytes: at least 4", {"max_request_body_bytes": 4}),
            (tls, hello_of(tls, with_ech), "tls.ech", {}, "allow_ech: true", {"allow_ech": True}),
            (tls, one_at_a_time(tls), "limit.connections", {"max_connections": 1}, "max_connections: more", {"max_connections": 2}),
            (quick, whole_of(quick, 5000), "limit.request_bytes", {"max_request_body_bytes": len(hello) + 4999},
             f"max_request_body_bytes: more than {len(hello) + 4999}", {"max_request_body_bytes": len(hello) + 5000}),
            (quick, whole_of(quick, 5000), "limit.response_bytes", {"max_response_bytes": len(ANSWER) + 4999},
             f"max_response_bytes: more than {len(ANSWER) + 4999}", {"max_response_bytes": len(ANSWER) + 5000}),
            (slow, whole_of(slow, 5000), "limit.wall_time", {"max_wall_time_seconds": 1}, "max_wall_time_seconds: more than 1",
             {"max_wall_time_seconds": 5}),
        ):  # fmt: skip
            with Broker(policy(origin, **before)) as broker:
                assert not ask(broker), (code, "passes before")
                wait_for(lambda broker=broker, code=code: code in [line.get("code") for line in broker.audit_lines()], code)
                assert advice(broker, code) == says, (code, advice(broker, code))
            with Broker(policy(origin, **after)) as broker:
                assert ask(broker), (code, "does not pass behind it", broker.audit_lines())


def test_no_change_is_said_to_what_no_policy_allows():
    with Broker(policy([80], allowed_hosts=["0.0.0.0", "local.test"], deny_private_networks=False)) as broker:
        answer = broker.request("GET http://0.0.0.0/ HTTP/1.1\r\nHost: 0.0.0.0\r\n\r\n")
        assert answer[0] == 403 and "member" not in json.loads(answer[2]), answer
        broker.audit()
        assert "deny_private_networks" not in shown(broker.audit_path).split("WHAT WOULD CHANGE IT")[1]


def test_following_a_broker_over_a_full_file():
    limit = 4 << 20
    filler = b'{"filler":"' + b"x" * 1000 + b'"}\n'
    with open("followed.jsonl", "wb") as file:
        file.write(filler * (limit // len(filler)))
        file.write(b" " * (limit - file.tell() - 801) + b"{}" + b" " * 798 + b"\n")
    command = [os.environ["SAGE_EGRESS_PROGRAMS"] + "/sage-runtime", "egress", "--follow", "--json", "--audit", "followed.jsonl"]
    with Origin(answering(OK)) as origin, Broker(policy(origin), audit="followed.jsonl") as broker:
        follower = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        patience = threading.Timer(PATIENCE, follower.kill)
        patience.start()
        for number in range(1, 21):
            broker.request(get(origin))
            assert json.loads(follower.stdout.readline())["id"] == number
        assert os.path.getsize("followed.jsonl.1") > limit - 801, "the file was not full"
        follower.terminate()
        assert json.loads(follower.stdout.readline())["summary"]["connections"] == 20
        assert follower.wait(PATIENCE) == 0
        patience.cancel()
        follower.stdout.close()
