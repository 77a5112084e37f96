/** The writers' pages in `docs/log-formats.md`. */

import { formats } from '../../src/delivery/ingest/formats.js'
import type { Writer } from '../../src/delivery/ingest/lines/format.js'

const section = ({ program, escapes, nothing, client, times, lost, sources }: Writer): string =>
  [
    `### ${program}`,
    '',
    `- **Escapes.** ${escapes}`,
    `- **No value.** ${nothing}`,
    `- **The client.** ${client}`,
    `- **Times.** ${times}`,
    `- **What is lost.** ${lost}`,
    `- **Sources.** ${sources.join('; ')}`,
  ].join('\n')

export const writerPages = {
  writers: () => [...new Set(formats.flatMap(({ writers = [] }) => writers))].map(section).join('\n\n'),
}
