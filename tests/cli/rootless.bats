# What an ordinary user gets: with and without ranges of subordinate ids, with and without a cgroup of his own. What needs a delegated
# controller is in tests/vm/test_rootless.py; the first steps are in namespaces.bats.
load helpers

HOME_OF_USER=/run/sage-rootless
DELEGATED=/sys/fs/cgroup/delegated

setup() {
        mkdir -m 0700 "$ROOT"
        RESIDUE_BEFORE=$(residue)
        mapfile -t PROCESSES_BEFORE <"$OUR_CGROUP/cgroup.procs"
        bundle sleep 100
        mkdir "$HOME_OF_USER" "$DELEGATED" "$DELEGATED/host"
        cp "$SAGE_RUNTIME" "$HOME_OF_USER/sage-runtime" # as installed: root's
        cp "$BATS_TEST_DIRNAME/terminal" "$HOME_OF_USER/terminal" # the sources may lie in /root, which is closed to him
        cp -a "$BUNDLE" "$HOME_OF_USER/bundle"
        rm -r "$BUNDLE"
        BUNDLE=$HOME_OF_USER/bundle
        chown -R 1001:1001 "$HOME_OF_USER/bundle" "$DELEGATED"
        install -d -m 0700 -o 1001 -g 1001 "$HOME_OF_USER/run" "$HOME_OF_USER/tmp"
        { cat /etc/passwd && echo "someone:x:1001:1001::$HOME_OF_USER:/bin/sh"; } >"$HOME_OF_USER/passwd"
        echo someone:200000:65536 >"$HOME_OF_USER/subids"
        cat >"$HOME_OF_USER/enter" <<-'SCRIPT'
		[ -z "$1" ] || echo $$ >"$1/cgroup.procs" || exit 99
		shift
		cd /run/sage-rootless &&
		mount --bind passwd /etc/passwd && mount --bind subids /etc/subuid && mount --bind subids /etc/subgid || exit 99
		[ ! -e no-helpers ] || mount --bind /dev/null /usr/bin/newuidmap || exit 99
		exec setpriv --reuid 1001 --regid 1001 --clear-groups env -i PATH=/usr/sbin:/usr/bin:/bin "TMPDIR=$PWD/tmp" \
		        "ASAN_OPTIONS=$OF_ASAN" "XDG_RUNTIME_DIR=$XDG" "$@"
	SCRIPT
        XDG=$HOME_OF_USER/run
}

teardown() {
        end_jobs
        for id in box other; do
                user ./sage-runtime delete --force "$id"
        done
        rm -rf "$HOME_OF_USER"
        wait_until find "$DELEGATED" -depth -type d -exec rmdir {} +
        remove_containers
        host_is_as_before
}

# user CMD...: CMD as user 1001, whom passwd calls "someone" and subuid gives 65536 ids, in his home, below whose run his state lies.
user() {
        in_cgroup '' "$@"
}

# delegated CMD...: the same in a cgroup of his own, in a leaf of it as systemd's DelegateSubgroup= makes one.
delegated() {
        in_cgroup "$DELEGATED/host" "$@"
}

in_cgroup() {
        OF_ASAN=${ASAN_OPTIONS-} XDG=$XDG detached timeout --foreground -k 1 30 \
                unshare -m --propagation slave bash "$HOME_OF_USER/enter" "$@"
}

# The bundle for one id, as `spec --rootless` has it, and for the ranges of /etc/subuid as well.
ONE_ID='.linux.namespaces += [{type: "user"}] | .linux.uidMappings = [{containerID: 0, hostID: 1001, size: 1}]
        | .linux.gidMappings = .linux.uidMappings | .linux.resources = {}
        | .mounts |= map(if .destination == "/dev/pts" then .options -= ["gid=5"] else . end)'
MANY_IDS='.linux.namespaces += [{type: "user"}] | .linux.resources = {}
        | .linux.uidMappings = [{containerID: 0, hostID: 1001, size: 1}, {containerID: 1, hostID: 200000, size: 65536}]
        | .linux.gidMappings = .linux.uidMappings'

started() {
        "$@" ./sage-runtime create --bundle bundle box
        succeeded && "$@" ./sage-runtime start box
        succeeded
}

status_of() {
        user ./sage-runtime state "$1"
        jq -r .status <<<"$output"
}

is() {
        [ "$(status_of "$1")" = "$2" ]
}

