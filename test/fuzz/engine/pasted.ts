/** Inputs as they stand in `fuzz/finds.ts`: bytes as characters below U+0100, and repeated pieces with their number. */
type Piece = string | readonly [piece: string, times: number]

export type PastedInput = string | readonly Piece[]

export const bytesOf = (input: PastedInput): Buffer =>
  Buffer.from(
    typeof input === 'string'
      ? input
      : input.map((piece) => (typeof piece === 'string' ? piece : piece[0].repeat(piece[1]))).join(''),
    'latin1',
  )

const periodMax = 64
const runBytesMin = 48

/** The text of a literal. */
export function pasted(input: Buffer): string {
  const pieces = piecesOf(input.toString('latin1'))
  const literals = pieces.map((piece) =>
    typeof piece === 'string' ? literal(piece) : `[${literal(piece[0])}, ${piece[1]}]`,
  )
  return typeof pieces[0] === 'string' && pieces.length === 1 ? literals[0]! : `[${literals.join(', ')}]`
}

function piecesOf(text: string): Piece[] {
  const pieces: Piece[] = []
  let plain = ''
  for (let at = 0; at < text.length; ) {
    const run = runAt(text, at)
    if (run === undefined) {
      plain += text[at]
      at += 1
      continue
    }
    if (plain !== '') pieces.push(plain)
    plain = ''
    pieces.push(run)
    at += run[0].length * run[1]
  }
  return plain === '' && pieces.length > 0 ? pieces : [...pieces, plain]
}

/** The shortest piece that is repeated here for long enough to be worth it. */
function runAt(text: string, at: number): readonly [string, number] | undefined {
  for (let period = 1; period <= periodMax; period += 1) {
    const piece = text.slice(at, at + period)
    let end = at + period
    while (end + period <= text.length && text.startsWith(piece, end)) end += period
    const times = (end - at) / period
    if (times > 2 && end - at >= runBytesMin) return [piece, times]
  }
  return undefined
}

const literal = (text: string): string =>
  `'${text.replace(/[\\']|[^ -~]/g, (char) =>
    char === '\n'
      ? '\\n'
      : char === '\r'
        ? '\\r'
        : char === '\t'
          ? '\\t'
          : char === '\\' || char === "'"
            ? `\\${char}`
            : `\\x${char.charCodeAt(0).toString(16).padStart(2, '0')}`,
  )}'`

/** A find as a line for `fuzz/finds.ts`. */
export const pastedFind = (parser: string, what: string, input: Buffer): string =>
  `  { parser: ${literal(parser)}, what: ${JSON.stringify(what)}, input: ${pasted(input)} },`
