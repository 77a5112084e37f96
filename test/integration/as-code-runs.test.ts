/** Runs of apply after which a plan finds no difference, whatever was there before. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { run } from '../harness/processes.js'
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
    t.match(await weir(['apply', file, ...options]), { code: 0 })
    t.match(await weir(['plan', file]), { code: 0 }, 'there is no difference after it')
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