@test "one id and no cgroup: a container's life, with every way into it" {
        config "$ONE_ID | .process.oomScoreAdj = 300"
        started user
        user ./sage-runtime exec box sh -c 'id -u; cat /proc/self/setgroups; cat /proc/1/oom_score_adj /proc/self/oom_score_adj'
        printed $'0\ndeny\n300\n300'
        user ./sage-runtime exec --user 0:0 --cwd /tmp box pwd
        printed /tmp
        echo '{"args": ["id", "-g"], "cwd": "/", "user": {"uid": 0, "gid": 0}}' >"$HOME_OF_USER/process.json"
        user ./sage-runtime exec --process process.json box
        printed 0
        user ./terminal -- ./sage-runtime exec -t box tty
        succeeded
        said /dev/pts/0
        user ./sage-runtime kill box KILL
        succeeded
        wait_until is box stopped
        user ./sage-runtime delete box
        printed ''
        [ -z "$(ls -A "$HOME_OF_USER/run/sage-runtime")" ]
}

@test "ranges of subordinate ids: other users and groups, and his signals reach them" {
        config "$MANY_IDS"' | .process.user = {uid: 5, gid: 6, additionalGids: [7]}
                | .process.args = ["sh", "-c", "id; trap \"exit 3\" TERM; while :; do sleep 0.05; done"]'
        user ./sage-runtime create --bundle bundle box
        succeeded
        user ./sage-runtime start box
        user ./sage-runtime exec --user 8:9 box id
        printed 'uid=8 gid=9 groups=7'
        wait_until grep -q SigCgt:.*4 "/proc/$(user ./sage-runtime state box; jq .pid <<<"$output")/status"
        user ./sage-runtime kill box TERM
        succeeded
        wait_until is box stopped
        user ./sage-runtime run --bundle bundle --pid-file tmp/pid other &
        wait_until [ -s "$HOME_OF_USER/tmp/pid" ]
        [ "$(stat -c %u:%g "/proc/$(<"$HOME_OF_USER/tmp/pid")")" = 200004:200005 ]
        wait_until grep -q 'Groups:.*200006' "/proc/$(<"$HOME_OF_USER/tmp/pid")/status"
}

@test "without a cgroup its pid namespace tells a container's processes: ps, kill --all, delete --force" {
        config "$ONE_ID"' | .process.capabilities |= map_values(. + ["CAP_SYS_ADMIN"])'
        started user
        user ./sage-runtime exec --detach --pid-file tmp/pid box sleep 100
        user ./sage-runtime exec --detach --pid-file tmp/nested box unshare -p -f sleep 100
        local init sleeper
        init=$(user ./sage-runtime state box; jq .pid <<<"$output")
        sleeper=$(<"$HOME_OF_USER/tmp/pid")
        four() {
                user ./sage-runtime ps --format json box
                jq -e --argjson pids "[$init, $sleeper, $(<"$HOME_OF_USER/tmp/nested")]" 'length == 4 and ($pids - .) == []' <<<"$output"
        }
        wait_until four
        user ./sage-runtime ps box -eo pid,comm
        [ "$(grep -c sleep <<<"$output")" -eq 3 ] # process 1, one that exec made, one in a namespace further down

        # TERM ends what is not process 1 of its namespace, which has no handler for it.
        user ./sage-runtime kill --all box TERM
        succeeded
        wait_until has_ended "$sleeper"
        is box running

        user ./sage-runtime exec --detach --pid-file tmp/pid box sleep 100
        user ./sage-runtime delete --force box
        printed ''
        wait_until has_ended "$(<"$HOME_OF_USER/tmp/pid")"
        wait_until has_ended "$init"
}

@test "kill --all KILL without a cgroup leaves nobody" {
        config "$MANY_IDS"
        started user
        user ./sage-runtime exec --detach --user 7 --pid-file tmp/pid box sleep 100
        user ./sage-runtime kill --all box KILL
        succeeded
        wait_until has_ended "$(<"$HOME_OF_USER/tmp/pid")"
        wait_until is box stopped
        user ./sage-runtime ps --format json box
        printed '[]'
        user ./sage-runtime kill --all box KILL
        failed 1 'container not running'
}

@test "with neither a cgroup nor a pid namespace nobody can tell a container's processes, and that is said" {
        config "$ONE_ID"' | .linux.namespaces |= map(select(.type != "pid")) | .mounts |= map(select(.type != "proc"))
                | .linux.maskedPaths = [] | .linux.readonlyPaths = []'
        user ./sage-runtime create --bundle bundle box
        succeeded
        said 'warning: linux.namespaces'
        user ./sage-runtime ps box
        failed 1 'neither a cgroup nor a pid namespace'
        user ./sage-runtime kill --all box KILL
        failed 1 'neither a cgroup nor a pid namespace'
        user ./sage-runtime kill box KILL
        succeeded
}

