/**
 * A file of NDJSON on the machine of the deliverer, for trying Weir out and for shippers that read files. The operator says
 * where files may be; an account chooses a name, and has a directory of its own. How several processes share a file is
 * described in `deliver/file/event-file.ts`.
 *
 * Faults of files are never throttle, credentials or poison: no event can be at fault.
 */
import { constants } from 'node:fs'
import { access, lstat, statfs } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { getSystemErrorMap } from 'node:util'
import { fail, ok, type Problem, type Result, shown } from '../../../ground/core/errors.js'
import { Type } from '../../../ground/core/schema.js'
import { sizeText } from '../../../ground/core/text/plural.js'
import { withDeadline } from '../../outgoing/deadline.js'
import type { Fault, FaultClass } from '../../outgoing/fault-class.js'
import { fault, interruptionOf } from '../../outgoing/faults.js'
import type { PackedEvent } from '../../wire/packed-event.js'
import { fileAdvice } from '../advice/file-advice.js'
import { openSpace, type SharedSpace } from '../file/account-space.js'
import { EventFile } from '../file/event-file.js'
import { FileFault, notADirectory, notAFile } from '../file/file-fault.js'
import { isRotatedName, type Rotation } from '../file/rotated-files.js'
import { fileForm, fileWords } from '../forms/server-forms.js'
import type { DestinationConfig } from '../kind/destination.js'
import { defineDestinationKind, type KindLimits } from '../kind/kind.js'
import type { BatchLimits, Finding, Sender, SenderDeps, SendOutcome } from '../kind/sender.js'
import { type OptionsOf, optional, targetOptions } from '../kind/target-options.js'

// --- address ---

const nameForm = /^[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}$/
/** Rotated files get these. */
const ownEndings = /\.(gz|partial)$/

const checkName = (name: string): Problem | undefined => {
  const is = `is ${shown(name, 120)}, which`
  if (!nameForm.test(name)) {
    const allowed = '1 to 100 letters, digits, "_", "-" and ".", the first not "-" or "."'
    return { msg: `${is} is not the name of a file: ${allowed} are allowed` }
  }
  if (isRotatedName(name)) return { msg: `${is} is named like a rotated file` }
  return ownEndings.test(name) ? { msg: `${is} ends like a file that Weir compressed` } : undefined
}

// --- options ---

const mebibyte = 1024 * 1024
const daySeconds = 24 * 60 * 60
const defaults = { size: 100 * mebibyte, keep: 10 }

const options = targetOptions({
  size: optional(
    Type.Integer({
      minimum: mebibyte,
      maximum: 10 * 1024 * mebibyte,
      description: 'The file is rotated before it has more bytes. Default: 104857600 (100 MiB).',
    }),
  ),
  age_seconds: optional(
    Type.Integer({
      minimum: 1,
      maximum: 31 * daySeconds,
      description: 'A file that is older is rotated when the next event arrives. Default: no limit.',
    }),
  ),
  keep: optional(
    Type.Integer({
      minimum: 1,
      maximum: 1_000,
      description: 'How many rotated files are kept; the oldest are deleted. Default: 10.',
    }),
  ),
  gzip_rotated: optional(Type.Boolean({ description: 'Rotated files are compressed. Default: false.' })),
})

type FileOptions = OptionsOf<typeof options>

// --- limits ---

const limits: KindLimits = {
  eventsMax: 10_000,
  eventBytesMax: 16 * mebibyte,
  sizeOf: ({ dataBytes }) => dataBytes,
}

// --- sender ---

const directorySetting = 'WEIR_FILE_DIRECTORY'
const spaceSetting = 'WEIR_FILE_MAX'

const notAllowed = fault(
  'configuration',
  'FilesNotAllowed',
  `The operator allows no files: the setting ${directorySetting} is not set.`,
)

/** A target that would need more than the whole space of the account is refused before it has filled it. */
function unfit({ sizeMax, keep }: Rotation, spaceBytesMax: number): Fault | undefined {
  if (sizeMax * (keep + 1) <= spaceBytesMax) return undefined
  const needed = `A file of ${sizeText(sizeMax)} ("size") and ${keep} rotated ones ("keep") need more space`
  const allowed = `the operator allows ${sizeText(spaceBytesMax)} for all files of an account (${spaceSetting})`
  return fault('configuration', 'FilesTooLarge', `${needed}: ${allowed}.`)
}

/** The file that is written to. */
interface Opened {
  /** The account's. */
  readonly directory: string
  readonly file: EventFile
  readonly shared: SharedSpace
}

function open(
  { accountId, address, options: given }: DestinationConfig,
  deps: SenderDeps,
): Result<Opened, Fault> {
  if (deps.directory === undefined) return fail(notAllowed)
  const { size, age_seconds, keep, gzip_rotated }: FileOptions = given
  const rotation: Rotation = {
    sizeMax: size ?? defaults.size,
    ageMaxMs: (age_seconds ?? Number.POSITIVE_INFINITY) * 1000,
    keep: keep ?? defaults.keep,
    gzip: gzip_rotated ?? false,
  }
  const spaceBytesMax = deps.spaceBytesMax ?? Number.POSITIVE_INFINITY
  const refusal = unfit(rotation, spaceBytesMax)
  if (refusal !== undefined) return fail(refusal)
  const directory = join(deps.directory, accountId)
  const shared = openSpace(directory, spaceBytesMax)
  return ok({ directory, file: new EventFile(directory, address, rotation, shared.space), shared })
}

