"""CONNECT: how tunnels end: in order, in a reset, and in urgent data; and what goes through them until then."""

import threading

from world import *


def opened(broker, origin):
    s = broker.tunnel(origin.port, "local.test")
    s.sendall(client_hello())
    assert read_record(s)[0] == 22
    return s


def test_each_side_may_end_before_the_other():
    def client_first(s):
        seen = read_all(s)
        s.sendall(b"after the end")
        return seen

    with Origin(tls_origin(client_first)) as origin, Broker(policy(origin)) as broker, opened(broker, origin) as s:
        s.sendall(b"to the end")
        s.shutdown(socket.SHUT_WR)
        assert read_all(s) == b"after the end" and origin.result() == b"to the end"
        assert broker.audit()["verdict"] == "allowed"

    def origin_first(s):
        s.sendall(b"to the end")
        s.shutdown(socket.SHUT_WR)
        return read_all(s)

    with Origin(tls_origin(origin_first)) as origin, Broker(policy(origin)) as broker, opened(broker, origin) as s:
        assert read_all(s) == b"to the end"
        s.sendall(b"after the end")
        s.shutdown(socket.SHUT_WR)
        assert origin.result() == b"after the end"
        assert broker.audit()["verdict"] == "allowed"


def test_resets_pass_through():
    with Origin(tls_origin(lambda s: (s.sendall(b"part"), time.sleep(0.05), reset(s)))) as origin, Broker(policy(origin)) as broker:
        with opened(broker, origin) as s:
            assert read_until_reset(s) == b"part"
            assert broker.audit()["code"] == "origin.reset"
    with Origin(tls_origin(read_until_reset)) as origin, Broker(policy(origin)) as broker:
        s = opened(broker, origin)
        s.sendall(b"part")
        time.sleep(0.05)
        reset(s)
        assert origin.result() == b"part"
        assert broker.audit()["code"] == "relay.client_reset"


def test_a_reset_is_no_end_also_when_a_send_hears_of_it_first():
    """The socket tells of a reset once. Here a send is likely to be told, and the read behind it would see an end in order."""

    def handler(s):
        s.sendall(b"part")
        time.sleep(0.02)
        reset(s)

    for _ in range(20):
        with Origin(lambda s: swallow(tls_origin(handler), s)) as origin, Broker(policy(origin)) as broker, opened(broker, origin) as s:
            try:
                while True:
                    s.sendall(b"x" * 1000)
            except OSError:
                pass
            assert broker.audit()["code"] in ("origin.reset", "limit.request_bytes"), broker.audit()


def test_a_server_that_closes_while_the_client_still_writes_has_ended_in_order():
    def handler(s):
        s.sendall(b"all of it")

    with Origin(tls_origin(handler)) as origin, Broker(policy(origin)) as broker, opened(broker, origin) as s:
        assert read_exactly(s, 9) == b"all of it" and read_all(s) == b""
        s.sendall(b"bye")
        time.sleep(0.05)
        swallow(s.sendall, b"bye")
        assert broker.audit()["verdict"] == "allowed" and "code" not in broker.audit(), broker.audit()


def urgent_pieces(where):
    """Before, urgent, behind."""
    return {"first": (b"", b"!", b"behind"), "middle": (b"before", b"!", b"behind"), "last": (b"before", b"!", b"")}[where]


def send_urgent(s, where):
    """Was the connection reset at once?"""
    before, urgent, behind = urgent_pieces(where)
    if before:
        s.sendall(before)
    s.send(urgent, socket.MSG_OOB)
    try:
        s.sendall(behind)
        return False
    except OSError:
        return True # the reset has been told, and is not told twice


def test_urgent_data_resets_both_sides_and_spins_nowhere():
    for where in ("first", "middle", "last"):
        for direction in ("up", "down"):

            def handler(s, where=where, direction=direction):
                told = direction == "down" and read_exactly(s, 2) and send_urgent(s, where)
                return b"" if told else read_until_reset(s)

            with Origin(tls_origin(handler)) as origin, Broker(policy(origin)) as broker, opened(broker, origin) as s:
                if direction == "down":
                    s.sendall(b"go")
                told = direction == "up" and send_urgent(s, where)
                seen = (b"" if told else read_until_reset(s)) + origin.result()
                assert b"!" not in seen and b"behind" not in seen, (where, direction, seen)
                assert broker.audit()["code"] == "relay.urgent", (where, direction, broker.audit())
                before = broker.cpu_seconds()
                time.sleep(0.1)
                assert broker.cpu_seconds() - before <= 0.02


def test_urgent_data_in_a_head_or_a_hello():
    with Origin(hello_is_read) as origin, Broker(policy(origin)) as broker:
        with broker.connect() as s:
            s.send(b"G", socket.MSG_OOB)
            read_until_reset(s)
        with broker.tunnel(origin.port, "local.test") as s:
            s.sendall(client_hello()[:50])
            s.send(b"!", socket.MSG_OOB)
            read_until_reset(s)
        assert broker.audit(1)["code"] == "relay.urgent"
        assert origin.result() == b""


def test_urgent_data_cannot_hide_behind_a_stream():
    """The byte comes somewhere in bulk data, while the relay is busy: it is never left out, which would join what stands around it."""

    def handler(s):
        for _ in range(50):
            s.sendall(b"a" * 100000)
        s.send(b"!", socket.MSG_OOB)
        for _ in range(50):
            s.sendall(b"b" * 100000)

    for _ in range(3):
        with Origin(tls_origin(lambda s: swallow(handler, s))) as origin, Broker(policy(origin, max_response_bytes=1 << 30)) as broker:
            with opened(broker, origin) as s:
                data = read_until_reset(s)
                assert b"b" not in data and len(data) <= 50 * 100000, len(data)
                assert broker.audit()["code"] == "relay.urgent"


def test_bulk_both_ways_at_once():
    size = 20 << 20
    data = os.urandom(1 << 20) * 20

    def handler(s):
        sender = threading.Thread(target=s.sendall, args=(data,))
        sender.start()
        seen = read_exactly(s, size)
        sender.join()
        return seen == data

    with Origin(tls_origin(handler)) as origin:
        with Broker(policy(origin, max_request_body_bytes=1 << 30, max_response_bytes=1 << 30)) as broker, opened(broker, origin) as s:
            sender = threading.Thread(target=s.sendall, args=(data,))
            sender.start()
            assert read_exactly(s, size) == data
            sender.join()
            assert origin.result() is True
        wait_for(lambda: broker.audit_lines(), "the audit")
        assert broker.audit_lines()[0]["received_bytes"] == size + len(server_hello())
