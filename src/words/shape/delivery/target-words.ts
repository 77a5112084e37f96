/** The words and tiles of a kind of target, as the API's document has them under `x-setup`. */
import type { KindForm, Words } from '../../../delivery/deliver/kind/form.js'

export type TargetWords = Words

export type TargetTile = Omit<KindForm, 'steps'>

export interface KindWords {
  readonly words: TargetWords
  readonly forms: readonly TargetTile[]
}
