# What a service manager or an engine hands over and waits for: LISTEN_FDS, NOTIFY_SOCKET, --pidfd-socket.
load helpers

SAID=$BATS_TEST_TMPDIR/said

# listening [VARIABLE]... -- ARGUMENT...: the runtime as socket activation starts it, with /etc/hostname for a socket as descriptor 3.
listening() {
        local variables=()
        while [ "$1" != -- ]; do
                variables+=("$1")
                shift
        done
        shift
        env "${variables[@]}" timeout 20 "$SAGE_RUNTIME" --root "$ROOT" "$@" 3</etc/hostname 4</etc/passwd
}

# manager [SOCKET] [OPTION]: a service manager whose messages end up in $SAID.
manager() {
        local socket=${1:-$BATS_TEST_TMPDIR/manager}
        shift || true
        background /dev/null "$BATS_TEST_DIRNAME/service-manager" "$socket" "$SAID" "$@"
        wait_until grep -q listening "$SAID"
}

# notify ID TEXT: what the program of container ID would send to its NOTIFY_SOCKET.
notify() {
        python3 - "/proc/$(state "$1" .pid)/root/run/notify/notify.sock" "$2" <<-'PYTHON'
		import os, socket, sys
		with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as program:
		    read, write = os.pipe()
		    text = sys.argv[2].encode().decode("unicode_escape").encode()
		    program.connect(sys.argv[1])
		    socket.send_fds(program, [text], [write] if b"BARRIER" in text else [])
		    os.close(write)
		    if b"BARRIER" in text:
		        os.read(read, 1)
		        print("barrier passed")
	PYTHON
}

with_manager() {
        NOTIFY_SOCKET=${SOCKET:-$BATS_TEST_TMPDIR/manager} runtime "$@"
}

finish() {
        touch "$SAID.end"
}

@test "descriptors of LISTEN_FDS are kept, and the program is told in its own terms" {
        bundle sh -c 'cat <&3; [ ! -e /proc/self/fd/4 ] && echo no more; env | grep ^LISTEN | sort; echo $$'
        detached listening LISTEN_FDS=1 LISTEN_FDNAMES=web -- run --bundle "$BUNDLE" box
        printed "$(cat /etc/hostname)"$'\nno more\nLISTEN_FDNAMES=web\nLISTEN_FDS=1\nLISTEN_PID=1\n1'
}

@test "--preserve-fds counts behind LISTEN_FDS" {
        bundle sh -c 'head -c 4 <&4; [ ! -e /proc/self/fd/5 ] && echo no more; env | grep ^LISTEN_FDS'
        detached listening LISTEN_FDS=1 -- run --preserve-fds 1 --bundle "$BUNDLE" box
        printed $'rootno more\nLISTEN_FDS=1'
}

@test "LISTEN_PID of another process means that the descriptors are not for us" {
        bundle sh -c '[ ! -e /proc/self/fd/3 ] && echo none; env | grep ^LISTEN || true'
        detached listening LISTEN_FDS=1 LISTEN_PID=1 -- run --bundle "$BUNDLE" box
        printed none
}

@test "a bundle that speaks of LISTEN_FDS itself has the last word" {
        bundle sh -c 'env | grep ^LISTEN | sort'
        config '.process.env += ["LISTEN_FDS=7", "LISTEN_PID=8"]'
        detached listening LISTEN_FDS=1 -- run --bundle "$BUNDLE" box
        printed $'LISTEN_FDS=7\nLISTEN_PID=8'
}

@test "LISTEN_FDS for more descriptors than are open gives away none of ours" {
        bundle sh -c 'ls -l /proc/self/fd'
        detached listening LISTEN_FDS=40 -- run --bundle "$BUNDLE" box
        succeeded
        [[ $output != *sage-cli* && $output != *cgroup* && $output != *socket:* ]] || { echo "$output"; return 1; }
}

@test "what is no number of descriptors is none" {
        bundle sh -c 'env | grep ^LISTEN; [ ! -e /proc/self/fd/3 ] && echo none'
        listen() {
                detached listening "LISTEN_FDS=$1" -- run --bundle "$BUNDLE" box
                printed none
        }
        table listen <<-'ROWS'
		0
		-1
		1x
		99999999999999999999
	ROWS
}

