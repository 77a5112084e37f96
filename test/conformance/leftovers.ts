/** What a run made, and removes again, whatever happened meanwhile. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Asker } from './asker.js'

/** Lists whose entries have a description, in the order in which they can be deleted. */
const swept = [
  ...['/event_subscriptions', '/event_destinations', '/edges/tcp', '/edges/https', '/backends/tunnel_group'],
  ...['/ip_policies', '/ip_lists', '/ssh_host_certificates', '/ssh_user_certificates', '/ssh_credentials'],
  ...['/ssh_certificate_authorities', '/reserved_addrs', '/reserved_domains', '/credentials', '/api_keys'],
]
const triesMax = 3
const betweenTriesMs = 1_000

export class Leftovers {
  /** Paths of resources, the newest last. */
  readonly #made: string[] = []

  add(path: string): void {
    this.#made.push(path)
  }

  /**
   * Deletes the newest first, then what a lost answer hid: everything whose description begins like those of this run.
   * Returns what could not be deleted.
   */
  async remove(asker: Asker, label: string): Promise<string[]> {
    const failed: string[] = []
    for (const path of this.#made.splice(0).toReversed())
      if (!(await isRemoved(asker, path))) failed.push(path)
    for (const list of swept) failed.push(...(await sweep(asker, list, label)))
    const left = await Promise.all(
      [...new Set(failed)].map(async (path) => ((await isRemoved(asker, path)) ? [] : [path])),
    )
    return left.flat()
  }
}

async function sweep(asker: Asker, list: string, label: string): Promise<string[]> {
  const filter = encodeURIComponent(`description.startsWith('${label}')`)
  try {
    const answer = await asker.get(`${list}?filter=${filter}`)
    const entries = Object.values(answer.body).find(Array.isArray) as { id: string }[]
    const paths = entries.map(({ id }) => `${list}/${id}`)
    const failed: string[] = []
    for (const path of paths) if (!(await isRemoved(asker, path))) failed.push(path)
    return failed
  } catch (error) {
    return [`${list} (${error instanceof Error ? error.message : error})`]
  }
}

async function isRemoved(asker: Asker, path: string): Promise<boolean> {
  for (let tries = 0; tries < triesMax; tries += 1) {
    if (tries > 0) await sleep(betweenTriesMs)
    try {
      const { status } = await asker.delete(path)
      if (status === 204 || status === 404) return true
    } catch {
      // Tried again: a service may be restarting.
    }
  }
  return false
}
