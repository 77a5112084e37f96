/** A ClickHouse server behind TLS: which certificates are taken, and what is said of others. */
import { renameSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { createServer, type TlsOptions } from 'node:tls'
import t, { type Test } from 'tap'
import { openClickhouse } from '../../../../src/management/store/clickhouse/clickhouse.js'
import type { ClickhouseFiles } from '../../../../src/management/store/clickhouse/tls-agent.js'
import { makeAuthority } from '../../../harness/authority.js'
import { startClickhouseFront } from '../../../harness/clickhouse-front.js'
import { portOf } from '../../../harness/raw-connection.js'
import { tempDir } from '../../../harness/temp-dir.js'

/** Takes TLS off the connections to a server; the result cuts them, so that the next request opens one. */
async function behindTls(t: Test, url: string, options: TlsOptions) {
  const behind = new URL(url)
  const open = new Set<Socket>()
  const server = createServer(options, (client) => {
    const upstream = connect(Number(behind.port), behind.hostname)
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      open.add(one)
      one.on('error', () => {}).on('close', () => other.destroy())
      one.pipe(other)
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const cut = () => {
    for (const socket of open) socket.destroy()
  }
  t.teardown(() => {
    server.close()
    cut()
  })
  const front = new URL(url)
  front.protocol = 'https:'
  front.port = String(portOf({ server }))
  return { url: front.href.replace('http:', 'https:').replace(/\/$/, ''), cut }
}

t.test('certificates', async (t) => {
  const dir = tempDir(t)
  const front = await startClickhouseFront(join(dir, 'clickhouse'))
  t.teardown(() => front.process.stop())
  const authority = makeAuthority(dir)
  const ca = authority.certFile
  const ofServer = authority.issue('server')
  const { url, cut } = await behindTls(t, front.url, ofServer)
  const answerOf = async (url: string, files: ClickhouseFiles): Promise<unknown> => {
    const clickhouse = await openClickhouse({ url, directory: dir, ...files })
    try {
      return await clickhouse.rows('SELECT 1 AS one')
    } catch (error) {
      return (error as Error).message
    } finally {
      await clickhouse.close()
    }
  }
  const works = [{ one: 1 }]
  t.same(await answerOf(url, { ca }), works)
  t.match(
    await answerOf(url, {}),
    /ClickHouse can't be used: no authority that is trusted here \(CLICKHOUSE_CA\)/,
  )
  const stranger = makeAuthority(dir, 'stranger')
  t.match(await answerOf(url, { ca: stranger.certFile }), /no authority that is trusted here/)
  const named = await behindTls(t, front.url, authority.issue('named', { hosts: ['clickhouse.example'] }))
  t.match(await answerOf(named.url, { ca }), /its certificate is for another name .*127\.0\.0\.1/)
  const old = await behindTls(t, front.url, authority.issue('old', { endsInHours: -1 }))
  t.match(await answerOf(old.url, { ca }), /or that of its authority, has expired/)

  const strict = { ...ofServer, ca: authority.cert, requestCert: true, rejectUnauthorized: true }
  const mutual = await behindTls(t, front.url, strict)
  const { certFile: cert, keyFile: key } = authority.issue('client')
  t.same(await answerOf(mutual.url, { ca, cert, key }), works, 'a client certificate')
  const other = stranger.issue('other')
  const refused = await answerOf(mutual.url, { ca, cert: other.certFile, key: other.keyFile })
  // OpenSSL refuses it by an alert, which says what is wrong; the server of this test, by ending the connection.
  t.match(refused, /socket hang up|client certificate \(CLICKHOUSE_CERT\)/)

  const rotated = join(dir, 'rotated.pem')
  renameSync(stranger.certFile, rotated)
  const clickhouse = await openClickhouse({ url, directory: dir, ca: rotated })
  t.teardown(() => clickhouse.close())
  await t.rejects(clickhouse.rows('SELECT 1 AS one'), /no authority/)
  renameSync(ca, rotated)
  cut()
  t.same(await clickhouse.rows('SELECT 1 AS one'), works, 'the file is read again')
})
