# process: who runs, where, with what.
load helpers

@test "arguments arrive as they are, empty ones and spaces and all" {
        bundle sh -c 'for a; do echo "[$a]"; done' sh one 'two words' '' '$x' 'ä"\'
        detached runtime run --bundle "$BUNDLE" box
        printed $'[one]\n[two words]\n[]\n[$x]\n[ä"\\]'
}

@test "a program without a slash is looked up in the container's PATH" {
        bundle
        printf '#!/bin/sh\necho first\n' >"$BUNDLE/rootfs/var/tool"
        printf '#!/bin/sh\necho second\n' >"$BUNDLE/rootfs/usr/bin/tool"
        chmod +x "$BUNDLE/rootfs/var/tool" "$BUNDLE/rootfs/usr/bin/tool"
        config '.process.args = ["tool"] | .process.env = ["PATH=/nowhere:/var:/usr/bin"]'
        detached runtime run --bundle "$BUNDLE" box
        printed first
        config '.process.env = ["PATH=/usr/bin:/var"]'
        detached runtime run --bundle "$BUNDLE" box
        printed second
        config '.process.env = []'
        detached runtime run --bundle "$BUNDLE" box
        printed second
}

@test "a program that is not there, not executable, or a directory is refused at create, in the words that engines look for" {
        refused() {
                config --args '.process.args = $ARGS.positional' "$1"
                leaves_nothing runtime create --bundle "$BUNDLE" box
                failed 1 "$1" || return 1
                grep -Eiq "$2" <<<"$output" || { echo "$output"; return 1; }
        }
        bundle
        echo '#!/bin/sh' >"$BUNDLE/rootfs/plain"
        table refused <<-'ROWS'
		nope => executable file .?nope.? not found in|no such file or directory
		/bin/nope => no such file or directory
		/plain => permission denied
		/etc => permission denied
		/etc/passwd/x => not a directory
	ROWS
}

@test "a script whose interpreter is not there is told apart from success" {
        bundle /script
        printf '#!/bin/nope\n' >"$BUNDLE/rootfs/script"
        chmod +x "$BUNDLE/rootfs/script"
        leaves_nothing runtime run --bundle "$BUNDLE" box
        failed 1 /script 'no such file or directory'
}

@test "the environment is what the config says and HOME, nothing of the caller's" {
        bundle env
        config '.process.env = ["PATH=/bin", "A=b=c", "EMPTY="]'
        SECRET=caller detached runtime run --bundle "$BUNDLE" box
        succeeded
        [ "$(sort <<<"$output")" = $'A=b=c\nEMPTY=\nHOME=/root\nPATH=/bin' ]
}

@test "of two variables of one name the later wins" {
        bundle env
        config '.process.env = ["PATH=/bin", "A=1", "HOME=/", "A=2"]'
        detached runtime run --bundle "$BUNDLE" box
        succeeded
        [ "$(sort <<<"$output")" = $'A=2\nHOME=/\nPATH=/bin' ]
}

@test "HOME comes from the container's passwd, is / for a stranger, and stays what the config says" {
        home_of() {
                config ".process.user = {uid: $1, gid: 0} | .process.env = [\"PATH=/bin\"] $3"
                inside 'echo $HOME'
                printed "$2"
        }
        bundle
        table home_of <<-'ROWS'
		0 => /root => 
		65534 => /nonexistent => 
		4242 => / => 
		0 => /mine => | .process.env += ["HOME=/mine"]
		0 => /root => | .process.env += ["HOME="]
	ROWS
}

