# mounts, in the container's own words: its /proc/self/mountinfo.
load helpers

# mounted DESTINATION [OPTION]...: the last mount at DESTINATION in $output, a mountinfo, has each OPTION, but none that is written !OPTION.
mounted() {
        local destination=$1 line option
        shift
        line=$(awk -v destination="$destination" '$5 == destination { line = $0 } END { print line }' <<<"$output")
        [ -n "$line" ] || { echo "nothing is mounted at $destination"; return 1; }
        for option; do
                case $option in
                '!'*) ! has_option "$line" "${option#!}" || { echo "has ${option#!}: $line"; return 1; } ;;
                *) has_option "$line" "$option" || { echo "has no $option: $line"; return 1; } ;;
                esac
        done
}

# OPTION in the options of the mount, in its optional fields (shared:, master:), its type, or the file system's options.
has_option() {
        [[ " ${1//,/ } " == *" $2"[\ :]* ]]
}

# mounts_of FILTER: what a container with FILTER applied to its configuration has mounted, in $output.
mounts_of() {
        config "$1"
        inside 'cat /proc/self/mountinfo'
        succeeded
}

# One level up in a mount namespace of its own: SCRIPT may mount what it likes, then runs the container with $RUN.
with_mounts() {
        local script=$1
        RUN="'$SAGE_RUNTIME' --root '$ROOT' run --bundle '$BUNDLE' inside"
        detached unshare -m --propagation private sh -c "$script" sh "$BATS_TEST_TMPDIR" "$RUN"
}

@test "the seven usual mounts are there, with their options" {
        bundle
        mounts_of .
        mounted / ro
        mounted /proc proc
        mounted /dev tmpfs nosuid '!noexec' '!nodev' rw mode=755 size=65536k
        mounted /dev/pts devpts nosuid noexec mode=620 ptmxmode=666 gid=5
        mounted /dev/shm tmpfs nosuid noexec nodev size=65536k
        mounted /dev/mqueue mqueue nosuid noexec nodev
        mounted /sys sysfs ro nosuid noexec nodev
        mounted /sys/fs/cgroup cgroup2 ro nosuid noexec nodev relatime
}

@test "options of a new file system" {
        bundle
        local destination
        mounts_of '[["ro"], ["nosuid"], ["nodev"], ["noexec"], ["noatime"], ["nodiratime"], ["strictatime"], ["relatime"], ["nosymfollow"],
                ["ro", "rw"], ["nosuid", "suid"], ["noexec", "exec"], ["noatime", "relatime"], ["size=4k", "mode=711"], ["defaults"], [],
                ["sync"], ["nr_inodes=20", "noswap"]] as $options
                | .root.readonly = false
                | .mounts += [$options | to_entries[] | {destination: "/m/\(.key)", type: "tmpfs", source: "tmpfs", options: .value}]'
        table mounted <<-'ROWS'
		/m/0 => ro => !noexec
		/m/1 => nosuid => rw
		/m/2 => nodev => rw
		/m/3 => noexec => rw
		/m/4 => noatime => !relatime
		/m/5 => nodiratime => relatime
		/m/6 => !noatime => !relatime
		/m/7 => relatime
		/m/8 => nosymfollow
		/m/9 => rw => !ro
		/m/10 => !nosuid
		/m/11 => !noexec
		/m/12 => relatime => !noatime
		/m/13 => size=4k => mode=711
		/m/14 => rw => !nosuid
		/m/15 => rw => relatime
		/m/16 => sync
		/m/17 => nr_inodes=20
	ROWS
}

@test "options of a bind mount, which take effect on the first try" {
        bundle
        mkdir "$BATS_TEST_TMPDIR/source"
        config --args '.mounts += [[["bind", "ro"], ["bind", "nosuid", "nodev", "noexec"], ["bind", "noatime"], ["bind", "rw"],
                ["bind", "ro", "rw"], ["rbind", "ro"], ["bind", "nosymfollow"]] | to_entries[]
                | {destination: "/m/\(.key)", type: "none", source: $ARGS.positional[0], options: .value}] | .root.readonly = false' \
                "$BATS_TEST_TMPDIR/source"
        mounts_of .
        table mounted <<-'ROWS'
		/m/0 => ro => !nosuid
		/m/1 => nosuid => nodev => noexec => rw
		/m/2 => noatime => rw
		/m/3 => rw
		/m/4 => rw
		/m/5 => ro
		/m/6 => nosymfollow
	ROWS
}

