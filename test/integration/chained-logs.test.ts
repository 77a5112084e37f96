/** Who the client is behind none, one and two trusted proxies, by the logs of real chains of proxies. */
import { request } from 'node:http'
import t from 'tap'
import { formats } from '../../src/delivery/ingest/formats.js'
import { recordOfLine } from '../../src/delivery/ingest/lines/format.js'
import { type Chain, type ChainedName, chained, hopsOf, programOf } from '../harness/chained-proxies.js'
import { startProgram, whyNot } from '../harness/log-programs.js'
import { until } from '../harness/weir.js'

/** The client has an address of its own. */
const client = '127.0.0.9'
/** All proxies have this one. */
const proxy = '127.0.0.1'

interface Case {
  readonly chain: Chain
  /** Whom the log can name, if not the client. */
  readonly named?: string
}

const cases: readonly Case[] = [
  ...(['nginx', 'apache', 'haproxy', 'caddy', 'envoy', 'traefik'] as const).map((name) => ({
    chain: [name],
  })),
  { chain: ['nginx', 'nginx'] },
  { chain: ['nginx', 'nginx', 'nginx'] },
  { chain: ['haproxy', 'nginx'] },
  { chain: ['haproxy', 'apache'] },
  { chain: ['traefik', 'haproxy', 'apache'] },
  { chain: ['apache', 'haproxy'] },
  { chain: ['nginx', 'traefik', 'haproxy'] },
  { chain: ['caddy', 'envoy'] },
  { chain: ['haproxy', 'nginx', 'envoy'] },
  { chain: ['apache', 'traefik'] },
  // Its list ends with the first proxy, whom the second one saw.
  { chain: ['nginx', 'haproxy', 'traefik'], named: proxy },
  // Without trusted proxies of its server, and before 2.7, Caddy logs the peer only.
  { chain: ['nginx', 'caddy'], named: proxy },
]

const missing = [...new Set(cases.flatMap(({ chain }) => chain))].filter(
  (name) => whyNot(chained[name].of) !== false,
)
const possible = cases.filter(({ chain }) => !chain.some((name) => missing.includes(name)))

/** The list that a client makes up must count for nothing. */
const ask = (port: number, path: string): Promise<void> =>
  new Promise((resolve, reject) => {
    request(
      {
        host: '127.0.0.1',
        port,
        path,
        localAddress: client,
        agent: false,
        headers: { 'x-forwarded-for': '6.6.6.6' },
      },
      (answer) => answer.resume().once('end', resolve),
    )
      .once('error', reject)
      .end()
  })

t.test('chains', { skip: possible.length === 0 }, async (t) => {
  const hopsOfAll = await hopsOf(possible.map(({ chain }) => chain))
  const running = possible.map(({ chain, named = client }, index) => ({
    chain,
    named,
    hops: hopsOfAll[index]!,
  }))
  const names = [...new Set(possible.flatMap(({ chain }) => chain))]
  const programs = new Map(
    await Promise.all(
      names.map(async (name) => {
        const hops = running.flatMap(({ chain, hops }) => hops.filter((_, index) => chain[index] === name))
        return [name, await startProgram(t, programOf(name, hops))] as const
      }),
    ),
  )
  for (const [index, { chain, hops, named }] of running.entries()) {
    const path = `/chain-${index}`
    const last = chain.at(-1) as ChainedName
    const { lines } = programs.get(last)!
    const format = formats.find(({ name }) => name === chained[last].format)!
    for (const file of chained[last].files(hops.at(-1)!.port)) {
      const found = (): string | undefined =>
        lines({ format: format.name, file, shows: [] }).find(
          (line) => line.includes(`${path} `) || line.includes(`${path}"`),
        )
      await until(`${chain.join(', ')}: ${file} has the line`, async () => {
        // Traefik answers 404 before it knows its routes.
        if (found() === undefined) await ask(hops[0]!.port, path)
        return found() !== undefined
      })
      const made = recordOfLine(format, { text: found()! }, {}, 'r-1')
      const conn = made.ok ? JSON.parse(made.value).conn : made
      t.match(conn, { client_ip: named }, `${chain.join(' → ')}: ${file}`)
      // The port of a proxy is not the client's.
      if (hops.length > 1 && named === client) t.equal(conn.client_port, undefined, 'without a port')
    }
  }
})

for (const name of missing) t.test(`chains with ${name}`, { skip: whyNot(chained[name].of) }, async () => {})
