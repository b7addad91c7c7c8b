load helpers

# What is expected is told for a caller who is not nice.
setup_file() {
        [ "$(id -u)" -ne 0 ] || renice -n 0 -p "$$" >/dev/null
}

# settings JSON SCRIPT: what SCRIPT does in a new container whose process has the members of JSON.
settings() {
        bundle
        config ".process += $1"
        inside "$2"
}

# Nice value, real-time priority and policy of the calling shell: fields 19, 40 and 41 of proc_pid_stat(5).
POLICY='read -r line </proc/$$/stat; set -- $line; echo ${19} ${40} ${41}'
CPUS='sed -n "s/^Cpus_allowed:.//p" /proc/self/status'

policy_is() {
        settings "{scheduler: $1}" "$POLICY" && printed "$2"
}

@test "a scheduling policy is what the program begins with" {
        table policy_is <<-'ROWS'
		{policy: "SCHED_OTHER"} => 0 0 0
		{policy: "SCHED_OTHER", nice: 5} => 5 0 0
		{policy: "SCHED_OTHER", nice: -5} => -5 0 0
		{policy: "SCHED_BATCH", nice: 19} => 19 0 3
		{policy: "SCHED_IDLE"} => 0 0 5
		{policy: "SCHED_FIFO", priority: 10} => 0 10 1
		{policy: "SCHED_RR", priority: 99} => 0 99 2
		{policy: "SCHED_FIFO", priority: 1, flags: ["SCHED_FLAG_RESET_ON_FORK"]} => 0 1 1
	ROWS
}

@test "without a scheduler the policy is the caller's" {
        bundle /bin/sh -c "$POLICY"
        detached nice -n 7 "$SAGE_RUNTIME" --root "$ROOT" run --bundle "$BUNDLE" box
        printed "7 0 0"
}

@test "a deadline policy is set with its three times" {
        bundle sleep 100
        config '.process.scheduler = {policy: "SCHED_DEADLINE", runtime: 10000000, deadline: 100000000, period: 100000000}'
        create box
        start box
        chrt -p "$(state box .pid)" >"$BATS_TEST_TMPDIR/policy"
        grep -q "SCHED_DEADLINE" "$BATS_TEST_TMPDIR/policy"
        grep -q "10000000/100000000/100000000" "$BATS_TEST_TMPDIR/policy"
}

@test "a runtime that is pinned to one CPU can give a deadline policy all the same" {
        bundle sleep 100
        config '.process.scheduler = {policy: "SCHED_DEADLINE", runtime: 10000000, deadline: 100000000}'
        detached taskset 1 "$SAGE_RUNTIME" --root "$ROOT" run --detach --bundle "$BUNDLE" box
        succeeded
        chrt -p "$(state box .pid)" | grep -q SCHED_DEADLINE
}

@test "startContainer hooks of a deadline container run when its children get another policy, and are refused otherwise" {
        bundle
        config '.process.scheduler = {policy: "SCHED_DEADLINE", runtime: 10000000, deadline: 100000000}
                | .hooks.startContainer = [{path: "/bin/true"}]'
        leaves_nothing runtime create --bundle "$BUNDLE" box
        failed 1 process.scheduler.flags SCHED_FLAG_RESET_ON_FORK
        config '.process.scheduler.flags = ["SCHED_FLAG_RESET_ON_FORK"]'
        detached runtime run --bundle "$BUNDLE" box
        succeeded
}

@test "a policy can be set for a container with a user namespace, which has no such right itself" {
        bundle /bin/sh -c "$POLICY"
        config '.process.scheduler = {policy: "SCHED_RR", priority: 7} | .process.ioPriority = {class: "IOPRIO_CLASS_RT", priority: 3}
                | .linux.namespaces += [{type: "user"}]
                | .linux.uidMappings = [{containerID: 0, hostID: 0, size: 1000}] | .linux.gidMappings = .linux.uidMappings'
        detached runtime run --bundle "$BUNDLE" box
        printed "0 7 2"
}

@test "a policy that the kernel refuses fails the launch and leaves nothing" {
        bundle
        config '.process.scheduler = {policy: "SCHED_DEADLINE", runtime: 2000, deadline: 3000}' # below sched_deadline_period_min_us
        leaves_nothing runtime run --bundle "$BUNDLE" box
        failed 1 process.scheduler period
}

