/** A list of the API: those of its entries that are read, and a button for more of them. */
import type { ComponentChildren } from 'preact'
import type { AskedList } from '../data/asking/more.js'
import { Button } from '../kit/button.js'
import { Answered } from './states.js'

interface ListingProps<Entry> {
  readonly answer: AskedList<Entry>
  /** Usually a table. */
  readonly children: (entries: readonly Entry[]) => ComponentChildren
  /** Before the button, for a list that says how much of it is shown. */
  readonly note?: (entries: readonly Entry[]) => ComponentChildren
}

export const Listing = <Entry,>({ answer, children, note }: ListingProps<Entry>) => (
  <Answered answer={answer}>
    {({ entries, hasMore }) => (
      <>
        {children(entries)}
        {hasMore && (
          <div class="row">
            {note?.(entries)}
            <Button onClick={answer.more}>Show more</Button>
          </div>
        )}
      </>
    )}
  </Answered>
)
