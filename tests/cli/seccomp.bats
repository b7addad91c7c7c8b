# linux.seccomp: what system calls answer.
load helpers

# filter PROFILE: the bundle's filter, over one that allows everything.
filter() {
        config ".linux.seccomp = {defaultAction: \"SCMP_ACT_ALLOW\"} + $1"
}

@test "ERRNO answers with errnoRet, and with EPERM where none is given" {
        bundle
        filter '{syscalls: [{names: ["mkdir", "mkdirat"], action: "SCMP_ACT_ERRNO", errnoRet: 95},
                {names: ["rmdir"], action: "SCMP_ACT_ERRNO"}]}'
        inside 'mkdir /dev/shm/x; rmdir /dev/shm'
        [[ $output == *"Operation not supported"*"Operation not permitted"* ]]
}

@test "names that this kernel or library does not know are passed over" {
        bundle
        filter '{syscalls: [{names: ["not_invented_yet", "mkdir", "mkdirat"], action: "SCMP_ACT_ERRNO", errnoRet: 95}]}'
        inside 'mkdir /dev/shm/x'
        failed 1 'not supported'
}

@test "KILL_PROCESS ends the process with SIGSYS" {
        bundle
        filter '{syscalls: [{names: ["mkdir", "mkdirat"], action: "SCMP_ACT_KILL_PROCESS"}]}'
        inside 'mkdir /dev/shm/x; echo $?'
        said 159
        config '.process.args = ["mkdir", "/dev/shm/x"]'
        detached runtime run --bundle "$BUNDLE" box
        [ "$status" -eq 159 ]
}

@test "TRAP is a signal, LOG lets pass" {
        bundle
        filter '{syscalls: [{names: ["mkdir", "mkdirat"], action: "SCMP_ACT_TRAP"}, {names: ["rmdir"], action: "SCMP_ACT_LOG"}]}'
        inside 'mkdir /dev/shm/x; echo $?; rmdir /dev/shm/nothing'
        said 159
        said 'No such file'
}

@test "an allow list refuses everything else, with defaultErrnoRet" {
        bundle
        config '.linux.seccomp = {defaultAction: "SCMP_ACT_ERRNO", defaultErrnoRet: 38, syscalls: [{action: "SCMP_ACT_ALLOW", names:
                ("access arch_prctl brk clone close dup2 execve exit exit_group fcntl fork fstat getcwd getegid geteuid getgid getpid
                getppid getrandom getuid ioctl lseek lstat mmap mprotect munmap newfstatat open openat poll prctl prlimit64 read readlink
                rseq rt_sigaction rt_sigprocmask rt_sigreturn set_robust_list set_tid_address stat statx uname vfork wait4 write writev"
                | [splits("\\s+")])}]}'
        inside 'mkdir /dev/shm/x; echo went on'
        [[ $output == *"not implemented"*"went on" ]]
}

@test "conditions on arguments are all to be met" {
        bundle
        filter '{syscalls: [{names: ["kill"], action: "SCMP_ACT_ERRNO", args: [{index: 1, value: 10, op: "SCMP_CMP_EQ"}]}]}'
        inside 'trap "echo got usr2" USR2; trap "echo got usr1" USR1; kill -USR1 $$; kill -USR2 $$; echo end'
        [[ $output == *"not permitted"*$'got usr2\nend' ]]
}

@test "the operators compare as their names say" {
        # compares OP VALUE [VALUE-TWO] SIGNALS: which of the signals 10 and 12 the filter refuses.
        compares() {
                filter "{syscalls: [{names: [\"kill\"], action: \"SCMP_ACT_ERRNO\",
                        args: [{index: 1, value: $2, valueTwo: $3, op: \"SCMP_CMP_$1\"}]}]}"
                inside 'trap : USR1 USR2; for s in 10 12; do kill -$s $$ 2>/dev/null || echo -n "$s "; done; echo end'
                printed "$4end"
        }
        bundle
        table compares <<-'ROWS'
		EQ => 10 => 0 => 10 
		NE => 10 => 0 => 12 
		LT => 12 => 0 => 10 
		LE => 12 => 0 => 10 12 
		GT => 10 => 0 => 12 
		GE => 12 => 0 => 12 
		MASKED_EQ => 6 => 2 => 10 
	ROWS
}

@test "several conditions on one argument are alternatives" {
        bundle
        filter '{syscalls: [{names: ["kill"], action: "SCMP_ACT_ERRNO",
                args: [{index: 1, value: 10, op: "SCMP_CMP_EQ"}, {index: 1, value: 12, op: "SCMP_CMP_EQ"}]}]}'
        inside 'trap : USR1 USR2 HUP; for s in 1 10 12; do kill -$s $$ 2>/dev/null || echo -n "$s "; done; echo end'
        printed '10 12 end'
}

@test "the filter is there from the first instruction of the program, with and without no_new_privs" {
        bundle
        filter '{syscalls: [{names: ["mkdir"], action: "SCMP_ACT_ERRNO"}]}'
        config '.process.args = ["grep", "-E", "^(Seccomp|NoNewPrivs):", "/proc/self/status"]'
        detached runtime run --bundle "$BUNDLE" box
        printed $'NoNewPrivs:\t1\nSeccomp:\t2'
        config '.process.noNewPrivileges = false'
        detached runtime run --bundle "$BUNDLE" box
        printed $'NoNewPrivs:\t0\nSeccomp:\t2'
        config 'del(.linux.seccomp)'
        detached runtime run --bundle "$BUNDLE" box
        printed $'NoNewPrivs:\t0\nSeccomp:\t0'
}

