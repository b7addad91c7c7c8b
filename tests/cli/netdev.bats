# Network devices of the host that go into the container: linux.netDevices.
load helpers

# Every test has a pair of its own in the network namespace of these tests: ours and its peer, which stays.
setup_pair() {
        ip link add "${1:-ours}" type veth peer name "${2:-peer}"
}

forget_pairs() {
        local device
        for device; do
                ! ip link show "$device" >/dev/null 2>&1 || ip link delete "$device"
        done
}

teardown() {
        end_jobs
        remove_containers
        forget_pairs peer peer2 ours ours2 c0
        [ ! -e "$ROOT.net" ] || { umount "$ROOT.net"; rm "$ROOT.net"; }
        host_is_as_before
}

devices() {
        config ".linux.netDevices = $1"
}

# A network namespace that outlives the container, at $ROOT.net.
joined_network() {
        touch "$ROOT.net"
        unshare "--net=$ROOT.net" true
        config ".linux.namespaces |= map(if .type == \"network\" then .path = \"$ROOT.net\" else . end)"
}

in_network() {
        nsenter "--net=$ROOT.net" "$@"
}

@test "a device of the host is in the container, and up" {
        setup_pair
        bundle
        devices '{"ours": {}}'
        inside 'ls /sys/class/net; cat /sys/class/net/ours/flags'
        printed $'lo\nours\n0x1003'
        ! ip link show ours || false
}

@test "it keeps its address, number and MTU, and gets the name that is asked for" {
        local index
        setup_pair
        ip link set ours mtu 1789 address 00:11:22:33:44:55
        index=$(ip -o link show ours | cut -d: -f1)
        bundle
        devices '{"ours": {"name": "c0"}}'
        inside 'cd /sys/class/net; echo *; cd c0; cat mtu address ifindex'
        printed $'c0 lo\n1789\n00:11:22:33:44:55\n'"$index"
}

