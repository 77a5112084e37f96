/** The entries that were read of a list: how many, the first ones, and what can't be read. */
import { number } from '../../../data/texts/format.js'
import { StateWord } from '../../../parts/words.js'

interface FoundEntriesProps {
  readonly count: number
  readonly first: readonly { readonly cidr: string; readonly comment: string | null }[]
  /** A sentence each. */
  readonly refused: readonly string[]
}

export const FoundEntries = ({ count, first, refused }: FoundEntriesProps) => (
  <div class="stack tight" role="status">
    <p>
      <StateWord
        tone={refused.length === 0 ? 'good' : 'bad'}
        text={`${number(count)} ${count === 1 ? 'entry is' : 'entries are'} read`}
      />
    </p>
    <ul class="listed">
      {first.map(({ cidr, comment }) => (
        <li key={cidr}>
          <span class="mono">{cidr}</span> <span class="quiet">{comment}</span>
        </li>
      ))}
      {count > first.length && <li class="quiet">and {number(count - first.length)} more</li>}
    </ul>
    {refused.map((sentence) => (
      <p key={sentence} class="fault" role="alert">
        {sentence}
      </p>
    ))}
  </div>
)
