"""The dialer under test, the network it dials in, and whom it meets there.

Our network namespace (tests/egress/run made it) is the host; another one behind a veth pair is the internet: it has public addresses, and
whatever else is sent there vanishes. Name servers and proxies are on our side, as in an office."""

import atexit
import contextlib
import ctypes
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import threading
import time

from world import PATIENCE, Origin, read_all, wait_for

PUBLIC, PUBLIC6, SILENT = "93.184.216.34", "2606:2800:220:1::1", "93.184.216.99"
A, AAAA = 1, 28
NXDOMAIN, SERVFAIL = 3, 2
CLONE_NEWNET = 0x40000000

libc = ctypes.CDLL(None, use_errno=True)


def sh(*words):
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)


def replace_file(path, text):
    """For everybody in this mount namespace, however often."""
    with open(os.path.basename(path), "w", encoding="ascii") as file:
        file.write(text)
    subprocess.run(["umount", "-q", path], check=False)
    sh("mount", "--bind", os.path.basename(path), path)


class Internet:
    """There as long as a public server is: other tests have nothing but loopback."""

    made, users = None, 0

    def __init__(self):
        self.process = subprocess.Popen(["unshare", "--net", "sleep", "1000"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        atexit.register(self.process.kill)
        while os.readlink(f"/proc/{self.process.pid}/ns/net") == os.readlink("/proc/self/ns/net"):
            time.sleep(0.005)
        inside = ["nsenter", "-t", str(self.process.pid), "-n", "ip"]
        sh("ip", "link", "add", "inside", "type", "veth", "peer", "name", "outside", "netns", str(self.process.pid))
        sh(*inside, "link", "set", "outside", "up")
        sh("ip", "link", "set", "inside", "up")
        for address in (f"{PUBLIC}/32", f"{PUBLIC6}/128"):
            sh(*inside, "address", "add", address, "dev", "outside", *(["nodad"] if ":" in address else []))
        sh("ip", "address", "add", "100.65.0.1/32", "dev", "inside")
        sh("ip", "address", "add", "fd00::1/128", "dev", "inside", "nodad")
        for family, ours, theirs in (("-4", "100.65.0.1", PUBLIC), ("-6", "fd00::1", PUBLIC6)):
            sh("ip", family, "route", "add", "default", "dev", "inside", "src", ours)
            sh(*inside, family, "route", "add", "default", "dev", "outside", "src", theirs)
        self.never_ask_for_the_other_side(inside)
        self.namespace = os.open(f"/proc/{self.process.pid}/ns/net", os.O_RDONLY | os.O_CLOEXEC)

    def never_ask_for_the_other_side(self, inside):
        """Every address on the link is the other side's: a silent one is silence, not "no such host"."""
        macs = [re.search(r"link/ether (\S+)", subprocess.run([*who, "link", "show", name], check=True, capture_output=True,
                text=True).stdout)[1] for who, name in ((["ip"], "inside"), (inside, "outside"))]  # fmt: skip
        for address in (PUBLIC, SILENT, PUBLIC6, "2606:2800:220:1::99"):
            sh("ip", "neighbour", "add", address, "lladdr", macs[1], "dev", "inside")
        for address in ("100.65.0.1", "fd00::1"):
            sh(*inside, "neighbour", "add", address, "lladdr", macs[0], "dev", "outside")

    def __enter__(self):
        self.home = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        if libc.setns(self.namespace, CLONE_NEWNET) < 0:
            raise OSError(ctypes.get_errno(), "setns")

    def __exit__(self, *_):
        libc.setns(self.home, CLONE_NEWNET)
        os.close(self.home)

    def close(self):
        sh("ip", "link", "delete", "inside")
        os.close(self.namespace)
        self.process.kill()
        self.process.wait()


def internet():
    Internet.made = Internet.made or Internet()
    Internet.users += 1
    return Internet.made


def leave_internet():
    Internet.users -= 1
    if Internet.users == 0:
        Internet.made.close()
        Internet.made = None


class Server(Origin):
    """An origin that may be on the internet, and whose handlers may fail: being given up by the dialer is no fault of theirs."""

    def __init__(self, handler, address="127.0.0.1", port=0, public=False):
        self.public = public
        super().__init__(handler, address, port)

    def listen(self, address, port):
        with internet() if self.public else contextlib.nullcontext():
            return super().listen(address, port)

    def close(self):
        super().close()
        if self.public:
            leave_internet()

    def __exit__(self, *_):
        if self.listener.fileno() >= 0:
            self.close()


def echo(s):
    """All that comes, when it has ended."""
    data = read_all(s)
    s.sendall(b"heard " + data)
    return data


class NameServer:
    """A decoy: ZONE is {name: {A: [addresses], AAAA: [addresses]}}, or a code, or None for silence. It counts what it is asked."""

    def __init__(self, zone, options="timeout:1 attempts:2", search="search.test", address="127.0.0.1"):
        self.zone, self.asked = zone, []
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind((address, 53))
        replace_file("/etc/resolv.conf", f"nameserver {address}\nsearch {search}\noptions {options}\n")
        replace_file("/etc/nsswitch.conf", "hosts: files dns\n")
        self.socket.settimeout(0.05)
        self.ended = False
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self):
        while not self.ended:
            try:
                data, peer = self.socket.recvfrom(4096)
            except TimeoutError:
                continue
            name, kind, end = self.question(data)
            self.asked.append((name, kind))
            found = self.zone.get(name, NXDOMAIN)
            if callable(found):
                found = found(kind)
            if found is not None:
                self.socket.sendto(self.answer(data, end, kind, found), peer)

    @staticmethod
    def question(data):
        labels, at = [], 12
        while data[at]:
            labels.append(data[at + 1 : at + 1 + data[at]].decode())
            at += 1 + data[at]
        return ".".join(labels).lower(), struct.unpack(">H", data[at + 1 : at + 3])[0], at + 5

    @staticmethod
    def answer(data, end, kind, found):
        addresses = found.get(kind, []) if isinstance(found, dict) else []
        code = 0 if isinstance(found, dict) else found
        family = socket.AF_INET if kind == A else socket.AF_INET6
        records = b"".join(
            b"\xc0\x0c" + struct.pack(">HHIH", kind, 1, 0, 4 if kind == A else 16) + socket.inet_pton(family, address) for address in addresses
        )  # fmt: skip
        return data[:2] + struct.pack(">HHHHH", 0x8180 | code, 1, len(addresses), 0, 0) + data[12:end] + records

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.ended = True
        self.thread.join()
        self.socket.close()
        for path in ("/etc/resolv.conf", "/etc/nsswitch.conf"):
            subprocess.run(["umount", "-q", path], check=False)


def allow(*hosts, ports=(443,), **members):
    return {"mode": "allowlist", "allowed_hosts": list(hosts), "allowed_ports": list(ports), "allowed_schemes": ["http", "https"], **members}


class Probe:
    """tests/egress/probe: both halves of the broker, with a front that obeys. answers: code, address, number of addresses, detail."""

    count = 0

    def __init__(self, policy, user="65534:65534", before=(), place=None, programs=None, stderr=None):
        import json

        Probe.count += 1
        path = os.path.abspath(f"probe-{Probe.count}.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(policy, file)
        programs = programs or os.environ["SAGE_EGRESS_PROGRAMS"]
        program = next(filter(os.path.exists, (f"{programs}/probe", f"{programs}/tests/egress/probe")))
        self.process = subprocess.Popen([*before, program, path, programs, user, *([place] if place else [])],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr, encoding="utf-8", errors="replace")  # fmt: skip
        self.greeting = self.process.stdout.readline()

    def say(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def ask(self, line):
        self.say(line)
        return self.process.stdout.readline().rstrip("\n")

    def connect(self, place, scheme="https", ms=5000):
        """code, address, n, detail"""
        words = self.ask(f"connect {place} {scheme} {ms}").split(" ", 3)
        return words[0], *words[1:]

    def code(self, *arguments, **options):
        return self.connect(*arguments, **options)[0]

    def pids(self):
        """The dialer, which is the process that was started; the front; helpers by name."""
        with open(f"/proc/{self.process.pid}/task/{self.process.pid}/children", encoding="ascii") as file:
            children = list(map(int, file.read().split()))
        names = {pid: open(f"/proc/{pid}/comm", encoding="ascii").read().strip() for pid in children}
        helpers = [pid for pid in children if names[pid].startswith("egress-") or names[pid].isdigit()]
        fronts = [pid for pid in children if names[pid] == "probe" and is_first(pid)]
        return self.process.pid, fronts[0] if fronts else None, helpers

    def resolvers(self):
        return [pid for pid in self.pids()[2] if comm(pid) == "egress-resolver"]

    def end(self):
        self.process.stdin.close()
        status = self.process.wait(PATIENCE)
        self.process.stdout.close()
        return status

    def __enter__(self):
        if not self.greeting.startswith("ready"):
            raise AssertionError(f"{self.greeting}, status {self.process.wait(PATIENCE)}")
        return self

    def __exit__(self, kind, *_):
        if self.process.poll() is None and self.end() != 0 and kind is None:
            raise AssertionError(f"the probe ended with {self.process.returncode}")


def copy_programs():
    """A directory with the three of them, that somebody who is not root can reach (the build's may be in root's home)."""
    where = tempfile.mkdtemp(dir=".")
    os.chmod(where, 0o755)
    for name in ("sage-egress-resolver", "sage-egress-tls", "tests/egress/probe"):
        shutil.copy(os.path.join(os.environ["SAGE_EGRESS_PROGRAMS"], name), where)
    return os.path.abspath(where)


def comm(pid):
    try:
        with open(f"/proc/{pid}/comm", encoding="ascii") as file:
            return file.read().strip()
    except FileNotFoundError:
        return ""


def is_first(pid):
    """Of its pid namespace, or of none of its own."""
    return re.search(r"^NSpid:.*\s1$", status_of(pid), re.MULTILINE) is not None


def status_of(pid):
    with open(f"/proc/{pid}/status", encoding="utf-8") as file:
        return file.read()


def is_gone(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return "\nState:\tZ" in status_of(pid)


class timed:
    """How long the block took: .seconds"""

    def __enter__(self):
        self.start = time.monotonic()
        return self

    def __exit__(self, *_):
        self.seconds = time.monotonic() - self.start


__all__ = [name for name in dir() if not name.startswith("_")]
