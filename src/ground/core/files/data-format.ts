/**
 * The format of what Weir keeps: its data directory, the configuration in NATS, and the database. An older build must not
 * open data that it would misread: it would show less than there is, and might delete the rest.
 *
 * **Raise it** with a change that makes older builds misread or lose anything: another form of packs, keys, subjects or
 * rows. A build opens data of its own format and of all before. The first start of a newer build raises the format of the
 * data; from then on older builds refuse to start.
 */
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { messageOf, StartFault } from '../errors.js'
import { version } from '../package.js'

export const dataFormat = 1

/** As it is kept, with the version of Weir that raised it. */
interface KeptFormat {
  readonly format: number
  readonly version: string
}

export const ownFormat: KeptFormat = { format: dataFormat, version }

/** The format of data that this build writes: a higher one, which a newer build wrote, stays. */
export const raisedFormat = ({ format, version: by }: Partial<KeptFormat> = {}): Partial<KeptFormat> =>
  (format ?? 0) > dataFormat ? { format: format!, ...(by !== undefined && { version: by }) } : ownFormat

/**
 * Throws a `StartFault` if data of this format may be more than this build can read. `what`: the data, at the beginning of a
 * sentence.
 */
export function checkFormat(what: string, kept: Partial<KeptFormat> | undefined): void {
  const { format = 0, version: by } = kept ?? {}
  if (format <= dataFormat) return
  const newer = by === undefined ? 'a later version of Weir' : `Weir ${by}`
  const later = by === undefined ? 'the later version' : `Weir ${by} or later`
  throw new StartFault(
    `${what} was written by ${newer} in format ${format}, and this is Weir ${version}, which knows formats up to ${dataFormat}: it would misread it. ` +
      `Start ${later}. To go back, restore the backup from before the upgrade, of the data directory or of ClickHouse and NATS.`,
  )
}

const fileName = 'format.json'

/** Checks the format of a data directory, and raises it to that of this build. */
export function openFormatOf(dir: string): void {
  const file = join(dir, fileName)
  const kept = readFormat(file)
  checkFormat(`The data directory ${dir} (WEIR_DATA_DIR)`, kept)
  if (kept?.format === dataFormat) return
  try {
    mkdirSync(dir, { recursive: true, mode: 0o700 })
    writeFileSync(`${file}.new`, `${JSON.stringify(ownFormat)}\n`, { flush: true })
    renameSync(`${file}.new`, file)
  } catch (error) {
    throw new StartFault(`The data directory ${dir} (WEIR_DATA_DIR) can't be written: ${messageOf(error)}.`)
  }
}

/** Undefined for a directory from before there were formats. */
function readFormat(file: string): KeptFormat | undefined {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw new StartFault(`${file} can't be read: ${messageOf(error)}.`)
  }
  const kept = formatIn(text)
  if (kept === undefined)
    throw new StartFault(
      `${file} does not say which format the data directory has. Restore the file from a backup, or write ${JSON.stringify(ownFormat)} if this version of Weir was the last one here.`,
    )
  return kept
}

function formatIn(text: string): KeptFormat | undefined {
  try {
    const { format, version } = JSON.parse(text) as Partial<KeptFormat>
    return Number.isSafeInteger(format) && typeof version === 'string'
      ? { format: format!, version }
      : undefined
  } catch {
    return undefined
  }
}