@test "a passwd that is a link, a FIFO, a directory, missing or nonsense does no harm" {
        local passwd=$BUNDLE/rootfs/etc/passwd
        bundle
        config '.process.env = ["PATH=/bin"]'
        mv "$passwd" "$BUNDLE/rootfs/etc/real"
        ln -s /etc/real "$passwd"
        inside 'echo $HOME'
        printed /root
        ln -sf ../../../../../../etc/passwd "$passwd" # the host's, if one could get there
        inside 'echo $HOME'
        printed /
        rm "$passwd"
        inside 'echo $HOME'
        printed /
        mkfifo "$passwd"
        inside 'echo $HOME'
        printed /
        rm "$passwd"
        mkdir "$passwd"
        inside 'echo $HOME'
        printed /
        rmdir "$passwd"
        printf ':::::::\nroot\nx:x:0\nroot:x:0:0:root:relative:/bin/sh\nroot:x:00x:0::/wrong:\nr:x:0:0::/right:/bin/sh' >"$passwd"
        inside 'echo $HOME'
        printed /right
}

@test "cwd is where it starts" {
        bundle pwd
        config '.process.cwd = "/usr/bin"'
        detached runtime run --bundle "$BUNDLE" box
        printed /usr/bin
}

@test "a cwd that is not there is made" {
        bundle
        config '.process.cwd = "/new/dir" | .root.readonly = false'
        inside 'pwd; stat -c "%a %u" .'
        printed $'/new/dir\n755 0'
        [ -d "$BUNDLE/rootfs/new/dir" ]
}

@test "a relative cwd, one that is a file, and one that cannot be made are refused" {
        bundle
        config '.process.cwd = "usr"'
        leaves_nothing runtime run --bundle "$BUNDLE" box
        failed 1 process.cwd
        config '.process.cwd = "/etc/passwd"'
        leaves_nothing runtime run --bundle "$BUNDLE" box
        failed 1 cwd
        config '.process.cwd = "/proc/new"'
        leaves_nothing runtime run --bundle "$BUNDLE" box
        failed 1 process.cwd
}

@test "a cwd that only the user himself may enter is entered" {
        bundle
        mkdir -m 0700 "$BUNDLE/rootfs/private"
        chown 1000:1000 "$BUNDLE/rootfs/private"
        config '.process.cwd = "/private" | .process.user = {uid: 1000, gid: 1000} | del(.process.capabilities)'
        inside pwd
        printed /private
}

@test "user, group, further groups" {
        bundle
        config '.process.user = {uid: 1000, gid: 1001, additionalGids: [5, 6]}'
        inside 'grep -E "^(Uid|Gid|Groups)" /proc/self/status'
        printed $'Uid:\t1000\t1000\t1000\t1000\nGid:\t1001\t1001\t1001\t1001\nGroups:\t5 6 '
        config '.process.user = {uid: 0, gid: 0}'
        inside 'grep ^Groups /proc/self/status'
        printed $'Groups:\t '
}

@test "umask is the config's, and 0022 where it says none, whatever the caller's" {
        umask_is() {
                config ".process.user.umask = $1"
                inside umask
                printed "$2"
        }
        bundle
        umask 0
        table umask_is <<-'ROWS'
		63 => 0077
		0 => 0000
		511 => 0777
		null => 0022
	ROWS
}

@test "limits are set, soft and hard" {
        bundle
        arguments sh -c 'grep -E "^Max (open files|core file size|file size)" /proc/self/limits | sed "s/  */ /g"'
        config '.process.rlimits = [{type: "RLIMIT_NOFILE", soft: 100, hard: 200}, {type: "RLIMIT_CORE", soft: 0, hard: 0},
                {type: "RLIMIT_FSIZE", soft: 1048576, hard: 777777}]'
        # Infinity, which jq cannot write. It is no raise where the caller has no limit.
        sed -i 's/777777/18446744073709551615/' "$BUNDLE/config.json"
        detached runtime run --bundle "$BUNDLE" box
        printed $'Max file size 1048576 unlimited bytes \nMax core file size 0 0 bytes \nMax open files 100 200 files '
}

