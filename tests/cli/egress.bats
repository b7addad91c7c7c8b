# egress: the audit of a broker as a table. What it says of a policy is in tests/egress/test_explain.py, of a broker's own audit in
# tests/egress/test_audit_table.py.
load helpers

AUDIT=$BATS_TEST_TMPDIR/audit.jsonl

# line ID [MEMBERS]: a line of an audit.
line() {
        echo '{"time":"2026-01-31T23:59:59.5Z","id":'"$1"',"sent_bytes":1,"received_bytes":2,"milliseconds":3,'"${2:-\"verdict\":\"allowed\"}"'}'
}

refused() {
        line "$1" '"verdict":"refused","code":"policy.host","host":"'"$2"'","port":443,"member":"allowed_hosts"'
}

@test "an audit is a table, the older file first, and says in the end which host to allow" {
        refused 1 old.test >"$AUDIT.1"
        { line 2; refused 3 new.test; } >"$AUDIT"
        detached runtime egress --audit "$AUDIT"
        succeeded
        [ "$(cut -c27-35 <<<"$output" | sed -n '2,4p' | tr -d ' ' | paste -sd' ')" = 'old.test - new.test' ]
        said '3 connections: 1 allowed, 2 refused, 0 limited, 0 failed; 3 bytes sent, 6 received'
        said 'allowed_hosts: add "new.test"'
        said 'allowed_hosts: add "old.test"'
}

@test "--json gives the lines as they are, also members of a later version, and the sum" {
        { line 1 '"verdict":"allowed","later":{"a":1}'; refused 2 a.test; } >"$AUDIT"
        detached runtime egress --json --audit "$AUDIT"
        succeeded
        diff "$AUDIT" <(head -n 2 <<<"$output")
        jq -e '.summary | .connections == 2 and .reasons[0].member == "allowed_hosts" and .reasons[0].host == "a.test"' <<<"${output##*$'\n'}"
}

@test "lines that are cut off, at the end of either file, are counted and harm no other" {
        { line 1; line 2 | head -c 40; } >"$AUDIT.1"
        { line 3; line 4 | head -c 50; } >"$AUDIT"
        detached runtime egress --audit "$AUDIT"
        succeeded
        said '2 connections: 2 allowed'
        said '2 lines are cut off'
}

@test "an empty audit is a table without rows" {
        : >"$AUDIT"
        detached runtime egress --audit "$AUDIT"
        succeeded
        said '0 connections: 0 allowed'
}

@test "--follow shows what is added, over the change of files, and the sum at the end" {
        local shown=$BATS_TEST_TMPDIR/shown follower
        refused 1 a.test >"$AUDIT"
        background "$shown" "$SAGE_RUNTIME" egress --follow --json --audit "$AUDIT"
        follower=$!
        wait_until grep -q a.test "$shown"
        # Half a line is none yet.
        refused 2 b.test | head -c 60 >>"$AUDIT"
        refused 2 b.test | tail -c +61 >>"$AUDIT"
        wait_until grep -q b.test "$shown"
        # As a broker does it: the lines that were added last are seen in the older file only.
        kill -STOP "$follower"
        refused 3 c.test >>"$AUDIT"
        cp "$AUDIT" "$AUDIT.1"
        : >"$AUDIT"
        refused 4 d.test >>"$AUDIT"
        kill -CONT "$follower"
        wait_until grep -q d.test "$shown"
        kill -TERM "$follower"
        wait "$follower"
        jq -se 'map(.id) == [1, 2, 3, 4, null] and .[-1].summary.refused == 4 and .[-1].summary.unreadable == 0' "$shown"
}

@test "a link, a pipe and what is not there are no audits, and nobody waits for them" {
        line 1 >"$AUDIT"
        ln -s "$AUDIT" "$AUDIT.link"
        mkfifo "$AUDIT.pipe"
        local name
        for name in link pipe nothing; do
                detached runtime egress --audit "$AUDIT.$name"
                failed 1 "audit.jsonl.$name"
        done
        ln -s /etc/passwd "$AUDIT.1"
        detached runtime egress --audit "$AUDIT"
        failed 1 audit.jsonl.1
}

@test "a container without a broker has no audit, and one that is not there neither" {
        bundle sleep 100
        create box
        leaves_nothing runtime egress box
        failed 1 'no egress broker'
        detached runtime egress nobody
        failed 1 nobody
}

@test "options of the one form are refused in the other" {
        line 1 >"$AUDIT"
        refuses() { detached runtime egress $1 && failed 1 "$2"; }
        table refuses <<ROWS
 => --audit FILE
box --audit $AUDIT => --audit FILE
one two => --audit FILE
--audit $AUDIT --policy $AUDIT => --policy
explain a.test --follow => --follow
explain a.test --json => --json
explain a.test --audit $AUDIT => --audit
explain a.test => --policy
explain a.test b.test => HOST
explain --policy $AUDIT => HOST
ROWS
}
