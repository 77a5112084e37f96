/** Where lists are read from: files of an account, without a way out of its directory, and servers that take too long. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, renameSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { ReachableNetworks } from '../../../src/delivery/outgoing/private-networks.js'
import { fetchUrl } from '../../../src/management/scheduled/feeds/fetch-url.js'
import { noValidators } from '../../../src/management/scheduled/feeds/fetched.js'
import { readListFile } from '../../../src/management/scheduled/feeds/read-file.js'
import { tempDir } from '../../harness/temp-dir.js'
import { openWebServer } from '../../harness/web-server.js'

t.test('files', async (t) => {
  const directory = tempDir(t)
  const own = join(directory, 'ac_1')
  mkdirSync(join(own, 'feeds'), { recursive: true })
  mkdirSync(join(directory, 'ac_2'))
  writeFileSync(join(own, 'feeds', 'office.txt'), '192.0.2.0/24\n')
  writeFileSync(join(own, 'empty.txt'), '')
  writeFileSync(join(directory, 'ac_2', 'theirs.txt'), '198.51.100.0/24\n')
  writeFileSync(join(directory, 'outside.txt'), '198.51.100.0/24\n')
  symlinkSync('feeds/office.txt', join(own, 'inside'))
  symlinkSync('../outside.txt', join(own, 'out'))
  symlinkSync('../ac_2', join(own, 'other'))
  symlinkSync('nowhere', join(own, 'broken'))
  execFileSync('mkfifo', [join(own, 'pipe')])
  writeFileSync(join(own, 'large'), '')
  truncateSync(join(own, 'large'), 33 * 1024 * 1024)
  const read = (name: string, known = noValidators, accountId = 'ac_1') =>
    readListFile({ directory, accountId, name }, known)

  for (const name of ['feeds/office.txt', 'inside'])
    t.equal((await read(name))?.bytes.toString(), '192.0.2.0/24\n', name)
  t.equal((await read('empty.txt'))?.bytes.length, 0)

  const refusals = [
    { name: 'out', code: 'file_unreadable', message: /a link leads out/ },
    { name: 'other/theirs.txt', code: 'file_unreadable', message: /a link leads out/ },
    { name: '../ac_2/theirs.txt', code: 'file_unreadable', message: /a link leads out/ },
    { name: 'broken', code: 'file_unreadable', message: /no such file/ },
    { name: 'missing.txt', code: 'file_unreadable', message: /no such file/ },
    { name: 'feeds', code: 'file_unreadable', message: /it is no file/ },
    { name: 'pipe', code: 'file_unreadable', message: /it is no file/ },
    { name: 'large', code: 'too_large', message: /at most 32 MiB/ },
  ]
  for (const { name, code, message } of refusals) {
    await t.rejects(read(name), { code, message }, name)
    await read(name).catch((error: Error) =>
      t.notMatch(error.message, directory, "the path is the operator's"),
    )
  }
  await t.rejects(read('feeds/office.txt', noValidators, 'ac_3'), { code: 'file_unreadable' }, 'no directory')
  const forbidden = readListFile({ directory: undefined, accountId: 'ac_1', name: 'empty.txt' }, noValidators)
  await t.rejects(forbidden, { code: 'files_not_allowed', message: /WEIR_LIST_DIRECTORY is not set/ })

  const before = (await read('feeds/office.txt'))!.validators
  t.equal(await read('feeds/office.txt', before), undefined, 'it is as before')
  writeFileSync(join(own, 'next.txt'), '192.0.2.0/25\n')
  renameSync(join(own, 'next.txt'), join(own, 'feeds', 'office.txt'))
  t.equal((await read('feeds/office.txt', before))?.bytes.toString(), '192.0.2.0/25\n')
})

t.test('servers', async (t) => {
  const server = await openWebServer(t)
  const networks = new ReachableNetworks(['127.0.0.1/32'])
  const { signal } = new AbortController()
  const fetched = (timeoutMs: number, path = '/') =>
    fetchUrl(server.url + path, noValidators, { networks, timeoutMs, signal })

  t.test('one that does not answer', async (t) => {
    server.answer = () => {}
    await t.rejects(fetched(50), { code: 'timeout' })
  })

  t.test('one that does not end its answer', async (t) => {
    server.answer = (_, response) => void response.writeHead(200).write('192.0.2.0/24\n')
    await t.rejects(fetched(50), { code: 'timeout' })
  })

  t.test('one that sends single bytes', async (t) => {
    server.answer = (_, response) => {
      response.socket!.write(`HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n`)
      response.socket!.write('1\r\n1\r\n'.repeat(250_000))
    }
    await t.rejects(fetched(10_000), { code: 'timeout', message: /too many pieces/ })
  })

  t.test('many pieces are put together in their order', async (t) => {
    const pieces = Array.from({ length: 1_000 }, (_, index) => `10.0.${index >> 8}.${index & 255}\n`)
    server.answer = (_, response) => {
      const chunks = pieces.map((piece) => `${piece.length.toString(16)}\r\n${piece}\r\n`)
      response.socket!.write(
        `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${chunks.join('')}0\r\n\r\n`,
      )
    }
    t.equal((await fetched(10_000))?.bytes.toString(), pieces.join(''))
  })

  t.test('redirections together have the time of one', async (t) => {
    server.answer = ({ path }, response) => {
      if (path === '/') response.writeHead(307, { location: '/next' }).end()
    }
    await t.rejects(fetched(50), { code: 'timeout' })
    server.answer = ({ path }, response) => {
      if (path === '/') response.writeHead(307, { location: '/next' }).end()
      else response.writeHead(200, { 'last-modified': 'Thu, 26 Nov 2026 19:00:00 GMT' }).end('192.0.2.0/24\n')
    }
    t.match(await fetched(10_000), {
      validators: { lastModified: 'Thu, 26 Nov 2026 19:00:00 GMT', etag: null },
    })
  })

  t.test('one in a private network, by address and by name', async (t) => {
    const options = { networks: new ReachableNetworks(), timeoutMs: 10_000, signal }
    for (const url of [server.url, `http://[::1]:${server.port}`])
      await t.rejects(fetchUrl(url, noValidators, options), { code: 'private_network' }, url)
    const named = fetchUrl(`http://localhost:${server.port}`, noValidators, options)
    await t.rejects(named, { code: 'unreachable', message: /unknown, or in a private network/ })
  })

  t.test('a port that nobody listens on', async (t) => {
    const options = { networks, timeoutMs: 10_000, signal }
    await t.rejects(fetchUrl('http://127.0.0.1:1/', noValidators, options), { code: 'unreachable' })
  })
})
