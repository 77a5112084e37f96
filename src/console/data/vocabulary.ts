/** The names and functions of expressions, which are asked for once. */
import { signal } from '@preact/signals'
import { useMemo } from 'preact/hooks'
import type { FieldReference } from '../../event/field-reference.js'
import { api } from './api.js'
import type { Vocabulary } from './completion.js'

const reference = signal<FieldReference | undefined>()
let isAsked = false

function askOnce(): void {
  if (isAsked) return
  isAsked = true
  void api.fields().then(
    (fields) => {
      reference.value = fields
    },
    // Without it, nothing is completed; the next field asks again.
    () => {
      isAsked = false
    },
  )
}

type RecordName = FieldReference['records'][number]['type']

/** What policies about records of a type may use; outbound ones know how it ended. */
export function usePolicyVocabulary(type: RecordName, isOutbound: boolean): Vocabulary | undefined {
  askOnce()
  const known = reference.value
  return useMemo(() => {
    if (known === undefined) return undefined
    const { names, functions } = known.expressions
    return {
      functions,
      names: names.filter(
        ({ records, outboundOnly }) => records.includes(type) && (isOutbound || !outboundOnly),
      ),
    }
  }, [known, type, isOutbound])
}
