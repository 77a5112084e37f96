/** Runs policy tests and shows what failed, in words; the exit code is 1 if one fails. */
import { createReadStream } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { openGeo } from '../../../delivery/record/geo.js'
import { messageOf, StartFault } from '../../../ground/core/errors.js'
import { decisionInWords } from '../../../ground/core/text/part-in-words.js'
import { forTerminal } from '../../../ground/core/text/terminal.js'
import { policyFileBytesMax, readPolicyFile } from '../../../judging/evaluate/portable/policy-file.js'
import { runPolicyFile } from '../../../judging/evaluate/portable/policy-file-run.js'
import type { Settings } from '../../../management/process/settings.js'
import type { PolicyTestRuns } from '../../../words/shape/policy-test-run.js'
import { clientOf } from '../connection/api-client.js'
import { explanationLines } from '../why-report.js'
import { junitOf } from './junit.js'

export interface PolicyTestOptions {
  /** A file for the results. */
  readonly junit?: string
  readonly json?: true
}

type Run = Pick<
  PolicyTestRuns['tests'][number],
  'passed' | 'expect' | 'decision' | 'decided_by' | 'shadow' | 'problem' | 'explanation'
>

/** A test that was run, as `--json` prints it. */
interface NamedRun extends Run {
  readonly name: string
}

export async function runPolicyTests(
  settings: Settings,
  file: string | undefined,
  { junit, json }: PolicyTestOptions,
): Promise<number> {
  const runs = file === undefined ? await runsOfAccount(settings) : await runsOfFile(settings, file)
  const failed = runs.filter(({ passed }) => !passed).length
  const summary = { passed: runs.length - failed, failed }
  if (junit !== undefined) {
    const tests = runs.map((run) => ({ name: run.name, failure: run.passed ? undefined : failureOf(run) }))
    await writeFile(junit, junitOf('weir test', tests))
  }
  const text = json ? JSON.stringify({ ...summary, tests: runs }) : forTerminal(report(runs, summary))
  process.stdout.write(`${text}\n`)
  return failed === 0 ? 0 : 1
}

async function runsOfAccount(settings: Settings): Promise<NamedRun[]> {
  const { tests } = await clientOf(settings).runPolicyTests()
  return tests.map(({ policy_test_id, description, ...run }) => ({
    name: description || policy_test_id || '?',
    ...run,
  }))
}

async function runsOfFile(settings: Settings, file: string): Promise<NamedRun[]> {
  const read = readPolicyFile(await textOf(file))
  if (!read.ok) {
    const faults = read.faults.map(({ line, column, msg }) => `${file}:${line}:${column}: ${msg}`)
    throw new StartFault(faults.join('\n'))
  }
  const geo = await openGeo(settings.geo.databases)
  const runs = await runPolicyFile(read.file, geo)
  return runs.map(({ test: { name, expect }, decidedBy, explanation = null, ...outcome }) => ({
    name,
    expect,
    ...outcome,
    explanation,
    decided_by: decidedBy,
  }))
}

async function textOf(file: string): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  try {
    for await (const chunk of file === '-' ? process.stdin : createReadStream(file)) {
      bytes += (chunk as Buffer).length
      if (bytes > policyFileBytesMax) throw new Error(`it has more than ${policyFileBytesMax} bytes`)
      chunks.push(chunk as Buffer)
    }
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks))
  } catch (error) {
    throw new StartFault(`The file ${file} can't be read: ${messageOf(error)}.`)
  }
}

function report(runs: readonly NamedRun[], { passed, failed }: { passed: number; failed: number }): string {
  const lines = runs.flatMap((run) =>
    run.passed
      ? [`passed  ${run.name}`]
      : [
          `FAILED  ${run.name}`,
          ...failureOf(run)
            .split('\n')
            .map((line) => `        ${line}`),
        ],
  )
  return [...lines, `${passed} passed, ${failed} failed`].join('\n')
}

/** The decision that was expected, the one that the test got, and why. */
function failureOf({ expect, decision, decided_by, shadow, problem, explanation }: NamedRun): string {
  if (problem !== null) return `It can't be decided: ${problem}`
  // The explanation says what decided; here, it is compared with what the test says.
  const found = {
    decision,
    decided_by: expect.decided_by && decided_by,
    shadow: shadow && { ...shadow, decided_by: expect.shadow?.decided_by && shadow.decided_by },
  }
  const why = explanation === null ? [] : explanationLines(explanation)
  return [`expected ${decisionInWords(expect)}; it is ${decisionInWords(found)}`, ...why].join('\n')
}
