# The strict sandbox: whom its commands run as, and what they find of files.
load helpers

SAGE_RUNTIME=$SAGE_UNREFUSED

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
        sandboxed 'id -u; id -g; id -G; grep -E "^(Cap(Inh|Prm|Eff|Bnd|Amb)|NoNewPrivs)" /proc/self/status | tr -d "\t"; tr -s " " </proc/self/uid_map; tr -s " " </proc/self/gid_map'
        printed '1001
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
        sandboxed 'echo / /etc/* /sys/* /sys/fs/* /workspace/* /tmp/* /dev/shm/*; echo /* | tr " " "\n" | grep -vxE "/(bin|lib|lib32|lib64|libx32|sbin)"'
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

@test "devices open for writing, and stay as they are" {
        strict
        sandboxed 'set -e; for name in null zero full random urandom; do : 3<>/dev/$name; done; echo x >/dev/null; head -c 3 /dev/zero | od -An -tx1
                ! chmod 600 /dev/null 2>&1; ! touch -d 2000-01-01 /dev/null 2>&1; ! ln -s x /dev/new 2>/dev/null
                (echo out >/dev/stdout; echo err >/dev/stderr) 2>&1 | cat; cat <(echo substituted)'
        succeeded
        [[ $output == *' 00 00 00'* && $output == *'chmod: changing permissions'* && $output == *$'out\nerr\nsubstituted' ]]
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
        refused 'filesystem.protected_paths[0]' 'has 2 names'
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
