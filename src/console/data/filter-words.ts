/** What the filters of this deployment can be written with: `GET /fields`, asked for once. */
import { signal } from '@preact/signals'
import type { Client } from '../../client/client.js'
import { api, errorText } from './api.js'
import type { Completions, KnownName, Vocabulary } from './completion.js'

type Reference = Awaited<ReturnType<Client['fields']>>

export interface FilterName extends KnownName {
  /** Every value that it may have, if these are few. */
  readonly values?: readonly string[] | undefined
}

export interface FilterVocabulary extends Vocabulary {
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

/** Of filters of decisions, or of a source of a subscription by the kind of its events. Nothing until it is known. */
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
