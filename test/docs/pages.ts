/** The documents that people read, and what stands in them. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

interface Page {
  readonly file: string
  readonly text: string
}

const docs = readdirSync('docs', { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.md'))
  .map((name) => join('docs', name))

export const pages: readonly Page[] = [
  'README.md',
  'CONTRIBUTING.md',
  'CHANGELOG.md',
  'SECURITY.md',
  'config/helm/README.md',
  ...docs,
].map((file) => ({ file, text: readFileSync(file, 'utf8') }))

export const pageOf = (file: string): Page => {
  const page = pages.find((each) => each.file === file)
  if (page === undefined) throw new Error(`There is no page ${file}.`)
  return page
}

const fenced = /^```(\w*)\n([\s\S]*?)^```$/gm

/** The fenced blocks of a language, in order; `''` for those that name none. */
export const blocks = ({ text }: Page, language: string): readonly string[] =>
  [...text.matchAll(fenced)].filter(([, given]) => given === language).map(([, , code = '']) => code)

/** The text outside of fenced blocks. */
export const prose = ({ text }: Page): string => text.replace(fenced, '')

/** The blocks of a heading's section. */
export function sectionOf({ file, text }: Page, heading: string): Page {
  const [, level = ''] = new RegExp(`^(#+) ${heading}$`, 'm').exec(text) ?? []
  if (level === '') throw new Error(`${file} has no heading "${heading}".`)
  const after = text.split(`${level} ${heading}\n`)[1] ?? ''
  return { file, text: after.split(new RegExp(`^#{1,${level.length}} `, 'm'))[0] ?? '' }
}

/** How a heading becomes an anchor: lower case, without punctuation, hyphens for spaces. */
export const anchorOf = (heading: string): string =>
  heading
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(' ', '-')

/** The anchors of a file's headings. */
export const anchorsIn = (file: string): string[] =>
  [
    ...readFileSync(file, 'utf8')
      .replaceAll(/^```[\s\S]*?^```$/gm, '')
      .matchAll(/^#{1,6} (.+)$/gm),
  ].map(([, heading = '']) => anchorOf(heading))