@test "the fewest open files are no obstacle to create, start, hooks and exec, also in a user namespace" {
        local files
        bundle
        mkdir -p "$BUNDLE/rootfs/log"
        chmod 755 "$BATS_RUN_TMPDIR" "$BATS_TEST_TMPDIR"
        for files in 0 3 4 31; do
                config ".process.rlimits = [{type: \"RLIMIT_NOFILE\", soft: $files, hard: $files}]"'
                        | .hooks.startContainer = [{path: "/bin/sh", args: ["sh", "-c", "cat >/dev/null; echo hook"]}]'
                inside 'ulimit -n; ulimit -Hn'
                printed "hook"$'\n'"$files"$'\n'"$files"
                arguments sleep 100
                create box
                start box
                # exec takes the container's limits: the least that it can print with.
                detached runtime exec box sh -c 'ulimit -n'
                printed "$files"
                runtime delete --force box
        done
        config '.linux.namespaces += [{type: "user"}] | .linux.uidMappings = [{containerID: 0, hostID: 100000, size: 1000}]
                | .linux.gidMappings = .linux.uidMappings'
        inside 'ulimit -n'
        printed $'hook\n31'
        config '.process.rlimits = [{type: "RLIMIT_NOFILE", soft: 3, hard: 3}]'
        arguments sleep 100
        create box
        start box
        detached runtime exec box sh -c 'ulimit -n'
        printed 3
}

@test "a hard limit is raised where the host allows that, and else it is an error that names it" {
        bundle
        config '.process.rlimits = [{type: "RLIMIT_MEMLOCK", soft: 777777, hard: 777777}] | .process.args = ["sh", "-c", "ulimit -l"]'
        sed -i 's/777777/18446744073709551615/' "$BUNDLE/config.json"
        if prlimit --memlock=unlimited:unlimited true 2>/dev/null; then
                detached runtime run --bundle "$BUNDLE" box
                printed unlimited
        else
                leaves_nothing runtime run --bundle "$BUNDLE" box
                failed 1 'process.rlimits[0]' CAP_SYS_RESOURCE
        fi
}

capabilities() {
        inside 'grep ^Cap /proc/self/status | tr -d "\n" | tr "\t" " "'
        printed "CapInh: ${1}CapPrm: ${2}CapEff: ${3}CapBnd: ${4}CapAmb: $5"
}

NONE=0000000000000000

@test "root gets the capabilities of the config and no others" {
        bundle
        capabilities "$NONE" 0000000020000420 0000000020000420 0000000020000420 "$NONE"
}

@test "no capabilities in the config means none" {
        bundle
        config 'del(.process.capabilities)'
        capabilities "$NONE" "$NONE" "$NONE" "$NONE" "$NONE"
        config '.process.capabilities = {}'
        capabilities "$NONE" "$NONE" "$NONE" "$NONE" "$NONE"
}

@test "another user has none after the exec, but ambient ones" {
        bundle
        config '.process.user = {uid: 1000, gid: 1000}'
        capabilities "$NONE" "$NONE" "$NONE" 0000000020000420 "$NONE"
        config '.process.capabilities |= (.inheritable = ["CAP_KILL"] | .ambient = ["CAP_KILL"])'
        capabilities 0000000000000020 0000000000000020 0000000000000020 0000000020000420 0000000000000020
}

@test "an ambient capability that is not inheritable is a warning, not a failure" {
        bundle
        config '.process.capabilities.ambient = ["CAP_KILL"]'
        inside 'grep CapAmb /proc/self/status'
        [ "$status" -eq 0 ]
        said $'CapAmb:\t0000000000000000'
}

@test "an unknown capability is a warning, not a failure" {
        bundle
        config '.process.capabilities.bounding += ["CAP_NOT_YET_INVENTED"]'
        inside 'echo ran'
        [ "$status" -eq 0 ]
        said ran
        said CAP_NOT_YET_INVENTED
}

@test "no_new_privs is what the config says" {
        bundle
        inside 'grep NoNewPrivs /proc/self/status'
        printed $'NoNewPrivs:\t1'
        config '.process.noNewPrivileges = false'
        inside 'grep NoNewPrivs /proc/self/status'
        printed $'NoNewPrivs:\t0'
        config 'del(.process.noNewPrivileges)'
        inside 'grep NoNewPrivs /proc/self/status'
        printed $'NoNewPrivs:\t0'
}

