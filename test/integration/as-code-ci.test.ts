/** The jobs that the documents offer do what they say, as plain scripts: plan and test a change, and apply it. */

import { execFile, spawnSync } from 'node:child_process'
import { chmodSync, copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { parse } from 'yaml'
import { compiled } from '../harness/processes.js'
import { tempDir } from '../harness/temp-dir.js'
import { startWeir } from '../harness/weir.js'

interface Job {
  readonly plan: string
  readonly apply: string
  /** Where its comment is made, and changed, and by what it is allowed to. */
  readonly comments: { readonly made: string; readonly changed: string; readonly token: string }
}

/** Without the steps that fetch the files and the program, which are here. */
const jobs: Readonly<Record<string, Job>> = {
  github: (() => {
    const { jobs } = parse(readFileSync('docs/as-code/github.yml', 'utf8'))
    const script = (name: string): string =>
      jobs[name].steps
        .filter(({ run, name }: { run?: string; name?: string }) => run !== undefined && name !== 'Install')
        .map(({ run }: { run: string }) => run)
        .join('\n')
    const comments = {
      made: 'POST /repos/acme/weir/issues/7/comments',
      changed: 'PATCH /repos/acme/weir/issues/comments/',
      token: 'Bearer the-token',
    }
    return { plan: script('plan'), apply: script('apply'), comments }
  })(),
  gitlab: (() => {
    const file = parse(readFileSync('docs/as-code/gitlab.yml', 'utf8'))
    const comments = {
      made: 'POST /projects/5/merge_requests/7/notes',
      changed: 'PUT /projects/5/merge_requests/7/notes/',
      token: 'the-token',
    }
    return { plan: file.plan.script.join('\n'), apply: file.apply.script.join('\n'), comments }
  })(),
}

const hook = parse(readFileSync('docs/as-code/pre-commit.yaml', 'utf8')).repos[0].hooks[0].entry as string

const account = `
ip_policies:
  - {id: office, description: office, rules: [{cidr: 203.0.113.0/24, action: allow}]}
tcp_edges:
  - {hostports: ['ci.example.com:22'], ip_restriction: {ip_policy_ids: [office]}}
policy_tests:
  - description: strangers stay out
    given: {type: tcp_connection, conn: {client_ip: 198.51.100.1, server_name: ci.example.com, server_port: 22}}
    expect: {decision: block}
`

const terraform = ['terraform', 'tofu'].find((name) => spawnSync(name, ['version']).status === 0)
const missing = 'neither terraform nor tofu is there'

interface Commented {
  readonly request: string
  readonly token: string | undefined
  readonly body: string
}

/** In place of GitHub and GitLab, as their documents describe comments: neither can be had here. */
async function commentsServer(t: Test): Promise<{ url: string; sent: Commented[] }> {
  const sent: Commented[] = []
  const comments: { id: number; body: string }[] = [{ id: 1, body: 'a comment of someone' }]
  const server = createServer(async (request, response) => {
    let text = ''
    for await (const chunk of request) text += chunk
    const { method = '', url = '', headers } = request
    const answer = (value: unknown) => response.end(JSON.stringify(value))
    if (method === 'GET') return answer(comments)
    const { body } = JSON.parse(text)
    const token = headers.authorization ?? (headers['private-token'] as string | undefined)
    sent.push({ request: `${method} ${url}`, token, body })
    const id = method === 'POST' ? comments.length + 1 : Number(url.split('/').at(-1))
    comments[id - 1] = { id, body }
    return answer(comments[id - 1])
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, sent }
}

t.test('jobs of CI', async (t) => {
  const weir = await startWeir(tempDir(t))
  t.teardown(() => weir.stop())
  const { token: readKey } = await weir.api.apiKey.create({ description: 'CI', rights: ['read'] })
  const dir = tempDir(t)
  mkdirSync(join(dir, 'bin'))
  const program = join(dir, 'bin', 'weir')
  writeFileSync(program, `#!/bin/sh\nexec '${process.execPath}' '${compiled('programs/main.js')}' "$@"\n`)
  chmodSync(program, 0o755)
  mkdirSync(join(dir, 'weir'))
  const write = (text: string): void => writeFileSync(join(dir, 'weir', 'account.yaml'), text)

  for (const folder of ['.github', '.gitlab']) {
    mkdirSync(join(dir, folder))
    copyFileSync('docs/as-code/comment.mjs', join(dir, folder, 'comment.mjs'))
  }
  let env: Readonly<Record<string, string>> = {}
  const envOf = (name: string, url: string): typeof env =>
    name === 'github'
      ? {
          GITHUB_ACTIONS: 'true',
          GITHUB_API_URL: url,
          GITHUB_REPOSITORY: 'acme/weir',
          PULL_REQUEST: '7',
          GITHUB_TOKEN: 'the-token',
        }
      : {
          GITHUB_ACTIONS: '',
          CI_API_V4_URL: url,
          CI_PROJECT_ID: '5',
          CI_MERGE_REQUEST_IID: '7',
          COMMENT_TOKEN: 'the-token',
        }

  const run = (script: string, key: string | null): Promise<{ code: number; output: string }> =>
    new Promise((resolve) => {
      const all = {
        ...process.env,
        ...env,
        PATH: `${join(dir, 'bin')}:${process.env['PATH']}`,
        WEIR_API_URL: weir.url,
        WEIR_API_KEY: key ?? '',
        PLAN_KEY: readKey ?? '',
        APPLY_KEY: weir.token,
      }
      execFile('sh', ['-e', '-c', script], { cwd: dir, env: all }, (error, stdout, stderr) =>
        resolve({ code: Number(error?.code ?? 0), output: stdout + stderr }),
      )
    })

  for (const [name, { plan, apply, comments }] of Object.entries(jobs)) {
    const { url, sent } = await commentsServer(t)
    env = envOf(name, url)
    write(account.replace('description: office,', `description: office of ${name},`))
    const planned = await run(plan, readKey)
    t.match(planned, { code: 0, output: /1 passed, 0 failed[\s\S]*\d to make/ }, `${name}: ${planned.output}`)
    if (name === 'gitlab')
      t.match(planned.output, '["office-of-github"]} -> {"enabled":true,"ip_policy_ids":["office"]}')
    const applied = await run(apply, weir.token)
    t.match(applied, { code: 0, output: /differences are done/ }, `${name}: ${applied.output}`)
    const after = await run(plan, readKey)
    t.match(after, { code: 0, output: /0 to make, 0 to change/ }, `${name}: ${after.output}`)
    t.match(sent, [
      { request: comments.made, token: comments.token, body: /^<!-- weir plan -->[\s\S]*1 passed, 0 failed/ },
      { request: `${comments.changed}2`, token: comments.token, body: /0 to make, 0 to change/ },
    ])
    write(account.replace('decision: block', 'decision: allow'))
    t.equal((await run(plan, readKey)).code, 1, 'a policy test that fails, fails the job')
    write(account.replace('description: office,', `description: office of ${name}, colour: blue,`))
    const wrong = await run(apply, weir.token)
    t.match(wrong, { code: 1, output: /account\.yaml:3:\d+: .*colour/ }, `${name}: ${wrong.output}`)
  }
  await t.test(
    'Terraform or OpenTofu: applied when a file changes',
    { skip: !terraform && missing },
    async (t) => {
      const [, hcl = ''] = /```hcl\n([\s\S]*?)```/.exec(readFileSync('docs/as-code.md', 'utf8')) ?? []
      writeFileSync(join(dir, 'main.tf'), hcl)
      env = { CHECKPOINT_DISABLE: '1', TF_CLI_CONFIG_FILE: '/dev/null' }
      const apply = `${terraform} apply -auto-approve -no-color -input=false`
      write(account)
      t.match(await run(`${terraform} init -no-color -input=false`, weir.token), { code: 0 })
      const first = await run(apply, weir.token)
      t.match(first, { code: 0, output: /differences are done[\s\S]*1 added/ }, first.output)
      t.match(await run(apply, weir.token), { code: 0, output: /No changes/ }, 'nothing differs')
      write(account.replace('203.0.113.0/24', '203.0.113.0/25'))
      const second = await run(apply, weir.token)
      t.match(second, { code: 0, output: /1 differences are done/ }, second.output)
      write(account.replace('decision: block', 'decision: allow'))
      t.match(await run(apply, weir.token), { code: 1, output: /would fail/ }, 'a failure is one')
      write(account)
      t.match(
        await run(apply, weir.token),
        { code: 0, output: /differences are done/ },
        'the next run goes on',
      )
      env = {}
    },
  )
  write(account)
  t.match(
    await run(`${hook} weir/account.yaml`, null),
    { code: 0, output: /1 passed/ },
    'the hook of pre-commit',
  )
})
