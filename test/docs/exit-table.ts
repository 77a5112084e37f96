/** The tables of exit codes in `docs/cli.md`. */
import { exitMeanings } from '../../src/outside/cli/guide/exit-codes.js'
import { guide } from '../../src/outside/cli/guide/guide.js'
import { code, table } from '../../src/words/event/markdown.js'

/** A command with others below it stands for them. */
const rows = Object.entries(guide).filter(
  ([name, { found, differs }]) =>
    (found ?? differs) !== undefined && guide[name.replace(/ ?\S+$/, '')]?.found !== found,
)

export const exitTables = {
  exits: () =>
    [
      table(
        ['Code', 'Means'],
        exitMeanings.map((meaning, index) => [String(index), meaning]),
      ),
      table(
        ['Command', '1', '2'],
        rows.map(([name, { found = '', differs = '' }]) => [code(`weir ${name}`), found, differs]),
      ),
    ].join('\n\n'),
}
