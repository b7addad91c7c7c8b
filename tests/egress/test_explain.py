"""sage-runtime egress explain says what the broker does."""

import json

from dialing import *


def explain(policy, destination):
    """(exit status, {way: code}, all that was said)"""
    with open("explained.json", "w", encoding="ascii") as file:
        json.dump(policy, file)
    programs = os.environ["SAGE_EGRESS_PROGRAMS"]
    done = subprocess.run([f"{programs}/sage-runtime", "--libexec", programs, "egress", "explain", "--policy", "explained.json", destination],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, timeout=PATIENCE)  # fmt: skip
    said = dict(re.findall(r"^(CONNECT|http://) .*?: (?:refused, )?([a-z_.]+)", done.stdout, re.MULTILINE))
    return done.returncode, said, done.stdout


def test_it_decides_as_the_dialer_does():
    zone = {
        "a.example": {A: [PUBLIC]}, "private.example": {A: [PUBLIC, "10.0.0.1"]}, "fake.example": {A: ["198.18.0.1"]}, "empty.example": {},
        "servfail.example": SERVFAIL, "nat64.example": {AAAA: ["64:ff9b::a00:1"]}, "proxy.test": {A: ["127.0.0.1"]},
        "loop.example": {A: ["127.0.0.1"]},
    }  # fmt: skip
    policies = (
        allow("*.example", PUBLIC, "10.0.0.1"), allow("*.example", allowed_schemes=["http"], ports=[80, 443]),
        allow("*.example", "10.0.0.1", deny_private_networks=False), {"mode": "proxy", "proxy_url": "http://proxy.test:1",
        "deny_private_networks": False},
    )  # fmt: skip
    places = [f"{name}:443" for name in (*zone, "none.example", "evil.test", PUBLIC, "10.0.0.1", "127.0.0.1")] + ["a.example:22"]
    # Where there is no way, being sent on it is enough.
    sent = {"ok", "connect.refused", "connect.unreachable", "connect.timeout", "proxy.connect"}
    with NameServer(zone), Server(echo, PUBLIC, 443, public=True):
        for policy in policies:
            with Probe(policy) as probe:
                for place in places:
                    status, said, text = explain(policy, place)
                    codes = {way: probe.code(place, scheme, ms=600) for way, scheme in (("CONNECT", "https"), ("http://", "http"))}
                    codes = {way: "allowed" if code in sent else code for way, code in codes.items()}
                    assert said == codes, (policy, place, text, codes)
                    assert status == (0 if "allowed" in said.values() else 1), text


def test_it_asks_for_a_name_once_and_for_a_refused_one_never():
    with NameServer({"a.example": {A: [PUBLIC]}}) as dns:
        assert explain(allow("b.example"), "a.example")[0] == 1 and dns.asked == []
        status, said, text = explain(allow("a.example"), "a.example")
        assert (status, said) == (0, {"CONNECT": "allowed", "http://": "policy.port"}), text
        assert sorted(dns.asked) == [("a.example", A), ("a.example", AAAA)], dns.asked
        assert f"  {PUBLIC}: " in text, text


def test_what_is_no_destination_and_no_policy_is_told():
    for destination in ("", "a b", "user@a", "127.1", "a:0", "a:65536", "http://a", "b\xfccher.example", "[::1"):
        status, _, text = explain(allow("a"), destination)
        assert status == 1 and "parse." in text, text
    assert "allowed_ports[0]" in explain(allow("a", ports=[22]), "a")[2]
    assert "policy.mode" in explain({"mode": "none"}, "a")[2]
    status, said, text = explain({"mode": "unrestricted", "deny_private_networks": False}, "anything.test:22")
    assert status == 0 and set(said.values()) == {"allowed"} and "no broker" in text, text
