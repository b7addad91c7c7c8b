# update: other resources for a container that lives. What needs a controller is in tests/vm/test_update.py.
load helpers

CGROUP=/sys/fs/cgroup/box

# A running container, for which the kernel lets cgroup.max.* be set without any controller.
limited() {
        bundle sleep 100
        config '.linux.resources.unified = {"cgroup.max.depth": "5", "cgroup.max.descendants": "50"}'
        create box
        start box
}

# update JSON [OPTION]...: sends it on stdin, as containerd does.
update() {
        local json=$1
        shift
        echo "$json" >"$BATS_TEST_TMPDIR/resources.json"
        status=0
        runtime update "$@" --resources - box <"$BATS_TEST_TMPDIR/resources.json" >"$BATS_TEST_TMPDIR/detached" 2>&1 || status=$?
        output=$(<"$BATS_TEST_TMPDIR/detached")
}

limits() {
        echo "$(<"$CGROUP/cgroup.max.depth") $(<"$CGROUP/cgroup.max.descendants")"
}

# What the state directory says is written to the cgroup.
kept() {
        jq -r '.cgroup.writes[] | "\(.file)=\(.value)"' "$ROOT/box/plan.json"
}

@test "resources come from stdin or from a file, and what they do not name stays" {
        limited
        update '{"unified": {"cgroup.max.depth": "7"}}'
        printed ''
        [ "$(limits)" = '7 50' ]
        echo '{"unified": {"cgroup.max.descendants": "70"}}' >"$BATS_TEST_TMPDIR/r.json"
        detached runtime update -r "$BATS_TEST_TMPDIR/r.json" box
        printed ''
        [ "$(limits)" = '7 70' ]
}

@test "the state keeps what is in force now, each file once" {
        limited
        update '{"unified": {"cgroup.max.depth": "7"}}'
        update '{"unified": {"cgroup.max.depth": "8"}}'
        succeeded
        [ "$(kept | sort)" = "$(printf '%s\n' cgroup.max.depth=8 cgroup.max.descendants=50)" ]
        detached runtime exec box true
        succeeded
}

@test "a container that waits for start, and one that is paused, can be updated" {
        bundle sleep 100
        create box
        update '{"unified": {"cgroup.max.depth": "7"}}'
        succeeded
        start box
        runtime pause box
        update '{"unified": {"cgroup.max.depth": "8"}}'
        succeeded
        [ "$(<"$CGROUP/cgroup.max.depth")" = 8 ]
        [ "$(state box .status)" = paused ]
}

@test "a write that the kernel refuses is named, and those before it are taken back" {
        local before
        limited
        before=$(kept)
        update '{"unified": {"cgroup.max.depth": "7", "cgroup.max.descendants": "lots"}}'
        failed 1 'linux.resources.unified["cgroup.max.descendants"]' lots
        [ "$(limits)" = '5 50' ]
        update '{"unified": {"cgroup.max.depth": "7", "cgroup.nonsense": "1"}}'
        failed 1 'linux.resources.unified["cgroup.nonsense"]'
        [ "$(limits)" = '5 50' ]
        [ "$(kept)" = "$before" ]
}

@test "when the state cannot be written the limits are as before" {
        limited
        mkdir "$ROOT/box/.plan.json.new"
        update '{"unified": {"cgroup.max.depth": "7"}}'
        failed 1 plan.json
        rmdir "$ROOT/box/.plan.json.new"
        [ "$(limits)" = '5 50' ]
        [[ $(kept) == *cgroup.max.depth=5* ]]
}

# A container with a node for a device that no driver serves: the rules decide between EPERM and the answer that there is none.
with_device() {
        bundle sleep 1000
        config --args '.linux.devices = [{path: "/dev/odd", type: "c", major: 10, minor: 99}]
                | .linux.resources.devices = ($ARGS.positional[0] | fromjson)' "$1"
        create box
        start box
}

opened() {
        detached runtime exec box sh -c ': <"$0"' "${1:-/dev/odd}"
        [[ $output != *'not permitted'* ]]
}

denied() {
        detached runtime exec box sh -c ': </dev/odd'
        said 'not permitted'
}

programs() {
        "$SAGE_TESTS/cli/device-programs" "$CGROUP"
}

NOTHING='[{"allow": false, "access": "rwm"}]'
ODD='[{"allow": false, "access": "rwm"}, {"allow": true, "type": "c", "major": 10, "minor": 99, "access": "r"}]'
EVERYTHING='[{"allow": true, "access": "rwm"}]'

@test "device rules are exchanged, and a later update that names none keeps them" {
        with_device "$NOTHING"
        denied
        opened /dev/null
        update "{\"devices\": $ODD, \"unified\": {\"cgroup.max.depth\": \"7\"}}"
        printed ''
        opened
        opened /dev/null
        [ "$(<"$CGROUP/cgroup.max.depth")" = 7 ]
        update '{"unified": {"cgroup.max.depth": "8"}}'
        opened
        update "{\"devices\": $NOTHING}"
        printed ''
        denied
        opened /dev/null
        [ "$(programs)" = 1 ]
}

@test "device rules that allow everything take the program away, and others bring it back" {
        with_device "$NOTHING"
        update "{\"devices\": $EVERYTHING}"
        printed ''
        [ "$(programs)" = 0 ]
        opened
        update "{\"devices\": $NOTHING}"
        denied
        [ "$(programs)" = 1 ]
}

