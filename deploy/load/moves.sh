#!/bin/sh
# Plays random legal games against a running server with grpcurl, PLAYERS of them at once, and says how long it took:
#
#     deploy/load/moves.sh
#     ADDRESS=10.0.0.7:50051 PLAYERS=8 MOVES=100 GAME=kiothi deploy/load/moves.sh
#     TOKEN=mop_ops_... TLS_CA=ca.crt ADDRESS=mancala.example:443 deploy/load/moves.sh
#
# TOKEN is an operator's key, which a server in token mode wants. TLS=on is for a server with TLS; TLS_CA, too, with the authority to
# trust if the machine doesn't know it.
#
# Each call is a process and a connection of its own. So this shows how a server bears callers that come and go, and that it
# can be used from a shell; it does not show how many calls it can answer: `mancala bench` does.
set -eu

address=${ADDRESS:-127.0.0.1:50051}
players=${PLAYERS:-4}
moves=${MOVES:-10}
game=${GAME:-gore}

command -v grpcurl >/dev/null || { echo "grpcurl is not installed: https://github.com/fullstorydev/grpcurl" >&2; exit 1; }

# call METHOD JSON: the answer's JSON. What grpcurl says of a failure goes to standard error.
call() {
    method=mancala.v1.SessionService/$1
    set -- -max-time 10 -d "$2"
    if [ -n "${TLS_CA:-}" ]; then
        set -- "$@" -cacert "$TLS_CA"
    elif [ -z "${TLS:-}" ]; then
        set -- "$@" -plaintext
    fi
    if [ -n "${TOKEN:-}" ]; then
        # grpcurl itself puts the key in: on the command line everybody on the machine could read it.
        set -- "$@" -expand-headers -H 'authorization: Bearer ${TOKEN}'
    fi
    grpcurl "$@" "$address" "$method"
}

# value NAME: the first value of this name in the JSON on standard input.
value() {
    sed -n -e "s/.*\"$1\": \"\([^\"]*\)\".*/\1/p" -e "s/.*\"$1\": \([0-9][0-9]*\).*/\1/p" | head -n 1
}

# Plays one game until it is over or has as many moves as wanted.
play() {
    created=$(call CreateSession "{\"game\": \"$game\", \"labels\": {\"load\": \"grpcurl\"}}")
    session=$(echo "$created" | value sessionId)
    version=1
    played=0
    while [ "$played" -lt "$moves" ]; do
        drawn=$(call SampleMoves "{\"session_id\": \"$session\", \"seed\": $version}")
        move=$(echo "$drawn" | value text)
        [ -n "$move" ] || break
        answer=$(call ApplyMove "{\"session_id\": \"$session\", \"move\": {\"text\": \"$move\"},
            \"expected_version\": $version, \"request_id\": \"move-$version\"}")
        version=$(echo "$answer" | value version)
        played=$((played + 1))
    done
    echo "$session: $played moves, version $version"
}

start=$(date +%s)
pids=
for _ in $(seq "$players"); do
    play &
    pids="$pids $!"
done
failed=0
for pid in $pids; do
    wait "$pid" || failed=$((failed + 1))
done
echo "$players players, $failed failed, $(($(date +%s) - start)) s"
[ "$failed" -eq 0 ]
