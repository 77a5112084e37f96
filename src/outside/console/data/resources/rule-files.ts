/** Lists of ranges as people have them in files: read into rules, written from rules, compared with rules. */

import { formatCidr, parseCidr } from '../../../../ground/core/address/cidr.js'
import { isoSeconds } from '../../../../ground/core/clock.js'
import { csvLine } from '../../../../ground/core/text/csv.js'
import type { UsedRule } from '../../../../words/client/rules.js'
import { momentOf } from '../texts/moments.js'
import { type ListDifference, listDifference } from './list-difference.js'
import { kindOfId } from './resource-kinds.js'
import {
  entriesInJson,
  entriesInLines,
  type FileFault,
  type FoundEntry,
  type FoundInText,
  ruleColumns,
} from './rule-entries.js'

/** A rule has a range or a list. */
export interface RuleEntry {
  /** The id of a rule that the API has. */
  readonly id?: string | undefined
  readonly cidr?: string | undefined
  /** The id of an IP list of the account. */
  readonly list_id?: string | undefined
  readonly action: 'allow' | 'deny'
  readonly description?: string | undefined
  readonly metadata?: string | undefined
  /** RFC 3339. */
  readonly expires_at?: string | null | undefined
  readonly enforced: boolean
}

/** The entry of a rule as the API shows it. */
export const entryOfRule = ({
  id,
  cidr,
  list,
  action,
  description,
  metadata,
  expires_at,
  enforced,
}: UsedRule): RuleEntry => ({
  id,
  cidr: cidr ?? undefined,
  list_id: list?.id,
  action,
  description,
  metadata,
  expires_at,
  enforced,
})

/** The subject of a rule: no other rule of a policy may have the same. No range is written like an id. */
export const subjectOf = ({ cidr, list_id }: Pick<RuleEntry, 'cidr' | 'list_id'>): string =>
  cidr ?? list_id ?? ''

interface RulesInFile {
  readonly rules: readonly RuleEntry[]
  readonly faults: readonly FileFault[]
}

/**
 * Rules in a text: a range in each line, with comments after `#` or `;`, which become descriptions; CSV with the columns
 * cidr, action, description, metadata, expires_at, enforced, list_id, or those that its first line names; or JSON, as a
 * list, as `{"rules": […]}` or an object in each line. A rule about a list has its id in place of a range. A line without an
 * action gets the given one; one that has expired is wrong; a rule is enforced unless it says `false`.
 */
export function rulesInText(text: string, action: RuleEntry['action'], nowMs: number): RulesInFile {
  const trimmed = text.replace(/^\uFEFF/, '')
  if (/^\s*(\[|\{\s*"rules")/.test(trimmed)) return checked(entriesInJson(trimmed), action, nowMs)
  return checked(entriesInLines(trimmed), action, nowMs)
}

function checked(
  { found, faults: before }: FoundInText,
  action: RuleEntry['action'],
  nowMs: number,
): RulesInFile {
  const rules: RuleEntry[] = []
  const faults = [...before]
  const lineOf = new Map<string, number>()
  for (const each of found) {
    const rule = ruleOf(each, action, nowMs)
    if (typeof rule === 'string') {
      faults.push({ line: each.line, text: rule })
      continue
    }
    const subject = subjectOf(rule)
    const first = lineOf.get(subject)
    if (first === undefined) {
      lineOf.set(subject, each.line)
      rules.push(rule)
    } else faults.push({ line: each.line, text: `${subject} is there already: entry ${first}.` })
  }
  return { rules, faults }
}

const textIn = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined

/** A rule, or what is wrong with it. */
function ruleOf(
  { action: given, description, metadata, expires_at, enforced = true, ...subject }: FoundEntry,
  fallback: RuleEntry['action'],
  nowMs: number,
): RuleEntry | string {
  const about = subjectIn(subject)
  if (typeof about === 'string') return about
  const word = given === undefined || given === '' ? fallback : String(given).toLowerCase()
  if (word !== 'allow' && word !== 'deny') return `The action is "${word}": "allow" or "deny" is needed.`
  const end = textIn(expires_at)
  const endMs = end === undefined ? Number.POSITIVE_INFINITY : momentOf(end)
  if (endMs === undefined) return `It expires at "${end}": a time such as 2026-12-31T18:00:00Z is needed.`
  if (endMs <= nowMs) return `It has expired, at ${end}.`
  const flag = String(enforced ?? true).toLowerCase()
  if (flag !== 'true' && flag !== 'false') return `"enforced" is "${flag}": "true" or "false" is needed.`
  return {
    ...about,
    action: word,
    description: textIn(description),
    metadata: textIn(metadata),
    expires_at: end === undefined ? undefined : isoSeconds(endMs),
    enforced: flag === 'true',
  }
}

/** The range or the list of an entry, or what is wrong with it. */
function subjectIn({
  cidr,
  list_id,
}: Pick<FoundEntry, 'cidr' | 'list_id'>): Pick<RuleEntry, 'cidr' | 'list_id'> | string {
  const list = textIn(list_id)
  if (list === undefined) {
    const parsed = parseCidr(cidr, { hostBits: 'refuse' })
    return parsed.ok ? { cidr: formatCidr(parsed.value) } : parsed.problem.msg
  }
  if (textIn(cidr) !== undefined)
    return `It has the range ${cidr} and the list ${list}: a rule has one of them.`
  return kindOfId(list) === 'ip_list' ? { list_id: list } : `"${list}" is not the id of an IP list.`
}

/** How rules differ from others. */
export type RuleDifference = ListDifference<RuleEntry>

export const ruleDifference = (before: readonly RuleEntry[], after: readonly RuleEntry[]): RuleDifference =>
  listDifference(before, after, subjectOf, isSameRule)

const isSameRule = (one: RuleEntry, other: RuleEntry): boolean =>
  one.action === other.action &&
  one.enforced === other.enforced &&
  (one.description ?? '') === (other.description ?? '') &&
  (one.metadata ?? '') === (other.metadata ?? '') &&
  (one.expires_at ?? '') === (other.expires_at ?? '')

/** As the API takes it. */
export const bodyOfRule = ({
  cidr,
  list_id,
  action,
  description,
  metadata,
  expires_at,
  enforced,
}: RuleEntry) => ({
  ...(cidr === undefined ? { list_id } : { cidr }),
  action,
  enforced,
  ...(description === undefined ? {} : { description }),
  ...(metadata === undefined ? {} : { metadata }),
  ...(expires_at == null ? {} : { expires_at }),
})

export const asNdjson = (rules: readonly RuleEntry[]): string =>
  rules.map((rule) => `${JSON.stringify(bodyOfRule(rule))}\n`).join('')

/** For spreadsheets: nothing in it is calculated. */
export const asCsv = (rules: readonly RuleEntry[]): string =>
  [[...ruleColumns], ...rules.map((rule) => ruleColumns.map((name) => String(rule[name] ?? '')))]
    .map((cells) => `${csvLine(cells)}\r\n`)
    .join('')