@test "permanent global addresses go with it, in their order, with peer and label; others do not" {
        setup_pair
        ip address add 192.0.2.1/24 dev ours brd 192.0.2.255
        ip address add 192.0.2.2/24 dev ours label ours:x
        ip address add 198.51.100.1 peer 198.51.100.2/32 dev ours preferred_lft 0
        ip address add 127.0.0.33/8 scope host dev ours
        ip address add 10.0.0.1/8 dev ours valid_lft 1000 preferred_lft 1000
        ip address add 2001:db8::1/64 dev ours nodad
        ip address add fe80::1/64 dev ours nodad
        bundle sleep 100
        devices '{"ours": {}}'
        create box
        run -0 nsenter --target "$(state box .pid)" --net ip -o address show dev ours
        found=$(sed -E 's/^[0-9]+: ours +//; s/ *\\.*//' <<<"$output" | grep -v 'inet6 fe80:')
        diff - <(echo "$found") <<-'EXPECTED'
		inet 192.0.2.1/24 brd 192.0.2.255 scope global ours
		inet 198.51.100.1 peer 198.51.100.2/32 scope global deprecated ours
		inet 192.0.2.2/24 scope global secondary ours:x
		inet6 2001:db8::1/64 scope global nodad
	EXPECTED
        [[ $output != *fe80::1/* ]]
}

@test "with another name its addresses lose their labels, which name the device" {
        setup_pair
        ip address add 192.0.2.2/24 dev ours label ours:x
        bundle sleep 100
        devices '{"ours": {"name": "c0"}}'
        create box
        run -0 nsenter --target "$(state box .pid)" --net ip -o -4 address show dev c0
        [[ $output == *"inet 192.0.2.2/24 scope global c0"* ]]
}

@test "packets pass between the container and the host's end" {
        setup_pair
        ip address add 192.0.2.1/24 dev peer
        ip link set peer up
        ip address add 192.0.2.2/24 dev ours
        bundle sleep 100
        devices '{"ours": {"name": "eth0"}}'
        create box
        "$SAGE_BUSYBOX" ping -c 1 -W 10 192.0.2.2
}

@test "several devices, one by a template: the kernel counts" {
        setup_pair
        setup_pair ours2 peer2
        bundle
        devices '{"ours": {"name": "net%d"}, "ours2": {"name": "net%d"}}'
        inside 'cd /sys/class/net; echo *'
        printed 'lo net0 net1'
}

@test "a joined network namespace takes it and keeps it when the container is gone" {
        setup_pair
        bundle
        joined_network
        devices '{"ours": {}}'
        inside 'cat /sys/class/net/ours/flags'
        printed 0x1003
        in_network ip link show ours
        in_network ip link delete ours
}

@test "a name that is taken is refused and nothing moves, but a template finds a free one" {
        setup_pair
        setup_pair ours2 peer2
        bundle
        joined_network
        in_network ip link add c0 type veth peer name c1
        devices '{"ours": {}, "ours2": {"name": "c0"}}'
        leaves_nothing runtime create --bundle "$BUNDLE" box
        failed 1 'linux.netDevices["ours2"]' 'called c0 already'
        devices '{"ours": {"name": "c%d"}}'
        inside 'cd /sys/class/net; echo *'
        printed 'c0 c1 c2 lo'
        in_network ip link delete c0
        in_network ip link delete c2
}

@test "an index that is taken is no obstacle" {
        local index
        setup_pair
        bundle
        joined_network
        index=$(ip -o link show ours | cut -d: -f1)
        in_network ip link add c0 index "$index" type veth peer name c1
        devices '{"ours": {}}'
        inside 'cd /sys/class/net; echo *'
        printed 'c0 c1 lo ours'
        in_network ip link delete ours
        in_network ip link delete c0
}

@test "when one of them cannot move, those that have moved come back as they were" {
        setup_pair
        setup_pair ours2 peer2
        ip address add 192.0.2.1/24 dev ours label ours:x
        ip link set ours up
        ip address add 2001:db8::1/64 dev ours2 nodad
        bundle
        joined_network
        in_network sysctl -qw net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1
        devices '{"ours": {"name": "c0"}, "ours2": {}}'
        before=$(ip -o address show dev ours; ip -o address show dev ours2; ip -o link show dev ours)
        leaves_nothing runtime create --bundle "$BUNDLE" box
        failed 1 'linux.netDevices["ours2"]' 'addresses'
        after=$(ip -o address show dev ours; ip -o address show dev ours2; ip -o link show dev ours)
        diff <(echo "$before" | grep -v 'inet6 fe80') <(echo "$after" | grep -v 'inet6 fe80')
        ! in_network ip link show c0 || false
}

@test "a device that has moved and cannot be renamed comes back, too" {
        setup_pair
        ip link property add dev ours altname c0
        ip link set ours up
        bundle
        joined_network
        devices '{"ours": {"name": "c0"}}'
        leaves_nothing runtime create --bundle "$BUNDLE" box
        failed 1 'linux.netDevices["ours"]' 'cannot move' 'File exists'
        [[ $(ip -o link show ours) == *[,\<]UP[,\>]* ]]
        ! in_network ip link show ours || false
}

@test "devices are there before the first hook runs" {
        setup_pair
        bundle
        config '.hooks.prestart = [{path: "/bin/sh", args: ["sh", "-c",
                "pid=$(sed -E \"s/.*\\\"pid\\\": *([0-9]+).*/\\1/\"); grep -o ours: /proc/$pid/net/dev >&2"]}]'
        devices '{"ours": {}}'
        detached runtime run --bundle "$BUNDLE" box
        printed ours:
}

