/**
 * The Markdown that descriptions of the API's document are written in, as elements: headings, paragraphs, lists, tables,
 * code, links, bold words. Everything else is text as it stands, so nothing in a description can become anything else.
 */
import type { ComponentChildren } from 'preact'

/** A description of several blocks. */
export const Markdown = ({ text }: { readonly text: string }) => <>{blocksOf(text).map(blockOf)}</>

/** A description within a line. */
export const MarkdownLine = ({ text }: { readonly text: string }) => <>{inline(text)}</>

/** Headings end a block also without an empty line behind them. */
const blocksOf = (text: string): string[] =>
  text
    .replace(/^(#{1,6} .*)$/gm, '\n$1\n')
    .split(/\n{2,}/)
    .map((block) => block.trim())
    .filter(Boolean)

function blockOf(block: string, key: number): ComponentChildren {
  const heading = /^(#{1,6}) (.*)$/.exec(block)
  if (heading) {
    const [, marks = '', text = ''] = heading
    const id = `about/${text.toLowerCase().replaceAll(' ', '-')}`
    return marks.length < 3 ? (
      <h2 key={key} id={id}>
        {inline(text)}
      </h2>
    ) : (
      <h3 key={key} id={id}>
        {inline(text)}
      </h3>
    )
  }
  const lines = block.split('\n')
  if (lines.length > 1 && /^\|[\s:|-]+\|$/.test(lines[1]!.trim()))
    return <MarkdownTable key={key} lines={lines} />
  if (lines.every((line) => line.startsWith('- ')))
    return (
      <ul key={key} class="listed">
        {lines.map((line) => (
          <li key={line}>{inline(line.slice(2))}</li>
        ))}
      </ul>
    )
  return <p key={key}>{inline(lines.join(' '))}</p>
}

/** Cells are separated by `|`; one that is escaped is a part of its cell, also in code. */
const cellsOf = (line: string): string[] =>
  line
    .trim()
    .replace(/^\||\|$/g, '')
    .split(/(?<!\\)\|/)
    .map((cell) => cell.trim().replaceAll('\\|', '|'))

function MarkdownTable({ lines: [head = '', , ...rows] }: { readonly lines: readonly string[] }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reached by keys
    <section class="scrolls" tabIndex={0} aria-label={cellsOf(head).join(', ').replaceAll('`', '')}>
      <table>
        <thead>
          <tr>
            {cellsOf(head).map((cell) => (
              <th key={cell} scope="col">
                {inline(cell)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row}>
              {cellsOf(row).map((cell, index) => (
                <td key={index}>{inline(cell)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}

const inlineParts = /(`[^`]+`|\*\*[^*]+\*\*|\[[^\]]+\]\(https?:[^)\s]+\))/

/** Links lead to web pages alone. */
function inline(text: string): ComponentChildren[] {
  return text.split(inlineParts).map((part, index) => {
    if (/^`[^`]+`$/.test(part)) return <code key={index}>{part.slice(1, -1)}</code>
    if (/^\*\*[^*]+\*\*$/.test(part)) return <strong key={index}>{part.slice(2, -2)}</strong>
    const [, label, href] = /^\[([^\]]+)\]\((https?:[^)\s]+)\)$/.exec(part) ?? []
    if (href === undefined) return part
    return (
      <a key={index} href={href} rel="noreferrer">
        {label}
      </a>
    )
  })
}