@test "oomScoreAdj is set when it is given and left alone when not" {
        bundle
        config '.process.oomScoreAdj = 345'
        inside 'cat /proc/self/oom_score_adj'
        printed 345
        config 'del(.process.oomScoreAdj)'
        inside 'cat /proc/self/oom_score_adj'
        printed "$(cat /proc/self/oom_score_adj)"
}

@test "oomScoreAdj is set in a user namespace and for exec too, and the runtime keeps its own" {
        bundle sleep 100
        open_to_all
        config '.process.oomScoreAdj = 345 | .linux.namespaces += [{type: "user"}]
                | .linux.uidMappings = [{containerID: 0, hostID: 100000, size: 65536}] | .linux.gidMappings = .linux.uidMappings'
        runtime run --bundle "$BUNDLE" box </dev/null >/dev/null 2>&1 &
        local run=$!
        wait_until has_status box running
        detached runtime exec box cat /proc/1/oom_score_adj /proc/self/oom_score_adj
        printed $'345\n345'
        local parent
        parent=$(awk '/^PPid/ { print $2 }' "/proc/$(state box .pid)/status")
        [ "$(<"/proc/$parent/comm")" = sage-runtime ]
        [ "$(<"/proc/$parent/oom_score_adj")" = "$(cat /proc/self/oom_score_adj)" ]
        runtime kill box KILL
        wait "$run" || true
}

@test "the program has only the standard descriptors, whatever the caller had open" {
        bundle
        config '.process.args = ["ls", "/proc/self/fd"]'
        detached runtime run --bundle "$BUNDLE" box 7</etc/passwd 8</ 9</etc
        printed $'0\n1\n2\n3' # 3 is the listing's own
}

@test "--preserve-fds N hands over N descriptors from 3 on, through create and start too" {
        echo three >"$BATS_TEST_TMPDIR/three"
        echo four >"$BATS_TEST_TMPDIR/four"
        bundle sh -c 'cat <&3; cat <&4; [ -e /proc/self/fd/5 ] || echo no more'
        "$SAGE_RUNTIME" --root "$ROOT" create --preserve-fds 2 --bundle "$BUNDLE" box >"$BATS_TEST_TMPDIR/out" </dev/null \
                3<"$BATS_TEST_TMPDIR/three" 4<"$BATS_TEST_TMPDIR/four" 5</etc/passwd
        start box
        wait_until has_status box stopped
        [ "$(<"$BATS_TEST_TMPDIR/out")" = $'three\nfour\nno more' ]
}

@test "--preserve-fds with fewer descriptors than that is refused or hands over what there is, and never another file" {
        bundle
        config '.process.args = ["sh", "-c", "ls -l /proc/self/fd | grep -c -e / || true"]'
        detached runtime run --preserve-fds 4 --bundle "$BUNDLE" box
        [ "$status" -ne 0 ] || [[ $output != *[4-9] ]]
}

@test "the program leads a session of its own" {
        bundle
        config '.process.args = ["sh", "-c", "set -- $(cat /proc/self/stat); echo $6 $8"]'
        detached runtime run --bundle "$BUNDLE" box
        printed '1 -1'
}

@test "a long environment and many arguments arrive" {
        bundle
        config '.process.env += [range(1500) | "V\(.)=" + ("x" * 1024)] | .process.args = ["sh", "-c", "echo ${#V1499}"]'
        detached runtime run --bundle "$BUNDLE" box
        printed 1024
}

@test "an empty HOME is none: the passwd file's is set" {
        bundle sh -c 'echo "$HOME"'
        config '.process.env += ["HOME=/override", "HOME="]'
        detached runtime run --bundle "$BUNDLE" box
        printed /root
        config '.process.env += ["HOME=/last"]'
        detached runtime run --bundle "$BUNDLE" box
        printed /last
}