@test "a bind mount is what has bind or rbind among its options, whatever its type; type bind alone is one too" {
        bundle
        mkdir "$BATS_TEST_TMPDIR/source"
        echo inside >"$BATS_TEST_TMPDIR/source/file"
        config --args '.mounts += [{destination: "/a", type: "none", source: $ARGS.positional[0], options: ["bind"]},
                {destination: "/b", source: $ARGS.positional[0], options: ["rbind"]},
                {destination: "/c", type: "bind", source: $ARGS.positional[0]}] | .root.readonly = false' "$BATS_TEST_TMPDIR/source"
        inside 'cat /a/file /b/file /c/file'
        printed $'inside\ninside\ninside'
}

@test "a bound file is a file: its mount point is made where there is none" {
        bundle
        echo content >"$BATS_TEST_TMPDIR/source"
        config --args '.mounts += [{destination: "/new/dir/file", type: "bind", source: $ARGS.positional[0], options: ["bind", "ro"]}]
                | .root.readonly = false' "$BATS_TEST_TMPDIR/source"
        inside 'cat /new/dir/file; (echo x >/new/dir/file) 2>/dev/null || echo refused'
        printed $'content\nrefused'
}

@test "a relative source is taken from the bundle" {
        bundle
        mkdir "$BUNDLE/data"
        echo content >"$BUNDLE/data/file"
        config '.mounts += [{destination: "/data", type: "bind", source: "data", options: ["bind"]}] | .root.readonly = false'
        inside 'cat /data/file'
        printed content
}

@test "a source that is not there is named, and nothing is left" {
        bundle
        config '.mounts += [{destination: "/tmp", type: "bind", source: "/nowhere/source", options: ["bind"]}]'
        leaves_nothing runtime create --bundle "$BUNDLE" box
        failed 1 /nowhere/source 'mounts[7]'
}

@test "bind takes one mount, rbind what is mounted below it too" {
        bundle
        mkdir "$BATS_TEST_TMPDIR/source"
        config --args '.mounts += [{destination: "/one", type: "bind", source: $ARGS.positional[0], options: ["bind"]},
                {destination: "/all", type: "bind", source: $ARGS.positional[0], options: ["rbind"]}] | .root.readonly = false
                | .process.args = ["sh", "-c", "ls /one/below; echo and; ls /all/below"]' "$BATS_TEST_TMPDIR/source"
        mkdir "$BATS_TEST_TMPDIR/source/below"
        with_mounts 'mount -t tmpfs tmpfs "$1/source/below" && touch "$1/source/below/file" && eval "$2"'
        printed $'and\nfile'
}

@test "ro makes the one mount read-only, rro what is below it too, and the host's own mounts stay writable" {
        bundle
        mkdir -p "$BATS_TEST_TMPDIR/source/below"
        config --args '.mounts += [{destination: "/ro", type: "bind", source: $ARGS.positional[0], options: ["rbind", "ro"]},
                {destination: "/rro", type: "bind", source: $ARGS.positional[0], options: ["rbind", "rro", "rnosuid"]}]
                | .root.readonly = false | .process.args = ["cat", "/proc/self/mountinfo"]' "$BATS_TEST_TMPDIR/source"
        with_mounts 'mount -t tmpfs tmpfs "$1/source/below" && eval "$2" && touch "$1/source/below/still" "$1/source/still"'
        succeeded
        mounted /ro ro
        mounted /ro/below rw
        mounted /rro ro nosuid
        mounted /rro/below ro nosuid
        [ -e "$BATS_TEST_TMPDIR/source/still" ]
}

@test "flags that the source's file system has locked stay, and read-only can be added" {
        bundle
        mkdir "$BATS_TEST_TMPDIR/source"
        config --args '.mounts += [{destination: "/m", type: "bind", source: $ARGS.positional[0], options: ["bind", "ro"]}]
                | .root.readonly = false | .process.args = ["cat", "/proc/self/mountinfo"]' "$BATS_TEST_TMPDIR/source"
        with_mounts 'mount -t tmpfs -o nosuid,nodev,noexec tmpfs "$1/source" && eval "$2"'
        succeeded
        mounted /m ro nosuid nodev noexec
}

