/**
 * A plain resource: a list whose entries open in a drawer, and a form that makes one. A kind declares its columns, fields
 * and sentences; `plain-list.tsx` shows them.
 */
import type { ComponentChildren } from 'preact'
import type { Client } from '../../../../words/client/client.js'
import type { Right } from '../../data/access/session.js'
import type { Fact } from '../../kit/facts.js'
import type { Column } from '../../kit/tables/table.js'
import type { FormField, FormValues } from '../forms/declared-field.js'
import type { FormBody, FormLook } from '../forms/declared-form.js'

interface Identified {
  readonly id: string
}

/** `Beside`: what is asked besides the list, such as when traffic last went to its entries. */
export interface PlainResource<Entry extends Identified, Beside = undefined> {
  /** The name of one within a sentence, such as `API key`. */
  readonly title: string
  readonly place: Place
  /** Ids begin with it: an entry that the path names and that is not there is said to be gone. */
  readonly idPrefix?: string
  readonly operations: (client: Client) => Operations<Entry>
  /** A hook; `count`: how many entries are shown at most. */
  readonly useBeside: (count: number) => Beside
  readonly nameOf: (entry: Entry) => string
  readonly list: PlainList<Entry, Beside>
  readonly form: NewForm<Entry>
  /** The same form, for one that takes the place of another; undefined: none does. */
  readonly renewal?: Renewal<Entry>
  /** A form that changes one; undefined: it is never changed. */
  readonly change?: ChangeForm<Entry>
  readonly drawer: PlainDrawer<Entry, Beside>
  /** The body of one that takes the place of another and has a token of its own. */
  readonly rotation?: (entry: Entry) => object
  readonly removal: Removal<Entry>
}

/** Where the list is: at the page, or at a tab of it. An entry is at its id below. */
interface Place {
  readonly page: string
  readonly tab?: string | undefined
}

interface Operations<Entry> {
  list(options: { readonly limit: number }): AsyncIterable<Entry>
  create(body: never): Promise<MadeEntry & Entry>
  delete(id: string): Promise<void>
}

interface MadeEntry {
  /** It authenticates, and is shown once. */
  readonly token?: string | null | undefined
}

interface PlainList<Entry, Beside> {
  /** For those who can't see it: what the rows are, in which order. */
  readonly label: string
  /** Above the list. */
  readonly about?: ComponentChildren
  readonly columns: (beside: Beside) => readonly Column<Entry>[]
  /** Rows stand in the order of these numbers; undefined: the newest first. */
  readonly orderOf?: (entry: Entry) => number
  /** The text of an empty list, which says what that means. */
  readonly empty: ComponentChildren
  readonly note?: (beside: Beside) => ComponentChildren
}

interface NewForm<Entry> extends FormLook {
  /** The text of the page's button. */
  readonly button: string
  /** The fields; `like`: the entry whose place it takes. */
  readonly fields: (client: Client, like?: Entry) => readonly FormField[] | Promise<readonly FormField[]>
  /** Shown in place of the form if nothing can be made without something else, and there are no fields. */
  readonly impossible?: ComponentChildren
  readonly bodyOf?: (body: FormBody, like: Entry | undefined) => object
  /** The next step: its token is shown, it is opened, or something else is done. */
  readonly whenMade:
    | 'token'
    | 'open'
    | ((made: Entry, body: FormBody, like: Entry | undefined) => Promise<void>)
}

interface Renewal<Entry> {
  readonly button: string
  readonly isOffered: (entry: Entry) => boolean
  readonly look: (entry: Entry) => Pick<FormLook, 'title' | 'submit'>
}

interface ChangeForm<Entry> extends FormLook {
  readonly fields: readonly FormField[]
  readonly valuesOf: (entry: Entry) => FormValues
  readonly send: (client: Client, id: string, body: FormBody) => Promise<unknown>
}

interface PlainDrawer<Entry, Beside> {
  readonly title: (entry: Entry) => string
  readonly facts: (entry: Entry, beside: Beside) => readonly Fact[]
  /** Below the facts; `again` reads the list again. */
  readonly below?: (entry: Entry, again: () => void) => ComponentChildren
  /** Below the link to its history. */
  readonly texts?: (entry: Entry) => ComponentChildren
  /** Next to the link to its history. */
  readonly links?: (entry: Entry) => ComponentChildren
  /** Before the buttons that every kind has. */
  readonly buttons?: (entry: Entry) => ComponentChildren
}

interface Removal<Entry> {
  readonly button: string
  readonly right?: Right
  /** The consequence that can't be undone. */
  readonly confirm: (entry: Entry) => string
  readonly done: (entry: Entry) => string
  /** Why this session can't; undefined: it can. */
  readonly refusedBecause?: (entry: Entry) => string | undefined
}

/** For kinds whose list says it all. */
export const useNothing = (): undefined => undefined