@test "exec hands over descriptors of LISTEN_FDS too, with its pid inside" {
        bundle sleep 100
        create box
        start box
        detached listening LISTEN_FDS=1 -- exec box sh -c 'cat <&3; echo $LISTEN_FDS; [ "$LISTEN_PID" = $$ ] && echo mine'
        printed "$(cat /etc/hostname)"$'\n1\nmine'
        runtime delete --force box
        config '.process.capabilities |= map_values(. + ["CAP_SYS_PTRACE"])' # exec takes an usher
        create box
        start box
        detached listening LISTEN_FDS=1 -- exec box sh -c 'cat <&3; echo $LISTEN_FDS; [ "$LISTEN_PID" = $$ ] && echo mine'
        printed "$(cat /etc/hostname)"$'\n1\nmine'
}

@test "start stays until the program says READY=1, and tells the service manager the pid on the host" {
        local pid started
        manager
        bundle sh -c 'echo $NOTIFY_SOCKET >/dev/shm/told; exec sleep 100'
        detached with_manager create --bundle "$BUNDLE" box
        succeeded
        pid=$(state box .pid)
        background "$BATS_TEST_TMPDIR/start" env "NOTIFY_SOCKET=$BATS_TEST_TMPDIR/manager" "$SAGE_RUNTIME" --root "$ROOT" start box
        started=$!
        wait_until has_status box running
        wait_until grep -qx /run/notify/notify.sock "/proc/$pid/root/dev/shm/told"
        notify box 'STATUS=half way'
        wait_until grep -qx 'STATUS=half way' "$SAID"
        kill -0 "$started"
        notify box 'READY=1\nMAINPID=1\nNOTIFYACCESS=all\nFDSTORE=1\nWATCHDOG=trigger\nSTATUS=up'
        wait "$started"
        finish
        [ "$(tail -n +2 "$SAID")" = "STATUS=half way"$'\n'"READY=1 STATUS=up MAINPID=$pid"$'\nBARRIER=1' ] || { cat "$SAID"; return 1; }
}

@test "start does not stay for a program that ends without a word" {
        manager
        bundle true
        detached with_manager create --bundle "$BUNDLE" box
        detached with_manager start box
        succeeded
        finish
        [ "$(cat "$SAID")" = listening ]
}

@test "run in the foreground passes on what the program says all its life, and answers its barriers" {
        manager
        bundle sleep 100
        background "$BATS_TEST_TMPDIR/run" env "NOTIFY_SOCKET=$BATS_TEST_TMPDIR/manager" "$SAGE_RUNTIME" --root "$ROOT" run --bundle "$BUNDLE" box
        wait_until has_status box running
        notify box 'READY=1'
        [ "$(notify box 'BARRIER=1')" = 'barrier passed' ]
        notify box 'WATCHDOG=1'
        notify box 'STOPPING=1'
        wait_until grep -qx STOPPING=1 "$SAID"
        finish
        [ "$(tail -n +2 "$SAID" | tr '\n' ' ')" = 'READY=1 WATCHDOG=1 STOPPING=1 ' ] || { cat "$SAID"; return 1; }
        runtime kill box KILL
        wait_until test ! -e "$ROOT/box"
}