@test "a user who may not raise priorities is told so before anything is made" {
        bundle
        config '.process.scheduler = {policy: "SCHED_FIFO", priority: 10}'
        leaves_nothing setpriv --bounding-set -sys_nice --inh-caps -sys_nice "$SAGE_RUNTIME" --root "$ROOT" create --bundle "$BUNDLE" box
        failed 1 scheduler.unprivileged RLIMIT_RTPRIO
        config '.process.scheduler = {policy: "SCHED_OTHER", nice: -1}'
        leaves_nothing setpriv --bounding-set -sys_nice --inh-caps -sys_nice "$SAGE_RUNTIME" --root "$ROOT" create --bundle "$BUNDLE" box
        failed 1 scheduler.unprivileged RLIMIT_NICE
        config '.process.scheduler = {policy: "SCHED_OTHER", nice: 1}'
        detached setpriv --bounding-set -sys_nice --inh-caps -sys_nice "$SAGE_RUNTIME" --root "$ROOT" run --bundle "$BUNDLE" box
        succeeded
}

@test "exec has the bundle's policy, and with --process its own" {
        bundle sleep 100
        config '.process.scheduler = {policy: "SCHED_BATCH", nice: 3} | .process.ioPriority = {class: "IOPRIO_CLASS_BE", priority: 6}'
        create box
        start box
        detached runtime exec box /bin/sh -c "$POLICY; ionice -p \$\$"
        printed $'3 0 3\nbest-effort: prio 6'
        jq -n --arg script "$POLICY; ionice -p \$\$" '{cwd: "/", args: ["/bin/sh", "-c", $script],
                scheduler: {policy: "SCHED_FIFO", priority: 2}, ioPriority: {class: "IOPRIO_CLASS_IDLE"}}' >"$BATS_TEST_TMPDIR/process"
        detached runtime exec --process "$BATS_TEST_TMPDIR/process" box
        printed $'0 2 1\nidle'
        jq '.scheduler = {policy: "SCHED_RR"}' "$BATS_TEST_TMPDIR/process" >"$BATS_TEST_TMPDIR/wrong"
        detached runtime exec --process "$BATS_TEST_TMPDIR/wrong" box
        failed 255 process.scheduler.priority
        [ "$(runtime ps --format json box | jq length)" = 1 ]
}

@test "an exec process under a deadline policy" {
        bundle sleep 100
        create box
        start box
        jq -n '{cwd: "/", args: ["/bin/sleep", "100"], scheduler: {policy: "SCHED_DEADLINE", flags: ["SCHED_FLAG_RESET_ON_FORK"], nice: 19,
                runtime: 42000, deadline: 1000000, period: 1000000}}' >"$BATS_TEST_TMPDIR/process"
        detached runtime exec --detach --pid-file "$BATS_TEST_TMPDIR/pid" --process "$BATS_TEST_TMPDIR/process" box
        succeeded
        chrt -p "$(<"$BATS_TEST_TMPDIR/pid")" >"$BATS_TEST_TMPDIR/policy"
        grep -q "SCHED_DEADLINE|SCHED_RESET_ON_FORK" "$BATS_TEST_TMPDIR/policy"
        grep -q "42000/1000000/1000000" "$BATS_TEST_TMPDIR/policy"
}

io_priority_is() {
        settings "{ioPriority: $1}" 'ionice -p $$' && printed "$2"
}

@test "an I/O priority is what the program begins with" {
        table io_priority_is <<-'ROWS'
		{class: "IOPRIO_CLASS_BE", priority: 4} => best-effort: prio 4
		{class: "IOPRIO_CLASS_BE", priority: 0} => best-effort: prio 0
		{class: "IOPRIO_CLASS_RT", priority: 7} => realtime: prio 7
		{class: "IOPRIO_CLASS_RT"} => realtime: prio 0
		{class: "IOPRIO_CLASS_IDLE"} => idle
	ROWS
}

@test "a real-time I/O class without the right to it is refused before anything is made" {
        bundle
        config '.process.ioPriority = {class: "IOPRIO_CLASS_RT", priority: 4} | .linux.namespaces += [{type: "user"}]
                | .linux.uidMappings = [{containerID: 0, hostID: 0, size: 1000}] | .linux.gidMappings = .linux.uidMappings'
        leaves_nothing setpriv --bounding-set -sys_nice,-sys_admin --inh-caps -sys_nice,-sys_admin "$SAGE_RUNTIME" --root "$ROOT" \
                create --bundle "$BUNDLE" box
        failed 1 io_priority.unprivileged
}

# ---- affinity

two_cpus() {
        [ "$(nproc --all)" -eq 2 ] || vm_only 'scheduling: an exec gets the cpus it asks for'
}

