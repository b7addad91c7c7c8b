# features: what this build can do. containerd, dockerd and CRI-O ask for it when they start.
load helpers

features() {
        [ -e "$BATS_FILE_TMPDIR/features.json" ] || "$SAGE_RUNTIME" features >"$BATS_FILE_TMPDIR/features.json"
        jq -e "$1" "$BATS_FILE_TMPDIR/features.json"
}

@test "it is one JSON object on stdout, and nothing on stderr" {
        "$SAGE_RUNTIME" features >"$BATS_TEST_TMPDIR/out" 2>"$BATS_TEST_TMPDIR/err"
        [ "$(jq -s length "$BATS_TEST_TMPDIR/out")" -eq 1 ]
        [ ! -s "$BATS_TEST_TMPDIR/err" ]
}

@test "versions of the specification go from 1.0.0 to 1.3.0" {
        features '.ociVersionMin == "1.0.0" and .ociVersionMax == "1.3.0"'
}

@test "all hooks are there" {
        features '(.hooks | sort) == (["prestart", "createRuntime", "createContainer", "startContainer", "poststart", "poststop"] | sort)'
}

@test "every mount option that config.md demands is there, and tmpcopyup" {
        features '.mountOptions as $o | ("async atime bind defaults dev diratime dirsync exec iversion lazytime loud noatime nodev
                nodiratime noexec noiversion nolazytime norelatime nostrictatime nosuid nosymfollow private ratime rbind rdev rdiratime
                relatime remount rexec rnoatime rnodev rnodiratime rnoexec rnorelatime rnostrictatime rnosuid rnosymfollow ro rprivate
                rrelatime rro rrw rshared rslave rstrictatime rsuid rsymfollow runbindable rw shared silent slave strictatime suid symfollow
                sync tmpcopyup unbindable" | [splits("\\s+")] - $o) == []'
}

@test "namespaces and capabilities are all that the kernel has" {
        features '(.linux.namespaces | sort) == ["cgroup", "ipc", "mount", "network", "pid", "time", "user", "uts"]'
        features '.linux.capabilities | length == 41 and contains(["CAP_CHOWN", "CAP_CHECKPOINT_RESTORE"])'
}

@test "cgroups are version 2 only" {
        features '.linux.cgroup.v2 == true and .linux.cgroup.v1 == false'
}

@test "seccomp is on, with its actions, operators, architectures and flags" {
        features '.linux.seccomp.enabled == true and (.linux.seccomp.actions | contains(["SCMP_ACT_ALLOW", "SCMP_ACT_ERRNO",
                "SCMP_ACT_KILL_PROCESS", "SCMP_ACT_NOTIFY", "SCMP_ACT_LOG", "SCMP_ACT_TRAP", "SCMP_ACT_TRACE"]))
                and (.linux.seccomp.operators | length) == 7 and (.linux.seccomp.archs | length) > 0'
}

@test "every memory policy of the specification is known" {
        features '(.linux.memoryPolicy.modes | sort) == ["MPOL_BIND", "MPOL_DEFAULT", "MPOL_INTERLEAVE", "MPOL_LOCAL", "MPOL_PREFERRED",
                "MPOL_PREFERRED_MANY", "MPOL_WEIGHTED_INTERLEAVE"]
                and (.linux.memoryPolicy.flags | sort) == ["MPOL_F_NUMA_BALANCING", "MPOL_F_RELATIVE_NODES", "MPOL_F_STATIC_NODES"]'
}

@test "all of RDT is known" {
        features '.linux.intelRdt == {enabled: true, schemata: true, monitoring: true}'
}

@test "the switches that engines ask for are booleans" {
        features '[.linux.apparmor.enabled, .linux.selinux.enabled, .linux.intelRdt.enabled, .linux.mountExtensions.idmap.enabled,
                .linux.netDevices.enabled] | map(type) | unique == ["boolean"]'
}

@test "annotations that change what a container may do are said to be unsafe" {
        features '.potentiallyUnsafeConfigAnnotations | contains(["sage.sandbox.", "run.oci.", "org.systemd.property.", "org.criu."])'
}

@test "features takes no operands" {
        detached runtime features box
        failed 1 usage
}
