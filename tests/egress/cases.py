"""Case files (cases/README.md): how they are read, and what comes of one when a broker is asked.

The outcome of a case is a line of text: `200`, `403 policy.host`, `alert 112 tls.sni_mismatch`, `passes`, `reset origin.truncated`."""

import glob
import json
import re

from world import *

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "cases")
ADMITTED = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


def filled(value, port):
    value = value.replace("{port}", str(port)).replace("{host}", f"local.test:{port}")
    return re.sub(r"\{([^{}]+)\*(\d+)\}", lambda match: match[1] * int(match[2]), value)


def unescape(value):
    return value.encode("latin-1").decode("unicode_escape").encode("latin-1")


class Case:
    """What stands in a block: a dictionary of words. Text may have escapes, {port} and {host} of the origin, and {x*82} for many of it."""

    def __init__(self, row, name, words):
        self.row, self.name, self.words = row, name, words

    def text(self, key, port, default=""):
        return unescape(filled(self.words.get(key, default), port))

    def __str__(self):
        return f"{self.row}: {self.name}"


def read_row(path):
    """(title, cases, [tests that hold the row otherwise])"""
    title, defaults, cases, elsewhere = "", {}, [], []
    row = os.path.relpath(path, FOLDER)[:-5]
    with open(path, encoding="ascii") as file:
        for number, line in enumerate(file, 1):
            line = line.rstrip("\n")
            if line.startswith("#"):
                title = title or line[1:].strip()
                continue
            if not line:
                continue
            key, colon, value = line.partition(":")
            if not colon or key not in KEYS:
                raise AssertionError(f"{path}:{number}: no such key: {line}")
            value = value[1:] if value.startswith(" ") else value
            if key == "held by":
                elsewhere.append(value)
            elif key == "case":
                cases.append(Case(row, value, dict(defaults)))
            elif cases:
                cases[-1].words[key] = value
            else:
                defaults[key] = value
    return title, cases, elsewhere


KEYS = {
    "case", "held by", "policy", "expect",
    "send", "request", "host", "fields", "body", "end", "origin", "forwarded", "not forwarded", "answer", "not answer",
    "connect", "hello", "second", "server",
    "members", "load", "tells",
}  # fmt: skip


def rows():
    return sorted(glob.glob(os.path.join(FOLDER, "*", "*.case")))


# ---- a policy, and whether the broker starts with it --------------------------------------------------------------------------------


PLAIN = {"mode": "allowlist", "allowed_hosts": ["a.test"]}


def is_about_a_policy(case):
    return "members" in case.words or "load" in case.words


def start(case):
    """Raises AssertionError where the broker starts or does not start other than the case expects. A policy comes as `load` has it, or is a
    plain one with other `members`, of which null takes one away; JSON has escapes of its own."""
    text = filled(case.words.get("load", ""), 0)
    if not text:
        members = {**PLAIN, **json.loads(filled(case.words["members"], 0))}
        text = json.dumps({name: value for name, value in members.items() if value is not None})
    with open("loaded.json", "w", encoding="ascii") as file:
        file.write(text)
    process = subprocess.Popen(
        [os.environ["SAGE_EGRESS_BROKER"], "--standalone", "--policy", "loaded.json", "--listen", "127.0.0.1:0", "--programs",
         os.environ["SAGE_EGRESS_PROGRAMS"]], stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8", errors="replace",
    )  # fmt: skip
    line = process.stdout.readline()
    process.terminate()
    said = process.communicate(timeout=PATIENCE)[1]
    match = re.fullmatch(r"sage-egress-broker: ([^ ]+): (.*) \(([a-z_.]+)\)\n", said)
    outcome = f"refused {match[3]} {match[1]}" if match else "accepted" if line.startswith("listening on ") else f"says {said!r}"
    outcome = outcome.replace("refused sandbox.network_policy_invalid ", "refused ")
    if outcome != case.words["expect"] or case.words.get("tells", "") not in said:
        raise AssertionError(f"{case}: {outcome}, and not {case.words['expect']}: {said}")


# ---- what a client sends -----------------------------------------------------------------------------------------------------------


def request(case, port):
    if "send" in case.words:
        return case.text("send", port)
    line = case.text("request", port, "GET http://{host}/ HTTP/1.1")
    host = b"" if case.words.get("host") == "none" else b"Host: " + case.text("host", port, "{host}") + b"\r\n"
    return line + b"\r\n" + host + case.text("fields", port) + b"\r\n" + case.text("body", port)


def extension(kind, body):
    return struct.pack(">HH", kind, len(body)) + body


def server_name(name):
    return struct.pack(">HBH", len(name) + 3, 0, len(name)) + name


