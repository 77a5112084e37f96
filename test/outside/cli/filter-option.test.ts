/** `--filter`, and `--where` as it was called earlier. */
import { Command } from 'commander'
import t from 'tap'
import { filtered, withFilter } from '../../../src/outside/cli/filter-option.js'

t.test('one name at a time, and the earlier one means the same', async (t) => {
  const parsed = (...args: string[]) =>
    filtered(withFilter(new Command(), 'only these').parse(args, { from: 'user' }).opts())
  t.strictSame(parsed(), {})
  t.strictSame(parsed('--filter', 'a == 1'), { filter: 'a == 1' })
  t.strictSame(parsed('--where', 'a == 1'), { filter: 'a == 1' })
  t.throws(() => parsed('--where', 'a', '--filter', 'a'), {
    message: '--where is the earlier name of --filter: give one of them.',
  })
  t.notMatch(withFilter(new Command(), 'only these').helpInformation(), '--where')
})
