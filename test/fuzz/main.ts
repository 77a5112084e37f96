/**
 * Fuzzes parsers for longer than the tests do, and prints what it finds as lines for `finds.ts`.
 *
 *     node dist/test/fuzz/main.js [PARSER…] [--seed N] [--seconds S]
 *
 * A parser is named by its name, or a part of it; `--seconds` are those of CPU for each, `--list` only names them. The exit
 * code is 1 if anything was found.
 */
import { parseArgs } from 'node:util'
import { pastedFind } from './engine/pasted.js'
import { fuzz } from './engine/run.js'
import { watchdog } from './engine/watchdog.js'
import { fuzzedParsers } from './parsers.js'

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seed: { type: 'string', default: '1' },
    seconds: { type: 'string', default: '60' },
    list: { type: 'boolean', default: false },
  },
})

const parsers = fuzzedParsers.filter(
  ({ name }) => positionals.length === 0 || positionals.some((wanted) => name.includes(wanted)),
)
const [seed, seconds] = [Number(options.seed), Number(options.seconds)]
if (parsers.length === 0 || !Number.isInteger(seed) || !(seconds > 0)) {
  console.error('A parser, a whole number as seed, and seconds are needed; --list names the parsers.')
  process.exit(2)
}
if (options.list) {
  for (const { name, sources } of parsers) console.log(`${name}: ${sources.join(', ')}`)
  process.exit(0)
}

const guard = watchdog()
for (const parser of parsers) {
  const { inputs, read, shapes, finds } = await fuzz(parser, {
    seed,
    cpuMs: seconds * 1_000,
    comparesTimes: true,
    notice: guard.notice,
  })
  console.log(`${parser.name}: ${inputs} inputs, of which ${read} were read, ${shapes} kinds of outcomes`)
  for (const { failure, input, index } of finds) {
    process.exitCode = 1
    console.log(`  ${failure.kind}, input ${index}, ${input.length} bytes: ${failure.what}`)
    console.log(pastedFind(parser.name, failure.what, input))
  }
}
guard.stop()