@test "a delegated cgroup: pause, resume, ps, update, and it goes with the container" {
        config "$MANY_IDS"
        started delegated
        [ -d "$DELEGATED/box" ]
        [ "$(stat -c %u "$DELEGATED/box")" = 1001 ]
        delegated ./sage-runtime exec --detach --user 7 --pid-file tmp/pid box sleep 100
        delegated ./sage-runtime ps box
        [ "$(wc -l <<<"$output")" -eq 3 ]
        delegated ./sage-runtime pause box
        succeeded
        is box paused
        delegated ./sage-runtime resume box
        succeeded
        is box running
        echo '{"unified": {"cgroup.max.depth": "4"}}' >"$HOME_OF_USER/resources.json"
        delegated ./sage-runtime update --resources resources.json box
        succeeded
        [ "$(<"$DELEGATED/box/cgroup.max.depth")" = 4 ]
        delegated ./sage-runtime kill --all box KILL
        wait_until has_ended "$(<"$HOME_OF_USER/tmp/pid")"
        wait_until is box stopped
        delegated ./sage-runtime delete box
        printed ''
        [ ! -d "$DELEGATED/box" ]
}

@test "a cgroup elsewhere than in what is delegated is done without, and said so" {
        config "$ONE_ID"' | .linux.cgroupsPath = "/elsewhere/box"'
        arguments cat /proc/self/cgroup
        delegated ./sage-runtime run --bundle bundle box
        succeeded
        said 'linux.cgroupsPath: /elsewhere/box'
        [ ! -e /sys/fs/cgroup/elsewhere ]
        config '.linux.cgroupsPath = "/delegated/deep/box"'
        delegated ./sage-runtime run --bundle bundle box
        succeeded
        [ ! -e "$DELEGATED/deep" ]
        [[ $output != *warning* ]]
}

# refuses WHO RESOURCES FIELD TEXT and accepts WHO RESOURCES
refuses() {
        config "$ONE_ID | .process.args = [\"true\"] | .linux.resources = $2 | .linux.namespaces |= unique"
        "$1" ./sage-runtime run --bundle bundle box
        failed 1 "$3" "$4" && [ ! -e "$HOME_OF_USER/run/sage-runtime/box" ]
}

accepts() {
        config "$ONE_ID | .process.args = [\"true\"] | .linux.resources = $2 | .linux.namespaces |= unique"
        "$1" ./sage-runtime run --bundle bundle box
        printed ''
}

@test "a limit that cannot be had is refused by its field, with what to do about it" {
        table refuses <<-'ROWS'
		user => {pids: {limit: 5}} => linux.resources.pids.limit => Delegate=yes
		user => {memory: {limit: -1}, cpu: {shares: 512}} => linux.resources.cpu.shares => Delegate=yes
		user => {unified: {"cgroup.max.depth": "3"}} => linux.resources.unified["cgroup.max.depth"] => Delegate=yes
		delegated => {pids: {limit: 5}} => linux.resources.pids.limit => Delegate=cpu
		delegated => {memory: {limit: 1048576}} => linux.resources.memory.limit => Delegate=cpu
	ROWS
}

@test "no limit is no request, whether or not there is anything to limit it with" {
        table accepts <<-'ROWS'
		user => {}
		user => {pids: {limit: -1}, memory: {limit: -1, swap: -1, reservation: 0}, cpu: {quota: -1, period: 50000, idle: 0, burst: 0}}
		user => {devices: [{allow: false, access: "rwm"}], blockIO: {weight: 0}, unified: {"memory.high": "max"}}
		user => {blockIO: {throttleReadBpsDevice: [{major: 8, minor: 0, rate: 0}]}}
		delegated => {pids: {limit: -1}, memory: {limit: -1, swap: -1, reservation: 0}, cpu: {quota: -1, period: 50000, idle: 0, burst: 0}}
		delegated => {devices: [{allow: false, access: "rwm"}], blockIO: {weight: 0}, unified: {"memory.high": "max"}}
		delegated => {blockIO: {throttleReadBpsDevice: [{major: 8, minor: 0, rate: 0}]}}
	ROWS
}

@test "update without a cgroup: no limit passes, a limit is refused" {
        config "$ONE_ID"
        started user
        user ./sage-runtime update --pids-limit -1 --memory -1 --memory-swap -1 --cpu-quota -1 box
        printed ''
        user ./sage-runtime update --pids-limit -1 --memory 64m box
        failed 1 linux.resources.memory.limit 'no cgroup'
}

