/** The package for Debian and Ubuntu: built, installed into an empty root, upgraded, removed and purged; and its units. */
import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { versionAndBuild } from '../../../src/ground/core/package.js'
import { tempDir } from '../../harness/temp-dir.js'

const missing = ['dpkg-deb', 'systemd-sysusers', 'systemd-analyze', 'userdel'].find(
  (program) => spawnSync('which', [program]).status !== 0,
)
const reason =
  missing !== undefined
    ? `there is no ${missing}`
    : process.getuid?.() === 0
      ? undefined
      : 'dpkg installs for root alone'
const units = ['weir', 'weir-api', 'weir-pipeline', 'weir-decide', 'weir-deliver']

t.test('the package', { skip: reason ?? false }, async (t) => {
  t.setTimeout(600_000)
  const dir = tempDir(t)
  const out = execFileSync('node', ['config/deb.mjs', '--out', dir, '--only', 'weir'], { encoding: 'utf8' })
  const file = out.trim()
  const root = join(dir, 'root')
  const at = (path: string): string => join(root, path)
  for (const path of ['updates', 'info']) mkdirSync(at(`var/lib/dpkg/${path}`), { recursive: true })
  writeFileSync(at('var/lib/dpkg/status'), '')
  mkdirSync(at('etc'))
  const dpkg = (...words: string[]): string => {
    // The root has no shell, and nothing that the package depends on.
    const options = [`--root=${root}`, '--force-depends', '--force-script-chrootless']
    const { status, stdout, stderr } = spawnSync('dpkg', [...options, ...words], { encoding: 'utf8' })
    t.equal(status, 0, `dpkg ${words[0]}: ${stderr}`)
    return stdout
  }
  const idOf = (file: string): number =>
    Number(/^weir:[^:]*:(\d+)/m.exec(readFileSync(at(file), 'utf8'))?.[1])

  await t.test('installed: a user, a directory of its own, settings that others can not read', (t) => {
    dpkg('--install', file)
    t.match(
      readFileSync(at('etc/passwd'), 'utf8'),
      /^weir:x:\d+:\d+:Weir:\/var\/lib\/weir:\/usr\/sbin\/nologin$/m,
    )
    const [data, settings] = [statSync(at('var/lib/weir')), statSync(at('etc/weir/weir.jsonc'))]
    t.strictSame([data.uid, data.mode & 0o777], [idOf('etc/passwd'), 0o700])
    t.strictSame([settings.uid, settings.gid, settings.mode & 0o777], [0, idOf('etc/group'), 0o640])
    const weir = at('usr/lib/weir/src/weir.mjs')
    t.equal(execFileSync('node', [weir, '--version'], { encoding: 'utf8' }), `${versionAndBuild()}\n`)
    const command = ['--config', at('etc/weir/weir.jsonc'), 'serve']
    const env = { PATH: `${process.env['PATH']}:${at('usr/lib/weir/bin')}` }
    const started = spawnSync('node', [weir, ...command], { encoding: 'utf8', env })
    t.match(started.stderr, /^weir: The embedded ClickHouse is not installed/, 'it is another package')
    t.match(JSON.parse(readFileSync(at('usr/share/doc/weir/sbom.cdx.json'), 'utf8')), {
      bomFormat: 'CycloneDX',
    })
    t.match(execFileSync(at('usr/lib/weir/bin/nats-server'), ['--version'], { encoding: 'utf8' }), /v2\.\d+/)
    t.end()
  })

  await t.test('the units are understood, and contained', (t) => {
    // The targets that every unit refers to.
    cpSync('/lib/systemd/system', at('usr/lib/systemd/system'), {
      recursive: true,
      force: false,
      dereference: false,
    })
    for (const unit of units) {
      const path = `usr/lib/systemd/system/${unit}.service`
      const verify = ['verify', '--man=no', `--root=${root}`, `${unit}.service`]
      const verified = spawnSync('systemd-analyze', verify, { encoding: 'utf8' })
      const about = verified.stderr.split('\n').filter((line) => line.includes('weir'))
      t.strictSame([verified.status, about], [0, []], verified.stderr)
      const words = ['security', '--offline=true', '--threshold=30', at(path)]
      const { status, stdout } = spawnSync('systemd-analyze', words, { encoding: 'utf8' })
      t.equal(status, 0, `${unit}: ${stdout.split('\n').at(-2)}`)
    }
    t.end()
  })

  await t.test('upgraded: settings and data stay as they are', (t) => {
    writeFileSync(at('etc/weir/weir.jsonc'), '{ "port": 8081 }')
    writeFileSync(at('var/lib/weir/data'), 'data')
    dpkg('--install', file)
    t.equal(readFileSync(at('etc/weir/weir.jsonc'), 'utf8'), '{ "port": 8081 }')
    t.equal(readFileSync(at('var/lib/weir/data'), 'utf8'), 'data')
    t.end()
  })

  await t.test('removed: programs and units are gone, settings and data stay', (t) => {
    dpkg('--remove', 'weir')
    t.notOk(existsSync(at('usr/lib/weir')) || existsSync(at('usr/bin/weir')))
    t.strictSame(
      readdirSync(at('usr/lib/systemd/system')).filter((name) => name.startsWith('weir')),
      [],
    )
    t.ok(existsSync(at('etc/weir/weir.jsonc')) && existsSync(at('var/lib/weir/data')))
    t.end()
  })

  await t.test('purged: nothing is left', (t) => {
    const wants = at('etc/systemd/system/multi-user.target.wants')
    mkdirSync(wants, { recursive: true })
    writeFileSync(join(wants, 'weir.service'), '')
    dpkg('--purge', 'weir')
    const left = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((path) => /weir/.test(path))
    t.strictSame(left, [])
    for (const name of ['passwd', 'group'])
      t.notMatch(readFileSync(at(`etc/${name}`), 'utf8'), /^weir:/m, 'the user')
    t.end()
  })
})
