"""The broker under test, the clients that use it, and the origins it may reach. All on loopback."""

import functools
import json
import os
import select
import signal
import socket
import ssl
import struct
import subprocess
import threading
import time

PATIENCE = 10  # seconds after which a test has failed


class Origin:
    """A listener whose connections are each handled by HANDLER(socket) in a thread. What a handler returns is in results; bytes(…) of what
    it read is a common choice. As a context it checks in the end that no handler failed."""

    def __init__(self, handler, address="127.0.0.1", port=0):
        self.listener = self.listen(address, port)
        self.port = self.listener.getsockname()[1]
        self.handler, self.results, self.errors, self.accepted = handler, [], [], 0
        self.changed = threading.Condition()
        threading.Thread(target=self.serve, daemon=True).start()

    def listen(self, address, port):
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        return socket.create_server((address, port), family=family, backlog=2048)

    def serve(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            self.accepted += 1
            threading.Thread(target=self.handle, args=(connection,), daemon=True).start()

    def handle(self, connection):
        connection.settimeout(PATIENCE)
        result = None
        try:
            with connection:
                result = self.handler(connection)
        except Exception as error:  # pylint: disable=broad-except
            result = error
            self.errors.append(error)
        with self.changed:
            self.results.append(result)
            self.changed.notify_all()

    def result(self, number=0):
        """What the handler of connection NUMBER (in the order of their ends) returned."""
        with self.changed:
            if not self.changed.wait_for(lambda: len(self.results) > number, PATIENCE):
                raise TimeoutError("the origin is still at work")
            return self.results[number]

    def __enter__(self):
        return self

    def close(self):
        """close(2) alone would leave the thread in accept(2), and the port open."""
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()

    def __exit__(self, kind, *_):
        if self.listener.fileno() >= 0:
            self.close()
        if kind is None and self.errors:
            raise self.errors[0]


def policy(origin, **members):
    ports = [origin.port] if isinstance(origin, Origin) else list(origin)
    return {
        "mode": "allowlist", "allowed_hosts": ["127.0.0.1", "local.test", "*.wild.test"], "allowed_ports": ports,
        "allowed_schemes": ["http", "https"], "deny_private_networks": False, **members,
    }  # fmt: skip


class Broker:
    """The program, for as long as the context lasts. audit_lines() are those written so far."""

    count = 0

    def __init__(self, policy_members, *options, audit=None, before=(), listen=("127.0.0.1:0",)):
        Broker.count += 1
        self.policy_path, self.audit_path = f"policy-{Broker.count}.json", audit or f"audit-{Broker.count}.jsonl"
        with open(self.policy_path, "w", encoding="utf-8") as file:
            json.dump(policy_members, file)
        listeners = [word for where in listen for word in ("--listen", where)]
        command = [
            *before, os.environ["SAGE_EGRESS_BROKER"], "--standalone", "--policy", self.policy_path, "--audit", self.audit_path,
            "--programs", os.environ["SAGE_EGRESS_PROGRAMS"], *listeners, *options,
        ]  # fmt: skip
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, encoding="utf-8", close_fds=False)
        self.addresses = []
        for _ in listen:
            line = self.process.stdout.readline()
            if not line.startswith("listening on "):
                raise AssertionError(f"the broker said {line!r} and ended with {self.process.wait(PATIENCE)}")
            host, port = line.split()[-1].rsplit(":", 1)
            self.addresses.append((host.strip("[]"), int(port)))

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        self.process.terminate()
        status = self.process.wait(PATIENCE)
        self.process.stdout.close()
        if kind is None and status != 0:
            raise AssertionError(f"the broker ended with {status}")

    def connect(self):
        s = socket.create_connection(self.addresses[0], PATIENCE)
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return s

    def request(self, text):
        """Sends TEXT, reads to the end: status, head, body."""
        with self.connect() as s:
            s.sendall(text if isinstance(text, bytes) else text.encode())
            return parse_answer(read_all(s))

    def tunnel(self, port, host="127.0.0.1", early=b""):
        """A socket behind CONNECT's 200."""
        s = self.connect()
        s.sendall(f"CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode() + early)
        head = read_head(s)
        if not head.startswith(b"HTTP/1.1 200 "):
            raise AssertionError(f"CONNECT was answered {head + read_all(s)!r}")
        return s

    def audit_lines(self):
        time.sleep(0.03)  # the broker gathers lines for ten milliseconds
        try:
            with open(self.audit_path, encoding="utf-8") as file:
                return [json.loads(line) for line in file]
        except FileNotFoundError:
            return []

    def audit(self, number=0):
        """Line NUMBER, as soon as it is there."""
        wait_for(lambda: len(self.audit_lines()) > number, "a line of the audit")
        return self.audit_lines()[number]

    def pids(self):
        """Of the program's processes, the front first: the one that holds the clients' sockets."""
        found, queue = [], [self.process.pid]
        while queue:
            pid = queue.pop()
            found.append(pid)
            for task in os.listdir(f"/proc/{pid}/task"):
                with open(f"/proc/{pid}/task/{task}/children", encoding="ascii") as file:
                    queue += map(int, file.read().split())
        return sorted(found, key=lambda pid: not self.is_front(pid))

    def is_front(self, pid):
        for name in os.listdir(f"/proc/{pid}/fd"):
            try:
                if "[eventpoll]" in os.readlink(f"/proc/{pid}/fd/{name}") and self.holds_listener(pid):
                    return True
            except FileNotFoundError:
                pass
        return False

    def holds_listener(self, pid):
        with open("/proc/net/tcp", encoding="ascii") as file:
            inodes = {line.split()[9] for line in file if f":{self.addresses[0][1]:04X} " in line.split(maxsplit=2)[1] + " "}
        links = []
        for name in os.listdir(f"/proc/{pid}/fd"):
            try:
                links.append(os.readlink(f"/proc/{pid}/fd/{name}"))
            except FileNotFoundError:
                pass
        return any(f"socket:[{inode}]" in links for inode in inodes)

    def cpu_seconds(self):
        """Of all its processes so far."""
        return sum(cpu_of(pid) for pid in self.pids())


def cpu_of(pid):
    """Seconds."""
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident(pid):
    """KiB."""
    with open(f"/proc/{pid}/status", encoding="utf-8") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmRSS"))


def wait_for(condition, what):
    deadline = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"waited in vain for {what}")
        time.sleep(0.005)


