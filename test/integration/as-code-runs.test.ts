/** Runs of apply after which a plan finds no difference, whatever was there before. */
import { execFile } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { clearLine } from '../../src/outside/cli/progress.js'
import { compiled, run } from '../harness/processes.js'
import { hasPython } from '../harness/python.js'
import { tempDir } from '../harness/temp-dir.js'
import { startWeir } from '../harness/weir.js'

t.test('runs that change the same account', async (t) => {
  const dir = tempDir(t)
  const { url, token, api, stop } = await startWeir(tempDir(t))
  t.teardown(() => stop())
  const weir = async (args: readonly string[], key = token) => {
    const running = run('programs/main.js', args, { WEIR_API_URL: url, WEIR_API_KEY: key })
    const { code } = await running.ended
    return { code, output: running.output() }
  }
  const file = join(dir, 'weir.json')
  const tokens = join(dir, 'tokens')
  const given = (content: object): void => writeFileSync(file, JSON.stringify(content))
  const applied = async (content: object, ...options: readonly string[]): Promise<void> => {
    given(content)
    const made = await weir(['apply', file, ...options])
    t.equal(made.code, 0, made.output)
    const plan = await weir(['plan', file])
    t.equal(plan.code, 0, `no difference after it: ${plan.output}`)
  }

  await t.test('entries with equal descriptions and without an id are all made', async () => {
    const same = { description: 'same' }
    await applied({ ip_policies: [same, same, same] })
  })

  await t.test('one that was renamed by hand is made again', async (t) => {
    const content = { ip_policies: [{ description: 'named', rules: [{ cidr: '::/0', action: 'deny' }] }] }
    await applied(content)
    for (const name of ['first', 'second']) {
      for await (const { id, description } of api.ipPolicy.list())
        if (description === 'named') await api.ipPolicy.update(id, { description: name })
      await applied(content)
    }
    const descriptions: unknown[] = []
    for await (const { description } of api.ipPolicy.list()) descriptions.push(description)
    t.match(descriptions, ['named', 'second', 'first'])
  })

  await t.test('hostports move between edges, also of another kind', async () => {
    const edge = (description: string, ...hostports: string[]) => ({ description, hostports })
    await applied({
      tcp_edges: [edge('A', 'a.example.com:1'), edge('B', 'b.example.com:1', 'm.example.com:1')],
    })
    await applied({
      tcp_edges: [edge('B', 'b.example.com:1'), edge('A', 'm.example.com:1', 'a.example.com:1')],
    })
    await applied({
      tcp_edges: [edge('A', 'a.example.com:1')],
      https_edges: [edge('H', 'h.example.com:443', 'm.example.com:1')],
    })
    await applied({
      https_edges: [edge('H', 'h.example.com:443')],
      tcp_edges: [edge('C', 'm.example.com:1')],
    })
  })

  await t.test('a file names the address of a reservation that it does not describe', async () => {
    await applied({ reserved_addrs: [{ description: 'game' }] })
    await applied({ tcp_edges: [{ description: 'server', hostports: [`\${addr:game}`] }] })
  })

  await t.test('tokens that could not be kept are not made', async (t) => {
    given({ credentials: [{ description: 'agent' }] })
    const lost = await weir(['apply', file, '--tokens', join(dir, 'none', 'tokens')])
    t.match(lost, { code: 1, output: /can't keep tokens/ })
    for await (const _ of api.tunnelCredential.list()) t.fail('none is made')
  })

  const policiesOf = async (): Promise<unknown[]> => {
    const found: unknown[] = []
    for await (const { description } of api.ipPolicy.list()) found.push(description)
    return found
  }
  const versionNow = async (): Promise<number> => (await api.batch({ requests: [] })).version
  /** Of a client of an edge. */
  const expectation = (server_name: string, client_ip: string, decision: string) => ({
    description: `${client_ip} at ${server_name}`,
    given: { type: 'tcp_connection', conn: { client_ip, server_name, server_port: 1 } },
    expect: { decision },
  })
  const guarded = (cidr: string, decision: string) => ({
    ip_policies: [{ id: 'guard', description: 'guard', rules: [{ cidr, action: 'allow' }] }],
    tcp_edges: [
      {
        description: 'guarded',
        hostports: ['guarded.example.com:1'],
        ip_restriction: { ip_policy_ids: ['guard'] },
      },
    ],
    policy_tests: [expectation('guarded.example.com', '203.0.113.9', decision)],
  })

  await t.test('what is refused in the end leaves everything as it was', async (t) => {
    await applied(guarded('203.0.113.0/24', 'allow'))
    const before = await versionNow()
    const others = {
      ip_policies: [{ description: 'never made' }, ...guarded('198.51.100.0/24', 'x').ip_policies],
    }
    given({ ...guarded('203.0.113.0/24', 'allow'), ...others })
    t.match(await weir(['apply', file]), { code: 1, output: /The policy test .* would fail/ })
    t.equal(await versionNow(), before)
    t.notOk((await policiesOf()).includes('never made'))
  })

  await t.test('a policy test and what it is about change together, and it stays the same one', async (t) => {
    const idOf = async (): Promise<unknown> => {
      for await (const { id, description } of api.policyTest.list())
        if (String(description).includes('guarded')) return id
      return undefined
    }
    const before = await idOf()
    await applied(guarded('198.51.100.0/24', 'block'))
    t.equal(await idOf(), before)
  })

  await t.test('a hostport that would move, and be refused there, stays where it is', async (t) => {
    await applied({ tcp_edges: [{ description: 'had it', hostports: ['moving.example.com:1'] }] })
    given({
      tcp_edges: [
        { description: 'had it', hostports: ['stays.example.com:1'] },
        { description: 'gets it', hostports: ['moving.example.com:1'] },
      ],
      policy_tests: [expectation('moving.example.com', '192.0.2.1', 'block')],
    })
    const before = await versionNow()
    t.match(await weir(['apply', file]), { code: 1, output: /would fail/ })
    t.equal(await versionNow(), before)
  })

  await t.test('more than one request holds is made by several', async () => {
    const many = Array.from({ length: 1_100 }, (_, index) => ({ description: `many ${index}` }))
    await applied({ ip_policies: many })
    const large = Array.from({ length: 500 }, (_, index) => ({
      cidr: `10.${index >> 8}.${index & 255}.0/24`,
      action: 'deny',
    }))
    const wide = (rules: readonly object[]) => ({
      ...guarded('198.51.100.0/24', 'block'),
      ip_policies: [
        { id: 'large', description: 'large', rules },
        ...guarded('198.51.100.0/24', 'block').ip_policies,
      ],
    })
    await applied(wide(large))
    await applied(wide(large.slice(400).map((rule) => ({ ...rule, action: 'allow' }))))
  })

  await t.test('while others change the account', async (t) => {
    const { id } = await api.ipPolicy.create({ description: 'busy' })
    let isOver = false
    const busy = (async () => {
      for (let turn = 0; !isOver; turn += 1) {
        await api.ipPolicy.update(id, { metadata: `${turn}` })
        await new Promise((resolve) => setTimeout(resolve, 300))
      }
    })()
    given({ ip_policies: [{ description: 'made meanwhile' }] })
    const outcomes = await weir(['apply', file])
    isOver = true
    await busy
    const made = (await policiesOf()).filter((each) => each === 'made meanwhile').length
    t.equal(made, outcomes.code === 0 ? 1 : 0, outcomes.output)
  })

  await t.test('--prune deletes all but the key of the run, which comes last', async (t) => {
    await applied(
      { keys: [{ description: 'a' }, { description: 'own' }, { description: 'b' }] },
      '--tokens',
      tokens,
    )
    const lines = readFileSync(tokens, 'utf8').trim().split('\n')
    const own = lines.map((line) => JSON.parse(line)).find(({ name }) => name === 'own').token
    given({
      tcp_edges: [],
      https_edges: null,
      ip_policies: [],
      reserved_addrs: [],
      policy_tests: [],
      keys: [{ description: 'b' }],
    })
    t.match(await weir(['apply', file, '--prune'], own), {
      code: 1,
      output: /An API key may not delete itself: use another key/,
    })
    const last = lines.map((line) => JSON.parse(line)).find(({ name }) => name === 'b').token
    const plan = await weir(['plan', file, '--prune'], last)
    t.match(plan, { code: 2, output: /^- keys {2}own .*\n0 to make, .* 1 to delete, 1 as/ }, plan.output)
  })
})

t.test('two new edges with the same hostport: the plan says so, and none is made', async (t) => {
  const file = join(tempDir(t), 'weir.json')
  const { url, token, api, stop } = await startWeir(tempDir(t))
  t.teardown(() => stop())
  const weir = async (command: string, hostports: unknown) => {
    const edges = ['one', 'other'].map((description) => ({ description, hostports }))
    writeFileSync(file, JSON.stringify({ tcp_edges: edges }))
    const running = run('programs/main.js', [command, file], { WEIR_API_URL: url, WEIR_API_KEY: token })
    const { code } = await running.ended
    return { code, output: running.output() }
  }
  t.match(await weir('plan', ['both.example.com:1']), {
    code: 2,
    output:
      /refuse it now: tcp_edges both\.example\.com:1, which is .* has the hostport both\.example\.com:1\./,
  })
  t.match(await weir('apply', ['both.example.com:1']), { code: 1, output: /a hostport belongs to one edge/ })
  for await (const { id } of api.tcpEdge.list()) t.fail(`${id} was made`)
  t.match(await weir('plan', 'both.example.com:1'), { code: 1, output: /hostports/ })
})

/** Runs a program on a terminal, whose output is what a person sees. */
const terminal = 'import pty, sys; sys.exit(pty.spawn(sys.argv[1:]) >> 8)'

t.test('a terminal shows how far a long run is', { skip: !hasPython && 'needs python3' }, async (t) => {
  const file = join(tempDir(t), 'weir.json')
  const { url, token, stop } = await startWeir(tempDir(t))
  t.teardown(() => stop())
  const many = Array.from({ length: 5_000 }, (_, index) => ({ description: `many ${index}` }))
  writeFileSync(file, JSON.stringify({ ip_policies: many }))
  const words = ['-c', terminal, process.execPath, compiled('programs/main.js'), 'apply', file, '--json']
  const env = { ...process.env, WEIR_API_URL: url, WEIR_API_KEY: token }
  const { stdout: shown } = await promisify(execFile)('python3', words, { env, maxBuffer: 64 * 1024 * 1024 })
  const share = /(\d+) of 5000 differences, (\d+) %/.exec(shown)
  t.ok(share, shown.slice(0, 500))
  const [, done, percent] = share ?? []
  t.equal(Number(percent), Math.floor(Number(done) / 50))
  const [last = ''] = shown.trimEnd().split('\n').slice(-1)
  const json = last.slice(last.lastIndexOf(clearLine) + clearLine.length)
  t.equal(JSON.parse(json).differences.length, 5_000, 'the line is removed before the answer')
})

t.test(
  'more requests than the API answers within a minute: the run goes on in the next one',
  { skip: !hasPython && 'needs python3' },
  async (t) => {
    const file = join(tempDir(t), 'weir.json')
    const { url, token, stop } = await startWeir(tempDir(t), { WEIR_RATE_LIMIT: '80' })
    t.teardown(() => stop())
    const many = Array.from({ length: 90 }, (_, index) => ({ description: `limited ${index}` }))
    writeFileSync(file, JSON.stringify({ ip_policies: many }))
    const words = ['-c', terminal, process.execPath, compiled('programs/main.js'), 'apply', file, '--json']
    const env = { ...process.env, WEIR_API_URL: url, WEIR_API_KEY: token }
    const { stdout: shown } = await promisify(execFile)('python3', words, { env })
    t.equal(shown.match(/answers no more requests of the account for \d+ s/g)?.length, 1, 'it says so, once')
    const [, done, percent] = /(\d+) of 90 entries compared, (\d+) %/.exec(shown) ?? []
    t.equal(Number(percent), Math.floor(Number(done) / 0.9), 'and how far it is')
    const [last = ''] = shown.trimEnd().split('\n').slice(-1)
    const json = last.slice(last.lastIndexOf(clearLine) + clearLine.length)
    t.equal(JSON.parse(json).differences.length, 90)
  },
)