@test "the same device rules again are nothing new" {
        local program
        with_device "$ODD"
        program=$("$SAGE_TESTS/cli/device-programs" --ids "$CGROUP")
        update "{\"devices\": $ODD}"
        printed ''
        [ "$("$SAGE_TESTS/cli/device-programs" --ids "$CGROUP")" = "$program" ]
}

@test "when another part of the update fails the device rules stay" {
        with_device "$NOTHING"
        update "{\"devices\": $ODD, \"unified\": {\"cgroup.max.depth\": \"lots\"}}"
        failed 1 cgroup.max.depth
        denied
        # The state that the next update starts from cannot be written: the rules go back.
        mkdir "$ROOT/box/.plan.json.new"
        update "{\"devices\": $ODD}"
        failed 1 plan.json
        rmdir "$ROOT/box/.plan.json.new"
        denied
        [ "$(programs)" = 1 ]
}

@test "while device rules are exchanged there is no moment without any" {
        local tries
        with_device "$NOTHING"
        background "$BATS_TEST_TMPDIR/opens" python3 -c 'if True:
                import errno, os, sys
                with open(sys.argv[1] + "/cgroup.procs", "w") as procs:
                        procs.write("0")
                os.mknod(sys.argv[2], 0o20600, os.makedev(10, 99))
                print("ready", flush=True)
                while not os.path.exists(sys.argv[3]):
                        for _ in range(1000):
                                try:
                                        os.close(os.open(sys.argv[2], os.O_RDONLY))
                                        print("opened")
                                except OSError as error:
                                        if error.errno != errno.EPERM:
                                                print(error)
                ' "$CGROUP" "$BATS_TEST_TMPDIR/odd" "$BATS_TEST_TMPDIR/enough"
        wait_until grep -q ready "$BATS_TEST_TMPDIR/opens"
        for ((tries = 0; tries < 40; tries++)); do
                update '{"devices": [{"allow": false, "access": "rwm"}, {"allow": true, "type": "c", "major": 11, "access": "r"}]}'
                succeeded
                update "{\"devices\": $NOTHING}"
                succeeded
        done
        touch "$BATS_TEST_TMPDIR/enough"
        wait
        [ "$(<"$BATS_TEST_TMPDIR/opens")" = ready ]
}

@test "device rules that are none, and device rules without a cgroup, are refused" {
        with_device "$NOTHING"
        update '{"devices": [{"allow": true, "access": "x"}]}'
        failed 1 'devices[0].access'
        denied
        runtime delete --force box
        detached runtime --cgroup-manager disabled create --bundle "$BUNDLE" box
        update "{\"devices\": $ODD}"
        failed 1 linux.resources.devices 'no cgroup'
}

@test "nothing to change is no error in a file, as engines send it, and one on the command line" {
        limited
        update '{}'
        printed ''
        update '{"cpu": {"shares": 0}, "memory": {"limit": 0}, "blockIO": {"weight": 0}}'
        printed ''
        detached runtime update box
        failed 1 'nothing to update'
        [ "$(limits)" = '5 50' ]
}

@test "values that make no sense, or that cgroup v2 has nothing for, are refused with their names" {
        refused() {
                detached runtime update $1 box
                failed 1 "$2"
        }
        limited
        table refused <<-'ROWS'
		--memory lots => --memory
		--memory -5 => --memory
		--memory 9223372036854775808 => --memory
		--memory 8388608t => --memory
		--pids-limit 1.5 => --pids-limit
		--pids-limit -2 => linux.resources.pids.limit
		--cpu-quota 10 => linux.resources.cpu.quota
		--cpu-period -1 => --cpu-period
		--cpu-idle 2 => linux.resources.cpu.idle
		--blkio-weight 65536 => --blkio-weight
		--blkio-weight 9 => linux.resources.blockIO.weight
		--kernel-memory 5m => linux.resources.memory.kernel
		--kernel-memory-tcp 5m => linux.resources.memory.kernelTCP
		--cpu-rt-runtime 5 => linux.resources.cpu.realtimeRuntime
		--cpu-rt-period 5 => linux.resources.cpu.realtimePeriod
		--l3-cache-schema L3:0=f => --l3-cache-schema
		--mem-bw-schema MB:0=20 => --mem-bw-schema
	ROWS
        update '{"pids": {"limit": "many"}}'
        failed 1 pids.limit
        update 'nonsense'
        failed 1
        detached runtime update --resources "$BATS_TEST_TMPDIR/missing" box
        failed 1 missing
        [ "$(limits)" = '5 50' ]
}

@test "a limit whose controller this host does not have is an error of its field, and nothing is written" {
        limited
        update '{"unified": {"cgroup.max.depth": "7", "nonsense.max": "5"}}'
        failed 1 'linux.resources.unified["nonsense.max"]' 'no nonsense controller'
        [ "$(limits)" = '5 50' ]
}

@test "every option has its effect" {
        vm_only 'update: every option writes its file'
}

@test "a stopped container, one without a cgroup and one that is not there are refused" {
        bundle
        detached runtime --cgroup-manager disabled create --bundle "$BUNDLE" box
        succeeded
        detached runtime update --pids-limit 5 box
        failed 1 'no cgroup'
        start box
        wait_until has_status box stopped
        detached runtime update --pids-limit 5 box
        failed 1 'not running'
        leaves_nothing runtime update --pids-limit 5 nope
        failed 1 'does not exist'
        detached runtime update --pids-limit 5
        failed 1 usage
}
