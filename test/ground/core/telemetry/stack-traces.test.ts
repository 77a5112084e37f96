/** Stacks of a program without Node's own source maps: they name the lines of the sources. */
import { spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { buildSync } from 'esbuild'
import t from 'tap'
import { tempDir } from '../../../harness/temp-dir.js'

const source = `import { showSources } from '${resolve('src/ground/core/telemetry/stack-traces.ts')}'
interface Unneeded {
  readonly lines: number
}
showSources()
function fail(): never {
  throw new RangeError('too far')
}
try {
  fail()
} catch (error) {
  console.log((error as Error).stack)
}
const odd = { name: { toString() { throw new Error('no name') } } }
console.log(Object.assign(new Error('x'), odd).stack?.split('\\n')[0])
`

/** The output of the program, with or without its map. */
function run(t: Parameters<typeof tempDir>[0], isMapped: boolean) {
  const dir = tempDir(t)
  mkdirSync(join(dir, 'src'))
  const file = join(dir, 'src', 'program.ts')
  writeFileSync(file, source)
  const outfile = join(dir, 'dist.mjs')
  buildSync({
    entryPoints: [file],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    ...(isMapped && { sourcemap: 'linked', sourcesContent: false }),
  })
  const env = { ...process.env, NODE_OPTIONS: '' }
  return { file, ...spawnSync(process.execPath, [outfile], { encoding: 'utf8', env }) }
}

t.test('a stack names the lines of the sources', async (t) => {
  const { file, stdout, stderr } = run(t, true)
  t.match(stdout, `RangeError: too far\n    at fail (${file}:7:9)\n    at `, stderr)
  t.match(stdout, `${file}:10:3`)
  t.match(stdout, /^Error$/m, 'a name that cannot be read')
})

t.test('without a map, those of what runs', async (t) => {
  const { stdout, stderr } = run(t, false)
  t.match(stdout, /^RangeError: too far\n {4}at fail \(file:\/\/.*dist\.mjs:\d+:\d+\)/, stderr)
})
