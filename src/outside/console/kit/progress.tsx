/** How far something has come that takes a while. */
import { percent } from '../data/texts/format.js'

interface ProgressProps {
  readonly label: string
  readonly done: number
  /** 0: not known. */
  readonly of: number
}

export const Progress = ({ label, done, of }: ProgressProps) => (
  <span class="progress">
    <progress aria-label={label} {...(of > 0 && { value: Math.min(done, of), max: of })} />{' '}
    {of > 0 && <span class="number">{percent(Math.min(done, of), of)}</span>}
  </span>
)