@test "a container does not keep the CPUs to which its runtime is pinned, nor does an exec" {
        two_cpus
        bundle sleep 100
        detached taskset 1 "$SAGE_RUNTIME" --root "$ROOT" run --detach --bundle "$BUNDLE" box
        succeeded
        grep -qx "Cpus_allowed:	3" "/proc/$(state box .pid)/status"
        detached taskset 1 "$SAGE_RUNTIME" --root "$ROOT" exec box /bin/sh -c "$CPUS"
        printed "3"
}

# affinity JSON MASK: what an exec with that execCPUAffinity gets.
affinity() {
        jq -n --arg script "$CPUS" "{cwd: \"/\", args: [\"/bin/sh\", \"-c\", \$script], execCPUAffinity: $1}" >"$BATS_TEST_TMPDIR/process"
        detached runtime exec --process "$BATS_TEST_TMPDIR/process" box
        printed "$2"
}

@test "the affinity of an exec is the final one, else the initial one, else every CPU" {
        two_cpus
        bundle sleep 100
        create box
        start box
        table affinity <<-'ROWS'
		{} => 3
		{initial: "", final: ""} => 3
		{initial: "0"} => 1
		{initial: "1", final: ""} => 2
		{final: "1"} => 2
		{initial: "0", final: "1"} => 2
		{initial: "0", final: "0-1"} => 3
		{initial: "0,1,5000", final: "1-2000"} => 2
	ROWS
}

@test "the bundle's execCPUAffinity is for exec, not for the container's own process" {
        two_cpus
        bundle sleep 100
        config '.process.execCPUAffinity = {initial: "0", final: "1"}'
        create box
        start box
        grep -qx "Cpus_allowed:	3" "/proc/$(state box .pid)/status"
        detached runtime exec box /bin/sh -c "$CPUS"
        printed 2
}

@test "the runtime itself runs on the initial CPUs while its exec lasts" {
        two_cpus
        bundle sleep 100
        config '.process.execCPUAffinity = {initial: "1", final: "0"}'
        create box
        start box
        background /dev/null "$SAGE_RUNTIME" --root "$ROOT" exec box /bin/sleep 100
        local runtime_pid=$!
        wait_until has_processes box 2
        grep -qx "Cpus_allowed:	2" "/proc/$runtime_pid/status"
}

has_processes() {
        [ "$(runtime ps --format json "$1" | jq length)" = "$2" ]
}

affinity_fails() {
        affinity "$1" x >/dev/null
        failed 255 "$2"
}

@test "a list of CPUs that is none, or of which none is here, fails the exec by its field" {
        bundle sleep 100
        create box
        start box
        table affinity_fails <<-'ROWS'
		{initial: "a"} => execCPUAffinity.initial
		{initial: "0-"} => execCPUAffinity.initial
		{initial: "1-0"} => execCPUAffinity.initial
		{initial: "65536"} => execCPUAffinity.initial
		{initial: "60000"} => execCPUAffinity.initial
		{final: "0,,1"} => execCPUAffinity.final
		{final: "60000-65535"} => execCPUAffinity.final
	ROWS
        has_processes box 1
}

# ---- personality

machine_is() {
        bundle
        config ".linux.personality = {domain: \"$1\", flags: []}"
        inside "uname -m" && printed "$2"
}

@test "a personality is what uname says" {
        table machine_is <<-ROWS
		LINUX => $(uname -m)
		LINUX32 => $(setarch linux32 uname -m)
	ROWS
}

@test "exec has the container's personality, and the caller's is not taken over" {
        bundle sleep 100
        config '.linux.personality = {domain: "LINUX32"}'
        create box
        start box
        detached runtime exec box uname -m
        printed "$(setarch linux32 uname -m)"
        bundle uname -m
        config '.linux.personality = {domain: "LINUX"}'
        detached setarch linux32 "$SAGE_RUNTIME" --root "$ROOT" run --bundle "$BUNDLE" other
        printed "$(uname -m)"
}

# ---- memory policy

# The policy of the first mapping, a file's, which is the task's: what comes before the file (proc_pid_numa_maps(5)).
MEMORY='read -r address policy rest </proc/self/numa_maps; echo $policy ${rest%%file=*}'

memory_is() {
        bundle
        config ".linux.memoryPolicy = $1"
        inside "$MEMORY" && printed "$2"
}

