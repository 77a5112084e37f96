/** Programs that the image and the package start exist in them, and run there without the sources. */
import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs'
import { dirname, join, normalize, resolve } from 'node:path'
import t, { type Test } from 'tap'
import { parse } from 'yaml'
import { versionAndBuild } from '../../../src/ground/core/package.js'
import { blocks, pages, prose } from '../../docs/pages.js'
import { runFile } from '../../harness/processes.js'
import { tempDir } from '../../harness/temp-dir.js'
import { type RunningWeir, startWeir } from '../../harness/weir.js'
import { copiedToBuild, imageFiles, imagePrograms, instruction, pack } from './shipped.js'

const packageJson = JSON.parse(readFileSync('package.json', 'utf8')) as {
  readonly name: string
  readonly private: boolean
  readonly bin: Readonly<Record<string, string>>
  readonly scripts: Readonly<Record<string, string>>
  readonly dependencies: Readonly<Record<string, string>>
  readonly optionalDependencies: Readonly<Record<string, string>>
}
const image = imageFiles()
const programs = imagePrograms()
const packedTo = tempDir(t)
const { filename, files } = pack(packedTo)

/** Checks that the words of a command of the image name a program and files that it has. */
function isInImage(t: Test, words: readonly string[], of: string): void {
  const [program = '', ...args] = words
  t.ok(programs.has(program), `${of}: ${program} is on the PATH`)
  const module = program === 'node' ? args.find((word) => !word.startsWith('-')) : undefined
  if (module !== undefined && !args.includes('-e')) t.ok(image.includes(module), `${of}: ${module}`)
}

t.test('what the image and Compose start is in the image', (t) => {
  for (const file of programs.values()) if (file !== undefined) t.ok(image.includes(file), file)
  isInImage(t, JSON.parse(instruction('ENTRYPOINT')), 'Dockerfile')
  const compose = parse(readFileSync('docker-compose.yml', 'utf8'), { merge: true }) as {
    readonly services: Readonly<
      Record<string, { build?: string; entrypoint?: string[]; healthcheck: { test: string[] } }>
    >
  }
  const built = Object.entries(compose.services).filter(([, { build }]) => build !== undefined)
  t.ok(built.length >= 4)
  for (const [name, { entrypoint, healthcheck }] of built) {
    if (entrypoint !== undefined) isInImage(t, entrypoint, name)
    isInImage(t, healthcheck.test.slice(1), `${name}, its health check`)
  }
  t.end()
})

