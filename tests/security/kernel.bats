# Traps of the kernel that are nobody's CVE: what user namespaces refuse or let through, and when the runtime needs a copy of itself.
load attack

ONE_ID='.linux.namespaces += [{type: "user"}] | .linux.uidMappings = [{containerID: 1001, hostID: 1001, size: 1}] | .linux.gidMappings = .linux.uidMappings
        | .process.user = {uid: 1001, gid: 1001}'

reachable() {
        chmod a+x "$BATS_RUN_TMPDIR" "$BATS_RUN_TMPDIR/test" "$BATS_TEST_TMPDIR"
}

# Until it has its id, the process is nobody there, and inodes that it made would be too (EOVERFLOW); the other way round it is not
# dumpable when its maps are written.
@test "a user namespace with one id, made by root: the mounts are there, and no groups nor rights are left" {
        bundle sh -c 'id -u; id -G; cut -d" " -f5 /proc/self/mountinfo | grep -xE "/(proc|dev|dev/(pts|shm|mqueue)|sys|sys/fs/cgroup)" | sort -u | wc -l
                grep -E "^Cap(Eff|Prm)" /proc/self/status | uniq -f 1 | cut -f 2; echo x >/dev/shm/file && stat -c %u /dev/shm/file'
        reachable
        config "$ONE_ID | .mounts |= map(if .destination == \"/dev/pts\" then .options -= [\"gid=5\"] else . end)"
        detached setpriv --groups 0,5 timeout 20 "$SAGE_RUNTIME" --root "$ROOT" run --bundle "$BUNDLE" box
        printed $'1001\n1001\n7\n0000000000000000\n1001'
}

@test "a devpts for a group that the user namespace does not have is an error of that mount" {
        bundle
        reachable
        config "$ONE_ID"
        leaves_nothing runtime run --bundle "$BUNDLE" box
        failed 1 'mounts[2].options[5]' gid=5 linux.gidMappings
}

# With nodev nobody could open it; that the mount is read-only would not matter.
@test "devices that are bound in a user namespace can be written to, and carry neither set-user-id bits nor programs" {
        bundle sh -c 'echo x >/dev/null && grep " /dev/null " /proc/self/mounts | cut -d" " -f4'
        reachable
        config "$ONE_ID | .mounts |= map(if .destination == \"/dev/pts\" then .options -= [\"gid=5\"] else . end)"
        detached runtime run --bundle "$BUNDLE" box
        succeeded
        [[ ",$output," == *,nosuid,* && ",$output," == *,noexec,* && ",$output," != *,nodev,* ]] || { echo "$output"; return 1; }
}

# fs/namespace.c, mount_too_revealing(): so it is inside of docker or a pod.
@test "proc cannot be mounted where the host's own is partly covered, and the error says so" {
        bundle
        rootless
        cat >"$BATS_TEST_TMPDIR/covered" <<-'SCRIPT'
		mount -t tmpfs -o ro tmpfs /proc/bus || mount -t tmpfs -o ro tmpfs /proc/fs || exit 9
		exec "$@"
	SCRIPT
        as_user_covered() {
                cp "$BATS_TEST_TMPDIR/covered" /run/sage-cli-user/covered
                unshare -m sh /run/sage-cli-user/covered setpriv --reuid 1001 --regid 1001 --clear-groups "$@"
        }
        rm -rf /run/sage-cli-user
        mkdir /run/sage-cli-user
        cp "$SAGE_RUNTIME" /run/sage-cli-user/sage-runtime
        cp -a "$BUNDLE" /run/sage-cli-user/bundle
        mkdir -m 0700 /run/sage-cli-user/root
        chown -R 1001:1001 /run/sage-cli-user
        cd /run/sage-cli-user
        detached as_user_covered ./sage-runtime --root root --cgroup-manager disabled run --bundle bundle box
        cd /
        rm -r /run/sage-cli-user
        failed 1 'mounts[0]' 'partly covered'
}

# user_namespaces(7): what was mounted below by more privilege may not be uncovered.
@test "an ordinary user's bind of a directory that holds a mount needs rbind, and the error says so" {
        bundle cat /b/sub/file
        rootless '.root.readonly = false | .mounts += [{destination: "/b", type: "bind", source: "/run/sage-cli-held", options: ["bind"]}]'
        mkdir -p /run/sage-cli-held/sub
        mount -t tmpfs tmpfs /run/sage-cli-held/sub
        echo text >/run/sage-cli-held/sub/file
        as_user ./sage-runtime --root root --cgroup-manager disabled run --bundle bundle box
        local first=$status said=$output
        config '.mounts |= map(if .destination == "/b" then .options = ["rbind"] else . end)'
        as_user ./sage-runtime --root root --cgroup-manager disabled run --bundle bundle box
        umount /run/sage-cli-held/sub
        rm -r /run/sage-cli-held
        printed text
        status=$first output=$said
        failed 1 'use rbind'
}

