"""From the command line to SIGTERM."""

import json
import subprocess

from test_limits import read_until_reset_or_end, tunnel_for
from test_plain import OK, answering, get
from world import *


def fails(*arguments):
    done = subprocess.run([os.environ["SAGE_EGRESS_BROKER"], *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8",
                          timeout=PATIENCE, check=False)  # fmt: skip
    assert done.returncode == 1 and done.stdout == "", done
    return done.stderr


def test_usage_errors_name_the_option():
    with open("good.json", "w", encoding="ascii") as file:
        file.write('{"mode":"allowlist","allowed_hosts":["a"]}')
    with open("bad.json", "w", encoding="ascii") as file:
        file.write('{"mode":"allowlist","allowed_hosts":["a"],"allowed_ports":[22]}')
    with open("none.json", "w", encoding="ascii") as file:
        file.write('{"mode":"none"}')
    listen = ("--listen", "127.0.0.1:0")
    assert "--standalone" in fails("--policy", "good.json", *listen)
    assert "--policy" in fails("--standalone", *listen)
    assert "--listen" in fails("--standalone", "--policy", "good.json")
    assert "--nonsense" in fails("--nonsense")
    assert "127.0.0.1" in fails("--standalone", "--policy", "good.json", "--listen", "localhost:80")
    assert "allowed_ports[0]" in fails("--standalone", "--policy", "bad.json", *listen)
    assert "mode" in fails("--standalone", "--policy", "none.json", *listen)
    assert "missing.json" in fails("--standalone", "--policy", "missing.json", *listen)
    assert "--audit" in fails("--standalone", "--policy", "good.json", *listen, "--audit", "no/such/directory")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        assert "in use" in fails("--standalone", "--policy", "good.json", "--listen", "127.0.0.1:%d" % taken.getsockname()[1])


def test_it_listens_on_all_addresses_that_were_named():
    with Origin(answering(OK)) as origin, Broker(policy(origin), listen=("127.0.0.1:0", "[::1]:0")) as broker:
        assert [host for host, _ in broker.addresses] == ["127.0.0.1", "::1"]
        for address in broker.addresses:
            with socket.create_connection(address) as s:
                s.sendall(get(origin).encode())
                assert parse_answer(read_all(s))[2] == b"hello"


def test_sigterm_resets_everything_at_once():
    with Origin(tls_origin(read_until_reset)) as origin, Broker(policy(origin)) as broker:
        s = tunnel_for(broker, origin)
        waiting = broker.connect()
        waiting.sendall(b"GET http://")
        time.sleep(0.05)
        started = time.monotonic()
        broker.process.terminate()
        assert broker.process.wait(PATIENCE) == 0
        assert time.monotonic() - started < 0.5
        read_until_reset(s)
        read_until_reset(waiting)
        origin.result()
        assert "broker.stopped" in [line["code"] for line in broker.audit_lines()]


def test_no_process_outlives_the_others():
    for victim in range(2):
        with Origin(tls_origin(read_until_reset_or_end)) as origin:
            broker = Broker(policy(origin))
            s = tunnel_for(broker, origin)
            pids = broker.pids()
            kill(pids[victim])
            broker.process.wait(PATIENCE)
            wait_for(lambda pids=pids: not any(os.path.exists(f"/proc/{pid}") for pid in pids), "the end of all")
            read_until_reset_or_end(s)
            broker.process.stdout.close()


def test_a_policy_that_is_edited_while_it_is_in_force_changes_nothing():
    with Origin(answering(OK)) as origin, Broker(policy(origin)) as broker:
        evil = f"GET http://evil.test:{origin.port}/ HTTP/1.1\r\nHost: evil.test:{origin.port}\r\n\r\n"
        for text in ('{"mode":"proxy","proxy_url":"http://127.0.0.1:1"}', "", None):
            if text is None:
                os.remove(broker.policy_path)
            else:
                with open(broker.policy_path, "w", encoding="ascii") as file:
                    file.write(text)
            assert refusal(broker.request(evil)) == "policy.host"
            assert broker.request(get(origin))[0] == 200
        with open(broker.policy_path, "w", encoding="ascii") as file:
            file.write("{}")


def test_a_broker_that_is_asked_for_itself_does_not_go_in_circles():
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with Broker(policy([port]), listen=(f"127.0.0.1:{port}",)) as broker:
        answer = broker.request(f"GET http://127.0.0.1:{port}/ HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n")
        assert (answer[0], refusal(answer)) == (400, "parse.target"), answer
        with broker.tunnel(port, "local.test") as s:
            s.sendall(client_hello())
            assert read_record(s) == (21, b"\2\x50")
        wait_for(lambda: len(broker.audit_lines()) == 4, "two lines for each")


def test_standard_streams_that_lead_nowhere():
    with Origin(answering(OK)) as origin:
        with open("null-policy.json", "w", encoding="ascii") as file:
            json.dump(policy(origin), file)
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        process = subprocess.Popen(
            [os.environ["SAGE_EGRESS_BROKER"], "--standalone", "--policy", "null-policy.json", "--listen", f"127.0.0.1:{port}", "--programs",
             os.environ["SAGE_EGRESS_PROGRAMS"]], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip
        try:
            wait_for(lambda: can_connect(port), "the broker")
            with socket.create_connection(("127.0.0.1", port)) as s:
                s.sendall(get(origin).encode())
                assert parse_answer(read_all(s))[2] == b"hello"
        finally:
            process.terminate()
        assert process.wait(PATIENCE) == 0


def test_a_policy_from_a_descriptor():
    with open("fd-policy.json", "w+", encoding="ascii") as file:
        file.write('{"mode":"allowlist","allowed_hosts":["a"]}')
        file.flush()
        file.seek(0)
        os.set_inheritable(file.fileno(), True)
        process = subprocess.Popen(
            [os.environ["SAGE_EGRESS_BROKER"], "--standalone", "--policy", f"fd:{file.fileno()}", "--listen", "127.0.0.1:0", "--programs",
             os.environ["SAGE_EGRESS_PROGRAMS"]], stdout=subprocess.PIPE, close_fds=False)  # fmt: skip
        assert process.stdout.readline().startswith(b"listening on ")
        process.terminate()
        assert process.wait(PATIENCE) == 0
        process.stdout.close()
