/** The blocks of `docs/proxies.md` and the recipes, pasted: from nothing to the first request that a proxy refuses. */
import { execFile } from 'node:child_process'
import { get } from 'node:http'
import { connect } from 'node:net'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { freePort } from '../../src/delivery/nats-server/nats-probe.js'
import { type AskingProxy, askingProxies } from '../harness/asking-proxies.js'
import { freePorts } from '../harness/free-ports.js'
import { tempDir } from '../harness/temp-dir.js'
import { startWeir, until } from '../harness/weir.js'
import { blocks, pageOf, sectionOf } from './pages.js'

const run = promisify(execFile)

const page = pageOf('docs/proxies.md')
const [start = '', make = '', ask = ''] = blocks(sectionOf(page, 'Set Weir up'), 'sh')
const [tryIt = ''] = blocks(sectionOf(page, 'Try it'), 'sh')
const [, decidePort = '', trusted = ''] =
  /^WEIR_DECIDE_PORT=(\d+) WEIR_TRUST_PROXY=(\S+) npm start /.exec(start) ?? []

/** The output of a pasted script, with the ports of this test: those of the page may be taken. */
async function pasted(
  script: string,
  ports: readonly (readonly [page: string, here: string])[],
): Promise<string> {
  const adapted = ports.reduce((text, [from, to]) => {
    if (!text.includes(from)) throw new Error(`The page does not have ${from}.`)
    return text.replaceAll(from, to)
  }, script)
  return (await run('bash', ['-e', '-o', 'pipefail', '-c', adapted])).stdout
}

/** Weir as the page sets it up, with an edge that has the name of the recipes on these ports. */
async function setUp(t: Test, ports: readonly number[]) {
  t.equal(decidePort, '8081')
  const port = String(await freePort())
  const weir = await startWeir(tempDir(t), { WEIR_DECIDE_PORT: port, WEIR_TRUST_PROXY: trusted })
  t.teardown(() => weir.stop())
  const hostports = [
    'www.example.com:80',
    'www.example.com:443',
    ...ports.map((each) => `www.example.com:${each}`),
  ]
  const made = await pasted(make, [
    ['weir_…', weir.token],
    ['http://127.0.0.1:8080', weir.url],
    ['"www.example.com:80", "www.example.com:443"', hostports.map((each) => `"${each}"`).join(', ')],
  ])
  const key = /^weir_[\w-]+$/m.exec(made.trimEnd().split('\n').at(-1) ?? '')?.[0] ?? ''
  t.not(key, '', 'the key is printed')
  const [, edgeId = ''] = /"id": *"(edghts_\w+)"/.exec(made) ?? []
  t.not(edgeId, '', 'and the edge before it')
  const asking = `export WEIR_API_KEY=${key}\n${ask}`
  let answer = ''
  await until('the policy and the key are known', async () => {
    answer = await pasted(asking, [['http://127.0.0.1:8081', `http://127.0.0.1:${port}`]])
    return answer.includes(' 204 ') && answer.includes(' 403 ')
  })
  t.match(answer, /Weir-Decided-By: traffic_policy;id="edghts_\w+";name="no%20admin%20pages"/)
  return { key, edgeId, weir: `127.0.0.1:${port}` }
}

const answers = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => resolve(true))
    socket.once('error', () => resolve(false)).once('connect', () => socket.destroy())
  })

const statusOf = (port: number): Promise<number | undefined> =>
  new Promise((resolve, reject) => {
    get({ port, host: '127.0.0.1', headers: { host: 'www.example.com' }, agent: false }, (response) => {
      response.resume()
      resolve(response.statusCode)
    }).once('error', reject)
  })

type Asked = Awaited<ReturnType<typeof setUp>>

async function refuses(t: Test, proxy: AskingProxy, port: number, asked: Asked): Promise<void> {
  const app = await freePort()
  const child = proxy.start(proxy.program!, {
    ...asked,
    dir: tempDir(t),
    port,
    app: `127.0.0.1:${app}`,
    names: 'those of the recipe',
  })
  t.teardown(() => child.kill())
  await until(`${proxy.name} listens`, () => answers(port))
  // Traefik listens before it has read what it serves.
  await until(`${proxy.name} serves the name`, async () => (await statusOf(port)) !== 404)
  // Its application ends with the shell.
  const tried = async () =>
    (
      await pasted(`trap 'kill %1' EXIT\n${tryIt}`, [
        ['listen(3000,', `listen(${app},`],
        ['http://127.0.0.1/', `http://127.0.0.1:${port}/`],
      ])
    ).split(/(?<= \d{3})\n/)
  let [page, admin, other] = await tried()
  // On a busy machine, the application begins later than the page waits for it.
  await until('the page is served', async () => {
    if (page !== 'served 200') [page, admin, other] = await tried()
    return page === 'served 200'
  })
  t.match(admin, / 403$/)
  t.notMatch(other, /served|undefined/, 'a name that no edge serves')
}

t.test('Weir and proxies are set up as the pages say', async (t) => {
  const ports = await freePorts(askingProxies.length)
  const asked = await setUp(t, ports)
  for (const [index, proxy] of askingProxies.entries()) {
    const skip = proxy.program === undefined ? `${proxy.name} is not installed` : false
    await t.test(proxy.name, { skip }, (t) => refuses(t, proxy, ports[index]!, asked))
  }
})
