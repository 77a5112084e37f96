/** The input of the page, and its results: faults, the decision with its explanation, how the file's tests end. */
import { signal } from '@preact/signals'
import { parseDecisionRequest } from '../../delivery/record/record.js'
import { messageOf } from '../../ground/core/errors.js'
import { isObject } from '../../ground/core/json-object.js'
import type { TextFault } from '../../ground/core/text/yaml.js'
import type { PolicySet } from '../../judging/evaluate/policy-set.js'
import { runPolicyTest, type TestOutcome } from '../../judging/evaluate/policy-test.js'
import { answerTo } from '../../judging/evaluate/portable/answer.js'
import { accountId, compileRead } from '../../judging/evaluate/portable/given-configuration.js'
import type { FileTest, PolicyFile } from '../../judging/evaluate/portable/policy-file.js'
import type { Decision } from '../../words/shape/decisions/decision.js'
import { after } from '../console/data/clock.js'
import { testOfDecision } from '../console/data/drafts/test-of-decision.js'
import { type Connection, connectionOf, recordOf } from './asked-connection.js'
import { example } from './example.js'
import { hasPatterns, withPatterns } from './late-re2js.js'

export interface TestRun extends TestOutcome {
  readonly test: FileTest
}

/** A file that was read and compiled, and its tests. */
interface Compiled {
  readonly policySet: PolicySet
  readonly hostports: readonly string[]
  readonly tests: readonly TestRun[]
}

interface Evaluated {
  /** Faults of the policies. */
  readonly faults: readonly TextFault[]
  /** Faults of the members that have no field. */
  readonly moreFaults: readonly TextFault[]
  /** The fault of the record as a whole; empty if there is none. */
  readonly fault: string
  readonly record: object | undefined
  readonly decision: Decision | undefined
  readonly hostports: readonly string[]
  readonly tests: readonly TestRun[]
}

const nothing: Evaluated = {
  faults: [],
  moreFaults: [],
  fault: '',
  record: undefined,
  decision: undefined,
  hostports: [],
  tests: [],
}

export const policies = signal(example.text)
export const connection = signal<Connection>(connectionOf(example.file.tests[0]?.given ?? {}))
export const evaluated = signal<Evaluated>(nothing)
/** The results on the page are those of an earlier input. */
export const isBehind = signal(true)

/** A pause in typing. */
const pauseMs = 150

let typed = 0

/** Shows other policies, another connection, or both; the answer follows once nothing more is typed. */
export function change(next: { readonly policies?: string; readonly connection?: Connection }): void {
  if (next.policies !== undefined) policies.value = next.policies
  if (next.connection !== undefined) connection.value = next.connection
  typed += 1
  const mine = typed
  isBehind.value = true
  after(pauseMs, () => {
    if (mine === typed) void evaluate(mine)
  })
}

export async function evaluate(mine = typed): Promise<void> {
  const found = await withPatterns(() => evaluationOf(policies.peek(), connection.peek())).catch(
    // Such as a part of the page that could not be loaded.
    (error: unknown): Evaluated => ({ ...nothing, fault: `It can't be decided: ${messageOf(error)}.` }),
  )
  if (mine !== typed) return
  evaluated.value = found
  isBehind.value = false
}

async function evaluationOf(text: string, asked: Connection): Promise<Evaluated> {
  const [file, record] = await Promise.all([fileOf(text), recordFor(asked)])
  const compiled = file.ok ? await compiledOf(file.file) : undefined
  const base: Evaluated = {
    ...nothing,
    ...(compiled && { hostports: compiled.hostports, tests: compiled.tests }),
    faults: file.ok ? [] : file.faults,
    moreFaults: record.faults,
    fault: record.fault,
    record: record.record,
  }
  if (compiled === undefined || record.record === undefined) return base
  try {
    return { ...base, decision: answerTo(compiled.policySet, record.record, unknownPlaces, true) }
  } catch (error) {
    return { ...base, record: undefined, fault: messageOf(error) }
  }
}

/** The page has no data about addresses: it knows only what is typed about them. */
const unknownPlaces = { lookup: () => ({}) }

type ReadFile = ReturnType<typeof import('../../judging/evaluate/portable/policy-file.js').readPolicyFile>

interface LastRead {
  readonly text: string
  /** Patterns could be checked. */
  readonly isComplete: boolean
  readonly read: ReadFile
}

let lastRead: LastRead | undefined

/** A text is read once, and again with the engine for patterns; the example was read by the build. */
async function fileOf(text: string): Promise<ReadFile> {
  if (text === example.text) return { ok: true, file: example.file }
  if (lastRead?.text === text && lastRead.isComplete === hasPatterns()) return lastRead.read
  const { readPolicyFile } = await import('../../judging/evaluate/portable/policy-file.js')
  lastRead = { text, isComplete: hasPatterns(), read: readPolicyFile(text) }
  return lastRead.read
}

let last: { readonly file: PolicyFile; readonly isComplete: boolean; readonly compiled: Compiled } | undefined

/**
 * While only the connection changes, the file stays compiled; what was compiled without the engine for patterns does not.
 */
async function compiledOf(file: PolicyFile): Promise<Compiled> {
  if (last?.file === file && last.isComplete === hasPatterns()) return last.compiled
  const isComplete = hasPatterns()
  const policySet = await compileRead(file.configuration)
  const { tcp_edges, https_edges } = file.configuration
  const compiled = {
    policySet,
    hostports: [...tcp_edges, ...https_edges].flatMap(({ hostports }) => hostports).sort(),
    tests: file.tests.map((test) => ({
      test,
      ...runPolicyTest(policySet, unknownPlaces, accountId, test.given, test.expect),
    })),
  }
  last = { file, isComplete, compiled }
  return compiled
}

interface AskedRecord {
  readonly record: object | undefined
  readonly fault: string
  readonly faults: readonly TextFault[]
}

const moreBytesMax = 16 * 1024

async function recordFor(asked: Connection): Promise<AskedRecord> {
  const faulty = (faults: readonly TextFault[], fault = ''): AskedRecord => ({
    record: undefined,
    fault,
    faults,
  })
  let more: unknown = {}
  if (asked.more.trim() !== '') {
    const { readYaml } = await import('../../ground/core/text/yaml.js')
    const read = readYaml(asked.more, 'The record', moreBytesMax)
    if (!read.ok) return faulty(read.faults)
    more = read.value ?? {}
    if (!isObject(more)) return faulty([read.faultAt('', 'It must be members, such as "http:".')])
  }
  try {
    const record = recordOf(asked, more as Readonly<Record<string, unknown>>)
    const parsed = parseDecisionRequest(record)
    return parsed.ok ? { record, fault: '', faults: [] } : faulty([], parsed.problem.msg)
  } catch (error) {
    return faulty([], messageOf(error))
  }
}

/** The file with the present connection and its decision as one more test; undefined while there is none. */
export async function withTest(): Promise<string | undefined> {
  const { decision, record } = evaluated.peek()
  if (decision === undefined || record === undefined) return undefined
  const { withEntry } = await import('../../ground/core/text/yaml.js')
  return withEntry(policies.peek(), 'tests', testOf(record, decision))
}

function testOf(given: object, decision: Decision): object {
  const { client, endpoint } = connection.peek()
  const { name, expect } = testOfDecision(decision, client, endpoint || 'no endpoint')
  return { name, given, expect }
}
