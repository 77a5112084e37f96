/** The OpenAPI document in third-party tools: a linter finds no fault, and generated code compiles. */
import { execFile } from 'node:child_process'
import { existsSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { env } from 'node:process'
import { promisify } from 'node:util'
import t from 'tap'
import { openTestStore } from '../../harness/api.js'
import { tempDir } from '../../harness/temp-dir.js'

const run = promisify(execFile)

/** The tools must not use the network: requests go to a proxy on a closed port. */
const nowhere = 'http://127.0.0.1:9'
const offline = {
  ...env,
  HTTP_PROXY: nowhere,
  HTTPS_PROXY: nowhere,
  REDOCLY_TELEMETRY: 'off',
  REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true',
}

/** Runs a package's program; a failure has its output. */
async function tool(name: string, args: readonly string[], cwd?: string): Promise<string> {
  const program = resolve('node_modules', '.bin', name)
  try {
    const { stdout, stderr } = await run(program, [...args], { env: offline, ...(cwd ? { cwd } : {}) })
    return stdout + stderr
  } catch (error) {
    const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string }
    throw new Error(`${name} failed: ${(stdout + stderr).slice(0, 4000) || String(error)}`)
  }
}

const compilerOptions = {
  strict: true,
  noEmit: true,
  target: 'ES2023',
  module: 'NodeNext',
  moduleResolution: 'NodeNext',
  lib: ['ES2023', 'DOM'],
  types: [],
  skipLibCheck: true,
}

/** A program that a user of both would write. */
const use = `
import { createIpPolicy, listEventSubscriptions, listIpPolicies } from './client.js'
import type { EventKind, IpPolicyUpdatedV0WebhookPayload, TcpEdgeCreate } from './types/index.js'

export const kind: EventKind = 'log.v0'
// @ts-expect-error: there is no such kind of event.
export const noKind: EventKind = 'nothing.v0'
export const seen = ({ event_id, principal, object }: IpPolicyUpdatedV0WebhookPayload): string[] => [
  event_id,
  principal.subject,
  object.uri,
]
export const edge: TcpEdgeCreate = { hostports: ['a.example:22'], policies: { inbound: null } }

const made = await createIpPolicy('2', { description: 'office' }, { validateOnly: true })
export const id: string = made.status === 201 ? made.data.id : made.data.msg
const page = await listIpPolicies('2', { limit: 5 })
export const first = page.status === 200 ? page.data.ip_policies[0]?.created_at : page.data.error_code
const subscriptions = await listEventSubscriptions('2')
export const type: EventKind | undefined =
  subscriptions.status === 200 ? subscriptions.data.event_subscriptions[0]?.sources[0]?.type : undefined
`

t.test('the OpenAPI document in third-party tools', async (t) => {
  const dir = tempDir(t)
  const store = await openTestStore(t)
  const api = await store.api()
  const document = join(dir, 'openapi.json')
  writeFileSync(document, JSON.stringify(api.app.swagger()))

  t.test('a linter reports no problems', async (t) => {
    const said = await tool('redocly', [
      'lint',
      document,
      '--config',
      'config/redocly.yaml',
      '--format=stylish',
    ])
    t.match(said, /is valid/)
    const faulty = join(dir, 'faulty.json')
    const { paths: _, webhooks: __, ...head } = JSON.parse(readFileSync(document, 'utf8'))
    const schemas = {
      IPPolicy: { type: 'object', properties: { description: { type: 'string', maxBytes: 255 } } },
    }
    writeFileSync(faulty, JSON.stringify({ ...head, paths: {}, components: { ...head.components, schemas } }))
    const lint = tool('redocly', ['lint', faulty, '--config', 'config/redocly.yaml', '--format=stylish'])
    await t.rejects(lint, { message: /maxBytes/ }, 'a keyword that there is not would be found')
  })

  t.test('the output of two generators compiles, with code that uses it', async (t) => {
    symlinkSync(resolve('node_modules'), join(dir, 'node_modules'))
    writeFileSync(join(dir, 'package.json'), '{"type": "module"}')
    writeFileSync(
      join(dir, 'tsconfig.json'),
      JSON.stringify({ compilerOptions, include: ['**/*.ts'], exclude: ['node_modules'] }),
    )
    writeFileSync(join(dir, 'use.ts'), use)
    const types = ['-i', document, '-o', join(dir, 'types'), '-p', '@hey-api/typescript', '--no-log-file']
    await tool('openapi-ts', types, dir)
    await tool('oazapfts', [document, join(dir, 'client.ts')])
    for (const file of ['types/types.gen.ts', 'client.ts']) t.ok(existsSync(join(dir, file)), file)
    await tool('tsc', ['-p', dir])
    t.pass('compiled')
  })
})
