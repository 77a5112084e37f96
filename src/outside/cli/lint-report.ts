/** Shows findings, in words; the exit code is 1 if there are any that need attention. */
import { forTerminal } from '../../ground/core/text/terminal.js'
import { sentenceForTerminal } from '../../ground/core/text/times.js'
import type { Settings } from '../../management/process/settings.js'
import type { Finding, Findings } from '../../words/shape/finding.js'
import { clientOf } from './connection/api-client.js'
import { rowTimeOf } from './decisions.js'

export interface LintOptions {
  readonly time?: string
  readonly json?: true
  /** Notices count, too. */
  readonly strict?: true
}

export async function lint(settings: Settings, { json, strict, time }: LintOptions): Promise<number> {
  const findings = await clientOf(settings).findings(time === undefined ? {} : { time: rowTimeOf(time) })
  const text = json ? JSON.stringify(findings) : forTerminal(lintReport(findings))
  process.stdout.write(`${text}\n`)
  return findings.findings.some(({ severity }) => strict || severity === 'attention') ? 1 : 0
}

export function lintReport({ findings, kinds }: Findings): string {
  const found = kinds.reduce((sum, each) => sum + each.found, 0)
  return [
    ...findings.flatMap(linesOf),
    ...kinds
      .filter(({ left_out }) => left_out > 0)
      .map(({ kind, left_out }) => `${kind}: ${left_out} more are not listed`),
    ...kinds.flatMap(({ kind, unknown }) =>
      unknown === null ? [] : [`${kind}: not all is known. ${unknown}`],
    ),
    found === 1 ? '1 finding' : `${found} findings`,
  ].join('\n')
}

function linesOf({ kind, severity, about, sentence, evidence: { by, used_by } }: Finding): string[] {
  const because = [
    ...(by === null ? [] : [`because of ${placeText(by)}`]),
    ...(used_by === null ? [] : [`used together at ${placeText(used_by)}`]),
  ]
  return [
    `${severity.padEnd(9)}  ${kind}  ${placeText(about)}`,
    ...[sentenceForTerminal(sentence), ...because].map((line) => `           ${line}`),
  ]
}

const placeText = ({ id, place, name }: Finding['about']): string =>
  [id, place, name === null ? null : `(${name})`].filter(Boolean).join(' ')
