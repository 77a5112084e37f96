/** What was imported from CrowdSec, Cloudflare and Outpost is applied to a running Weir, and CrowdSec itself is asked. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { crowdsecProgram, startCrowdsec } from '../harness/crowdsec.js'
import { run } from '../harness/processes.js'
import { tempDir } from '../harness/temp-dir.js'
import { openAccount } from './service.js'

type Environment = Readonly<Record<string, string>>

async function callerOf(t: Test) {
  const { weir } = await openAccount(t)
  const call = async (args: readonly string[], env: Environment = {}) => {
    const running = run('programs/main.js', args, {
      WEIR_API_URL: weir.url,
      WEIR_API_KEY: weir.token,
      ...env,
    })
    const { code } = await running.ended
    return { code, output: running.output() }
  }
  return { api: weir.api, call }
}

/** Of the variables that a file names, each a text that the form of its secret allows. */
const secretsFor = (text: string): Environment =>
  Object.fromEntries(
    [...text.matchAll(/\$\{env:(\w+)\}/g)].map(([, name = '']) => [
      name,
      name.endsWith('SIGNING_SECRET')
        ? `whsec_${Buffer.from('0123456789abcdef0123456789abcdef').toString('base64')}`
        : name.endsWith('KEY_ID')
          ? 'AKIAABCDEFGHIJKLMNOP'
          : 'abcdefghij0123456789ABCDEFGHIJ0123456789',
    ]),
  )

t.test('each file is applied, and then nothing differs', async (t) => {
  const { api, call } = await callerOf(t)
  const dir = tempDir(t)
  for (const [system, ...options] of [
    ['crowdsec'],
    ['cloudflare-lists'],
    ['outpost', '--aws-account', '123456789012'],
  ]) {
    const file = join(dir, `${system}.yaml`)
    const imported = await call([
      'import',
      system!,
      `fixtures/imports/${system}.json`,
      '--output',
      file,
      ...options,
    ])
    t.equal(imported.code, 0, imported.output)
    const env = secretsFor(readFileSync(file, 'utf8'))
    for (const name of Object.keys(env)) t.ok(imported.output.includes(name), `${name} is named`)
    const ids = Object.fromEntries(Object.entries(env).filter(([name]) => name.endsWith('KEY_ID')))
    t.match(await call(['plan', file], ids), { code: 2 }, 'a plan needs the ids of keys, and no secret')
    const applied = await call(['apply', file], env)
    t.equal(applied.code, 0, applied.output)
    const again = await call(['plan', file], env)
    t.equal(again.code, 0, again.output)
  }
  const lists: [string, number][] = []
  for await (const { name, entries } of api.ipList.list()) lists.push([name, entries])
  t.ok(
    lists.every(([name, entries]) => entries > 0 || name === 'crowdsec-allow-ended'),
    JSON.stringify(lists),
  )
  t.same(lists.map(([name]) => name).sort(), [
    'blocked',
    'crowdsec-allow-ended',
    'crowdsec-allow-partners',
    'crowdsec-bans',
    'crowdsec-simulated-bans',
    'partners',
  ])
  const destinations: string[] = []
  for await (const { description } of api.eventDestination.list()) destinations.push(description!)
  t.same(destinations.sort(), ['des_bucket', 'des_queue', 'des_stream', 'des_topic', 'des_web'])
})

t.test(
  'decisions of CrowdSec itself, by its API and by cscli',
  { skip: crowdsecProgram === undefined && 'there is no crowdsec (apt install crowdsec)' },
  async (t) => {
    const { url, key, cscli } = await startCrowdsec(t, crowdsecProgram!)
    cscli('decisions', 'add', '-i', '203.0.113.9', '-d', '4h', '-R', 'manual')
    cscli('decisions', 'add', '-i', '203.0.113.9', '-d', '8h', '-R', 'longer')
    cscli('decisions', 'add', '-r', '198.51.100.0/24', '-d', '24h')
    cscli('decisions', 'add', '-i', '2001:db8::7', '-d', '30m')
    cscli('decisions', 'add', '--scope', 'Country', '-v', 'CN', '-d', '1h')
    cscli('decisions', 'add', '-i', '203.0.113.10', '-t', 'captcha')
    const { call } = await callerOf(t)
    const dir = tempDir(t)
    const json = join(dir, 'decisions.json')
    writeFileSync(json, cscli('decisions', 'list', '-o', 'json', '-a'))
    for (const source of [url, json]) {
      const file = join(dir, 'weir.yaml')
      const imported = await call(['import', 'crowdsec', source, '--output', file], { CROWDSEC_API_KEY: key })
      t.match(imported, { code: 0, output: /conn\.geo\.country_code == "CN"/ }, imported.output)
      const text = readFileSync(file, 'utf8')
      const ranges = [...text.matchAll(/- cidr: (\S+)\n {8}(comment|expires_at)/g)].map(([, cidr]) => cidr)
      t.same(ranges.sort(), ['198.51.100.0/24', '2001:db8::7/128', '203.0.113.9/32'], source)
      t.match(text, /cidr: 203\.0\.113\.9\/32\n {8}comment: longer\n/)
    }
    const refused = await call(['import', 'crowdsec', url], { CROWDSEC_API_KEY: 'another' })
    t.match(refused, { code: 1, output: /answers 403: the key is not accepted there/ })
  },
)