FIXED = (("session", "00"), ("ciphers", "00021301"), ("compressions", "0100"))
HELLO = {"sni": "local.test", "type": "01", "content": "16", "version": "0301", "pieces": "16384", "add": "0", "longer": "0"}


def from_hex(text):
    """(00*40) is 40 times 00."""
    return bytes.fromhex(re.sub(r"\(([0-9a-f]+)\*(\d+)\)", lambda match: match[1] * int(match[2]), text))


def extensions_of(words):
    """Those before the name, and those behind it."""
    found = {"first": b"", "ext": b""}
    for word in words.split():
        key, _, value = word.partition("=")
        if key in found:
            kind, _, body = value.partition(":")
            found[key] += extension(int(kind, 16), from_hex(body))
    return found["first"], found["ext"]


def name_of(told):
    if told["sni"] == "-":
        return b""
    if "sni-body" in told:
        return extension(0, bytes.fromhex(told["sni-body"]))
    return extension(0, server_name(unescape(told["sni"])))


def in_records(message, told):
    size, sent, between = int(told["pieces"]), from_hex(told.get("before", "")), from_hex(told.get("between", ""))
    for at in range(0, len(message), size):
        piece = message[at : at + size]
        sent += bytes.fromhex(told["content"] + told["version"]) + struct.pack(">H", len(piece)) + piece + between
        between = b""
    return sent


def hello(words):
    """A ClientHello of the words in a `hello:` line; cases/README.md lists them."""
    told = {**HELLO, **{key: value for key, _, value in (word.partition("=") for word in words.split())}}
    before, behind = extensions_of(words)
    extensions = before + name_of(told) + bytes.fromhex("002b0003020304") + behind + from_hex(told.get("last", ""))
    tail = b"" if "bare" in told else struct.pack(">H", len(extensions) + int(told["longer"])) + extensions
    body = bytes.fromhex("0303") + bytes(32) + b"".join(from_hex(told.get(*word)) for word in FIXED) + tail
    message = bytes.fromhex(told["type"]) + (len(body) + int(told["add"])).to_bytes(3, "big") + body
    return in_records(message + bytes.fromhex(told.get("also", "")), told)


def hello_of(case, key, port):
    if case.words[key].startswith("raw "):
        return case.text(key, port)[4:]
    return hello(filled(case.words[key], port))


# ---- an origin, and what becomes of it ------------------------------------------------------------------------------------------------


SERVERS = {
    "hello": server_hello(), "retry": server_hello(retry=True), "http": b"HTTP/1.1 400 Bad Request\r\n\r\n", "alert": record(21, b"\2\50"),
    "warned-retry": record(21, b"\1\x70") + server_hello(retry=True), "data": record(23, bytes(40)), "ccs": record(20, b"\1"), "certificate": record(22, b"\x0b\0\0\3\0\0\0"), "empty": record(22, b""),
    "client": record(22, b"\1" + server_hello()[6:]),
}  # fmt: skip