@test "the state lies below XDG_RUNTIME_DIR, where cleaners leave it alone" {
        config "$ONE_ID"
        started user
        [ "$(stat -c %a "$HOME_OF_USER/run/sage-runtime")" = 1700 ]
        [ "$(stat -c %a "$HOME_OF_USER/run/sage-runtime/box/status.json")" = 1600 ]
        [ "$(stat -c %a "$HOME_OF_USER/run/sage-runtime/box/plan.json")" = 1600 ]
}

@test "without XDG_RUNTIME_DIR the session's directory is found, and without that the user is told" {
        config "$ONE_ID"
        arguments sh -c 'echo in'
        XDG=''
        user ./sage-runtime run --bundle bundle box
        failed 1 XDG_RUNTIME_DIR --root
        user ./sage-runtime list --quiet
        printed ''
        mkdir -p /run/user
        install -d -m 0700 -o 1001 -g 1001 /run/user/1001
        user ./sage-runtime run --bundle bundle box
        printed in
        [ -d /run/user/1001/sage-runtime ]
        rm -r /run/user
        user ./sage-runtime --root "$HOME_OF_USER/run/here" run --bundle bundle box
        printed in
}

@test "uid 0 of a user namespace, as rootless engines are, is an ordinary user" {
        cat >"$HOME_OF_USER/as-root" <<-'SCRIPT'
		unshare -U sh -c 'until [ "$(id -u)" = 0 ]; do sleep 0.05; done; exec "$@"' sh "$@" &
		until newuidmap $! 0 1001 1 1 200000 65536; do sleep 0.05; done 2>/dev/null
		newgidmap $! 0 1001 1 1 200000 65536 && wait $!
	SCRIPT
        config '.linux.resources = {devices: [{allow: false, access: "rwm"}]} | .process.user = {uid: 7, gid: 8, additionalGids: [5]}'
        arguments sh -c 'id; echo x >/dev/null && echo written'
        user sh as-root ./sage-runtime run --bundle bundle box
        printed $'uid=7 gid=8 groups=5\nwritten'
        [ -d "$HOME_OF_USER/run/sage-runtime" ]
        config '.linux.resources.pids = {limit: 5}'
        user sh as-root ./sage-runtime run --bundle bundle box
        failed 1 linux.resources.pids.limit 'not delegated'
        config 'del(.linux.resources)'
        arguments sh -c 'cat /proc/self/cgroup'
        delegated sh as-root ./sage-runtime run --bundle bundle box
        succeeded
}

@test "hooks run as the user outside and as the container's root inside, on a path of every kind" {
        config "$ONE_ID"' | .process.args = ["true"] | .hooks = {
                createRuntime: [{path: "/bin/sh", args: ["sh", "-c", "id -u; cat >hook.json"]}],
                createContainer: [{path: "/bin/sh", args: ["sh", "-c", "id -u"]}],
                startContainer: [{path: "/bin/sh", args: ["sh", "-c", "id -g"]}],
                poststart: [{path: "/bin/echo", args: ["echo", "started"]}],
                poststop: [{path: "/bin/echo", args: ["echo", "stopped"]}]}'
        user ./sage-runtime run --bundle bundle box
        printed $'1001\n0\n0\nstarted\nstopped'
        jq -e '.owner == "1001"' "$BUNDLE/hook.json"
}

# ids FILTER TEXT...: the bundle with FILTER is refused and each TEXT is said.
ids() {
        config "$MANY_IDS | $1 | .linux.namespaces |= unique"
        user ./sage-runtime run --bundle bundle box
        failed 1 "${@:2}" && [ ! -e "$HOME_OF_USER/run/sage-runtime/box" ]
}

@test "ids that are not his, helpers that are not there, groups that cannot be had: each with its remedy" {
        table ids <<-'ROWS'
		.linux.uidMappings[1].hostID = 5000 => /etc/subuid => 5000 to 70535 => usermod --add-subuids
		.linux.gidMappings[1].size = 70000 => /etc/subgid => usermod
		.linux.namespaces |= map(select(.type != "user")) | del(.linux.uidMappings, .linux.gidMappings) => CAP_SYS_ADMIN => spec --rootless
		.linux.uidMappings |= .[:1] | .linux.gidMappings |= .[:1] | .process.user.additionalGids = [0] | .mounts[2].options -= ["gid=5"] => additionalGids => /etc/subgid
	ROWS
        touch "$HOME_OF_USER/no-helpers"
        ids . newuidmap uidmap
}
