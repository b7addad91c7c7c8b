# The other side of the payload filter: what people run in sandboxes works under it, offline and online, and in a strict sandbox as it is.
# docs/security.md tells what does not.
#
# A tool that this machine has not is named on a line of its own, and its test passes: these are tests of the filter, not of the machine.
load attack

# In the workspace of a strict sandbox.
workplace() {
        make -s -C "$SAGE_BUILD" tests/security/escape/filtered >/dev/null
        strict
        cd "$WORKSPACE" || return
}

# under FILTER SCRIPT: bash runs SCRIPT under the filter and nothing else of a sandbox. Sets $status and $output; what it says is in ../said.
under() {
        status=0
        output=$(HOME=$BATS_TEST_TMPDIR timeout -k 1 100 "$SAGE_BUILD/tests/security/escape/filtered" "$1" bash -euo pipefail -c "$2" 2>../said </dev/null 3>&-) || status=$?
}

# in_sandbox SCRIPT: the same as the sandbox's user, in one, with what the system's directories have.
in_sandbox() {
        chown -R 1001:1001 "$WORKSPACE"
        arguments /bin/bash -euo pipefail -c "$1"
        status=0
        output=$(timeout -k 1 100 "$SAGE_RUNTIME" --root "$ROOT" run --bundle "$BUNDLE" box 2>../said </dev/null 3>&-) || status=$?
}

# works TEXT SCRIPT: SCRIPT succeeds and prints TEXT, a pattern, under either filter of a strict sandbox and in one.
works() {
        local where
        for where in 'under strict-none' 'under strict-network' in_sandbox; do
                $where "$2"
                # shellcheck disable=SC2053 # a pattern
                [ "$status" -eq 0 ] && [[ "$output" == $1 ]] || {
                        printf '%s: exit status %s\n%s\n' "$where" "$status" "$output"
                        tail -n 20 ../said
                        return 1
                }
        done
}

# here TOOL...: does this machine have them all?
here() {
        local tool
        for tool; do
                command -v "$tool" >/dev/null || {
                        echo "# not on this machine: $tool" >&3
                        return 1
                }
        done
}

@test "bash: pipelines, substitutions, coprocesses, jobs and limits work under the payload filter" {
        workplace
        works $'B\nhi\nended\n100\nnice' 'x=$(echo a | tr a B); cat <(echo "$x"); coproc cat; echo hi >&"${COPROC[1]}"; read -r line <&"${COPROC[0]}"; echo "$line"
                (exit 0) & wait $! && echo ended; ulimit -n 100; ulimit -n; nice -n 3 ionice -c 3 taskset -c 0 setarch -R chrt -b 0 echo nice'
}

@test "Python: subprocess, asyncio and multiprocessing work under the payload filter" {
        workplace
        cp "$SAGE_TESTS/security/tools.py" .
        works $'subprocess works too\nasyncio exec\nasyncio shell 3\nasyncio thread 4\n'$'multiprocessing pipe told\nmultiprocessing pool [[]1, 4, 9]\n'$(
        )$'futures [[]1, 4, 9]\nmultiprocessing queue queued\nmultiprocessing spawn\nlock 3\nshared memory True\nthread\nUnix sockets refused' \
                'python3 tools.py'
}

@test "gcc and make work under the payload filter" {
        workplace
        cat >program.c <<-'C'
		#include <pthread.h>
		#include <stdio.h>
		static void *run(void *text) { puts(text); return NULL; }
		int main(void) { pthread_t t; return pthread_create(&t, NULL, run, "built") || pthread_join(t, NULL); }
	C
        printf 'all: program library.so\n\t@./program\nprogram: program.c\n\t@$(CC) -pipe -O2 -flto $< -o $@ -lpthread\nlibrary.so: program.c\n\t@$(CC) -shared -fPIC $< -o $@\n' >Makefile
        works built 'make -s -B -j4'
}

