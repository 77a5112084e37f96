/** A policy test as it is written: its record and what must decide as YAML, which may be JSON. */

import type { TextFault } from '../../../../ground/core/text/yaml.js'
import type { Client, DecisionRequest } from '../../../../words/client/client.js'
import type { Resource } from '../../../../words/client/kinds.js'
import type { Decision } from '../../../../words/shape/decisions/decision.js'
import { errorText } from '../asking/api.js'
import { beginDraft, isDraftBegun } from './kept-draft.js'
import { faultsOf } from './refused-places.js'
import { testOfDecision } from './test-of-decision.js'

type Body = Parameters<Client['policyTest']['create']>[0]

export interface TestDraft {
  readonly description: string
  /** As YAML. */
  readonly given: string
  readonly decision: string
  /** As YAML; empty: anything may decide. */
  readonly decidedBy: string
  /** The expected decision if everything were enforced; empty: any decision. */
  readonly shadow: string
  /** As YAML; empty: anything may decide it. */
  readonly shadowDecidedBy: string
}

export const emptyTest: TestDraft = {
  description: '',
  given: `type: tcp_connection
conn: {client_ip: 203.0.113.7, server_name: ssh.example.com, server_port: 22}
`,
  decision: 'allow',
  decidedBy: '',
  shadow: '',
  shadowDecidedBy: '',
}

export const newTestId = 'new policy_test'

const asText = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`
const textOfPart = (part: object | null | undefined): string => (part == null ? '' : asText(part))

export const draftOfTest = ({
  description = '',
  given,
  expect,
}: Pick<Resource<'policyTest'>, 'description' | 'given' | 'expect'>): TestDraft => {
  const { decision, decided_by, shadow } = expect
  return {
    description: description ?? '',
    given: asText(given),
    decision,
    decidedBy: textOfPart(decided_by),
    shadow: shadow?.decision ?? '',
    shadowDecidedBy: textOfPart(shadow?.decided_by),
  }
}

/** Begins a test that wants what is decided about this now. The record's own id would say nothing about later ones. */
export function beginTest(
  { record_id: _, ...record }: DecisionRequest & { readonly record_id?: unknown },
  decided: Decision,
): void {
  const { conn } = record as {
    readonly conn?: { readonly client_ip?: string; readonly server_name?: string | null }
  }
  const { name, expect } = testOfDecision(
    decided,
    conn?.client_ip ?? 'the client',
    conn?.server_name ?? 'its edge',
  )
  beginDraft(newTestId, emptyTest, draftOfTest({ description: name, given: { ...record }, expect }))
}

/** Has someone begun a new test in this tab that is not saved? */
export const isTestBegun = (): boolean => isDraftBegun(newTestId)

export type ReadYaml = typeof import('../../../../ground/core/text/yaml.js').readYaml

/** The parser, which few pages need. */
export const loadYaml = async (): Promise<ReadYaml> =>
  (await import('../../../../ground/core/text/yaml.js')).readYaml

interface ReadDraft {
  /** Undefined while a text is wrong. */
  readonly body: Body | undefined
  readonly given: Read
  readonly decidedBy: Read
  readonly shadowDecidedBy: Read
}

type Read = ReturnType<ReadYaml>

const textBytesMax = 64 * 1024

export function readDraft(
  read: ReadYaml,
  { description, given, decision, decidedBy, shadow, shadowDecidedBy }: TestDraft,
): ReadDraft {
  const record = read(given, 'The record', textBytesMax)
  const part = read(decidedBy, 'It', textBytesMax)
  const shadowPart = read(shadowDecidedBy, 'It', textBytesMax)
  const texts = { given: record, decidedBy: part, shadowDecidedBy: shadowPart }
  if (!record.ok || !part.ok || !shadowPart.ok) return { body: undefined, ...texts }
  const expect = {
    ...expectationOf(decision, part.value),
    ...(shadow !== '' && { shadow: expectationOf(shadow, shadowPart.value) }),
  }
  return { body: { description, given: record.value, expect } as Body, ...texts }
}

const expectationOf = (decision: string, part: unknown): object => ({
  decision,
  ...(part != null && { decided_by: part }),
})

/** The faults of one of the texts: of its form, or those that the API found. `member`: the member of the body that it is. */
export function faultsOfText(read: Read, error: unknown, member: string): readonly TextFault[] {
  if (!read.ok) return read.faults
  return [...faultsOf(error)]
    .filter(([place]) => place === member || place.startsWith(`${member}.`))
    .map(([place, text]) => read.faultAt(placeWithin(place, text, member), text || errorText(error)))
}

/** A message about a record names its member by itself: `"given" is refused: "conn.client_ip" is …`. */
function placeWithin(place: string, text: string, member: string): string {
  if (place !== member) return place.slice(member.length + 1)
  const [, ...quoted] = [...text.matchAll(/"([^"]+)"/g)].map(([, name]) => name!)
  return quoted.find((name) => /^[a-z_]+(\.[a-z_0-9]+)*$/.test(name)) ?? ''
}
