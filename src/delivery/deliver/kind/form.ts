/**
 * How people meet a kind of destination: as a tile of a gallery, as a form, and as steps at the other side. The console
 * shows what a kind declares and knows none itself. Nothing here is a rule: what is allowed stays in the schema.
 */

/** The words of one member of a target. */
export interface FieldWords {
  /** As people call it: `Address of the server`. */
  readonly label: string
  /** One or two sentences; default: the description in the schema. */
  readonly help?: string
  /** Words for the values of a choice. */
  readonly choices?: Readonly<Record<string, string>>
  /** The value if nothing is chosen: `default: one event`. */
  readonly unset?: string
  /** Most targets leave it out, so it stands behind *More options*. */
  readonly isRare?: true
}

/** By the path of a member, such as `auth.bearer.token`, in the order of the form. */
export type Words = Readonly<Record<string, FieldWords>>

/** The values that are filled in so far. A draft may be wrong or incomplete, so nothing of it is relied upon. */
export interface Drafted {
  readonly accountId: string
  /** The address, or an example until a valid one is filled in. */
  readonly address: string
  readonly options: Readonly<Record<string, unknown>>
}

/** One thing to do at the other side. */
export interface SetupStep {
  readonly text: string
  /** To be copied there. `what` continues “Copy …”: `the command`. */
  readonly copy?: { readonly what: string; readonly text: string }
  /** The statement that makes a table for the chosen events is copied. */
  readonly table?: { readonly dialect: 'clickhouse'; readonly name: string }
  readonly link?: { readonly text: string; readonly url: string }
}

/** A tile of the gallery. A kind has several if people know several services that it reaches. */
export interface KindForm {
  /** Unique among the tiles: the kind's name, or what follows it (`http_splunk`). */
  readonly id: string
  readonly name: string
  /** Its purpose, in a sentence. */
  readonly purpose: string
  /** The prerequisites, as words behind “You need”. */
  readonly needs: string
  /** Paths of a drawing in a square of 24 by 24, made for Weir of plain lines: no logo of anyone. */
  readonly mark: string
  /** Members that are filled in already. */
  readonly begin?: Readonly<Record<string, unknown>>
  readonly steps: (drafted: Drafted) => readonly SetupStep[]
}

/** The words of a text among the options; empty if it is none. */
export const textIn = (value: unknown): string => (typeof value === 'string' ? value : '')
