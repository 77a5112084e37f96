/** What `docs/proxies.md` says before the recipes: from nothing to the first question that is denied, pasted. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import t from 'tap'
import { freePort } from '../../src/nats-server/nats-probe.js'
import { tempDir } from '../harness/temp-dir.js'
import { startWeir, until } from '../harness/weir.js'
import { blocks, pageOf, sectionOf } from './pages.js'

const run = promisify(execFile)

t.test('Weir is set up for proxies as the page says', async (t) => {
  const [start = '', make = '', ask = ''] = blocks(sectionOf(pageOf('docs/proxies.md'), 'Set Weir up'), 'sh')
  const [, decidePort, trusted = ''] =
    /^WEIR_DECIDE_PORT=(\d+) WEIR_TRUST_PROXY=(\S+) npm start /.exec(start) ?? []
  t.equal(decidePort, '8081')
  const port = String(await freePort())
  const weir = await startWeir(tempDir(t), { WEIR_DECIDE_PORT: port, WEIR_TRUST_PROXY: trusted })
  t.teardown(() => weir.stop())
  const shell = async (script: string): Promise<string> => {
    const here = [
      ['weir_…', weir.token],
      ['http://127.0.0.1:8080', weir.url],
      ['http://127.0.0.1:8081', `http://127.0.0.1:${port}`],
    ] as const
    const adapted = here.reduce((text, [from, to]) => text.replaceAll(from, to), script)
    return (await run('bash', ['-e', '-o', 'pipefail', '-c', adapted])).stdout
  }
  const key = /^weir_[\w-]+$/m.exec((await shell(make)).trimEnd().split('\n').at(-1) ?? '')?.[0]
  t.ok(key, 'the key is printed')
  const asking = `export WEIR_API_KEY=${key}\n${ask}`
  let answer = ''
  await until('the policy and the key are known', async () => {
    answer = await shell(asking)
    return answer.includes(' 204 ') && answer.includes(' 403 ')
  })
  t.match(answer, /Weir-Decided-By: traffic_policy;id="edghts_\w+";name="no%20admin%20pages"/)
})
