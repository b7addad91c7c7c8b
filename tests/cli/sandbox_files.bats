# The strict sandbox: whom its commands run as, and what they find of files.
load helpers

# sandboxed SCRIPT [OPTION]...: what SCRIPT does in a sandbox of $BUNDLE, by bash. Sets $status and $output.
sandboxed() {
        local script=$1
        shift
        arguments /bin/bash -c "$script"
        detached runtime run --bundle "$BUNDLE" "$@" box
}

# refused TEXT...: the sandbox of $BUNDLE is not made, and nothing was touched.
refused() {
        leaves_nothing runtime run --bundle "$BUNDLE" box
        failed 1 "$@"
}

@test "commands are one id, which is no root, in no other group and without any capability" {
        strict
        sandboxed 'hostname; id -u; id -g; id -G; grep -E "^(Cap(Inh|Prm|Eff|Bnd|Amb)|NoNewPrivs)" /proc/self/status | tr -d "\t"; tr -s " " </proc/self/uid_map; tr -s " " </proc/self/gid_map'
        printed 'sandbox
1001
1001
1001
CapInh:0000000000000000
CapPrm:0000000000000000
CapEff:0000000000000000
CapBnd:0000000000000000
CapAmb:0000000000000000
NoNewPrivs:1
 1001 1001 1
 1001 1001 1'
}

@test "the identity has a name, a home and a group, and the host's users are nobody" {
        strict
        sandboxed 'id -un; id -gn; echo ~; cat /etc/passwd /etc/group; getent passwd root || echo none; stat -c %U /usr/bin'
        printed 'sage
sage
/tmp
sage:x:1001:1001:sage:/tmp:/bin/sh
nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin
sage:x:1001:
nogroup:x:65534:
none
nobody'
}

@test "nothing of the host is there but the system's programs and the workspace" {
        strict
        touch "$WORKSPACE/here"
        sandboxed 'GLOBIGNORE="/etc/java*"; echo / /etc/* /sys/* /sys/fs/* /workspace/* /tmp/* /dev/shm/*; echo /* | tr " " "\n" | grep -vxE "/(bin|lib|lib32|lib64|libx32|sbin)"'
        printed '/ /etc/alternatives /etc/group /etc/ld.so.cache /etc/localtime /etc/passwd /sys/fs /sys/fs/cgroup /workspace/here /tmp/* /dev/shm/*
/dev
/etc
/proc
/sys
/tmp
/usr
/workspace'
}

@test "only the workspace, /tmp and /dev/shm can be written" {
        local place
        strict
        for place in / /usr /usr/bin /etc /dev /proc /sys /sys/fs/cgroup /dev/pts; do
                sandboxed "touch $place/new"
                [ "$status" -ne 0 ] || { echo "$place can be written"; return 1; }
        done
        sandboxed 'for place in /workspace /tmp /dev/shm; do echo x >$place/new && cp /bin/true $place/program && $place/program || exit 1; done; echo >/etc/passwd'
        failed 1 'Read-only file system'
        [ -f "$WORKSPACE/new" ]
}

@test "a file that can only be read gets no name where it could be written" {
        strict
        sandboxed 'ln /usr/bin/env /workspace/env 2>&1 | sed "s/.*: //"; ln /etc/passwd /tmp/passwd 2>&1 | sed "s/.*: //"; ls -A /workspace /tmp'
        printed $'Invalid cross-device link\nInvalid cross-device link\n/tmp:\n\n/workspace:'
}

@test "devices open for writing, and stay as they are" {
        strict
        sandboxed 'set -e; for name in null zero full random urandom; do : 3<>/dev/$name; done; echo x >/dev/null; head -c 3 /dev/zero | od -An -tx1
                ! chmod 600 /dev/null 2>&1; ! touch -d 2000-01-01 /dev/null 2>&1; ! ln -s x /dev/new 2>/dev/null
                (echo out >/dev/stdout; echo err >/dev/stderr) 2>&1 | cat; cat <(echo substituted)'
        succeeded
        [[ $output == *' 00 00 00'* && $output == *'chmod: changing permissions'* && $output == *$'out\nerr\nsubstituted' ]]
}

