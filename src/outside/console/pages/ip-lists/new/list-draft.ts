/** The draft of a new list: it survives a reload until the list is created or the draft discarded. */
import { type KeptDraft, useKeptDraft } from '../../../data/drafts/kept-draft.js'
import { useKeptText } from '../../../data/drafts/kept-text.js'
import { type Texts, type TextValue, textsOf, type Values, valuesOf } from '../list-texts.js'

export interface ListDraft {
  readonly kept: KeptDraft<Texts>
  readonly values: Values
  /** Entries of a list by hand, in a place of their own because they may be long. */
  readonly entries: TextValue
  /** The id of the list, if it was created and its entries were refused. */
  readonly made: TextValue
  readonly isBegun: boolean
  forget(): void
}

/** The browser never stores secrets: a header may be one. */
const storable = (draft: Texts) =>
  draft.secretHeaders === ''
    ? { draft, leftOut: [] }
    : { draft: { ...draft, secretHeaders: '' }, leftOut: ['Secret headers'] }

/** `from`: the origin of its entries. Each has a draft of its own. */
export function useListDraft(from: string): ListDraft {
  const id = `new ip_list ${from}`
  const present: Texts = { ...textsOf(), origin: from, format: '' }
  const kept = useKeptDraft({
    id,
    present,
    bodyOf: (draft) => draft,
    completed: (draft) => ({ ...present, ...draft }),
    storable,
  })
  const [entries, made] = [useKeptText(`weir-entries ${id}`), useKeptText(`weir-made ${id}`)]
  // Several can be set before the page is drawn again.
  let { draft } = kept
  const values = valuesOf(
    () => draft,
    (next) => {
      draft = next
      kept.change(next)
    },
  )
  return {
    kept,
    values,
    entries,
    made,
    isBegun: kept.isChanged || entries.value !== '',
    forget() {
      kept.forget()
      entries.forget()
      made.forget()
    },
  }
}