@test "what comes with a message cannot keep the runtime from its signals: closing it is not its work" {
        ip link set lo up
        bundle sh -c 'trap "exit 7" TERM; while :; do sleep 0.1; done'
        manager
        NOTIFY_SOCKET=$BATS_TEST_TMPDIR/manager background "$BATS_TEST_TMPDIR/run" "$SAGE_RUNTIME" --root "$ROOT" run --bundle "$BUNDLE" box
        RUN=$!
        wait_until has_status box running
        wait_until test -S "/proc/$(state box .pid)/root/run/notify/notify.sock"
        kill -STOP "$RUN" # so that the descriptor in the message is the last
        python3 - 3>&- >"$BATS_TEST_TMPDIR/lingerer" "/proc/$(state box .pid)/root/run/notify/notify.sock" <<-'PYTHON' &
		import socket, struct, sys, time
		listener = socket.create_server(("127.0.0.1", 0))
		listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
		sender = socket.create_connection(listener.getsockname())
		receiver, _ = listener.accept()
		sender.setblocking(False)
		try:
		    while True:
		        sender.send(b"x" * 65536)
		except BlockingIOError:
		    pass
		sender.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 15))
		with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as program:
		    program.connect(sys.argv[1])
		    socket.send_fds(program, [b"STATUS=lingers"], [sender.fileno()])
		sender.close()
		print("sent", flush=True)
		time.sleep(15)
	PYTHON
        LINGERER=$!
        wait_until grep -q sent "$BATS_TEST_TMPDIR/lingerer"
        kill -CONT "$RUN"
        wait_until grep -q lingers "$SAID"
        sleep 0.2
        kill -TERM "$RUN"
        detached timeout 5 tail --pid="$RUN" -f /dev/null
        succeeded
        status=0
        wait "$RUN" || status=$?
        [ "$status" -eq 7 ]
        kill "$LINGERER"
        finish
}

@test "a container with CAP_SYS_ADMIN that may write where its notify socket is finds no room there, and none of the host's" {
        bundle sh -c 'mount -o remount,rw,bind /run/notify && cd /run/notify || exit
                mkdir d && echo a directory
                rm notify.sock && echo removed
                dd if=/dev/zero of=f bs=65536 count=2 && echo a file' # the inode of the socket is still in use
        config '.process.capabilities |= map_values(. + ["CAP_SYS_ADMIN"])'
        manager
        detached with_manager run --bundle "$BUNDLE" box
        [[ $output == *"No space left"*removed* ]]
        [[ $output != *"a directory"* && $output != *"a file"* ]]
        detached with_manager create --bundle "$BUNDLE" box
        succeeded
        [ "$(ls -A "$ROOT/box")" = $'plan.json\nstart\nstatus.json' ]
        [ "$(grep -c notify /proc/self/mounts)" = 0 ]
        finish
}

@test "of a notify socket nothing is left by a runtime that is killed, or by one that nobody starts" {
        manager
        bundle sleep 100
        background "$BATS_TEST_TMPDIR/run" env "NOTIFY_SOCKET=$BATS_TEST_TMPDIR/manager" "$SAGE_RUNTIME" --root "$ROOT" run --bundle "$BUNDLE" box
        wait_until has_status box running
        kill -KILL $!
        runtime delete --force box
        [ ! -e "$ROOT/box" ]
        detached with_manager create --bundle "$BUNDLE" box
        succeeded
        runtime delete --force box
        [ ! -e "$ROOT/box" ]
        finish
}

@test "start without a service manager starts what was created with one; what the program says is nobody's" {
        manager
        bundle sleep 100
        detached with_manager create --bundle "$BUNDLE" box
        succeeded
        start box
        [ -S "/proc/$(state box .pid)/root/run/notify/notify.sock" ]
        ! notify box 'READY=1' 2>/dev/null || false
        finish
}

@test "run --detach returns when the program is ready; an abstract socket of the service manager works" {
        SOCKET=@sage-cli-$$
        manager "$SOCKET"
        bundle sleep 100
        background "$BATS_TEST_TMPDIR/run" env "NOTIFY_SOCKET=$SOCKET" "$SAGE_RUNTIME" --root "$ROOT" run --detach --bundle "$BUNDLE" box
        wait_until has_status box running
        notify box 'READY=1'
        wait $!
        finish
        grep -qx "READY=1 MAINPID=$(state box .pid)" "$SAID"
}

@test "a service manager that answers no barrier delays start by some seconds only" {
        manager "$BATS_TEST_TMPDIR/manager" --deaf
        bundle sleep 100
        background "$BATS_TEST_TMPDIR/run" env "NOTIFY_SOCKET=$BATS_TEST_TMPDIR/manager" "$SAGE_RUNTIME" --root "$ROOT" run -d --bundle "$BUNDLE" box
        wait_until has_status box running
        notify box 'READY=1'
        wait $!
        finish
}

