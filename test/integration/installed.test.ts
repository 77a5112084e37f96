/** The packed package, installed on a machine that has nothing but Node and npm: `npm install --global`, then `weir serve`. */
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { versionAndBuild } from '../../src/ground/core/package.js'
import { runFile } from '../harness/processes.js'
import { startWeir } from '../harness/weir.js'
import { pack } from '../management/process/shipped.js'

const pingMs = 20_000
const isThere = spawnSync('npm', ['ping'], { timeout: pingMs, stdio: 'ignore' }).status === 0

t.test(
  'installed from the registry, it serves',
  { skip: isThere ? false : 'the npm registry is not reachable' },
  async (t) => {
    // On the disk: temporary files of tests may be in memory, and the engine alone is half a gigabyte.
    const dir = mkdtempSync('/var/tmp/weir-installed-')
    t.teardown(() => rmSync(dir, { recursive: true, force: true }))
    const [prefix, home] = [join(dir, 'prefix'), join(dir, 'home')]
    mkdirSync(home)
    const file = join(dir, pack(dir).filename)
    const words = [
      'install',
      '--global',
      '--prefix',
      prefix,
      '--prefer-offline',
      '--no-audit',
      '--no-fund',
      file,
    ]
    execFileSync('npm', words, { cwd: home, stdio: 'pipe' })

    const command = join(prefix, 'bin', 'weir')
    // The home is empty; a nats-server that was fetched before is not fetched again.
    const cache = process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache')
    const env = { HOME: home, XDG_CACHE_HOME: cache }
    const said = execFileSync(command, ['--version'], {
      cwd: home,
      encoding: 'utf8',
      env: { ...process.env, ...env },
    })
    t.equal(said, `${versionAndBuild()}\n`)
    const weir = await startWeir(join(dir, 'data'), {}, '', (more) =>
      runFile(command, ['serve'], { ...env, ...more }),
    )
    t.teardown(() => weir.stop())
    const { id } = await weir.api.ipPolicy.create({ description: 'kept by the embedded ClickHouse' })
    t.match(await weir.api.ipPolicy.get(id), { id })
    const text = readFileSync('docs/install.md', 'utf8')
    const [, weigh = ''] = /^(du .*npm root.*?) +#/m.exec(text) ?? []
    const output = execFileSync('sh', ['-c', weigh], {
      encoding: 'utf8',
      env: { ...process.env, npm_config_prefix: prefix },
    })
    const [, written = ''] = /with the embedded ClickHouse \| (\d+) \|/.exec(text) ?? []
    const ratio = Number.parseInt(output, 10) / Number(written)
    t.ok(ratio > 0.8 && ratio < 1.25, `docs/install.md says what is installed: ${output}`)
    for (const path of ['healthz', 'docs', 'playground', ''])
      t.equal((await fetch(`${weir.url}/${path}`)).status, 200, `/${path}`)
  },
)