t.test('what the documents start is in the image, or built in a clone', (t) => {
  const texts = [
    ...pages.map((page) => ({ of: page.file, text: [...blocks(page, 'sh'), prose(page)].join('\n') })),
    ...['Dockerfile', 'docker-compose.yml'].map((of) => ({ of, text: readFileSync(of, 'utf8') })),
  ]
  let found = 0
  for (const { of, text } of texts) {
    for (const [, rest = ''] of text.matchAll(/\bdocker (?:compose )?exec (?:-\w+ )*\S+ ([^\n`|]+)/g)) {
      isInImage(t, rest.trim().split(/\s+/), of)
      found += 1
    }
    for (const [, program = ''] of text.matchAll(
      /\bnode (?:--\S+ )*(?:\.\/)?((?:dist|bin|config)\/\S+\.m?js)/g,
    )) {
      const source = program.replace(/^dist\/((?:src|test)\/.*)\.js$/, '$1.ts')
      t.ok(existsSync(source), `${of}: ${program}`)
      found += 1
    }
  }
  t.ok(found >= 8, `${found} of them`)
  t.end()
})

t.test('the image is built from files that reach it', (t) => {
  const ignored = readFileSync('.dockerignore', 'utf8').split('\n')
  t.equal(ignored[0], '*', 'only what is named reaches the builder')
  for (const { from, sources } of copiedToBuild)
    for (const source of from === undefined ? sources : [])
      t.ok(ignored.includes(`!${source}`) && existsSync(source), source)
  t.end()
})

t.test('files that programs look for are shipped', (t) => {
  const looked = readdirSync('src', { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .flatMap((name) => [...readFileSync(join('src', name), 'utf8').matchAll(/packageFile\(('[^)]*')\)/g)])
    .map(([, words = '']) => words.replaceAll(/['\s]/g, '').replaceAll(',', '/'))
  t.ok(looked.length >= 3)
  for (const file of looked) {
    t.ok(image.includes(file), `the image: ${file}`)
    t.ok(
      files.some(({ path }) => path === file),
      `the package: ${file}`,
    )
  }
  t.end()
})

t.test('packages that programs load are dependencies', (t) => {
  const loaded = new Set<string>()
  for (const name of readdirSync('dist/programs').filter((each) => each.endsWith('.js'))) {
    const code = readFileSync(join('dist/programs', name), 'utf8')
    // At the start of a line: code in texts is not loaded.
    for (const [, from = ''] of code.matchAll(/^(?:import|export)\b[^'"\n]*["']([@a-z][^"'\n]*)["'];?$/gm))
      if (!from.startsWith('node:')) loaded.add(from)
  }
  t.ok(loaded.has('pino') && loaded.has('chdb'))
  const isBuiltIn = new Set(process.getBuiltinModule('node:module').builtinModules)
  const declared = { ...packageJson.dependencies, ...packageJson.optionalDependencies }
  for (const name of loaded) t.ok(isBuiltIn.has(name) || name in declared, name)
  t.end()
})

t.test('the package is ours, and the command is weir', (t) => {
  // The public registry's package "weir" belongs to others.
  t.match(packageJson.name, /^@[a-z-]+\/weir$/)
  t.equal(packageJson.private, true, 'it is not published by accident')
  t.strictSame(Object.keys(packageJson.bin), ['weir'])
  t.equal(
    packageJson.scripts['prepack'],
    'node config/prepare.mjs --no-nats-server --types',
    'it is built first',
  )
  t.end()
})

/** Runs the programs of a directory that has the shipped files alone; returns the path of the command. */
async function runsThere(t: Test, dir: string): Promise<string> {
  symlinkSync(resolve('node_modules'), join(dir, 'node_modules'))
  const command = join(dir, packageJson.bin['weir'] ?? '')
  const output = (...words: string[]): string =>
    execFileSync(command, words, { encoding: 'utf8', cwd: tempDir(t) })
  t.equal(output('--version'), `${versionAndBuild()}\n`)
  t.match(output('--help'), /^Usage: weir .*\bserve\b/s)
  const emulator = runFile(join(dir, 'dist', 'programs', 'emulator.js'), ['--port', '0'])
  t.teardown(() => emulator.stop())
  await emulator.line(/^aws: /)
  return command
}

t.test('the files of the image run', async (t) => {
  const dir = tempDir(t)
  for (const file of image) {
    mkdirSync(dirname(join(dir, file)), { recursive: true })
    cpSync(file, join(dir, file))
  }
  const command = await runsThere(t, dir)
  const weir: RunningWeir = await startWeir(join(tempDir(t), 'data'), {}, '', (env) =>
    runFile(command, ['serve'], env),
  )
  t.teardown(() => weir.stop())
  for (const path of ['docs', 'favicon.ico']) t.equal((await fetch(`${weir.url}/${path}`)).status, 200, path)
  await weir.stop()
})

t.test('the packed package runs', async (t) => {
  execFileSync('tar', ['-xzf', join(packedTo, filename), '-C', packedTo])
  const dir = join(packedTo, 'package')
  await runsThere(t, dir)
  for (const { file, text } of pages) {
    if (!files.some(({ path }) => path === file)) continue
    for (const [, link = ''] of text.matchAll(/\]\(([^)#\s]+)[^)]*\)/g)) {
      if (/^https?:/.test(link)) continue
      const target = normalize(join(dirname(file), link))
      t.ok(existsSync(join(dir, target)), `${file}: ${link}`)
    }
  }
})
