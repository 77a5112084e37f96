/**
 * Stores a message in NATS and reads it back, to find out whether NATS stores. No one else reads it. Its stream holds
 * nothing worth keeping, so a role makes it again if it is missing, or out of service after an error of the disk.
 */

import { storeProbeSubject } from '../../delivery/wire/names.js'
import { probeStreamOptions } from '../../delivery/wire/streams.js'
import { monotonicMs, sleep } from '../../ground/core/clock.js'
import { payloadHeadroomBytes } from '../../ground/core/limits.js'
import { failureText } from '../../ground/nats/failures.js'
import type { Nats } from '../../ground/nats/nats.js'
import { isStorageFull } from '../../ground/nats/retry.js'
import { isForbidden } from '../../ground/nats/storing.js'

interface StoreProbeOptions {
  readonly nats: Pick<Nats, 'messageAt' | 'payloadBytesMax' | 'publish' | 'streamInfo' | 'storing'>
  readonly role: string
  /** Why the stream takes no change. */
  readonly faultOf: (stream: string) => Promise<string | undefined>
  readonly forbidden: (stream: string, error: unknown) => void
}

const { name, bytesMax } = probeStreamOptions
/** As large as a record, and as a page of a file. */
const probeBytes = 4096
/**
 * So many bytes must be stored after the stream was out of service: its removal made room for more probes, also on a full
 * disk. The stream holds the probes of a minute, on twice their bytes of the disk.
 */
const proofBytes = bytesMax - bytesMax / 16
/** A single late answer is no fault. */
const triesMax = 2
const againMs = 500
/** As long as the disk is full, a stream that is made again is soon as the one before. */
const remakeEveryMs = 10_000

export class StoreProbe {
  readonly #options: StoreProbeOptions
  #remadeMs = Number.NEGATIVE_INFINITY
  #isForbidden = false
  #isReadingForbidden = false

  constructor(options: StoreProbeOptions) {
    this.#options = options
  }

  /** Why the probe is not stored, or can't be read. */
  async refusal(): Promise<string | undefined> {
    let refusal: string | undefined
    for (let tries = 1; tries <= triesMax && !this.#isForbidden; tries += 1) {
      if (tries > 1) await sleep(againMs)
      try {
        await this.#read(await this.#store(probeBytes))
        return undefined
      } catch (error) {
        if (isStorageFull(error)) return failureText(error)
        refusal = await this.#mended(error)
        if (refusal === undefined) return undefined
      }
    }
    return refusal
  }

  async #store(bytes: number): Promise<number> {
    const { nats, role } = this.#options
    const probe = Buffer.alloc(bytes, ' ')
    const { sequence } = await nats.publish(storeProbeSubject(role), probe, { triesMax: 1 })
    return sequence
  }

  /** Permissions of an earlier version allow no reading: that says nothing of the server. */
  async #read(sequence: number): Promise<void> {
    if (this.#isReadingForbidden) return
    try {
      const found = await this.#options.nats.messageAt(name, sequence, { triesMax: 1 })
      if (found === undefined) throw new Error('what it confirmed to have stored cannot be read')
    } catch (error) {
      if (!isForbidden(error)) throw error
      this.#isReadingForbidden = true
      this.#options.forbidden(name, error)
    }
  }

  /** Why a probe was not stored, after an attempt to mend its stream; undefined if NATS stores now. */
  async #mended(error: unknown): Promise<string | undefined> {
    try {
      if (isForbidden(error)) throw error
      const { nats, faultOf } = this.#options
      if ((await nats.streamInfo(name)) === undefined)
        return (await this.#hasRoomForStream()) ? failureText(error) : undefined
      const fault = await faultOf(name)
      if (fault === undefined) return failureText(error)
      return (await this.#isMadeAgain()) ? undefined : `${fault}.`
    } catch (failure) {
      if (!isForbidden(failure)) return failureText(failure)
      this.#isForbidden = true
      this.#options.forbidden(name, failure)
      return undefined
    }
  }

  /** The server may have promised all of its storage to other streams, which says nothing of whether it stores in these. */
  async #hasRoomForStream(): Promise<boolean> {
    try {
      await this.#options.nats.storing.make(probeStreamOptions)
      return true
    } catch (error) {
      if (isStorageFull(error)) return false
      throw error
    }
  }

  /** Makes the stream again; false if the disk has no room yet. */
  async #isMadeAgain(): Promise<boolean> {
    if (monotonicMs() - this.#remadeMs < remakeEveryMs) return false
    this.#remadeMs = monotonicMs()
    const { nats } = this.#options
    await nats.storing.remake(probeStreamOptions)
    const messageBytes = Math.min(nats.payloadBytesMax - payloadHeadroomBytes, proofBytes / 4)
    try {
      for (let left = proofBytes; left > 0; left -= messageBytes)
        await this.#store(Math.min(left, messageBytes))
    } catch {
      return false
    }
    await nats.storing.remake(probeStreamOptions)
    return true
  }
}
