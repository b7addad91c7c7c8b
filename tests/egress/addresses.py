"""The blocks of cases/addresses.table, and what becomes of names that lead to their edges.

The table is read here by other code than the broker's (Python's ipaddress, and the longest prefix), which knows nothing of the broker's
own."""

import contextlib
import ipaddress

import cases
from world import *

PORT = 9 # discard: nobody listens, and nothing but loopback has a way
FORBIDDEN = {
    "global": {None: "sent"},
    "private": {True: "dns.non_global_answer", False: "sent"},
    "fake": {True: "dns.fake_ip", False: "sent"},
    "never": {None: "dns.non_global_answer"},
}
# Where there is no way, being sent on it is enough.
SENT = {"connect.refused", "connect.unreachable", "connect.failed", "connect.timeout"}


def table():
    """[(network, class)]: of both families, the default ones too."""
    found = []
    with open(os.path.join(cases.FOLDER, "addresses.table"), encoding="ascii") as file:
        for line in file:
            words = line.split("#")[0].split(None, 2)
            if words:
                found.append((ipaddress.ip_network(words[0]), words[1]))
    return found


def class_of(address, blocks):
    inside = [(network.prefixlen, kind) for network, kind in blocks if address.version == network.version and address in network]
    return max(inside, key=lambda pair: pair[0])[1]


def inner(address):
    """The IPv4 addresses inside an IPv6 one: whether that is public depends on them as well."""
    value, found = int(address), []
    if address in ipaddress.ip_network("64:ff9b::/96"):
        found.append(value & 0xFFFFFFFF)
    if address in ipaddress.ip_network("2001::/32"):
        found.append(~value & 0xFFFFFFFF)
    if address in ipaddress.ip_network("2002::/16"):
        found.append(value >> 80 & 0xFFFFFFFF)
    if value >> 32 & 0xFDFFFFFF == 0x5EFE:
        found.append(value & 0xFFFFFFFF)
    return [ipaddress.IPv4Address(inside) for inside in found]


ORDER = ("global", "private", "fake", "never")


def expected(address, blocks):
    if address.version == 6 and address.ipv4_mapped:
        address = address.ipv4_mapped
    kinds = [class_of(address, blocks)]
    kinds += [class_of(a, blocks) for a in (inner(address) if address.version == 6 else [])]
    return max(kinds, key=ORDER.index)


def edges(network):
    first, last = int(network.network_address), int(network.broadcast_address)
    kind, size = type(network.network_address), 2 ** (32 if network.version == 4 else 128)
    return {kind(value) for value in (first, last, first - 1, last + 1) if 0 <= value < size}


def more():
    """Addresses inside addresses, and those that public reports name."""
    with open(os.path.join(cases.FOLDER, "addresses.list"), encoding="ascii") as file:
        return [ipaddress.ip_address(line.split("#")[0].strip()) for line in file if line.split("#")[0].strip()]


def all_addresses(blocks):
    return sorted({a for network, _ in blocks for a in edges(network)} | set(more()), key=lambda a: (a.version, int(a)))


@contextlib.contextmanager
def hosts(addresses):
    """A name for each in /etc/hosts, which the driver has put there."""
    with open("/etc/hosts", encoding="ascii") as file:
        before = file.read()
    with open("/etc/hosts", "w", encoding="ascii") as file:
        file.write(before + "".join(f"{address} a{number}.edge.test\n" for number, address in enumerate(addresses)))
    try:
        yield
    finally:
        with open("/etc/hosts", "w", encoding="ascii") as file:
            file.write(before)


def outcomes(addresses, deny):
    """What the broker says of each: a code, or "sent"."""
    members = policy([PORT], allowed_hosts=["*.edge.test"], deny_private_networks=deny)
    with hosts(addresses), Broker(members) as broker:
        for number in range(len(addresses)):
            broker.request(f"GET http://a{number}.edge.test:{PORT}/ HTTP/1.1\r\nHost: a{number}.edge.test:{PORT}\r\n\r\n")
        wait_for(lambda: len(broker.audit_lines()) == len(addresses), "the audit")
        found = {line["host"]: line.get("code") for line in broker.audit_lines()}
    codes = [found[f"a{number}.edge.test"] for number in range(len(addresses))]
    return ["sent" if code in SENT else code for code in codes]


def pairs():
    """(address, whether private ones are denied, what is expected, what is found)"""
    blocks = table()
    every = all_addresses(blocks)
    for deny in (True, False):
        for address, found in zip(every, outcomes(every, deny)):
            rule = FORBIDDEN[expected(address, blocks)]
            yield address, deny, rule.get(deny, rule.get(None)), found


def check():
    wrong = [f"{address}, deny_private_networks {deny}: {found}, and not {rule}" for address, deny, rule, found in pairs() if found != rule]
    assert not wrong, "\n".join(wrong)


def check_that_all_differ(passing):
    """With a broker that is wrong: what should be sent on (PASSING), or what should not, is said otherwise for every address."""
    meant = [pair for pair in pairs() if (pair[2] == "sent") == passing]
    same = [f"{address}, deny_private_networks {deny}" for address, deny, rule, found in meant if found == rule]
    assert not same, "\n".join(same)