class FileSender implements Sender {
  readonly #deps: SenderDeps
  readonly #name: string
  readonly #options: FileOptions
  readonly #opened: Result<Opened, Fault>

  constructor(config: DestinationConfig<FileOptions>, deps: SenderDeps) {
    this.#deps = deps
    this.#name = config.address
    this.#options = config.options
    this.#opened = open(config, deps)
  }

  /** A larger request would have a file of its own, beyond `size`. */
  limits(): BatchLimits {
    const { limits: given } = this.#deps
    return { ...given, requestBytesMax: Math.min(given.requestBytesMax, this.#options.size ?? defaults.size) }
  }

  async send(events: readonly PackedEvent[], signal: AbortSignal): Promise<SendOutcome> {
    if (!this.#opened.ok) return { outcome: 'failed', fault: this.#opened.problem }
    const { file } = this.#opened.value
    try {
      const lines = Buffer.concat(events.map(({ data }) => data))
      await withDeadline(this.#deps.requestTimeoutMs, signal, (abort) => file.append(lines, abort))
      return { outcome: 'accepted' }
    } catch (error) {
      return { outcome: 'failed', fault: faultOf(error) }
    }
  }

  async check(event: PackedEvent, signal: AbortSignal): Promise<Result<Finding, Fault>> {
    if (!this.#opened.ok) return fail(this.#opened.problem)
    const { value } = this.#opened
    try {
      const look = () => this.#look(value, event)
      const proved = await withDeadline(this.#deps.requestTimeoutMs, signal, look)
      return ok({ mayWrite: true, proved, notProved: ['Room on the disk.'] })
    } catch (error) {
      return fail(faultOf(error))
    }
  }

  async #look({ directory, shared: { space } }: Opened, { dataBytes }: PackedEvent): Promise<string[]> {
    const writable = constants.W_OK | constants.X_OK
    const ofAccount = await unlessMissing(lstat(directory))
    if (ofAccount?.isDirectory() === false) throw notADirectory()
    await access(ofAccount === undefined ? dirname(directory) : directory, writable)
    if (ofAccount !== undefined) {
      await space.leaveReserve(this.limits().requestBytesMax)
      await space.within(dataBytes, async () => {})
    }
    const file = ofAccount && (await unlessMissing(lstat(join(directory, this.#name))))
    if (file === undefined) {
      await holdsAnotherFile(ofAccount === undefined ? dirname(directory) : directory)
      return ['The file can be created.']
    }
    if (!file.isFile()) throw notAFile()
    await access(join(directory, this.#name), constants.R_OK | constants.W_OK)
    return ['The file exists and may be written.']
  }

  dropCredentials(): void {}

  close(): void {
    if (this.#opened.ok) this.#opened.value.shared.close()
  }
}

const unlessMissing = <T>(found: Promise<T>): Promise<T | undefined> =>
  found.catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw error
  })

async function holdsAnotherFile(directory: string): Promise<void> {
  const { files, ffree } = await statfs(directory)
  // Some file systems do not say how many there may be.
  if (files > 0 && ffree === 0)
    throw new FileFault('DiskAlmostFull', 'The disk has no inodes left: no file can be created.')
}

/** Faults that pass, or that an operator ends without a change of the destination. All others pause it. */
const passing = new Set([
  ...['Rotated', 'ShortWrite', 'FileSpaceUsed', 'DiskAlmostFull'],
  ...[
    'ENOSPC',
    'EDQUOT',
    'EIO',
    'EAGAIN',
    'EBUSY',
    'EINTR',
    'EMFILE',
    'ENFILE',
    'ENOMEM',
    'ESTALE',
    'ETIMEDOUT',
  ],
])

/** Without the path, which is the operator's. */
function faultOf(error: unknown): Fault {
  const interrupted = interruptionOf(error)
  if (interrupted !== undefined) return interrupted
  const { code = 'Unknown', errno, message } = error as NodeJS.ErrnoException
  const faultClass: FaultClass = passing.has(code) ? 'transient' : 'configuration'
  const [, about] = getSystemErrorMap().get(errno ?? 0) ?? []
  return fault(faultClass, code, about === undefined ? message : `The file can't be written: ${about}.`)
}

// --- declaration ---

export const file = defineDestinationKind({
  name: 'file',
  title: 'file',
  about: 'Appended to a file of NDJSON on the machine of the deliverer, and synced to its disk.',
  address: {
    field: 'name',
    pattern: '^[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}$',
    example: 'events.ndjson',
    check: checkName,
  },
  options,
  directorySetting,
  spaceSetting,
  setup: { words: fileWords, forms: [fileForm] },
  advice: fileAdvice,
  limits,
  requestBytes: { max: 16 * mebibyte, default: 4 * mebibyte },
  keepsLineBreak: true,
  open: (config, deps) => new FileSender(config, deps),
})