@test "a limit on user namespaces holds inside the container's own" {
        bundle sh -c 'unshare -U true 2>&1; cat /proc/sys/user/max_user_namespaces'
        reachable
        local before
        before=$(</proc/sys/user/max_user_namespaces)
        config '.linux.namespaces += [{type: "user"}] | .linux.uidMappings = [{containerID: 0, hostID: 100000, size: 65536}]
                | .linux.gidMappings = .linux.uidMappings | .linux.sysctl = {"user.max_user_namespaces": "0"}'
        detached runtime run --bundle "$BUNDLE" box
        failed 0 'No space left on device' $'\n0'
        [ "$(</proc/sys/user/max_user_namespaces)" = "$before" ]
}

# libseccomp(3), SCMP_ACT_BADARCH: what the profile does not name gets no call through, not even one that its number would allow.
@test "a call by another architecture's table ends the process" {
        [ "$(uname -m)" = x86_64 ] || skip 'there is one table only'
        bundle
        cat >"$BATS_TEST_TMPDIR/other.c" <<-'C'
		#include <stdlib.h>
		#include <stdio.h>
		#include <sys/syscall.h>
		#include <unistd.h>
		int main(int argc, char **argv) {
		        long result = argc > 1 && argv[1][0] == 'x' ? syscall(0x40000000 | SYS_getpid) : 0;
		        if (argc > 1 && argv[1][0] == 'i')
		                __asm__ volatile("int $0x80" : "=a"(result) : "a"(20L) : "memory"); /* getpid of i386 */
		        printf("went on with %ld\n", result);
		        return 0;
		}
	C
        "${CC:-cc}" -static -O1 -o "$BUNDLE/rootfs/bin/other" "$BATS_TEST_TMPDIR/other.c"
        config '.linux.seccomp = {defaultAction: "SCMP_ACT_ALLOW", architectures: ["SCMP_ARCH_X86_64"], syscalls: [{names: ["chroot"], action: "SCMP_ACT_ERRNO"}]}'
        inside 'other; other i; echo $?; other x; echo $?'
        [[ $output == 'went on with 0'*$'\n159'*$'\n159' && $output != *'went on with 1'* ]] || { echo "$output"; return 1; }
}

# What a container that waits for start shows of the program that made it.
program_of() {
        readlink "/proc/$(state box .pid)/exe"
}

@test "the runtime goes on from a read-only mount of itself only where nobody has made one" {
        bundle sleep 100
        mkdir /run/sage-cli-bin
        cp "$SAGE_RUNTIME" /run/sage-cli-bin/sage-runtime
        SAGE_RUNTIME=/run/sage-cli-bin/sage-runtime
        create box
        [ "$(program_of)" != "$SAGE_RUNTIME" ]
        runtime delete --force box
        mount --bind -o ro /run/sage-cli-bin /run/sage-cli-bin
        create box
        local found
        found=$(program_of)
        runtime delete --force box
        umount /run/sage-cli-bin
        rm -r /run/sage-cli-bin
        [ "$found" = "$SAGE_RUNTIME" ]
}

@test "an ordinary user's runtime goes on from a sealed copy where the program is his, and as it is where it is not" {
        bundle sleep 100
        rootless
        # Not dumpable, so its user cannot read the link: root does, who goes on as that user for the rest.
        cat >"$BATS_TEST_TMPDIR/look" <<-'PYTHON'
		import json, os, subprocess, sys
		mine, = sys.argv[1:]
		os.chown("sage-runtime", *((1001, 1001) if mine == "mine" else (0, 0)))
		user = ["setpriv", "--reuid", "1001", "--regid", "1001", "--clear-groups", "./sage-runtime", "--root", "root", "--cgroup-manager", "disabled"]
		subprocess.run([*user, "create", "--bundle", "bundle", "box"], check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
		print(os.readlink(f"/proc/{json.loads(subprocess.check_output([*user, 'state', 'box']))['pid']}/exe"))
		subprocess.run([*user, "delete", "--force", "box"], check=True)
	PYTHON
        look() {
                rm -rf /run/sage-cli-user
                mkdir /run/sage-cli-user
                cp "$SAGE_RUNTIME" /run/sage-cli-user/sage-runtime
                cp -a "$BUNDLE" /run/sage-cli-user/bundle
                mkdir -m 0700 /run/sage-cli-user/root
                chown -R 1001:1001 /run/sage-cli-user
                cd /run/sage-cli-user
                detached python3 "$BATS_TEST_TMPDIR/look" "$1"
                cd /
                rm -rf /run/sage-cli-user
        }
        look mine
        succeeded
        [[ $output == /memfd:sage-runtime* ]]
        look "root's"
        printed /run/sage-cli-user/sage-runtime
}