@test "a container with a user namespace gets its device too" {
        setup_pair
        ip address add 192.0.2.2/24 dev ours
        bundle
        chmod a+x "$BATS_RUN_TMPDIR" "$BATS_TEST_TMPDIR" "${BATS_TEST_TMPDIR%/*}" "$BUNDLE"
        config '.linux.namespaces += [{type: "user"}] | .linux.uidMappings = [{containerID: 0, hostID: 100000, size: 65536}]
                | .linux.gidMappings = [{containerID: 0, hostID: 100000, size: 65536}]'
        devices '{"ours": {}}'
        inside 'ip address show dev ours | grep -c "inet 192.0.2.2/24"'
        printed 1
}

@test "a container that joins the host's own network by path is refused before anything is made" {
        setup_pair
        bundle
        config '.linux.namespaces |= map(if .type == "network" then .path = "/proc/self/ns/net" else . end)'
        devices '{"ours": {}}'
        leaves_nothing runtime create --bundle "$BUNDLE" box
        failed 1 linux.netDevices 'our own'
}

@test "a device that is not there is named, and nothing is left behind" {
        bundle
        devices '{"nowhere0": {}}'
        leaves_nothing runtime create --bundle "$BUNDLE" box
        failed 1 'linux.netDevices["nowhere0"]' 'no such network device'
}

@test "one device under two names is refused" {
        setup_pair
        ip link property add dev ours altname other
        bundle
        devices '{"ours": {"name": "a"}, "other": {"name": "b"}}'
        leaves_nothing runtime create --bundle "$BUNDLE" box
        failed 1 'linux.netDevices["ours"]' 'same device as other'
}

@test "an alternative name finds the device, which keeps its first one" {
        setup_pair
        ip link property add dev ours altname other
        bundle
        devices '{"other": {}}'
        inside 'cd /sys/class/net; echo *'
        printed 'lo ours'
}

@test "the program that moves devices is taken from one place only, and its absence is an error" {
        setup_pair
        bundle
        devices '{"ours": {}}'
        printf '#!/bin/sh\ntouch "%s/wrong"\n' "$BATS_TEST_TMPDIR" >"$BUNDLE/sage-netdev"
        chmod +x "$BUNDLE/sage-netdev"
        cd "$BUNDLE"
        PATH=$BUNDLE:$PATH leaves_nothing "$SAGE_RUNTIME" --root "$ROOT" --libexec "$BATS_TEST_TMPDIR" create --bundle "$BUNDLE" box
        failed 1 linux.netDevices "$BATS_TEST_TMPDIR/sage-netdev"
        [ ! -e "$BATS_TEST_TMPDIR/wrong" ]
        detached "$SAGE_RUNTIME" --libexec relative list
        failed 1 --libexec 'absolute path'
}

@test "it runs with two capabilities, an empty environment and three descriptors" {
        setup_pair
        bundle
        devices '{"ours": {}}'
        cat >"$BATS_TEST_TMPDIR/sage-netdev" <<-SCRIPT
		#!$SAGE_BUSYBOX sh
		exec >&2 1>&2
		tr '\\0' '\\n' </proc/\$\$/environ
		grep -E '^(CapPrm|CapBnd|NoNewPrivs)' /proc/\$\$/status
		pwd
		printf '%s,' "\$@" && echo
		for fd in /proc/\$\$/fd/*; do readlink "\$fd"; done | sort -u
	SCRIPT
        chmod +x "$BATS_TEST_TMPDIR/sage-netdev"
        export SECRET=1
        detached "$SAGE_RUNTIME" --root "$ROOT" --libexec "$BATS_TEST_TMPDIR" run --bundle "$BUNDLE" box 9<"$BUNDLE/config.json"
        succeeded
        # The shell itself has its script open, and we its output.
        diff - <(grep -v "$BATS_TEST_TMPDIR/" <<<"$output" | sed -E 's/\[[0-9]+\]//') <<-'EXPECTED'
		CapPrm:	0000000000201000
		CapBnd:	0000000000201000
		NoNewPrivs:	1
		/
		ours,,
		net:
	EXPECTED
        [[ $output != *config.json* ]]
}
