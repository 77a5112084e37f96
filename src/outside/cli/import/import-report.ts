/** What became of the items of an import, in words. */
import type { Imported } from '../../import/draft/import-run.js'
import type { Outcome, ReportLine } from '../../import/draft/item.js'

/** A terminal shows no more; a file has all. */
const shownMax = 200

const words: Readonly<Record<Outcome, string>> = {
  taken: 'taken    ',
  changed: 'changed  ',
  not_taken: 'not taken',
}

export const countsIn = (report: readonly ReportLine[]): Readonly<Record<Outcome, number>> => {
  const counts = { taken: 0, changed: 0, not_taken: 0 }
  for (const { outcome } of report) counts[outcome] += 1
  return counts
}

/** `reportFile`: has all of them. */
export function importReport(
  { report, remarks }: Pick<Imported, 'report' | 'remarks'>,
  reportFile: string | undefined,
): string {
  const { taken, changed, not_taken } = countsIn(report)
  const telling = report.filter(({ outcome }) => outcome !== 'taken')
  const left = telling.length - shownMax
  const hint = reportFile === undefined ? '--report FILE writes all of them' : `${reportFile} has all of them`
  return [
    ...telling.slice(0, shownMax).flatMap(linesOf),
    ...(left > 0 ? [`… and ${left} more; ${hint}.`] : []),
    ...remarks,
    `${report.length} items: ${taken} taken as they are, ${changed} changed, ${not_taken} not taken.`,
  ].join('\n')
}

function linesOf({ outcome, place, kind, name, became, notes }: ReportLine): string[] {
  const called = name === kind ? '' : ` ${name}`
  const into = became === null ? '' : ` → ${became}`
  return [
    `${words[outcome]}  ${place}: ${kind}${called}${into}`,
    ...notes.map((note) => `           ${note}`),
  ]
}
