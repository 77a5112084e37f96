/** The vocabulary of expressions in this deployment: `GET /fields`, asked for once. */
import { signal } from '@preact/signals'
import { useMemo } from 'preact/hooks'
import type { Client } from '../../../../words/client/client.js'
import { api, errorText, firstOf, useAnswer } from './api.js'
import type { Completions, KnownName, Vocabulary } from './completion.js'

type Reference = Awaited<ReturnType<Client['fields']>>

interface FilterName extends KnownName {
  /** Every value that it may have, if these are few. */
  readonly values?: readonly string[] | undefined
}

interface FilterVocabulary extends Vocabulary {
  readonly names: readonly FilterName[]
}

const reference = signal<Reference | undefined>(undefined)

/** Why there are no completions; empty if there are. */
export const vocabularyFault = signal('')

let isAsked = false

/** Asks for the reference, unless it was asked for before; a failure is tried again by the next field that needs it. */
export function needVocabulary(): void {
  if (isAsked) return
  isAsked = true
  api.fields().then(
    (answer) => {
      reference.value = answer
      vocabularyFault.value = ''
    },
    (error: unknown) => {
      isAsked = false
      vocabularyFault.value = errorText(error)
    },
  )
}

/**
 * The vocabulary of filters of decisions, or of a source of a subscription by the kind of its events. Nothing until it is
 * known.
 */
export function vocabularyOf(about: string): FilterVocabulary {
  if (reference.value === undefined) return { names: [], functions: [] }
  const { decisions, events, expressions } = reference.value
  const names =
    about === 'decisions'
      ? decisions
      : (events.find(({ kind }) => kind === about)?.fields ?? []).filter(({ filterable }) => filterable)
  return { names, functions: expressions.functions }
}

/** Values that a name may have, behind a comparison with it: `decision == 'al`. */
export function valuesAt(text: string, position: number, { names }: FilterVocabulary): Completions {
  const [, name, written = ''] =
    /([\w.]+)\s*(?:[!=]=|in\s*\[(?:[^\]]*,)?)\s*(['"]?[\w-]*)$/.exec(text.slice(0, position)) ?? []
  const values = names.find((each) => each.name === name)?.values ?? []
  const begins = written.replace(/^['"]/, '').toLowerCase()
  return {
    from: position - written.length,
    completions: values
      .filter((value) => value.toLowerCase().startsWith(begins) && value !== begins)
      .map((value) => ({ text: `'${value}'`, kind: 'word', detail: '', about: '' })),
  }
}

/** So many an account may have. */
const listsMax = 200

type RecordName = Reference['records'][number]['type']

interface PolicyVocabularies {
  readonly inbound: Vocabulary
  /** Outbound policies know how it ended. */
  readonly outbound: Vocabulary
}

/** The names, functions and lists that policies about records of a type may use. Undefined until they are known. */
export function usePolicyVocabularies(type: RecordName): PolicyVocabularies | undefined {
  needVocabulary()
  const known = reference.value
  // Without an answer, names of lists are typed by hand.
  const lists = useAnswer([], (client) => firstOf(client.ipList.list({ limit: 100 }), listsMax)).data?.entries
  return useMemo(() => {
    if (known === undefined) return undefined
    const { names, functions } = known.expressions
    const ofSide = (isOutbound: boolean): Vocabulary => ({
      functions,
      ...(lists && { lists }),
      names: names.filter(
        ({ records, outboundOnly }) => records.includes(type) && (isOutbound || !outboundOnly),
      ),
    })
    return { inbound: ofSide(false), outbound: ofSide(true) }
  }, [known, lists, type])
}