@test "git works under the payload filter" {
        here git || return 0
        workplace
        works $'first\nfirst\nsecond' 'rm -rf one two three; export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
                git init -q one; cd one; echo 1 >file; git add file; git commit -qm first; echo 2 >file; git diff | cat >/dev/null; git stash -q; git stash pop -q
                git gc -q; git fsck >/dev/null 2>&1; git clone -q . ../two; git -C ../two log --format=%s; git worktree add -q ../three; git commit -qam second
                git -C ../two pull -q; git -C ../two log --reverse --format=%s'
}

@test "Node: child processes, workers and file watching work under the payload filter" {
        here node || return 0
        workplace
        cat >program.js <<-'JS'
		const { execFileSync, exec, spawn, fork } = require('child_process'), fs = require('fs');
		const { Worker, isMainThread, parentPort } = require('worker_threads'), { once } = require('events');
		async function main() {
		        console.log('sync', execFileSync('echo', ['works']).toString().trim());
		        console.log('exec', await new Promise((done, bad) => exec('echo works | cat', (e, out) => e ? bad(e) : done(out.trim()))));
		        const child = spawn('cat'); child.stdin.end('works');
		        console.log('spawn', (await once(child.stdout, 'data')).toString());
		        const forked = fork(__filename, ['child']);
		        console.log('fork', (await once(forked, 'message'))[0]); forked.disconnect();
		        console.log('worker', (await once(new Worker(__filename), 'message'))[0]);
		        const watcher = fs.watch('.'), seen = once(watcher, 'change'); fs.writeFileSync('seen', ''); await seen; watcher.close();
		        console.log('watch works');
		        require('net').createServer().on('error', e => console.log('listen', e.code)).listen(0);
		}
		if (!isMainThread) parentPort.postMessage('works'); else if (process.argv[2]) process.send('works'); else main();
	JS
        works $'sync works\nexec works\nspawn works\nfork works\nworker works\nwatch works\nlisten EPERM' 'node program.js'
}

@test "npm works under the payload filter" {
        here node npm || return 0
        workplace
        mkdir one two
        echo '{"name": "one", "version": "1.0.0", "scripts": {"test": "node -p 6*7"}}' >one/package.json
        echo '{"name": "two", "version": "1.0.0"}' >two/package.json
        works $'42*\n*two-1.0.0.tgz\n*two@1.0.0*' 'cd one; npm test --silent; npm pack --silent ../two; npm install --offline --no-audit --silent ./two-1.0.0.tgz >&2; npm ls'
}

@test "Java: compiling, child processes, selectors, pipes and threads work under the payload filter" {
        here javac java || return 0
        workplace
        cat >Program.java <<-'JAVA'
		import java.nio.channels.*; import java.util.concurrent.*;
		public class Program {
		        public static void main(String[] args) throws Exception {
		                System.out.print(new String(new ProcessBuilder("echo", "process").start().getInputStream().readAllBytes()));
		                Selector.open().close(); Pipe.open(); System.out.println("channels");
		                ExecutorService pool = Executors.newFixedThreadPool(2);
		                System.out.println(pool.submit(() -> "thread").get()); pool.shutdown();
		                try { new java.net.ServerSocket(0); } catch (java.net.SocketException e) { System.out.println("no listening"); }
		        }
		}
	JAVA
        works $'process\nchannels\nthread\nno listening' 'javac Program.java; java -Xshare:auto Program'
}

@test "pip works under the payload filter" {
        here pip || return 0
        workplace
        mkdir -p tool tool-1.dist-info
        echo 'print("installed")' >tool/__main__.py
        printf 'Metadata-Version: 2.1\nName: tool\nVersion: 1\n' >tool-1.dist-info/METADATA
        printf 'Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n' >tool-1.dist-info/WHEEL
        printf 'tool/__main__.py,,\ntool-1.dist-info/METADATA,,\ntool-1.dist-info/WHEEL,,\ntool-1.dist-info/RECORD,,\n' >tool-1.dist-info/RECORD
        python3 -m zipfile -c tool-1-py3-none-any.whl tool tool-1.dist-info
        works 'installed' 'rm -rf there; python3 -m pip install -q --root-user-action ignore --no-index --target there ./tool-1-py3-none-any.whl; PYTHONPATH=there python3 -m tool'
}