class Row:
    """The broker and the origin for the cases of one file; SECONDS is how long nothing may happen."""

    def __init__(self, seconds=PATIENCE):
        self.seconds, self.case, self.seen, self.brokers, self.accepted = seconds, None, b"", {}, 0
        self.origin = Origin(self.serve)

    def close(self):
        self.origin.close()
        for broker in self.brokers.values():
            broker.__exit__(Exception, None, None)

    def broker(self, case):
        members = {"max_wall_time_seconds": 20, **json.loads(case.text("policy", self.origin.port, "{}"))}
        return self.brokers.setdefault(json.dumps(members), None) or self.start(members)

    def start(self, members):
        broker = self.brokers[json.dumps(members)] = Broker(policy(self.origin, **members))
        broker.lines = 0
        return broker

    def serve(self, s):
        s.settimeout(self.seconds)
        self.seen = bytearray()
        try:
            self.tls(s) if self.is_tls() else self.plain(s)
            while chunk := s.recv(1 << 16):
                self.seen += chunk
        except OSError:
            pass
        finally:
            self.finished.set()

    def is_tls(self):
        return "hello" in self.case.words

    def plain(self, s):
        while b"\r\n\r\n" not in self.seen:
            chunk = s.recv(1 << 16)
            if not chunk:
                return
            self.seen += chunk
        head, _, body = bytes(self.seen).partition(b"\r\n\r\n")
        length = re.search(rb"\ncontent-length: *(\d+)", head, re.IGNORECASE)
        self.seen += read_exactly(s, int(length[1]) - len(body)) if length and int(length[1]) > len(body) else b""
        s.sendall(self.case.text("origin", self.origin.port) if "origin" in self.case.words else ADMITTED)
        s.shutdown(socket.SHUT_WR)

    def tls(self, s):
        for answer in self.case.words.get("server", "hello").split():
            self.seen += s.recv(1 << 16)
            s.sendall(SERVERS[answer])

    def run(self, case):
        """Raises AssertionError where the outcome is another than the case expects, or something else that it asks for is not so."""
        if is_about_a_policy(case):
            start(case)
            return
        self.case, self.seen, self.finished, self.got = case, b"", threading.Event(), bytearray()
        accepted, broker = self.origin.accepted, self.broker(case)
        with broker.connect() as s:
            s.settimeout(self.seconds)
            outcome = self.of_tunnel(case, s) if self.is_tls() else self.of_request(case, s)
        code = self.next_line(broker).get("code")
        outcome += f" {code}" if code and outcome != "passes" else ""
        if outcome != case.words["expect"]:
            raise AssertionError(f"{case}: {outcome}, and not {case.words['expect']}; the client got {bytes(self.got[:300])!r}")
        self.check(case, self.origin.accepted > accepted)

    def next_line(self, broker):
        deadline = time.monotonic() + self.seconds
        while len(lines := broker.audit_lines()) == broker.lines:
            if time.monotonic() > deadline:
                raise AssertionError(f"{self.case}: no line in the audit")
            time.sleep(0.001)
        broker.lines = len(lines)
        return lines[-1]

    def of_request(self, case, s):
        try:
            try:
                s.sendall(request(case, self.origin.port))
                if "end" in case.words:
                    s.shutdown(socket.SHUT_WR)
            except OSError:
                pass # what was said before is still to be read
            self.read(s)
        except ConnectionResetError:
            return "reset"
        return self.status()

    def read(self, s):
        while chunk := s.recv(1 << 16):
            self.got += chunk

    def status(self):
        match = re.match(rb"HTTP/1\.[01] (\d\d\d) ", self.got)
        return match[1].decode() if match else "ends"

    def of_tunnel(self, case, s):
        """What comes behind CONNECT's 200: the server's words, or the broker's."""
        port = self.origin.port
        target = case.text("connect", port, "{host}")
        s.sendall(b"CONNECT " + target + b" HTTP/1.1\r\nHost: " + case.text("host", port, target.decode()) + b"\r\n" +
                  case.text("fields", port) + b"\r\n")  # fmt: skip
        head = read_head(s)
        if not head.startswith(b"HTTP/1.1 200 "):
            return head[9:12].decode()
        servers = case.words.get("server", "hello").split()
        hellos = [hello_of(case, key, port) for key in ("hello", "second") if key in case.words]
        try:
            for sent, answer in zip(hellos, servers):
                s.sendall(sent)
                if (found := self.server_said(s, SERVERS[answer])) is not None:
                    return found
        except ConnectionResetError:
            return "reset"
        return "passes"

    def server_said(self, s, expected):
        """None where it is what is expected."""
        got = bytearray()
        # An alert of the broker may be longer than what is expected.
        while len(got) < (7 if got[:3] == b"\x15\3\3" else len(expected)) and (chunk := s.recv(max(len(expected), 7) - len(got))):
            got += chunk
        self.got += got
        if got == expected:
            return None
        if got[:3] == b"\x15\3\3":
            return f"alert {got[6]}"
        return got[9:12].decode("latin-1") if got.startswith(b"HTTP/1.1 ") else "ends"

    def check(self, case, accepted):
        refused = re.search(r" (parse|policy|body|head|tls|dns)\.(?!incomplete)", case.words["expect"])
        if refused and not self.is_tls() and (self.seen or (accepted and refused[1] != "tls")):
            raise AssertionError(f"{case}: it reached the origin")
        if accepted and not self.finished.wait(self.seconds):
            raise AssertionError(f"{case}: the origin never saw the end")
        if self.is_tls() and accepted:
            port, first, second = self.origin.port, hello_of(case, "hello", self.origin.port), b""
            if case.words["expect"] == "passes":
                second = hello_of(case, "second", port) if "second" in case.words else b""
            elif "second" not in case.words and refused:
                first = b""
            if bytes(self.seen) != first + second:
                raise AssertionError(f"{case}: the origin saw {bytes(self.seen[:200])!r}")
        for key, text, wanted in (("forwarded", self.seen, True), ("not forwarded", self.seen, False), ("answer", self.got, True),
                                  ("not answer", self.got, False)):  # fmt: skip
            if key in case.words and (case.text(key, self.origin.port) in text) != wanted:
                raise AssertionError(f"{case}: {key} {case.words[key]}: {bytes(text[:300])!r}")