@test "a root file system on a mount with nosuid and nodev becomes read-only" {
        bundle cat /proc/self/mountinfo
        with_mounts 'mount -t tmpfs -o nosuid,nodev,mode=755 tmpfs /mnt && cp -a "$1/bundle/rootfs" /mnt/rootfs &&
                sed -i "s|\"path\": \"rootfs\"|\"path\": \"/mnt/rootfs\"|" "$1/bundle/config.json" && eval "$2"'
        succeeded
        mounted / ro nosuid nodev
}

@test "tmpcopyup fills a tmpfs with what was there: content, modes, owners, links" {
        bundle
        mkdir -p "$BUNDLE/rootfs/var/lib/sub"
        echo content >"$BUNDLE/rootfs/var/lib/sub/file"
        chmod 4711 "$BUNDLE/rootfs/var/lib/sub/file"
        chown 12:34 "$BUNDLE/rootfs/var/lib/sub"
        ln -s sub/file "$BUNDLE/rootfs/var/lib/link"
        ln "$BUNDLE/rootfs/var/lib/sub/file" "$BUNDLE/rootfs/var/lib/hard"
        config '.mounts += [{destination: "/var/lib", type: "tmpfs", source: "tmpfs", options: ["tmpcopyup", "nosuid"]}]'
        inside 'cd /var/lib; cat link; stat -c "%a %u:%g %n" sub sub/file; readlink link; echo new >new; cat new; rm hard'
        printed $'content\n755 12:34 sub\n4711 0:0 sub/file\nsub/file\nnew'
        [ ! -e "$BUNDLE/rootfs/var/lib/new" ]
        [ -e "$BUNDLE/rootfs/var/lib/hard" ]
}

@test "a tmpfs without mode takes the mode of a mount point that was there" {
        bundle
        mkdir -m 0710 "$BUNDLE/rootfs/t"
        config '.mounts += [{destination: "/t", type: "tmpfs", source: "tmpfs"}, {destination: "/tmp", type: "tmpfs", source: "tmpfs"}]'
        inside 'stat -c %a /t /tmp'
        printed $'710\n1777'
}

# propagation_of FILTER OPTION...: what a bind mount of a shared mount becomes, at /m/OPTIONx, in $output.
propagation_of() {
        local filter=$1
        shift
        bundle
        mkdir "$BATS_TEST_TMPDIR/source"
        config --args '.mounts += [$ARGS.positional[1:][]
                | {destination: "/m/\(.)x", type: "bind", source: $ARGS.positional[0], options: ["rbind", (select(. != ""))]}]
                | .root.readonly = false | .process.args = ["cat", "/proc/self/mountinfo"]' "$BATS_TEST_TMPDIR/source" "$@"
        config "$filter"
        with_mounts 'mount -t tmpfs tmpfs "$1/source" && mount --make-shared "$1/source" && eval "$2"'
        succeeded
}

@test "a bind mount is private where nothing else is said" {
        propagation_of . '' private rprivate
        table mounted <<-'ROWS'
		/m/x => !shared => !master
		/m/privatex => !shared => !master
		/m/rprivatex => !shared => !master
	ROWS
}

@test "propagation is what the options say, as Kubernetes asks for it together with rootfsPropagation" {
        propagation_of '.linux.rootfsPropagation = "rslave"' private slave rslave
        table mounted <<-'ROWS'
		/m/privatex => !shared => !master
		/m/slavex => master => !shared
		/m/rslavex => master => !shared
	ROWS
        rmdir "$BATS_TEST_TMPDIR/source"
        propagation_of '.linux.rootfsPropagation = "rshared"' shared rshared
        table mounted <<-'ROWS'
		/m/sharedx => shared
		/m/rsharedx => shared
	ROWS
}

@test "rootfsPropagation is that of the root" {
        bundle
        mounts_of '.linux.rootfsPropagation = "shared"'
        mounted / shared
        mounts_of '.linux.rootfsPropagation = "private"'
        mounted / '!shared' '!master'
        mounts_of 'del(.linux.rootfsPropagation)'
        mounted / '!shared'
}

