/** Sections of a report, for a terminal and as Markdown. Everything that someone else wrote is marked, and written as code. */

/** Our own words, something that was written elsewhere, or a link. */
type Span = string | { readonly given: string } | { readonly link: string }

export type Line = readonly Span[]

export interface Section {
  readonly title: string
  readonly lines: readonly Line[]
}

const givenCharsMax = 200
/** Control characters, line breaks, and those that change the direction of what follows. */
const disguises = /[\p{Cc}\p{Cf}\u2028\u2029]/gu

/** A line with values of others in it. Numbers are ours. */
export function line(words: TemplateStringsArray, ...values: readonly (string | number)[]): Line {
  return words.flatMap((own, index): Span[] => {
    const value = values[index]
    const given =
      value === undefined
        ? []
        : [typeof value === 'number' ? value.toLocaleString('en-US') : { given: value }]
    return own === '' ? given : [own, ...given]
  })
}

export const plainLine = (spans: Line): string =>
  spans.map((span) => (typeof span === 'string' ? span : 'given' in span ? span.given : span.link)).join('')

export const plainSections = (sections: readonly Section[]): string[] =>
  sections.flatMap(({ title, lines }) => [title, ...lines.map((each) => `  ${plainLine(each)}`)])

/** Nothing in a span of code is markup, a mention or a reference. */
export function codeSpan(text: string): string {
  const clean = text.replaceAll(disguises, '\uFFFD')
  const short = clean.length > givenCharsMax ? `${clean.slice(0, givenCharsMax)}…` : clean
  if (short.trim() === '') return '`-`'
  const runs = [...short.matchAll(/`+/g)].map(([run]) => run.length)
  const fence = '`'.repeat(1 + Math.max(0, ...runs))
  return runs.length === 0 ? `${fence}${short}${fence}` : `${fence} ${short} ${fence}`
}

/** In angle brackets: of what ends such a link, nothing is left. */
const linkTo = (url: string): string =>
  `[explanation](<${url.replaceAll(/[<>\\\s\p{Cc}]/gu, encodeURIComponent)}>)`

export const markdownLine = (spans: Line): string =>
  spans
    .map((span) =>
      typeof span === 'string' ? span : 'given' in span ? codeSpan(span.given) : linkTo(span.link),
    )
    .join('')
