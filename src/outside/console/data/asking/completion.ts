/** Completions of an expression: names, functions and words, as `GET /fields` lists them. */

export interface KnownName {
  readonly name: string
  readonly type: string
  readonly about: string
  /** Why it never has a value in this deployment. */
  readonly missing?: string | undefined
}

interface KnownFunction {
  readonly name: string
  readonly parameters: readonly string[]
  readonly about: string
  readonly example: string
}

interface KnownList {
  readonly name: string
  readonly category?: string | undefined
  readonly description?: string | undefined
}

export interface Vocabulary {
  readonly names: readonly KnownName[]
  readonly functions: readonly KnownFunction[]
  /** IP lists of the account, which `inList` takes by their names. */
  readonly lists?: readonly KnownList[]
}

export interface Completion {
  /** The text as it is written in the expression. */
  readonly text: string
  readonly kind: 'name' | 'function' | 'word'
  /** Behind it: the type of a name, the parameters of a function. */
  readonly detail: string
  readonly about: string
}

export interface Completions {
  /** Where the text begins that a completion replaces. */
  readonly from: number
  readonly completions: readonly Completion[]
}

const words: readonly Completion[] = [
  { text: 'in', kind: 'word', detail: '', about: 'Is it one of a list, or a part of a text?' },
  { text: 'true', kind: 'word', detail: '', about: '' },
  { text: 'false', kind: 'word', detail: '', about: '' },
  { text: 'null', kind: 'word', detail: '', about: 'No value.' },
]

/**
 * Completions at a position of an expression. Only those that begin like what is written, in any letter case; then those
 * that contain it. Inside of a text in quotes, none but the names of lists that `inList` takes.
 */
export function completionsAt(text: string, position: number, vocabulary: Vocabulary): Completions {
  const before = text.slice(0, position)
  const written = /[A-Za-z_][\w.]*$/.exec(before)?.[0] ?? ''
  const from = position - written.length
  if (isQuoted(before)) return listsAt(before, vocabulary)
  if (/\|\s*$/.test(before.slice(0, from)))
    return { from, completions: matching(written, functionsAsSuffix(vocabulary)) }
  const whole = vocabulary.names.find(({ name }) => written.startsWith(`${name}.`))
  if (whole !== undefined) {
    const start = from + whole.name.length + 1
    return { from: start, completions: matching(before.slice(start), functionsAsSuffix(vocabulary)) }
  }
  const all = [...vocabulary.names.map(nameEntry), ...vocabulary.functions.map(functionEntry), ...words]
  return { from, completions: matching(written, all) }
}

/** Behind `inList(conn.client_ip, '` or `conn.client_ip|inList('`. */
function listsAt(before: string, { lists = [] }: Vocabulary): Completions {
  const [, written] = /\binList\s*\((?:[^'"(),]*,)?\s*['"]([\w.-]*)$/.exec(before) ?? []
  if (written === undefined) return { from: before.length, completions: [] }
  return { from: before.length - written.length, completions: matching(written, lists.map(listEntry)) }
}

const listEntry = ({ name, category, description }: KnownList): Completion => ({
  text: name,
  kind: 'word',
  detail: category ?? '',
  about: description ?? '',
})

const nameEntry = ({ name, type, about, missing }: KnownName): Completion => ({
  text: name,
  kind: 'name',
  detail: type,
  about: missing === undefined ? about : `${about} ${missing}`,
})

const functionEntry = ({ name, parameters, about, example }: KnownFunction): Completion => ({
  text: name,
  kind: 'function',
  detail: `(${parameters.join(', ')})`,
  about: `${about} ${example}`,
})

/** After `|` or a dot, the value in front is the first parameter. */
const functionsAsSuffix = ({ functions }: Vocabulary): Completion[] =>
  functions.map((each) => ({ ...functionEntry(each), detail: `(${each.parameters.slice(1).join(', ')})` }))

/** The word itself first, then those that begin like it, then those that contain it. */
function matching(written: string, all: readonly Completion[]): Completion[] {
  const wanted = written.toLowerCase()
  const rankOf = (text: string): number =>
    text === wanted ? 0 : text.startsWith(wanted) ? 1 : text.includes(wanted) ? 2 : 3
  const ranked = all.map((entry) => ({ entry, rank: rankOf(entry.text.toLowerCase()) }))
  return ranked
    .filter(({ rank }) => rank < 3)
    .toSorted((a, b) => a.rank - b.rank)
    .map(({ entry }) => entry)
}

/** Does the text end inside of quotes? A backslash takes the next character. */
function isQuoted(text: string): boolean {
  let quote = ''
  for (let index = 0; index < text.length; index++) {
    const character = text[index]!
    if (character === '\\' && quote !== '') index += 1
    else if (quote === '' && (character === "'" || character === '"')) quote = character
    else if (character === quote) quote = ''
  }
  return quote !== ''
}

/** The length of what stands at a place of an expression, to mark it: a name, a number, a text, or a sign. */
export function lengthAt(text: string, offset: number): number {
  const found = /^(?:[\w.]+|'(?:\\.|[^'\\])*'?|"(?:\\.|[^"\\])*"?|[&|=!<>]+|.)/su.exec(text.slice(offset))
  return found?.[0].length ?? 0
}