def read_all(s):
    data = bytearray()
    while chunk := s.recv(1 << 16):
        data += chunk
    return bytes(data)


def read_exactly(s, n):
    data = bytearray()
    while len(data) < n:
        chunk = s.recv(n - len(data))
        if not chunk:
            raise AssertionError(f"ended after {len(data)} of {n} bytes: {bytes(data[:200])!r}")
        data += chunk
    return bytes(data)


def read_head(s):
    """Up to the empty line, and not a byte more."""
    data = bytearray()
    while not data.endswith(b"\r\n\r\n"):
        byte = s.recv(1)
        if not byte:
            raise AssertionError(f"ended inside a head: {bytes(data)!r}")
        data += byte
    return bytes(data)


def read_rest(s):
    """All that still comes, however that ends."""
    data = bytearray()
    try:
        while chunk := s.recv(1 << 16):
            data += chunk
    except ConnectionResetError:
        pass
    return bytes(data)


def read_until_reset(s):
    """All that came before the connection was reset; fails when it ends in order."""
    data = bytearray()
    try:
        while chunk := s.recv(1 << 16):
            data += chunk
    except ConnectionResetError:
        return bytes(data)
    raise AssertionError(f"ended in order after {len(data)} bytes: {bytes(data[-200:])!r}")


def reset(s):
    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    s.close()


def parse_answer(data):
    head, _, body = data.partition(b"\r\n\r\n")
    lines = head.decode("latin-1").split("\r\n")
    return int(lines[0].split(" ")[1]), lines, body


def refusal(answer):
    """The code in the body of one of the broker's own answers."""
    _, lines, body = answer
    assert "Content-Type: application/json" in lines, lines
    return json.loads(body)["code"]


def is_readable(s, seconds=0):
    return bool(select.select([s], [], [], seconds)[0])


def can_connect(port):
    try:
        socket.create_connection(("127.0.0.1", port)).close()
        return True
    except OSError:
        return False


# ---- TLS --------------------------------------------------------------------------------------------------------------------


@functools.lru_cache
def client_hello(name="local.test"):
    """What a client of this machine's OpenSSL says first. name: None for no server_name."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    try:
        context.wrap_bio(incoming, outgoing, server_hostname=name).do_handshake()
    except ssl.SSLWantReadError:
        pass
    return outgoing.read()


def record(kind, body):
    return struct.pack(">BHH", kind, 0x0303, len(body)) + body


def server_hello(retry=False):
    """The server's first message, as far as anybody in between can tell. retry: HelloRetryRequest (RFC 8446, 4.1.3)."""
    random = bytes.fromhex("cf21ad74e59a6111be1d8c021e65b891c2a211167abb8c5e079e09e2c8a8339c") if retry else bytes(range(32))
    body = struct.pack(">H", 0x0303) + random + b"\0" + struct.pack(">H", 0x1301) + b"\0" + struct.pack(">H", 6) + bytes.fromhex("002b00020304")
    return record(22, b"\x02" + len(body).to_bytes(3, "big") + body)


def read_record(s):
    kind, _, size = struct.unpack(">BHH", read_exactly(s, 5))
    return kind, read_exactly(s, size)


def tls_origin(after, answer=None):
    """A handler that reads one hello, answers it, and goes on with AFTER(socket); its result is what AFTER returns, or the hello."""

    def handler(s):
        hello = read_record(s)[1]
        s.sendall(answer or server_hello())
        return after(s) if after else hello

    return handler


def hello_is_read(s):
    """A handler for tunnels in which nothing may reach the origin: what did."""
    try:
        return read_all(s)
    except ConnectionResetError:
        return b""


def swallow(function, *arguments):
    """What FUNCTION returns, or None where its socket has failed."""
    try:
        return function(*arguments)
    except OSError:
        return None


def make_certificate():
    if not os.path.exists("certificate.pem"):
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", "key.pem", "-out",
             "certificate.pem", "-days", "2", "-subj", "/CN=local.test", "-addext", "subjectAltName=DNS:local.test,DNS:other.test,IP:127.0.0.1"],
            check=True, stderr=subprocess.DEVNULL,
        )  # fmt: skip
    return "certificate.pem", "key.pem"


def kill(pid):
    os.kill(pid, signal.SIGKILL)
