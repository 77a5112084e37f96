/** The tables of `docs/conformance.md`, which `npm run docs` writes. */
import { code, table } from '../../src/words/event/markdown.js'
import type { Need } from './clause.js'
import { chapters } from './clauses.js'
import { hiddenClauses } from './hidden-clauses.js'

const options: Readonly<Record<Need, string>> = {
  writes: 'not `--read-only`',
  listen: '`--listen`',
  nats: '`--nats`',
  decide: '`--decide-url`',
  'other-key': '`--other-key`',
  limits: '`--limits`',
}

const link = (page: string): string =>
  `[${page
    .replace(/\.md|#/g, ' ')
    .trim()
    .replaceAll(/ +/g, ': ')
    .replaceAll('-', ' ')}](${page})`

export const clauseTables = {
  promises: () =>
    chapters
      .map(({ title, clauses }) => {
        const rows = clauses.map(({ number, says, page, needs = [] }) => [
          String(number),
          says,
          link(page),
          needs.map((need) => options[need]).join(', '),
        ])
        return `### ${title}\n\n${table(['Number', 'Promise', 'Page', 'Checked with'], rows)}`
      })
      .join('\n\n'),
  hidden: () =>
    table(
      ['Number', 'Promise', 'Page', 'Why'],
      hiddenClauses.map(({ number, says, page, why }) => [
        String(number),
        says,
        link(page),
        why.replaceAll(/test\/[\w/]+/g, code),
      ]),
    ),
}
