/**
 * Lists of addresses, with names that rules and expressions use.
 *
 * The entries of a list do not fit its row. They are stored in parts, which are rows of an internal kind and never change:
 * new entries are new parts, and the list's row names the parts that count, in their order. So entries are replaced as a
 * whole by one small write, whatever their number.
 */
import { now } from '../../ground/core/clock.js'
import { conflict, shown } from '../../ground/core/errors.js'
import { ipListsPerAccountMax } from '../../ground/core/limits.js'
import { documented, Type } from '../../ground/core/schema.js'
import { challenger, isEvaluated } from './challenger.js'
import { type ChallengerDraft, placeOfListInDraft } from './challenger-draft.js'
import {
  defaulted,
  derived,
  described,
  hidden,
  observed,
  required,
  sealed,
  unseen,
  writable,
} from './fields/fields.js'
import {
  completeSource,
  type IpListSource,
  sealedSource,
  sourceSchema,
  statusSchema,
} from './fields/ip-list-source.js'
import { type PolicyKind, placeOfList, policyScopesOf } from './fields/traffic-policy-check.js'
import { defineResource, type Lookups } from './kind/define.js'

const word = '[a-z0-9](?:[a-z0-9_-]*[a-z0-9])?'

const name = Type.String({
  title: 'IpListName',
  maxLength: 64,
  pattern: `^${word}(?:\\.${word})*$`,
  description:
    'What expressions call it, unique in the account: lower-case letters, digits, "-", "_" and dots.',
})

const category = Type.String({
  title: 'IpListCategory',
  maxLength: 100,
  pattern: `^${word}(?:\\.${word}){0,4}$`,
  description:
    'What its addresses are, such as `proxy.tor`: up to five words joined by dots, the general one first. A question for `proxy` includes `proxy.tor`.',
})

const count = (description: string) => Type.Integer({ minimum: 0, description })

export const ipList = defineResource({
  kind: 'ip_list',
  idPrefix: 'ipl_',
  path: '/ip_lists',
  listName: 'ip_lists',
  title: 'IP list',
  about: 'A named list of address ranges with comments, for rules of IP policies and expressions.',
  example: { name: 'tor-exits', category: 'proxy.tor', description: 'exits of the Tor network' },
  audit: 'ip_list',
  keptWhileReferenced: true,
  notRestored: ['chunks', 'entries', 'bytes', 'updated_at'],
  fields: {
    ...described,
    name: required(name),
    category: writable(category),
    source: {
      ...writable(sourceSchema, { unset: 'null', column: 'json' }),
      fallback: null as IpListSource | null,
      complete: completeSource as never,
    },
    source_status: observed(statusSchema),
    /** The secret headers of the source as one text; null if there are none. */
    sealed_secret: sealed(),
    /** Detects that the same secrets are sent again, without unsealing the stored ones. */
    secret_digest: hidden(Type.String()),
    entries: { ...defaulted(count('How many entries it has.'), 0), setBy: 'weir' as const },
    updated_at: derived(
      Type.String({ description: 'When its entries changed last.', ...documented({ format: 'date-time' }) }),
      { unset: 'null' },
    ),
    /** Ids of the parts that count, in their order. */
    chunks: { ...unseen(defaulted(Type.Array(Type.String()), [])), setBy: 'weir' as const },
    /** The size of all parts as they are stored. */
    bytes: { ...unseen(defaulted(count(''), 0)), setBy: 'weir' as const },
  },
  derive: (draft, previous, tools) => ({ ...draft, ...sealedSource(draft, previous, tools) }),
  check(list, previous, lookups) {
    let others = 0
    for (const other of lookups.all('ip_list')) {
      if (other.id === list.id) continue
      others += 1
      if (other['name'] === list.name)
        throw conflict(
          `"name" is "${list.name}", which is the name of ${other.id}: each list of an account has its own.`,
        )
    }
    if (previous !== undefined && previous.name !== list.name) {
      checkNotInExpressions(previous, 'renamed', lookups)
      checkNotInDrafts(previous, 'renamed', lookups)
    }
    if (previous === undefined && others >= ipListsPerAccountMax)
      throw conflict(
        `The account has ${others} IP lists: at most ${ipListsPerAccountMax} are allowed. Delete one first.`,
      )
  },
  checkDeletion: checkUnused,
})

/** Throws if a rule, an expression or a draft is about the list. */
function checkUnused(
  list: { readonly id: string; readonly name: string },
  lookups: Pick<Lookups, 'all'>,
): void {
  const { id } = list
  for (const rule of lookups.all('ip_policy_rule'))
    if (rule['list_id'] === id)
      throw conflict(
        `The IP list ${id} can't be deleted: the IP policy rule ${rule.id} of ${String(rule['ip_policy_id'])} names it in "list_id".`,
      )
  checkNotInExpressions(list, 'deleted', lookups)
  checkNotInDrafts(list, 'deleted', lookups)
}

/** Throws if the draft of a challenger that is evaluated names the list: its promotion would fail. */
function checkNotInDrafts(
  list: { readonly id: string; readonly name: string },
  done: string,
  lookups: Pick<Lookups, 'all'>,
): void {
  for (const row of lookups.all(challenger.kind)) {
    const { draft, ...outcome } = row as unknown as Parameters<typeof isEvaluated>[0] & {
      draft: ChallengerDraft
    }
    const place = isEvaluated(outcome, now()) ? placeOfListInDraft(draft, list) : undefined
    if (place !== undefined)
      throw conflict(
        `The IP list ${list.id} can't be ${done}: "draft.${place}" of the challenger ${row.id} names it. Discard or promote that first.`,
      )
  }
}

/** Throws if a traffic policy asks about the list by its name. */
function checkNotInExpressions(
  { id, name }: { readonly id: string; readonly name: string },
  done: string,
  lookups: Pick<Lookups, 'all'>,
): void {
  for (const kind of Object.keys(policyScopesOf) as PolicyKind[])
    for (const owner of lookups.all(kind)) {
      const place = placeOfList(kind, owner['policies'] as Parameters<typeof placeOfList>[1], name)
      if (place !== undefined)
        throw conflict(
          `The IP list ${id} can't be ${done}: "${place}" of ${owner.id} asks about it as ${shown(name)}.`,
        )
    }
}

/** Some entries of a list. A part never changes, and its id is never used again. */
export const ipListChunk = defineResource({
  kind: 'ip_list_chunk',
  idPrefix: 'iplc_',
  path: '/ip_list_chunks',
  listName: 'ip_list_chunks',
  title: 'part of an IP list',
  about: 'Some entries of an IP list.',
  example: {},
  isInternal: true,
  operations: [],
  fields: {
    ip_list_id: hidden(Type.String()),
    /** The hash of its text, by which unchanged parts are found and used again. */
    hash: hidden(Type.String()),
    entries: hidden(Type.Integer()),
    /** Lines (`core/address/list-entry.ts`), packed (`core/text/packed-text.ts`). */
    data: hidden(Type.String()),
  },
})
