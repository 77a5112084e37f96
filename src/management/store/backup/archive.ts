/**
 * Where the files of a backup lie: a directory, or one file of the format tar. It is written aside and gets its name when it is
 * whole, so a backup that was interrupted is never taken for one.
 */
import {
  closeSync,
  existsSync,
  fstatSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { now } from '../../../ground/core/clock.js'
import { messageOf, StartFault } from '../../../ground/core/errors.js'
import {
  readTarHeader,
  tarEnd,
  tarEntry,
  tarHeaderBytes,
  tarRoomFor,
} from '../../../ground/core/files/tar.js'

export interface BackupWriter {
  add(name: string, bytes: Uint8Array): void
  /** The backup is whole. */
  finish(): void
  /** Removes what was written, unless it is whole. */
  close(): void
}

export interface BackupReader {
  /** Throws a `StartFault` that names the file if it is missing. */
  read(name: string): Buffer
  close(): void
}

const isTar = (path: string): boolean => path.endsWith('.tar')

/** Throws a `StartFault` if there is something of this name. */
export function writeBackup(path: string): BackupWriter {
  if (existsSync(path))
    throw new StartFault(`${path} is there already: name a new file or directory for the backup.`)
  const aside = `${path}.partial`
  rmSync(aside, { recursive: true, force: true })
  try {
    return isTar(path) ? new TarWriter(path, aside) : new DirectoryWriter(path, aside)
  } catch (error) {
    throw new StartFault(`The backup can't be written to ${path}: ${messageOf(error)}.`)
  }
}

/** Throws a `StartFault` if there is none. */
export function readBackup(path: string): BackupReader {
  if (existsSync(`${path}.partial`) && !existsSync(path))
    throw new StartFault(`${path} was not finished: a backup that was interrupted can't be restored.`)
  try {
    return statSync(path).isDirectory() ? new DirectoryReader(path) : new TarReader(path)
  } catch (error) {
    if (error instanceof StartFault) throw error
    throw new StartFault(`The backup ${path} can't be read: ${messageOf(error)}.`)
  }
}

const syncPath = (path: string): void => {
  const file = openSync(path, 'r')
  fsyncSync(file)
  closeSync(file)
}

class DirectoryWriter implements BackupWriter {
  readonly #path: string
  readonly #aside: string

  constructor(path: string, aside: string) {
    this.#path = path
    this.#aside = aside
    mkdirSync(aside, { recursive: true, mode: 0o700 })
  }

  add(name: string, bytes: Uint8Array): void {
    const path = join(this.#aside, name)
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    const file = openSync(path, 'wx', 0o600)
    try {
      writeAll(file, bytes)
      fsyncSync(file)
    } finally {
      closeSync(file)
    }
  }

  finish(): void {
    syncPath(this.#aside)
    renameSync(this.#aside, this.#path)
    syncPath(dirname(this.#path))
  }

  close(): void {
    rmSync(this.#aside, { recursive: true, force: true })
  }
}

class TarWriter implements BackupWriter {
  readonly #path: string
  readonly #aside: string
  readonly #file: number

  constructor(path: string, aside: string) {
    this.#path = path
    this.#aside = aside
    this.#file = openSync(aside, 'wx', 0o600)
  }

  add(name: string, bytes: Uint8Array): void {
    writeAll(this.#file, tarEntry({ name, bytes }, now()))
  }

  finish(): void {
    writeAll(this.#file, tarEnd())
    fsyncSync(this.#file)
    renameSync(this.#aside, this.#path)
    syncPath(dirname(this.#path))
  }

  close(): void {
    closeSync(this.#file)
    rmSync(this.#aside, { force: true })
  }
}

function writeAll(file: number, bytes: Uint8Array): void {
  for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at)
}

const missing = (name: string): StartFault => new StartFault(`${name} of the backup is missing.`)

class DirectoryReader implements BackupReader {
  readonly #path: string

  constructor(path: string) {
    this.#path = path
  }

  read(name: string): Buffer {
    try {
      return readFileSync(join(this.#path, name))
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') throw missing(name)
      throw new StartFault(`${name} of the backup can't be read: ${messageOf(error)}.`)
    }
  }

  close(): void {}
}

class TarReader implements BackupReader {
  readonly #file: number
  readonly #places = new Map<string, { readonly at: number; readonly size: number }>()

  constructor(path: string) {
    this.#file = openSync(path, 'r')
    try {
      this.#index(path)
    } catch (error) {
      closeSync(this.#file)
      throw error
    }
  }

  /** Names and places, without reading what the files hold. */
  #index(path: string): void {
    const { size: whole } = fstatSync(this.#file)
    for (let at = 0; at + tarHeaderBytes <= whole; ) {
      const header = this.#bytes(at, tarHeaderBytes)
      const found = headerIn(path, header)
      if (found === undefined) return
      const begin = at + tarHeaderBytes
      if (begin + found.size > whole) throw new StartFault(`${path} ends before its end: it is not whole.`)
      this.#places.set(found.name, { at: begin, size: found.size })
      at = begin + tarRoomFor(found.size)
    }
    throw new StartFault(`${path} ends before its end: it is not whole.`)
  }

  read(name: string): Buffer {
    const place = this.#places.get(name)
    if (place === undefined) throw missing(name)
    return this.#bytes(place.at, place.size)
  }

  #bytes(at: number, size: number): Buffer {
    const bytes = Buffer.alloc(size)
    for (let done = 0; done < size; ) {
      const read = readSync(this.#file, bytes, done, size - done, at + done)
      if (read === 0) throw new StartFault('The backup ends before its end: it is not whole.')
      done += read
    }
    return bytes
  }

  close(): void {
    closeSync(this.#file)
  }
}

function headerIn(path: string, header: Buffer): ReturnType<typeof readTarHeader> {
  try {
    return readTarHeader(header)
  } catch (error) {
    throw new StartFault(`${path} is damaged, or no backup: ${messageOf(error)}.`)
  }
}