@test "a memory policy is the program's" {
        table memory_is <<-'ROWS'
		{mode: "MPOL_DEFAULT"} => default
		{mode: "MPOL_LOCAL"} => local
		{mode: "MPOL_BIND", nodes: "0"} => bind:0
		{mode: "MPOL_BIND", nodes: "0,500-1023", flags: ["MPOL_F_STATIC_NODES"]} => bind=static:0
		{mode: "MPOL_INTERLEAVE", nodes: "0-7"} => interleave:0
		{mode: "MPOL_PREFERRED", nodes: "0", flags: ["MPOL_F_RELATIVE_NODES"]} => prefer=relative:0
		{mode: "MPOL_PREFERRED"} => local
		{mode: "MPOL_PREFERRED_MANY", nodes: "0"} => prefer (many):0
		{mode: "MPOL_BIND", nodes: "0", flags: ["MPOL_F_NUMA_BALANCING"]} => bind=balancing:0
	ROWS
}

@test "exec has the container's memory policy, and the caller's is no longer there where it has one" {
        bundle sleep 100
        config '.linux.memoryPolicy = {mode: "MPOL_INTERLEAVE", nodes: "0", flags: ["MPOL_F_STATIC_NODES"]}'
        create box
        start box
        grep -q ' interleave=static:0 ' "/proc/$(state box .pid)/numa_maps"
        detached runtime exec box /bin/sh -c "$MEMORY"
        printed interleave=static:0
        jq -n --arg script "$MEMORY" '{cwd: "/", args: ["/bin/sh", "-c", $script]}' >"$BATS_TEST_TMPDIR/process"
        detached runtime exec --process "$BATS_TEST_TMPDIR/process" box
        printed interleave=static:0
}

@test "nodes that this host does not have are refused before anything is made" {
        bundle
        config '.linux.memoryPolicy = {mode: "MPOL_BIND", nodes: "1000"}'
        leaves_nothing runtime create --bundle "$BUNDLE" box
        failed 1 memory_policy.nodes_missing linux.memoryPolicy.nodes
        config '.linux.memoryPolicy = {mode: "MPOL_DEFAULT", nodes: "0"}'
        leaves_nothing runtime create --bundle "$BUNDLE" box
        failed 1 linux.memoryPolicy.nodes
}

# ---- intelRdt: tests/unit/test_rdt_life.c has the rest, no machine of ours has a resctrl file system

rdt_refused() {
        bundle
        config ".linux.intelRdt = $1"
        leaves_nothing runtime create --bundle "$BUNDLE" box
        failed 1 "$2"
}

@test "a class of service without a resctrl file system is refused before anything is made" {
        ! grep -q ' - resctrl ' /proc/self/mountinfo || vm_only 'scheduling: a class of service without resctrl is refused'
        table rdt_refused <<-'ROWS'
		{} => rdt.missing
		{closID: "/"} => rdt.missing
		{closID: "gold", l3CacheSchema: "L3:0=f"} => rdt.missing
		{enableMonitoring: true} => linux.intelRdt
		{closID: "a/b"} => linux.intelRdt.closID
		{memBwSchema: "L3:0=f"} => linux.intelRdt.memBwSchema
	ROWS
        detached runtime check --bundle "$BUNDLE"
        failed 1 linux.intelRdt.memBwSchema
        config '.linux.intelRdt = {closID: "gold", schemata: ["MB:0=20"]}'
        detached runtime check --bundle "$BUNDLE"
        failed 1 rdt.missing "mount -t resctrl"
        detached runtime plan --bundle "$BUNDLE"
        failed 0 "class of service" gold MB:0=20
}

@test "the class of service of a container without one cannot be updated" {
        bundle sleep 100
        create box
        detached runtime update --l3-cache-schema L3:0=f box
        failed 1 --l3-cache-schema linux.intelRdt
        detached runtime update --mem-bw-schema MB:0=20 --pids-limit 7 box
        failed 1 --mem-bw-schema linux.intelRdt
}

@test "plan shows policy, priorities, affinity and personality" {
        bundle
        config '.process.scheduler = {policy: "SCHED_RR", priority: 7, flags: ["SCHED_FLAG_RESET_ON_FORK"]}
                | .process.ioPriority = {class: "IOPRIO_CLASS_BE", priority: 2} | .process.execCPUAffinity = {initial: "0-3,7"}
                | .linux.personality = {domain: "LINUX32"} | .linux.memoryPolicy = {mode: "MPOL_PREFERRED_MANY", nodes: "0-2"}'
        detached runtime plan --bundle "$BUNDLE"
        failed 0 "SCHED_RR, priority 7 SCHED_FLAG_RESET_ON_FORK" "best effort, 2" "0-3,7" LINUX32 "MPOL_PREFERRED_MANY, nodes 0-2"
}