@test "a filter without no_new_privs works for another user without capabilities" {
        bundle
        filter '{syscalls: [{names: ["mkdir", "mkdirat"], action: "SCMP_ACT_ERRNO", errnoRet: 95}]}'
        config '.process.noNewPrivileges = false | .process.user = {uid: 1000, gid: 1000} | del(.process.capabilities)'
        inside 'mkdir /dev/shm/x'
        failed 1 'not supported'
}

@test "the filter of a profile that denies what the runtime itself needs does not stop the runtime" {
        bundle
        filter '{syscalls: [{action: "SCMP_ACT_ERRNO", names: ("setuid setgid setgroups setresuid setresgid capset mount umount2
                pivot_root chdir prctl seccomp sendmsg close_range setns unshare clone3 openat2 sethostname" | [splits("\\s+")])}]}'
        inside 'echo here'
        printed here
        create box
        start box
}

@test "NOTIFY needs a listenerPath, and listenerMetadata too" {
        bundle
        filter '{syscalls: [{names: ["mkdir"], action: "SCMP_ACT_NOTIFY"}]}'
        leaves_nothing runtime create --bundle "$BUNDLE" box
        failed 1 linux.seccomp.listenerPath
        filter '{listenerMetadata: "x"}'
        leaves_nothing runtime create --bundle "$BUNDLE" box
        failed 1 linux.seccomp.listenerMetadata
}

@test "run.oci.seccomp.receiver is where the listener goes, unless listenerPath says so" {
        bundle
        filter '{syscalls: [{names: ["mkdir"], action: "SCMP_ACT_NOTIFY"}]}'
        config '.annotations["run.oci.seccomp.receiver"] = "/run/sage-cli/annotated"'
        leaves_nothing runtime run --bundle "$BUNDLE" box
        failed 1 /run/sage-cli/annotated
        config '.linux.seccomp.listenerPath = "/run/sage-cli/said"'
        leaves_nothing runtime run --bundle "$BUNDLE" box
        failed 1 /run/sage-cli/said
}

@test "run.oci annotations that nobody knows, and those that ask for nothing, are let through" {
        bundle
        config '.annotations = {"run.oci.something": "x", "run.oci.handler": "none", "run.oci.systemd.subgroup": "y",
                "run.oci.mount_context_type": "fscontext", "run.oci.seccomp_fail_unknown_syscall": "0"}'
        filter '{syscalls: [{names: ["this_is_none"], action: "SCMP_ACT_ERRNO"}]}'
        detached runtime run --bundle "$BUNDLE" box
        printed ''
}

@test "NOTIFY hands the listener over, with the state of the container's process" {
        bundle
        filter '{listenerPath: "/run/sage-cli/agent", listenerMetadata: "meta",
                syscalls: [{names: ["mkdir", "mkdirat"], action: "SCMP_ACT_NOTIFY"}]}'
        cat >"$BATS_TEST_TMPDIR/agent" <<-'PYTHON'
		import json, os, socket, sys
		listener = socket.socket(socket.AF_UNIX)
		listener.bind(sys.argv[1])
		listener.listen(1)
		listener.settimeout(5)
		connection, _ = listener.accept()
		text, fds, _, _ = socket.recv_fds(connection, 65536, 8)
		while True:
		    more = connection.recv(65536)
		    if not more:
		        break
		    text += more
		state = json.loads(text)
		names = [os.readlink(f"/proc/self/fd/{fd}") for fd in fds]
		print(state["fds"], state["metadata"], state["state"]["id"], state["pid"] == state["state"]["pid"], names)
		os.unlink(sys.argv[1])
	PYTHON
        background "$BATS_TEST_TMPDIR/out" python3 "$BATS_TEST_TMPDIR/agent" "$ROOT/agent"
        local agent=$!
        wait_until test -S "$ROOT/agent"
        inside 'mkdir /dev/shm/x; echo went on'
        wait "$agent" || { rm -f "$ROOT/agent"; return 1; }
        [ "$(<"$BATS_TEST_TMPDIR/out")" = "['seccompFd'] meta inside True ['anon_inode:seccomp notify']" ]
        said 'went on'
}

@test "what is wrong in a profile is refused by its field, and nothing is made" {
        refused() {
                filter "$1"
                leaves_nothing runtime create --bundle "$BUNDLE" box
                failed 1 "$2"
        }
        bundle
        table refused <<-'ROWS'
		{defaultAction: "SCMP_ACT_NOPE"} => linux.seccomp.defaultAction
		{architectures: ["SCMP_ARCH_NOPE"]} => linux.seccomp.architectures[0]
		{flags: ["SECCOMP_FILTER_FLAG_NOPE"]} => linux.seccomp.flags[0]
		{syscalls: [{names: ["mkdir"], action: "SCMP_ACT_NOPE"}]} => linux.seccomp.syscalls[0].action
		{syscalls: [{names: [], action: "SCMP_ACT_ERRNO"}]} => linux.seccomp.syscalls[0].names
		{syscalls: [{action: "SCMP_ACT_ERRNO"}]} => linux.seccomp.syscalls[0].names
		{syscalls: [{names: ["mkdir", null], action: "SCMP_ACT_ERRNO"}]} => linux.seccomp.syscalls[0].names[1]
		{syscalls: [{names: ["mkdir"], action: "SCMP_ACT_LOG", args: [{index: 0, value: 1, op: "NOPE"}]}]} => syscalls[0].args[0].op
		{syscalls: [{names: ["x"], action: "SCMP_ACT_LOG", args: [{index: 6, value: 1, op: "SCMP_CMP_EQ"}]}]} => args[0].index
	ROWS
}