@test "a bundle with a NOTIFY_SOCKET of its own keeps it, and nothing is mounted" {
        manager
        bundle sh -c 'echo $NOTIFY_SOCKET; ls -d /run/notify 2>/dev/null || echo none'
        config '.process.env += ["NOTIFY_SOCKET=/mine"]'
        detached with_manager run --bundle "$BUNDLE" box
        finish
        printed $'/mine\nnone'
}

@test "a service manager that is not there is an error, and nothing is left" {
        bundle true
        leaves_nothing with_manager run --bundle "$BUNDLE" box
        failed 1 NOTIFY_SOCKET "$BATS_TEST_TMPDIR/manager"
}

@test "in a user namespace the program can reach its notify socket" {
        manager
        bundle sleep 100
        config '.linux.namespaces += [{type: "user"}]
                | .linux.uidMappings = [{containerID: 0, hostID: 100000, size: 65536}] | .linux.gidMappings = .linux.uidMappings'
        chown -R 100000:100000 "$BUNDLE/rootfs"
        chmod 755 "$BATS_RUN_TMPDIR" "$BATS_TEST_TMPDIR" "$BUNDLE"
        detached with_manager create --bundle "$BUNDLE" box
        succeeded
        detached runtime exec box sh -c 'ls -ld /run/notify | cut -c1-10; touch /run/notify/f'
        failed 1 drwxr-xr-x Read-only
        background "$BATS_TEST_TMPDIR/start" env "NOTIFY_SOCKET=$BATS_TEST_TMPDIR/manager" "$SAGE_RUNTIME" --root "$ROOT" start box
        notify box 'READY=1'
        wait $!
        finish
        grep -q '^READY=1 MAINPID' "$SAID"
}

# pidfd_of COMMAND...: what the engine behind --pidfd-socket received.
pidfd_of() {
        background "$SAID" "$BATS_TEST_DIRNAME/receive-pidfd" "$BATS_TEST_TMPDIR/pidfd"
        local receiver=$!
        wait_until test -S "$BATS_TEST_TMPDIR/pidfd"
        detached "$@"
        succeeded
        wait "$receiver"
        rm "$BATS_TEST_TMPDIR/pidfd"
}

@test "--pidfd-socket gets a pidfd of the container's process, and of exec's" {
        bundle sleep 100
        pidfd_of runtime create --pidfd-socket "$BATS_TEST_TMPDIR/pidfd" --bundle "$BUNDLE" box
        [ "$(cat "$SAID")" = "standard pid $(state box .pid)" ]
        start box
        pidfd_of runtime exec --detach --pid-file "$BATS_TEST_TMPDIR/pid" --pidfd-socket "$BATS_TEST_TMPDIR/pidfd" box sleep 100
        [ "$(cat "$SAID")" = "setns pid $(cat "$BATS_TEST_TMPDIR/pid")" ]
        pidfd_of runtime run --detach --pidfd-socket "$BATS_TEST_TMPDIR/pidfd" --bundle "$BUNDLE" another
        [ "$(cat "$SAID")" = "standard pid $(state another .pid)" ]
}

@test "run.oci.pidfd_receiver names such a socket in the bundle" {
        bundle sleep 100
        config --args '.annotations["run.oci.pidfd_receiver"] = $ARGS.positional[0]' "$BATS_TEST_TMPDIR/pidfd"
        pidfd_of runtime create --bundle "$BUNDLE" box
        [ "$(cat "$SAID")" = "standard pid $(state box .pid)" ]
}

@test "a pidfd socket that nobody listens on fails create and exec, and nothing is left" {
        bundle sleep 100
        leaves_nothing runtime create --pidfd-socket "$BATS_TEST_TMPDIR/none" --bundle "$BUNDLE" box
        failed 1 --pidfd-socket "$BATS_TEST_TMPDIR/none"
        create box
        start box
        detached runtime exec --pidfd-socket "$BATS_TEST_TMPDIR/none" box sleep 100
        failed 255 --pidfd-socket
        detached runtime exec box sh -c 'ps | grep -c "[s]leep"'
        printed 1
}
