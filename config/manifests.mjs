/**
 * Writes `config/kubernetes/weir.yaml`, the objects of the Helm chart for those who do not use Helm. `--check` compares instead,
 * and exits with 1 if the file is another one.
 *
 *   node config/manifests.mjs [--check]
 *
 * Needs `helm`, from PATH or where HELM_PROGRAM says.
 */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { argv, env, exit, stderr } from 'node:process'

const file = 'config/kubernetes/weir.yaml'

const head = `# Weir on Kubernetes, with NATS and ClickHouse: what the Helm chart renders with its default values. "node config/manifests.mjs"
# writes this file: change the chart, or make your changes with kustomize. docs/kubernetes.md says how to apply it.
`

/** The objects, without what says that Helm manages them. */
function rendered() {
  const home = mkdtempSync(join(tmpdir(), 'weir-helm-'))
  try {
    const words = ['template', 'weir', 'config/helm', '--namespace', 'weir']
    const helm = spawnSync(env.HELM_PROGRAM ?? 'helm', words, {
      encoding: 'utf8',
      env: { PATH: env.PATH, HOME: home },
    })
    if (helm.status !== 0)
      fail(helm.error === undefined ? helm.stderr : `helm can't be run: ${helm.error.message}.`)
    return (
      head +
      helm.stdout.replaceAll(
        /^ *(app\.kubernetes\.io\/managed-by|helm\.sh\/chart): .*\n|^# Source: .*\n/gm,
        '',
      )
    )
  } finally {
    rmSync(home, { recursive: true })
  }
}

function fail(message) {
  stderr.write(`${message.trim()}\n`)
  exit(1)
}

const text = rendered()
if (!argv.includes('--check')) writeFileSync(file, text)
else if (readFileSync(file, 'utf8') !== text)
  fail(`${file} is not what the chart renders: run "node config/manifests.mjs".`)
