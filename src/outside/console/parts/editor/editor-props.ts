/** The props of the editor of expressions, JSON and YAML, before and after it is loaded. */
import type { TextFault } from '../../../../ground/core/text/yaml.js'
import type { Vocabulary } from '../../data/asking/completion.js'

/** Something wrong in the text. */
export interface EditorFault {
  readonly text: string
  /** In characters from 0; undefined: the fault is of the whole. */
  readonly offset?: number | undefined
  readonly length?: number | undefined
  /** In JSON, instead of an offset: the path to a value, such as `inbound[0].expressions[1]`. */
  readonly place?: string | undefined
}

/** Faults of YAML, each with its line. */
export const faultsOfYaml = (faults: readonly TextFault[]): EditorFault[] =>
  faults.map(({ msg, offset, length, line, column }) => ({
    text: `Line ${line}, column ${column}: ${msg}`,
    offset,
    length,
  }))

export interface EditorProps {
  readonly label: string
  readonly mode: 'expression' | 'json' | 'yaml'
  readonly value: string
  readonly onChange: (value: string) => void
  /** The names, functions and lists from which an expression is completed. */
  readonly vocabulary?: Vocabulary | undefined
  readonly faults?: readonly EditorFault[]
  readonly hint?: string | undefined
  readonly placeholder?: string
  readonly isDisabled?: boolean
  /** Until someone comes to write, a plain field is enough: the page should be small at first. */
  readonly isLoadedByFocus?: boolean
  /** The label is there for those who can't see what the field is next to. */
  readonly isLabelHidden?: boolean
}