@test "mounts of the host after create do not come in, and those of the container do not get out" {
        bundle
        mkdir "$BATS_TEST_TMPDIR/source"
        config --args '.process.capabilities |= map_values(. + ["CAP_SYS_ADMIN"]) | .root.readonly = false
                | .mounts += [{destination: "/m", type: "bind", source: $ARGS.positional[0], options: ["rbind"]}]
                | .process.args = ["sh", "-c", "mount -t tmpfs tmpfs /m && touch /m/inside && grep -c \" /m \" /proc/self/mountinfo"]' \
                "$BATS_TEST_TMPDIR/source"
        with_mounts 'mount --make-rshared / && eval "$2" && grep -c "$1/source" /proc/self/mountinfo; ls "$1/source"'
        [[ $output == $'2\n0' ]]
}

@test "mounts are made in their order: a later one may lie on an earlier one" {
        bundle
        echo content >"$BATS_TEST_TMPDIR/source"
        config --args '.mounts += [{destination: "/a", type: "tmpfs", source: "tmpfs"},
                {destination: "/a/b", type: "tmpfs", source: "tmpfs"},
                {destination: "/a/b/c", type: "bind", source: $ARGS.positional[0], options: ["bind"]}] | .root.readonly = false' \
                "$BATS_TEST_TMPDIR/source"
        inside 'cat /a/b/c'
        printed content
}

@test "a destination through a symlink of the image ends inside the root" {
        bundle
        mkdir -p "$BUNDLE/rootfs/elsewhere/in/root"
        ln -s /elsewhere/in/root "$BUNDLE/rootfs/link"
        ln -s ../../../../.. "$BUNDLE/rootfs/up"
        config '.mounts += [{destination: "/link/a", type: "tmpfs", source: "tmpfs"},
                {destination: "/up/tmp/b", type: "tmpfs", source: "tmpfs"}] | .root.readonly = false'
        mounts_of .
        mounted /elsewhere/in/root/a
        mounted /tmp/b
        [ ! -e /elsewhere ]
}

@test "a file may be bound where a dangling symlink is: its target is made" {
        bundle
        mkdir -p "$BUNDLE/rootfs/usr/share"
        ln -s /usr/share/zone "$BUNDLE/rootfs/etc/localtime"
        echo zone >"$BATS_TEST_TMPDIR/source"
        config --args '.mounts += [{destination: "/etc/localtime", type: "bind", source: $ARGS.positional[0], options: ["bind", "ro"]}]
                | .root.readonly = false' "$BATS_TEST_TMPDIR/source"
        inside 'cat /etc/localtime; cat /usr/share/zone'
        printed $'zone\nzone'
}

@test "a relative destination is taken from the root" {
        bundle
        config '.mounts += [{destination: "tmp", type: "tmpfs", source: "tmpfs", options: ["size=4k"]}]'
        inside 'grep -c " /tmp .*size=4k" /proc/self/mountinfo'
        [ "$status" -eq 0 ]
        said 1
}

@test "what the kernel does not know is refused by name, and nothing is left" {
        refused() {
                config ".mounts = .mounts[:7] + [$1]"
                leaves_nothing runtime create --bundle "$BUNDLE" box
                failed 1 'mounts[7]' "$2"
        }
        bundle
        table refused <<-'ROWS'
		{destination: "/tmp", type: "nosuchfs", source: "x"} => nosuchfs
		{destination: "/tmp", type: "tmpfs", source: "x", options: ["nosuchoption=1"]} => nosuchoption
		{destination: "/tmp", type: "tmpfs", source: "x", options: ["size=nonsense"]} => size=nonsense
		{destination: "/tmp", source: "x"} => type
		{destination: "/", type: "tmpfs", source: "x"} => destination
		{destination: "", type: "tmpfs", source: "x"} => destination
		{destination: "/tmp", type: "bind", options: ["bind"]} => source
		{destination: "/tmp", type: "bind", source: "/etc", options: ["bind", "size=4k"]} => size=4k
		{destination: "/tmp", type: "bind", source: "/etc", options: ["bind", "tmpcopyup"]} => tmpcopyup
	ROWS
}

@test "many mounts work" {
        bundle
        config '.root.readonly = false
                | .mounts += [range(300) | {destination: "/m/\(.)", type: "tmpfs", source: "tmpfs", options: ["size=4k"]}]'
        inside 'grep -c " /m/" /proc/self/mountinfo'
        printed 300
}

