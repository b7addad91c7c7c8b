# The root: read-only, masked and read-only paths, devices.
load helpers

@test "a read-only root cannot be written, a writable one can" {
        bundle
        inside 'touch /x 2>/dev/null || echo refused'
        printed refused
        config '.root.readonly = false'
        inside 'touch /x && echo written'
        printed written
        [ -e "$BUNDLE/rootfs/x" ]
}

@test "an absolute root path works" {
        bundle
        mv "$BUNDLE/rootfs" "$BATS_TEST_TMPDIR/elsewhere"
        config --args '.root.path = $ARGS.positional[0]' "$BATS_TEST_TMPDIR/elsewhere"
        inside 'echo here'
        printed here
        mv "$BATS_TEST_TMPDIR/elsewhere" "$BUNDLE/rootfs"
}

@test "nothing of the host's tree is left in reach" {
        bundle
        touch "$BATS_TEST_TMPDIR/marker"
        inside 'find / -xdev -name marker; ls -d /proc/1/root/..//bin/busybox; cat /proc/self/mountinfo | grep -c " / / "'
        [[ $output != *marker* ]]
        [[ $output == /proc/1/root/..//bin/busybox* ]]
}

@test "masked files read as empty, masked directories are empty, and neither can be written" {
        bundle
        mkdir "$BUNDLE/rootfs/secret"
        echo secret >"$BUNDLE/rootfs/secret/file"
        echo secret >"$BUNDLE/rootfs/etc/secret"
        config '.linux.maskedPaths += ["/secret", "/etc/secret"] | .root.readonly = false'
        inside 'ls -A /secret; cat /etc/secret; touch /secret/x 2>/dev/null || echo refused; ls -A /sys/firmware | wc -l
                cat /proc/keys 2>/dev/null | wc -c; echo x >/etc/secret; cat /etc/secret; echo end'
        printed $'refused\n0\n0\nend'
        [ "$(<"$BUNDLE/rootfs/etc/secret")" = secret ]
}

@test "a path to mask that is not there is no error, nor one below a file" {
        bundle
        config '["/nowhere/at/all", "/etc/passwd/below"] as $absent | .linux.maskedPaths += $absent | .linux.readonlyPaths += $absent'
        inside 'echo here'
        printed here
}

@test "read-only paths cannot be written, with what is mounted below them" {
        bundle
        config '.root.readonly = false | .mounts += [{destination: "/tmp/below", type: "tmpfs", source: "tmpfs"}]
                | .linux.readonlyPaths += ["/tmp", "/etc/passwd"]'
        inside 'touch /tmp/x 2>/dev/null || echo refused; touch /tmp/below/x 2>/dev/null || echo refused
                echo x 2>/dev/null >>/etc/passwd || echo refused
                touch /var/x && echo written; echo 1 2>/dev/null >/proc/sys/net/ipv4/ip_forward || echo refused'
        printed $'refused\nrefused\nrefused\nwritten\nrefused'
}

@test "the usual devices are there, and work" {
        bundle
        inside 'for d in null zero full random urandom tty; do stat -c "%n %t:%T %a %u:%g %F" /dev/$d; done
                echo x >/dev/null; head -c 3 /dev/zero | od -An -tx1; head -c 2 /dev/urandom | wc -c
                echo x 2>/dev/null >/dev/full || echo full'
        printed "$(printf '%s\n' '/dev/null 1:3 666 0:0 character special file' '/dev/zero 1:5 666 0:0 character special file' \
                '/dev/full 1:7 666 0:0 character special file' '/dev/random 1:8 666 0:0 character special file' \
                '/dev/urandom 1:9 666 0:0 character special file' '/dev/tty 5:0 666 0:0 character special file' ' 00 00 00' 2 full)"
}

@test "links of /dev: fd, stdin, stdout, stderr, ptmx" {
        bundle
        inside 'for l in fd stdin stdout stderr ptmx; do readlink /dev/$l; done; echo through >>/dev/stdout'
        printed $'/proc/self/fd\n/proc/self/fd/0\n/proc/self/fd/1\n/proc/self/fd/2\npts/ptmx\nthrough'
}

@test "the host's devices are not there" {
        bundle
        inside 'ls /dev | grep -vx core'
        printed "$(printf '%s\n' fd full mqueue null ptmx pts random shm stderr stdin stdout tty urandom zero)"
}

@test "devices of the config are made, with their mode and owner, whatever the caller's umask" {
        bundle
        config '.linux.devices = [{path: "/dev/mine", type: "c", major: 1, minor: 3, fileMode: 384, uid: 7, gid: 8},
                {path: "/dev/sub/deep", type: "c", major: 1, minor: 5, fileMode: 438},
                {path: "/dev/fifo", type: "p", fileMode: 420}, {path: "/dev/blk", type: "b", major: 240, minor: 1}]
                | .linux.resources.devices += [{allow: true, access: "rwm"}]'
        umask 077
        inside 'for d in mine sub/deep fifo blk; do stat -c "%n %t:%T %a %u:%g %F" /dev/$d; done'
        printed "$(printf '%s\n' '/dev/mine 1:3 600 7:8 character special file' '/dev/sub/deep 1:5 666 0:0 character special file' \
                '/dev/fifo 0:0 644 0:0 fifo' '/dev/blk f0:1 666 0:0 block special file')"
}

@test "a device of the config takes the place of a usual one" {
        bundle
        config '.linux.devices = [{path: "/dev/zero", type: "c", major: 1, minor: 3, fileMode: 384}]'
        inside 'stat -c "%t:%T %a" /dev/zero'
        printed '1:3 600'
}

@test "a file of the image where a device goes is an error, not a device elsewhere" {
        bundle
        mkdir "$BUNDLE/rootfs/dir"
        echo precious >"$BUNDLE/rootfs/dir/null"
        config '.linux.devices = [{path: "/dir/null", type: "c", major: 1, minor: 3}] | .root.readonly = false'
        leaves_nothing runtime create --bundle "$BUNDLE" box
        failed 1 /dir/null
        [ "$(<"$BUNDLE/rootfs/dir/null")" = precious ]
}

@test "without a /dev mount devices are made in the image's own /dev" {
        bundle
        config '.mounts |= map(select(.destination | startswith("/dev") | not)) | .root.readonly = false'
        inside 'stat -c "%n %t:%T" /dev/null; echo x >/dev/null'
        printed '/dev/null 1:3'
}

@test "device rules: what is not allowed cannot be opened, what is can" {
        bundle
        config '.linux.devices = [{path: "/dev/absent", type: "c", major: 240, minor: 1, fileMode: 438}]'
        inside 'cat /dev/absent; echo x >/dev/null && echo null is fine'
        [[ $output == *"not permitted"*"null is fine" ]]
        # Whoever may open it hears from the kernel that there is no driver.
        config '.linux.resources.devices += [{allow: true, type: "c", major: 240, minor: 1, access: "r"}]'
        inside 'cat /dev/absent; echo x >/dev/absent'
        [[ $output == *"No such device"*"not permitted" ]]
}

@test "device rules: the later rule wins, and a node that may be made may not be opened for that" {
        bundle
        config '.process.capabilities |= map_values(. + ["CAP_MKNOD"]) | .linux.resources.devices = [{allow: false, access: "rwm"},
                {allow: true, type: "c", major: 240, access: "rwm"}, {allow: false, type: "c", major: 240, minor: 1, access: "w"}]
                | .mounts |= map(if .destination == "/dev/shm" then .options -= ["nodev"] else . end)'
        inside 'exec 2>&1; cd /dev/shm; mknod one c 240 1; mknod two c 240 2; mknod other c 241 1
                for d in one two other; do cat $d; done; for d in one two other; do echo x >$d; done' 
        succeeded || true
        [ "$(grep -o 'No such device\|not permitted' <<<"$output" | tr '\n' ' ')" = \
                'No such device No such device not permitted not permitted No such device not permitted ' ]
}
