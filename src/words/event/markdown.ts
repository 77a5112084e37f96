/** Building blocks of generated Markdown. */

export const code = (text: string): string => `\`${text}\``

export const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map(() => '---'), ...rows]
    .map((cells) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`)
    .join('\n')
    .replace(/^\| --- .*$/m, (line) => line.replaceAll(' ', ''))
