/**
 * Every parser is fuzzed for a short time, the same inputs each time; what was found once is looked at again; and the engine
 * finds faults that are planted.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import t from 'tap'
import { Checks } from '../harness/checks.js'
import { judged } from './engine/judged.js'
import { Broken, type FuzzedParser, read, refused } from './engine/parser.js'
import { bytesOf, pasted, pastedFind } from './engine/pasted.js'
import { fuzz } from './engine/run.js'
import { watchdog } from './engine/watchdog.js'
import { finds } from './finds.js'
import { fuzzedParsers } from './parsers.js'
import { beginsParser, isElsewhere, unfuzzed } from './sources.js'

const seed = 1
/** For each parser. */
const cpuMs = 600

t.test('what was found once stays mended', async (t) => {
  const checks = new Checks()
  for (const { parser: name, what, input } of finds) {
    const parser = fuzzedParsers.find((each) => each.name === name)
    checks.ok(parser !== undefined, name)
    const result = parser && (await judged(parser, bytesOf(input)))
    checks.equal(
      result && 'failure' in result ? result.failure.what : undefined,
      undefined,
      `${name}: ${what}`,
    )
  }
  checks.report(t)
})

t.test('no parser fails, whatever its input is', async (t) => {
  const guard = watchdog()
  t.teardown(guard.stop)
  for (const parser of fuzzedParsers) {
    const report = await fuzz(parser, { seed, cpuMs, findsMax: 1, notice: guard.notice })
    const lines = report.finds.map(({ parser, failure, input }) => pastedFind(parser, failure.what, input))
    t.strictSame(lines, [], `${parser.name}: ${report.inputs} inputs`)
    t.ok(report.read > 0, `${parser.name} reads its seeds`)
  }
})

/** A parser of lists of numbers in brackets, with a fault. */
const planted = (
  name: string,
  parse: (text: string) => unknown,
  more?: Partial<FuzzedParser>,
): FuzzedParser => ({
  name,
  sources: [],
  seeds: () => ['[1, 2, 30]', '[[4], "five\\n"]', '{"six": 7}'],
  read: (bytes) => {
    try {
      return read(parse(bytes.toString()))
    } catch (error) {
      if (error instanceof SyntaxError) return refused('It is not JSON.')
      throw error
    }
  },
  ...more,
})

const faults: readonly { readonly parser: FuzzedParser; readonly kind: string; readonly bytesMax: number }[] =
  [
    {
      parser: planted('throws for a member that is null', (text) => Object.keys(JSON.parse(text).six)),
      kind: 'throws',
      bytesMax: 12,
    },
    {
      parser: planted('calls itself for each bracket', function nested(text: string): number {
        return text.startsWith('[') ? 1 + nested(text.slice(1)) : 0
      }),
      kind: 'throws',
      bytesMax: 64 * 1024,
    },
    {
      parser: planted('takes the square', (text) => /(?:,\s*)+x$/.test(text)),
      kind: 'slow',
      bytesMax: 64 * 1024,
    },
    {
      parser: planted('makes much of little', (text) =>
        'x'.repeat(Number(/\d+/.exec(text.slice(0, 40))?.[0] ?? 0) % 1e7),
      ),
      kind: 'large',
      bytesMax: 8,
    },
    {
      parser: planted('is not written as it is read', (text) => {
        const value = JSON.parse(text)
        if (
          Object.is(value, -0) ||
          JSON.stringify(JSON.parse(JSON.stringify(value))) !== text.replaceAll(/\s/g, '')
        )
          throw new Broken('a value that is written and read again')
        return value
      }),
      kind: 'broken',
      bytesMax: 16,
    },
  ]

t.test('planted faults are found, and shown by a short input', async (t) => {
  for (const { parser, kind, bytesMax } of faults) {
    const { finds } = await fuzz(parser, { seed, cpuMs: 20_000, findsMax: 1 })
    t.equal(finds[0]?.failure.kind, kind, parser.name)
    t.ok((finds[0]?.input.length ?? Number.POSITIVE_INFINITY) <= bytesMax, `${finds[0]?.input.length} bytes`)
  }
})

t.test('the same seed makes the same inputs, another one others', async (t) => {
  const inputsOf = async (seed: number): Promise<string[]> => {
    const inputs: string[] = []
    const notice = (_: FuzzedParser, input: Buffer) => void inputs.push(input.toString('latin1'))
    await fuzz(planted('without a fault', JSON.parse), { seed, cpuMs: 200, notice })
    return inputs.slice(0, 100)
  }
  const inputs = await inputsOf(1)
  t.equal(inputs.length, 100)
  t.strictSame(await inputsOf(1), inputs)
  t.notSame(await inputsOf(2), inputs)
})

t.test('an input is pasted as it was', async (t) => {
  const inputs = ["a'\\\n\0\xff", 'x'.repeat(100), `${'[{"a":'.repeat(40)}1`, '', 'ab'.repeat(30)]
  for (const input of inputs) {
    const literal = pasted(Buffer.from(input, 'latin1'))
    const value = new Function(`return ${literal}`)() as Parameters<typeof bytesOf>[0]
    t.equal(bytesOf(value).toString('latin1'), input, literal)
  }
})

t.test('every source that begins a parser is in the table, or there is a reason', async (t) => {
  const checks = new Checks()
  const covered = new Set(fuzzedParsers.flatMap(({ sources }) => sources))
  const excused = unfuzzed.flatMap(({ sources }) => sources)
  checks.equal(excused.length, new Set(excused).size, 'a source has one reason')
  for (const source of [...covered, ...excused]) checks.ok(existsSync(`src/${source}`), `${source} exists`)
  const begun = readdirSync('src', { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.tsx?$/.test(file) && !isElsewhere(`src/${file}`))
    .filter((file) => beginsParser.test(readFileSync(`src/${file}`, 'utf8')))
  checks.ok(begun.length > 100, 'parsers are found')
  for (const file of begun)
    checks.ok(covered.has(file) || excused.includes(file), `${file} is fuzzed, or says why not`)
  for (const file of excused)
    checks.ok(begun.includes(file) && !covered.has(file), `${file} needs no reason any more`)
  checks.report(t)
})