@test "the cgroup view is the container's own and read-only" {
        bundle
        inside 'cat /proc/self/cgroup | grep ^0::; ls /sys/fs/cgroup/cgroup.procs; mkdir /sys/fs/cgroup/x 2>/dev/null || echo refused'
        printed $'0::/\n/sys/fs/cgroup/cgroup.procs\nrefused'
}

# A directory of uid and gid 1000's with a file of theirs and one of root's, bound to /m with OPTIONS (a jq array): who owns what in there.
owners() {
        local source=$BATS_TEST_TMPDIR/owned
        mkdir -p "$source"
        touch "$source/theirs" "$source/roots"
        chown 1000:1000 "$source" "$source/theirs"
        config --args ".root.readonly = false | .mounts += [{destination: \"/m\", type: \"bind\", source: \$ARGS.positional[0], options: $1}]" "$source"
        inside 'stat -c "%n %u:%g" /m /m/*'
}

@test "idmap shows a bind's files as those of others, by ids of the host or, behind an @, of the container" {
        local userns='.linux.namespaces += [{type: "user"}] | .linux.uidMappings = [{containerID: 0, hostID: 100000, size: 65536}]
                | .linux.gidMappings = .linux.uidMappings'
        bundle
        owners '["bind", "idmap=uids=1000-0-1;gids=1000-5-1"]'
        printed $'/m 0:5\n/m/roots 65534:65534\n/m/theirs 0:5'
        [ "$(stat -c %u:%g "$BATS_TEST_TMPDIR/owned/theirs")" = 1000:1000 ]
        bundle
        owners '["bind", "idmap=uids=1000-0-1"]'
        failed 1 'mounts[7].options' gidMappings
        open_to_all
        mkdir "$BUNDLE/rootfs/m"
        config "$userns | .mounts = .mounts[:7]"
        owners '["rbind", "ridmap"]'
        printed $'/m 1000:1000\n/m/roots 0:0\n/m/theirs 1000:1000'
        config '.mounts = .mounts[:7]'
        owners '["bind", "idmap=uids=@1000-0-1;gids=@1000-5-1"]'
        printed $'/m 0:5\n/m/roots 65534:65534\n/m/theirs 0:5'
}

@test "copy-symlink makes a source that is a symlink again, and puts it in no other's place" {
        bundle
        ln -s /etc/passwd "$BATS_TEST_TMPDIR/link"
        copied() {
                config --args '.root.readonly = false | .mounts = .mounts[:7] + [{destination: $ARGS.positional[1], type: "bind",
                        source: $ARGS.positional[0], options: ["bind", "copy-symlink"]}]' "$BATS_TEST_TMPDIR/link" "$1"
                inside "readlink $1"
        }
        copied /new/link
        printed /etc/passwd
        copied /new/link # the root file system serves again
        printed /etc/passwd
        leaves_nothing copied /etc/group
        failed 1 'mounts[7]' 'File exists'
        ln -s /elsewhere "$BUNDLE/rootfs/tmp/link"
        copied /tmp/link
        failed 1 'mounts[7]' 'File exists'
        rm "$BATS_TEST_TMPDIR/link"
        echo file >"$BATS_TEST_TMPDIR/link"
        copied /new/file
        failed 1
        inside 'cat /new/file'
        printed file
}

@test "src-nofollow binds a symlink itself, dest-nofollow covers one" {
        bundle
        ln -s /etc/passwd "$BATS_TEST_TMPDIR/link"
        echo file >"$BATS_TEST_TMPDIR/file"
        ln -s passwd "$BUNDLE/rootfs/etc/alias"
        config --args '.root.readonly = false | .mounts += [
                {destination: "/l", type: "bind", source: "\($ARGS.positional[0])/link", options: ["bind", "src-nofollow"]},
                {destination: "/etc/alias", type: "bind", source: "\($ARGS.positional[0])/file", options: ["bind", "dest-nofollow"]}]' \
                "$BATS_TEST_TMPDIR"
        inside 'readlink /l; cat /etc/alias; grep -c root /etc/passwd'
        printed $'/etc/passwd\nfile\n1'
}
