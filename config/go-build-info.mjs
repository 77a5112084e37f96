/**
 * What Go notes in each program that it builds: its own version, and the modules with their versions and sums. `go version -m`
 * shows the same, but needs Go. The format: https://pkg.go.dev/debug/buildinfo
 */

const magic = Buffer.from('\xff Go buildinf:', 'latin1')
/** The texts come behind the magic, two bytes of flags, and room for what older versions of Go put there. */
const textsOffset = 32
/** In these, since Go 1.18. */
const inlineFlag = 2
/** Around the list of modules there are 16 bytes by which a program is recognised. */
const sentinelBytes = 16

/** @typedef {{ path: string, version: string, sum: string }} GoModule */

/**
 * @param {Buffer} program
 * @returns {{ goVersion: string, main: GoModule, modules: readonly GoModule[] }}
 */
export function goBuildInfo(program) {
  const start = program.indexOf(magic)
  if (start === -1 || ((program[start + magic.length + 1] ?? 0) & inlineFlag) === 0)
    throw new Error('The program has no build information of Go 1.18 or later.')
  const version = textAt(program, start + textsOffset)
  const list = textAt(program, version.end).bytes.subarray(sentinelBytes, -sentinelBytes).toString('utf8')
  /** @type {GoModule[]} */
  const modules = []
  /** @type {GoModule | undefined} */
  let main
  for (const line of list.split('\n')) {
    const [kind, path = '', moduleVersion = '', sum = ''] = line.split('\t')
    const module = { path, version: moduleVersion, sum }
    if (kind === 'mod') main = module
    if (kind === 'dep') modules.push(module)
    // The module of the line before is replaced by it.
    if (kind === '=>') modules.splice(-1, 1, module)
  }
  if (main === undefined) throw new Error('The program does not say which module it was built from.')
  return { goVersion: version.bytes.toString('utf8'), main, modules }
}

/**
 * A text is its length, seven bits in each byte, and its bytes.
 *
 * @param {Buffer} program
 * @param {number} offset
 */
function textAt(program, offset) {
  let length = 0
  let at = offset
  for (let shift = 0; ; shift += 7) {
    const byte = program[at] ?? 0
    at += 1
    length |= (byte & 0x7f) << shift
    if (byte < 0x80) break
  }
  return { bytes: program.subarray(at, at + length), end: at + length }
}
