// Plays random legal games against a running server with k6 (https://k6.io), each of VUS players at one session at a time:
//
//     k6 run deploy/load/moves.js
//     k6 run -e ADDRESS=10.0.0.7:50051 -e GAME=kiothi -e VUS=64 -e DURATION=60s deploy/load/moves.js
//     TOKEN=mop_ops_... k6 run -e TLS_CA=$PWD/ca.crt -e ADDRESS=mancala.example:443 deploy/load/moves.js
//
// TOKEN is an operator's key, which a server in token mode wants. TLS=on is for a server with TLS; TLS_CA, too, with the authority to
// trust if the machine doesn't know it.
//
// It needs no proto files: it asks the server's reflection. A call that fails, or an answer that is not as it must be, makes
// the run fail. `mancala bench` loads a server harder at less cost; this is for those who measure everything with k6.
import grpc from 'k6/net/grpc';
import exec from 'k6/execution';
import { check, fail } from 'k6';
import { Counter } from 'k6/metrics';

const ADDRESS = __ENV.ADDRESS || '127.0.0.1:50051';
const GAMES = __ENV.GAME ? [__ENV.GAME] : ['ali_guli_mane', 'ayoayo', 'gore', 'hoyito3', 'kiothi'];
const SERVICE = 'mancala.v1.SessionService/';
const METADATA = __ENV.TOKEN ? { authorization: `Bearer ${__ENV.TOKEN}` } : {};
const CONNECTION = { plaintext: !__ENV.TLS && !__ENV.TLS_CA, reflect: true };
if (__ENV.TLS_CA) {
  CONNECTION.tls = { cacerts: open(__ENV.TLS_CA) };
}

export const options = {
  scenarios: {
    moves: { executor: 'constant-vus', vus: Number(__ENV.VUS || 16), duration: __ENV.DURATION || '10s' },
  },
  thresholds: { checks: ['rate==1'], moves_acknowledged: ['count>0'] },
};

const acknowledged = new Counter('moves_acknowledged');
const client = new grpc.Client();

// The session that this player is at; null: none yet, or it is over.
let session = null;
let games = 0;

function call(method, request) {
  const answer = client.invoke(SERVICE + method, request, { metadata: METADATA, timeout: '10s' });
  if (!check(answer, { 'call succeeded': (it) => it.status === grpc.StatusOK })) {
    session = null;
    fail(`${method}: ${answer.error && answer.error.message}`);
  }
  return answer.message;
}

// One move. A new session is made first if need be.
export default function () {
  if (exec.vu.iterationInInstance === 0) {
    client.connect(ADDRESS, CONNECTION);
  }
  if (session === null) {
    const game = GAMES[(exec.vu.idInTest + games) % GAMES.length];
    session = call('CreateSession', { game, labels: { load: 'k6' } }).session;
    games += 1;
  }
  const { sessionId, version } = session;
  const { moves } = call('SampleMoves', { sessionId, seed: version });
  const answer = call('ApplyMove', {
    sessionId,
    move: { text: moves[0].text },
    expectedVersion: version,
    requestId: `move-${version}`,
  });
  check(answer, { 'version goes up': (it) => it.version > version, 'not played before': (it) => !it.replayed });
  acknowledged.add(1);
  session.version = answer.version;
  if (answer.matchResult) {
    session = null;
  }
}
