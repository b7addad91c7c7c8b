"""A line for every connection, and never a reason to wait."""

import json
import re
import subprocess

from test_plain import OK, answering, get
from world import *


def test_a_line_says_all():
    with Origin(answering(OK)) as origin, Broker(policy(origin)) as broker:
        broker.request(get(origin))
        broker.request("GET http://evil.test/ HTTP/1.1\r\nHost: evil.test\r\n\r\n")
        broker.request("nonsense\r\n\r\n")
        with broker.connect():
            pass
        first, second, third = broker.audit(0), broker.audit(1), broker.audit(2)
        assert [line["id"] for line in (first, second, third)] == [1, 2, 3]
        assert first["time"].endswith("Z") and first["address"] == "127.0.0.1" and first["milliseconds"] < 1000
        assert (second["host"], second["code"], second["member"], second["verdict"]) == ("evil.test", "policy.host", "allowed_hosts", "refused")
        assert "host" not in third and third["code"] == "parse.request_line"
        time.sleep(0.05)
        assert len(broker.audit_lines()) == 3, "who asked for nothing has no line"


def test_a_full_file_becomes_the_older_one():
    limit = 4 << 20
    filler = b'{"filler":"' + b"x" * 1000 + b'"}\n'
    with open("full.jsonl", "wb") as file:
        file.write(filler * (limit // len(filler)))
        file.write(b" " * (limit - file.tell() - 101) + b"{}" + b" " * 98 + b"\n")
    with Origin(answering(OK)) as origin, Broker(policy(origin), audit="full.jsonl") as broker:
        broker.request(get(origin))
        wait_for(lambda: os.path.getsize("full.jsonl") < limit - 1, "the new file")
        assert os.path.getsize("full.jsonl.1") == limit
        assert [line["id"] for line in broker.audit_lines()] == [1]
        broker.request(get(origin))
        assert broker.audit(1)["id"] == 2


def test_a_full_disk_stops_nothing_and_is_told_later():
    os.makedirs("small", exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "small", "small"], check=True)
    try:
        with Origin(answering(OK)) as origin, Broker(policy(origin), audit="small/audit.jsonl") as broker:
            broker.request(get(origin))
            broker.audit()
            with open("small/filler", "wb") as file:
                try:
                    file.write(b"x" * (1 << 20))
                    file.flush()
                except OSError:
                    pass
            for _ in range(40):
                assert broker.request(get(origin))[0] == 200
            time.sleep(0.1)  # a line is written within some milliseconds
            written = len(broker.audit_lines())
            assert written < 41, "the disk was not full"
            os.remove("small/filler")
            broker.request(get(origin))
            wait_for(lambda: len(broker.audit_lines()) > written, "the next line")
            line = broker.audit_lines()[-1]
            assert line["lost"] == 41 - written and line["id"] == 42, line
    finally:
        subprocess.run(["umount", "-l", "small"], check=False)


def test_a_reader_that_does_not_read_stops_nothing():
    reading, writing = os.pipe()
    os.set_inheritable(writing, True)
    with Origin(answering(OK)) as origin, Broker(policy(origin), audit=f"fd:{writing}") as broker:
        for _ in range(500):
            assert broker.request(get(origin))[0] == 200
    os.close(writing)
    with open(reading, encoding="utf-8") as file:
        lines = [json.loads(line) for line in file]
    assert 100 < len(lines) < 500 and [line["id"] for line in lines] == list(range(1, len(lines) + 1))


def test_a_descriptor_instead_of_a_path():
    with open("by-descriptor.jsonl", "w+b") as file:
        os.set_inheritable(file.fileno(), True)
        with Origin(answering(OK)) as origin, Broker(policy(origin), audit=f"fd:{file.fileno()}") as broker:
            broker.request(get(origin))
            wait_for(lambda: os.path.getsize("by-descriptor.jsonl") > 0, "a line")


def test_whoever_takes_the_broker_over_cannot_fill_a_disk_by_it():
    with Origin(lambda s: None) as origin, Broker(policy(origin)) as broker:
        with open(f"/proc/{broker.pids()[0]}/limits", encoding="ascii") as file:
            assert re.search(r"^Max file size +\d+ +\d+ ", file.read(), re.MULTILINE)
