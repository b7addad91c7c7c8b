"""sage-runtime egress shows what a broker wrote."""

import json
import subprocess
import threading

from test_plain import OK, answering, get
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
        for change in ('allowed_hosts: add "evil.test"', "allowed_ports: add 81", "max_request_body_bytes: more"):
            assert change in text, (change, text)
        lines = [json.loads(line) for line in shown(broker.audit_path, "--json").splitlines()]
        assert lines[:-1] == broker.audit_lines()
        reasons = {reason["code"]: reason for reason in lines[-1]["summary"]["reasons"]}
        assert reasons["policy.host"]["count"] == 2 and reasons["policy.host"]["member"] == "allowed_hosts", reasons


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
