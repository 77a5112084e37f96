/** The jobs that the documents offer do what they say, as plain scripts: plan and test a change, and apply it. */

import { execFile } from 'node:child_process'
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parse } from 'yaml'
import { compiled } from '../harness/processes.js'
import { tempDir } from '../harness/temp-dir.js'
import { startWeir } from '../harness/weir.js'

interface Job {
  readonly plan: string
  readonly apply: string
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
    return { plan: script('plan'), apply: script('apply') }
  })(),
  gitlab: (() => {
    const file = parse(readFileSync('docs/as-code/gitlab.yml', 'utf8'))
    return { plan: file.plan.script.join('\n'), apply: file.apply.script.join('\n') }
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

  const run = (script: string, key: string | null): Promise<{ code: number; output: string }> =>
    new Promise((resolve) => {
      const env = {
        ...process.env,
        PATH: `${join(dir, 'bin')}:${process.env['PATH']}`,
        WEIR_API_URL: weir.url,
        WEIR_API_KEY: key ?? '',
        PLAN_KEY: readKey ?? '',
        APPLY_KEY: weir.token,
      }
      execFile('sh', ['-e', '-c', script], { cwd: dir, env }, (error, stdout, stderr) =>
        resolve({ code: Number(error?.code ?? 0), output: stdout + stderr }),
      )
    })

  for (const [name, { plan, apply }] of Object.entries(jobs)) {
    write(account.replace('description: office,', `description: office of ${name},`))
    const planned = await run(plan, readKey)
    t.match(planned, { code: 0, output: /1 passed, 0 failed[\s\S]*\d to make/ }, `${name}: ${planned.output}`)
    if (name === 'gitlab')
      t.match(planned.output, '["office-of-github"]} -> {"enabled":true,"ip_policy_ids":["office"]}')
    const applied = await run(apply, weir.token)
    t.match(applied, { code: 0, output: /differences are done/ }, `${name}: ${applied.output}`)
    const after = await run(plan, readKey)
    t.match(after, { code: 0, output: /0 to make, 0 to change/ }, `${name}: ${after.output}`)
    write(account.replace('decision: block', 'decision: allow'))
    t.equal((await run(plan, readKey)).code, 1, 'a policy test that fails, fails the job')
    write(account.replace('description: office,', `description: office of ${name}, colour: blue,`))
    const wrong = await run(apply, weir.token)
    t.match(wrong, { code: 1, output: /account\.yaml:3:\d+: .*colour/ }, `${name}: ${wrong.output}`)
  }
  write(account)
  t.match(
    await run(`${hook} weir/account.yaml`, null),
    { code: 0, output: /1 passed/ },
    'the hook of pre-commit',
  )
})