@test "what tells of the host in /proc is covered, and the rest read-only" {
        strict
        sandboxed 'for file in keys interrupts timer_list kcore; do [ ! -e /proc/$file ] || head -c 1 /proc/$file; done
                ls /proc/acpi /proc/scsi 2>/dev/null | grep -v : | xargs; (echo x >/proc/self/comm) 2>&1 | sed "s/.*: //"; ls -d /sys/*'
        printed $'\nRead-only file system\n/sys/fs'
}

@test "a sandbox that runs has its mounts for good" {
        strict
        config 'del(.process)'
        detached runtime run --detach --bundle "$BUNDLE" box
        succeeded
        echo '[{"destination": "/x", "type": "tmpfs"}]' >"$BATS_TEST_TMPDIR/mounts.json"
        detached runtime mounts add box "$BATS_TEST_TMPDIR/mounts.json"
        failed 1 'never changed in place'
        echo '[{"destination": "/proc"}]' >"$BATS_TEST_TMPDIR/mounts.json"
        detached runtime mounts remove box "$BATS_TEST_TMPDIR/mounts.json"
        failed 1 'never changed in place'
}

@test "an identity that owns the runtime is refused" {
        strict
        cp "$SAGE_RUNTIME" "$BATS_TEST_TMPDIR/runtime"
        chown 1001 "$BATS_TEST_TMPDIR/runtime"
        SAGE_RUNTIME=$BATS_TEST_TMPDIR/runtime
        refused linux_execution_uid 'uid 1001 owns this runtime'
        chown 0 "$BATS_TEST_TMPDIR/runtime"
        mv "$BATS_TEST_TMPDIR/runtime" "$WORKSPACE/runtime"
        SAGE_RUNTIME=$WORKSPACE/runtime
        refused filesystem.workspace 'are not apart'
}

@test "mounts cannot be changed, and no other user namespace can be made" {
        strict
        sandboxed 'mount -o remount,rw / 2>&1; umount /proc 2>&1; unshare -Ur true 2>&1; unshare -m true 2>&1; cat /proc/sys/user/max_user_namespaces'
        said 'unshare: unshare failed: No space left on device' && said 'unshare: unshare failed: Operation not permitted'
        [ "${output##*$'\n'}" = 0 ]
}

@test "no descriptor but the three standard ones reaches a command, whatever the caller had open" {
        strict
        arguments /bin/bash -c 'for fd in /proc/self/fd/*; do [ -d "$fd" ] && echo "$fd: $(readlink $fd)"; done; ls /proc/$$/fd; :'
        detached runtime run --bundle "$BUNDLE" box 7</ 8<"$BATS_TEST_TMPDIR" 9</etc/passwd
        succeeded
        [[ $output != *': /'* ]] || { echo "a directory: $output"; return 1; }
        printed $'0\n1\n2'
}

@test "read_paths can be read where they are on the host, write_paths written" {
        local given=$BATS_TEST_TMPDIR/given
        strict
        mkdir -p "$given/r/sub" "$given/w"
        echo text >"$given/r/sub/file"
        chown -R 1001:1001 "$given"
        sage filesystem.read_paths "$given/r $given/none /usr/share/doc" filesystem.write_paths "$given/w"
        sandboxed "cat $given/r/sub/file; touch $given/r/new 2>/dev/null || echo read-only; touch $given/w/new && echo written; ls $given"
        said 'filesystem.read_paths[1]: '"$given/none does not exist, and is left out"
        [[ $output == *$'text\nread-only\nwritten\nr\nw' ]]
        [ -e "$given/w/new" ] && [ ! -e "$given/r/new" ]
}

@test "a path that is a symlink, or lies behind one, is refused" {
        local given=$BATS_TEST_TMPDIR/given
        strict
        mkdir -p "$given/real/sub"
        ln -s real "$given/link"
        sage filesystem.read_paths "$given/link/sub"
        refused 'filesystem.read_paths[0]' 'lies behind one'
        sage filesystem.read_paths '' filesystem.write_paths "$given/link"
        refused 'filesystem.write_paths[0]' 'is a symlink'
        touch "$given/file"
        sage filesystem.write_paths "$given/file"
        refused 'filesystem.write_paths[0]' 'expected a directory'
}

@test "a workspace is a directory that the identity owns and can reach" {
        strict
        other() {
                sage filesystem.workspace "$1" && refused filesystem.workspace "$2"
        }
        mkdir -p "$BATS_TEST_TMPDIR/closed/inside" "$BATS_TEST_TMPDIR/roots"
        chown 1001:1001 "$BATS_TEST_TMPDIR/closed/inside"
        chmod 0700 "$BATS_TEST_TMPDIR/closed"
        ln -s workspace "$BATS_TEST_TMPDIR/link"
        ln -s . "$BATS_TEST_TMPDIR/here"
        touch "$BATS_TEST_TMPDIR/file"
        other "$BATS_TEST_TMPDIR/none" 'does not exist'
        other "$BATS_TEST_TMPDIR/file" 'is no directory'
        other "$BATS_TEST_TMPDIR/link" 'is a symlink or lies behind one'
        other "$BATS_TEST_TMPDIR/here/workspace" 'is a symlink or lies behind one'
        other "$BATS_TEST_TMPDIR/roots" 'belongs to uid 0, and commands run as uid 1001'
        other "$BATS_TEST_TMPDIR/closed/inside" 'may not enter'
        other /usr/share 'are not apart'
        sage filesystem.workspace "$WORKSPACE" filesystem.workspace_st_dev "$(stat -c %d "$WORKSPACE")" filesystem.workspace_st_ino 1
        refused filesystem.workspace 'another directory than was meant'
        sage filesystem.workspace_st_ino "$(stat -c %i "$WORKSPACE")"
        sandboxed 'echo fine'
        printed fine
}

@test "a supplementary group of the caller's opens no way to a workspace" {
        strict
        mkdir -p "$BATS_TEST_TMPDIR/grouped/inside"
        chown 1001:1001 "$BATS_TEST_TMPDIR/grouped/inside"
        chown 0:5 "$BATS_TEST_TMPDIR/grouped"
        chmod 0710 "$BATS_TEST_TMPDIR/grouped"
        sage filesystem.workspace "$BATS_TEST_TMPDIR/grouped/inside"
        detached setpriv --groups 0,5 "$SAGE_RUNTIME" --root "$ROOT" run --bundle "$BUNDLE" box
        failed 1 'may not enter'
        # And the caller has its groups back: what it may do did not change.
        sage filesystem.workspace "$WORKSPACE"
        detached setpriv --groups 0,5 "$SAGE_RUNTIME" --root "$ROOT" run --bundle "$BUNDLE" box
        succeeded
}

@test "a workspace may be anywhere inside, and read-only" {
        strict
        touch "$WORKSPACE/file"
        sage filesystem.workspace_root /home/me/project
        config '.process.cwd = "/home/me/project"'
        sandboxed 'pwd; ls; touch new && echo written'
        printed '/home/me/project
file
written'
        sage filesystem.read_only true
        sandboxed 'touch other 2>/dev/null || echo no; touch /tmp/other && echo yes'
        printed 'no
yes'
        [ ! -e "$WORKSPACE/other" ]
}

@test "a mount in the workspace stays outside" {
        strict
        mkdir "$WORKSPACE/mounted"
        mount -t tmpfs none "$WORKSPACE/mounted"
        touch "$WORKSPACE/mounted/secret"
        sandboxed 'ls -A mounted'
        umount "$WORKSPACE/mounted"
        printed ''
}

@test "protected paths cannot be changed, renamed away, or replaced from above" {
        strict
        mkdir -p "$WORKSPACE/.git/hooks" "$WORKSPACE/src"
        echo '[core]' >"$WORKSPACE/.git/config"
        echo secret >"$WORKSPACE/.env"
        chown -R 1001:1001 "$WORKSPACE"
        sage filesystem.protected_paths '.git/hooks .git/config .env'
        sandboxed 'try() { "$@" 2>/dev/null && echo "done: $*"; }
                try touch .git/hooks/pre-commit; try sh -c "echo x >>.git/config"; try rm .git/config; try mv .git .git2; try mv .git/hooks .git/h2
                try rmdir .git/hooks; try rm -r .git; try mv .env e; try ln -f /tmp/x .env; try chmod 777 .env; try truncate -s 0 .env
                try ln .env copy; try mv -T src .git; try sh -c "mkdir n; mv -T n .git"
                cat .env; touch .git/index src/file other && rm other && mv src source && echo rest'
        printed 'secret
rest'
        [ "$(cat "$WORKSPACE/.env")" = secret ] && [ -e "$WORKSPACE/.git/index" ] && [ -e "$WORKSPACE/source/file" ]
}

@test "a protected file with another name, or a symlink in its place, is refused" {
        strict
        echo secret >"$WORKSPACE/.env"
        ln "$WORKSPACE/.env" "$WORKSPACE/other"
        sage filesystem.protected_paths '.env'
        refused 'filesystem.protected_paths[0]' 'more than one name'
        rm "$WORKSPACE/other"
        mv "$WORKSPACE/.env" "$WORKSPACE/real"
        ln -s real "$WORKSPACE/.env"
        refused 'filesystem.protected_paths[0]' 'symlink'
        mkdir "$WORKSPACE/directory"
        ln -s directory "$WORKSPACE/way"
        sage filesystem.protected_paths 'way/in'
        refused 'filesystem.protected_paths[0]' 'symlink'
}

@test "a .git that is a file is protected as the file it is" {
        strict
        echo 'gitdir: /elsewhere' >"$WORKSPACE/.git"
        chown 1001:1001 "$WORKSPACE/.git"
        sage filesystem.protected_paths '.git/hooks .git/config'
        sandboxed 'echo x >.git; rm -f .git; mv .git g; cat .git'
        said 'gitdir: /elsewhere'
        [ "$(cat "$WORKSPACE/.git")" = 'gitdir: /elsewhere' ]
}

@test "what a sandbox has of its own stands in no config.json" {
        strict
        config '.mounts = [{destination: "/x", type: "tmpfs"}]'
        refused 'mounts: '
        strict
        config '.process.user = {uid: 0, gid: 0}'
        refused process.user.uid
        strict
        sage host.linux_execution_uid '' host.linux_execution_gid ''
        refused linux_execution_uid 'never run as uid 0'
}

@test "the plan shows what a sandbox can read and write" {
        strict
        sage filesystem.protected_paths .git
        detached runtime plan --bundle "$BUNDLE"
        succeeded
        said 'empty but for what follows' && said "the host's $WORKSPACE" && said 'cannot be renamed or removed' && said 'a symlink to usr/bin'
}

@test "a protected path that is missing cannot be made, and leaves nothing behind" {
        strict
        mkdir -p "$WORKSPACE/sub"
        chown 1001:1001 "$WORKSPACE/sub"
        sage filesystem.protected_paths '.git/hooks .git/config sub/deep/er .env a.lock sub/b.lock/c'
        sandboxed 'try() { "$@" 2>/dev/null && echo "done: $*"; }
                try mkdir .git; try rm .git; try touch sub/deep/er; try mkdir sub/deep; try sh -c "echo x >.env"; try mv sub other; try mv .env e
                stat -c "%n %F %a %u" .git .env sub/deep; touch a.lock sub/b.lock && rm a.lock sub/b.lock'
        printed '.git regular empty file 444 1001
.env regular empty file 444 1001
sub/deep regular empty file 444 1001'
        [ "$(find "$WORKSPACE" -mindepth 1)" = "$WORKSPACE/sub" ]
}

@test "sandboxes of one workspace protect the same, and the last takes the placeholders along" {
        strict
        sage filesystem.protected_paths '.git .env'
        config 'del(.process)'
        detached runtime run --detach --bundle "$BUNDLE" one
        succeeded
        [ -f "$WORKSPACE/.git" ]
        sage filesystem.protected_paths .git
        detached runtime run --detach --bundle "$BUNDLE" two
        failed 1 protected_paths "sandbox \`one\` has this workspace and protects other paths"
        sage filesystem.read_only true
        detached runtime run --detach --bundle "$BUNDLE" reader
        succeeded
        sage filesystem.read_only '' filesystem.protected_paths '.git .env'
        detached runtime run --detach --bundle "$BUNDLE" two
        succeeded
        runtime delete --force one
        [ -f "$WORKSPACE/.git" ] && [ -f "$WORKSPACE/.env" ]
        detached runtime exec two /bin/sh -c 'rm -f .git .env; touch .git'
        [ "$status" -ne 0 ]
        runtime delete --force two
        [ ! -e "$WORKSPACE/.git" ] && [ ! -e "$WORKSPACE/.env" ]
        sage filesystem.protected_paths .other
        detached runtime run --detach --bundle "$BUNDLE" three
        succeeded
        runtime delete --force three
        runtime delete --force reader
        [ -z "$(ls -A "$WORKSPACE")" ]
}

@test "what a host put in the place of a placeholder stays" {
        strict
        sage filesystem.protected_paths '.git .env'
        config 'del(.process)'
        detached runtime run --detach --bundle "$BUNDLE" box
        succeeded
        rm "$WORKSPACE/.git" && mkdir "$WORKSPACE/.git" && chmod u+w "$WORKSPACE/.env" && echo x >"$WORKSPACE/.env"
        runtime delete --force box
        [ -d "$WORKSPACE/.git" ] && [ "$(cat "$WORKSPACE/.env")" = x ]
}

@test "a launch that fails later leaves no placeholder and no claim" {
        strict
        sage filesystem.protected_paths .git
        arguments /no/such/program
        leaves_nothing runtime run --bundle "$BUNDLE" box
        [ "$status" -ne 0 ]
        [ ! -e "$WORKSPACE/.git" ]
}

@test "standard streams are pipes, terminals, /dev/null or a connected Unix stream, and nothing else" {
        strict
        local file=$BATS_TEST_TMPDIR/file
        touch "$file"
        with() {
                local expected=$1 text=$2
                shift 2
                detached bash -c "$1" bash "$SAGE_RUNTIME" --root "$ROOT" run --bundle "$BUNDLE" box
                [ "$status" -eq "$expected" ] && said "$text"
        }
        with 0 '' '"$@" </dev/null 2>&1 >/dev/null 2>&1'
        detached bash -c '"$@" 2>&1 >>"'"$file"'" | cat; exit ${PIPESTATUS[0]}' bash "$SAGE_RUNTIME" --root "$ROOT" create --bundle "$BUNDLE" box
        failed 1 'process.stdout: a file, which the command could open again'
        with 1 'process.stdin: a directory' '"$@" 2>&1 </ | cat; exit ${PIPESTATUS[0]}'
        with 1 'process.stdin: this device' '"$@" 2>&1 </dev/zero | cat; exit ${PIPESTATUS[0]}'
        with 1 '--preserve-fds' '"$@" --preserve-fds 1 3</dev/null 2>&1 | cat; exit ${PIPESTATUS[0]}'
        detached python3 -c 'import socket, subprocess, sys
a, b = socket.socketpair()
p = subprocess.run(sys.argv[1:], stdin=a, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
c, d = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
q = subprocess.run(sys.argv[1:], stdin=c, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
print(p.returncode, q.returncode, q.stdout.decode())' "$SAGE_RUNTIME" --root "$ROOT" run --bundle "$BUNDLE" box
        [[ $output == '0 1 '*'process.stdin: this socket'* ]] || { echo "$output"; return 1; }
}

@test "a file as standard input comes through a pipe, whole, and cannot be opened for writing" {
        local file=$BATS_TEST_TMPDIR/file
        strict
        seq 1 100000 >"$file"
        chown 1001:1001 "$file"
        arguments /bin/bash -c 'stat -L -c %F /proc/self/fd/0; (echo x >/proc/self/fd/0) 2>/dev/null; md5sum'
        detached bash -c '"$@" <'"$file"' 2>&1 | cat' bash "$SAGE_RUNTIME" --root "$ROOT" run --bundle "$BUNDLE" box
        said fifo
        config --args '.process.args = ["/usr/bin/md5sum"]'
        detached bash -c '"$@" <'"$file"' 2>&1 | cat' bash "$SAGE_RUNTIME" --root "$ROOT" run --bundle "$BUNDLE" box
        printed "$(md5sum <"$file")"
        # A reader that stops early, and one that never reads.
        config --args '.process.args = ["/usr/bin/head", "-n", "1"]'
        detached bash -c '"$@" <'"$file"' 2>&1 | cat' bash "$SAGE_RUNTIME" --root "$ROOT" run --bundle "$BUNDLE" box
        printed 1
        detached bash -c '"$@" <'"$file"' 2>&1 | cat' bash "$SAGE_RUNTIME" --root "$ROOT" run --detach --bundle "$BUNDLE" box
        said process.stdin
}

@test "what goes through the runtime may end in a file" {
        strict
        arguments /bin/bash -c 'stat -L -c %F /proc/self/fd/1 /proc/self/fd/2; echo error >&2'
        detached bash -c 'cd "$0"; "$@" >file 2>&1; cat file' "$BUNDLE" "$SAGE_RUNTIME" --root "$ROOT" run --bundle "$BUNDLE" box
        printed $'fifo\nfifo\nerror'
}

@test "an exec has the sandbox's identity and limits, and asks for no more" {
        strict
        config 'del(.process)'
        detached runtime run --detach --bundle "$BUNDLE" box
        succeeded
        detached runtime exec box /bin/bash -c 'id -u; ulimit -c; ulimit -n; ulimit -f; grep NoNewPrivs /proc/self/status; pwd'
        printed $'1001\n0\n1024\n4194304\nNoNewPrivs:\t1\n/'
        detached runtime exec --cap CAP_KILL box /bin/true
        failed 255 capabilities
        detached runtime exec --user 0 box /bin/true
        [ "$status" -eq 255 ]
        detached runtime exec --additional-gids 5 box /bin/true
        failed 255 additionalGids
}

@test "limits of a process may be lower than Sage's, not higher" {
        strict
        config '.process.rlimits = [{type: "RLIMIT_NOFILE", soft: 100, hard: 200}]'
        sage filesystem.max_file_bytes 1048576
        sandboxed 'ulimit -Sn; ulimit -Hn; ulimit -f; ulimit -c'
        printed $'100\n200\n1024\n0'
        config '.process.rlimits = [{type: "RLIMIT_NOFILE", soft: 100, hard: 2000}]'
        refused 'process.rlimits[0]' 'at most 1024 of RLIMIT_NOFILE'
}
