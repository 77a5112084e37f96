/** Promises that can't be seen from outside, or not without harm, and why: the table of the documents has them, too. */
import type { HiddenClause } from './clause.js'

const fault = 'someone must cause the fault on the machine; test/integration does'
const guarantees = 'guarantees.md#fault-by-fault'
const ofWrites = 'guarantees.md#writes-of-the-api'

/** What happens under a fault: the number, the beginning of its row, what is promised. */
const faults: readonly (readonly [number, string, string])[] = [
  [
    1801,
    'a process is killed',
    'A killed process is started again, and its unacknowledged messages are redelivered.',
  ],
  [
    1802,
    '`weir serve` itself is killed',
    'All processes of a killed `weir serve` end within 6 s; the next start succeeds.',
  ],
  [
    1803,
    '`nats-server` is restarted',
    'While `nats-server` restarts, publishes wait; nothing acknowledged is lost.',
  ],
  [1804, 'NATS is down', 'While NATS is down, writes are answered 503, reads from memory.'],
  [1805, 'ClickHouse is down', 'While ClickHouse is down, traffic goes on and writes are answered 503.'],
  [
    1806,
    'a destination is down for longer than its share',
    'A destination that is behind gets the events of later records.',
  ],
  [
    1807,
    'a destination is down for longer than `WEIR_RETENTION`',
    'Events that are too old are dropped, counted and announced.',
  ],
  [1808, 'all of Weir is down', 'Events that waited while all of Weir was down are delivered.'],
  [1809, 'a record kills the process', 'A record that kills its process goes to the dead letters.'],
  [
    1810,
    "an entry of a stream or bucket can't be read",
    'An entry that can not be read is skipped, reported and kept.',
  ],
  [1811, 'a stream is full', 'While a stream is full, publishes are refused and nothing is discarded.'],
  [1812, 'the NATS store is lost', 'A lost store of NATS is rebuilt from ClickHouse.'],
  [
    1813,
    'one of the stores is restored',
    'A store that was put back is detected, and nothing is written until it is decided.',
  ],
  [
    1814,
    'a start finds accounts that differ',
    'Accounts that differ from ClickHouse are repaired, the others served.',
  ],
  [1815, 'one of three servers', 'A cluster goes on without one of its three servers.'],
  [
    1816,
    'a cluster loses its quorum',
    'Without a quorum nothing is acknowledged, and `/readyz` says so within 5 s.',
  ],
  [
    1817,
    'records that wait for a destination',
    '`on_expiry` decides about records that wait and are about to be removed.',
  ],
  [1818, '`WEIR_DELIVERIES` is purged', 'Events of a purged stream are counted, announced and logged.'],
  [1819, 'power cut', 'A power cut loses at most what was acknowledged within the sync interval.'],
  [1820, 'a stop by signal', 'A stop by signal finishes the work in progress.'],
]

export const hiddenClauses: readonly HiddenClause[] = [
  ...faults.map(([number, row, says]) => ({
    number,
    page: guarantees,
    rows: [`| ${row}`],
    says,
    why: fault,
  })),
  {
    number: 1821,
    page: ofWrites,
    rows: ['- **A 2xx is durable.**'],
    says: 'A write that is answered survives `kill -9` of every process at once.',
    why: fault,
  },
  {
    number: 1822,
    page: ofWrites,
    rows: ['- **A partly read configuration'],
    says: 'A partly read configuration is never used; a failed read never deletes anything.',
    why: fault,
  },
  {
    number: 1823,
    page: 'guarantees.md#records-and-events',
    rows: ['- **Only what failed is sent again**'],
    says: 'Of a partly accepted request, only what failed is sent again.',
    why: 'a web server accepts a request or refuses it; services of AWS accept parts, and the emulator in the tests does',
  },
  {
    number: 1824,
    page: 'guarantees.md#events-that-get-too-old',
    says: 'Events wait for `WEIR_RETENTION` at least; before they are dropped, status, event and alert say so.',
    why: 'it takes hours',
  },
  {
    number: 1825,
    page: 'guarantees.md#events-that-vanish',
    says: 'Packs that leave the stream by other hands are counted, each event once, and announced.',
    why: fault,
  },
  {
    number: 1826,
    page: 'guarantees.md#a-destination-that-is-behind',
    says: 'A dead destination never holds up the others, and gets what it missed from the records.',
    why: 'it takes as many events as the storage of the deployment holds',
  },
  {
    number: 1827,
    page: 'guarantees.md#the-arithmetic-of-storage',
    says: 'Hours of outage = storage ÷ rate.',
    why: 'it takes as many events as the storage of the deployment holds',
  },
  {
    number: 1828,
    page: 'api.md#errors',
    says: 'A write that fails because of NATS or ClickHouse says in `details.outcome` what became of it.',
    why: fault,
  },
  {
    number: 1829,
    page: 'api.md#requests',
    says: 'An account may make `WEIR_RATE_LIMIT` requests a minute; after 30 failed logins from an address, further ones get 429.',
    why: 'it would lock out the other clients of the account, and of this address',
  },
  {
    number: 1830,
    page: 'api.md#the-typed-client',
    says: 'The typed client has every operation, and tries again after 429 and 503.',
    why: 'it is a program of its own; test/words/client tests it',
  },
  {
    number: 1831,
    page: 'ingress.md#a-proxys-log',
    says: '`weir publish` makes records of the log of a proxy, and each line that it can not read is reported.',
    why: 'it is a program of its own; test/outside/cli and test/integration run it on logs of real proxies',
  },
  {
    number: 1832,
    page: 'ingress.md#audit-events-of-other-services',
    says: 'Another service can announce its changes on `weir.audit.>`.',
    why: 'it needs the login `services`, which no program but that service should have',
  },
  {
    number: 1833,
    page: 'policies.md#lists-that-are-fed-by-a-source',
    says: 'A list with a source keeps the last good entries whatever goes wrong with the source.',
    why: 'the shortest period between fetches is a minute, and the next times grow; test/integration has a source that fails',
  },
  {
    number: 1834,
    page: 'policies.md#what-each-proxy-passes-on',
    says: 'What each proxy passes on is judged in every value that the server behind it may take.',
    why: 'it takes these proxies; test/integration runs them',
  },
  {
    number: 1835,
    page: 'policies.md#in-your-own-program',
    says: 'The evaluator decides in another program as the deployment does.',
    why: 'it is a package; test/judging compares both',
  },
  {
    number: 1836,
    page: 'policies.md#in-a-browser',
    says: 'The page `/playground` decides without a server.',
    why: 'it needs a browser; test/outside/playground has one',
  },
  {
    number: 1837,
    page: 'policies.md#the-way-of-a-change',
    says: 'A challenger is promoted as one write, unless what it was drafted from has changed.',
    why: 'an account runs one challenger at a time, so a run would take the place of a client',
  },
  {
    number: 1838,
    page: 'events.md#refused-events',
    says: 'A refused event is on the subject `weir.deadletter.events` of its stream, with its headers.',
    why: 'only the roles of the deployment and its administrator read that stream; 1206 sees it in the API',
  },
  {
    number: 1839,
    page: 'proxies.md#if-weir-does-not-answer',
    says: 'A proxy decides what happens to a request that Weir does not answer.',
    why: fault,
  },
  {
    number: 1840,
    page: 'destinations/http.md#private-networks',
    says: 'Weir connects to private, loopback and link-local addresses only if the operator allows them.',
    why: 'which networks are allowed is a setting that only the operator sees',
  },
]
