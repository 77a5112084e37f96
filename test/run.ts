/**
 * The one test that `tap` runs: it runs all the others, each in a process of its own and some at a time. Arguments are
 * handed on to them, but for the beginnings of the paths of those that are to run:
 *
 *     npm test -- --test-arg=core/ --test-arg=api/lists
 *
 * Left to run them itself, `tap` puts the hooks of its coverage into every process of a test and into all that those
 * start, wanted or not. A role then takes more than twice as long to start, and most of the time here is starts.
 */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { argv, env, execPath } from 'node:process'
import t from 'tap'
import { compiled } from './harness/processes.js'

/** Long enough for the slowest file on a busy machine. */
const timeoutSeconds = 900
/** More than there are cores in the smallest machine: much of a test is waiting. */
const filesAtATime = 3
/** Their files take longest. Begun first, none is left at the end for the others to wait for. */
const longest = ['store', 'integration', 'demo', 'api']

const rank = (file: string): number => {
  const at = longest.findIndex((room) => file.startsWith(`${room}/`))
  return at === -1 ? longest.length : at
}

const options = argv.slice(2).filter((each) => each.startsWith('-'))
const wanted = argv.slice(2).filter((each) => !each.startsWith('-'))
const isWanted = (file: string): boolean =>
  wanted.length === 0 || wanted.some((path) => file.startsWith(path))

const files = readdirSync(compiled('test'), { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.test.js') && isWanted(file))
  .toSorted((a, b) => rank(a) - rank(b) || a.localeCompare(b))

t.setTimeout(0)
t.jobs = filesAtATime
t.plan(files.length)
for (const file of files) {
  const path = join('dist/test', file)
  // `tap` sets the variable for whatever it starts.
  const command = ['-u', 'NODE_OPTIONS', execPath, '--enable-source-maps', path, ...options]
  void t.spawn('env', command, {
    name: path,
    buffered: true,
    timeout: timeoutSeconds * 1_000,
    env: { ...env, TAP_TIMEOUT: String(timeoutSeconds) },
    at: null,
    stack: '',
  })
}
