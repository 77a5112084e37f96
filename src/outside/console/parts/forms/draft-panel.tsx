/** A draft that stays over a reload: what it changes, how it is saved or dropped, and what stands in its way. */
import type { ComponentChildren } from 'preact'
import type { KeptDraft } from '../../data/drafts/kept-draft.js'
import { Button } from '../../kit/button.js'
import { Link } from '../../kit/link.js'
import { EditButton } from '../edit-button.js'

interface DraftPanelProps {
  readonly isChanged: boolean
  readonly submit: string
  readonly isSaveable: boolean
  readonly save: () => Promise<unknown>
  readonly forget: () => void
  /** The changes that the draft makes. */
  readonly children?: ComponentChildren
}

export const DraftPanel = ({ isChanged, submit, isSaveable, save, forget, children }: DraftPanelProps) => (
  <section class="panel stack" aria-label="The draft">
    <h2>Draft</h2>
    {isChanged ? children : <p class="quiet">Nothing is changed yet.</p>}
    <div class="row">
      <EditButton kind="main" onClick={save} isDisabled={!isSaveable}>
        {submit}
      </EditButton>
      <Button onClick={forget} isDisabled={!isChanged}>
        Discard the draft
      </Button>
    </div>
    <p class="quiet">The draft stays in this tab until you save or discard it.</p>
  </section>
)

interface ConflictProps {
  readonly kept: Pick<KeptDraft<unknown>, 'forget' | 'keepMine'>
  /** The saved object within a sentence, such as `these policies`. */
  readonly what: string
  /** The id of what was saved. */
  readonly id: string
  /** The changes by the other save. */
  readonly children: ComponentChildren
}

/** Something else was saved since the draft began: by another person, in another tab, or by a promotion. */
export const DraftConflict = ({ kept, what, id, children }: ConflictProps) => (
  <div class="failure" role="alert">
    <p>There was another save of {what} since this draft began:</p>
    {children}
    <div class="row">
      <Button onClick={kept.forget}>Take what was saved, drop this draft</Button>
      <Button onClick={kept.keepMine}>Keep this draft, and compare it with what was saved</Button>
      <Link to={['changes']} with={{ id }}>
        Who was it?
      </Link>
    </div>
  </div>
)

/** The values of the draft that a reload has dropped. */
export const MissingValues = ({
  kept: { missing, goWithout },
}: {
  readonly kept: Pick<KeptDraft<unknown>, 'missing' | 'goWithout'>
}) =>
  missing.length === 0 ? null : (
    <div class="failure" role="status">
      <p>The draft is kept, but no secrets, which the browser never stores. Type these again:</p>
      <ul class="listed mono">
        {missing.map((place) => (
          <li key={place}>{place}</li>
        ))}
      </ul>
      <div class="row">
        <Button onClick={goWithout}>Go on without them</Button>
      </div>
    </div>
  )
