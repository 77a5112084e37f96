/** Does the server spread records over the partitions as the settings say? */
import { StartFault } from '../../ground/core/errors.js'
import type { Nats } from '../../ground/nats/nats.js'
import { isNoStream, isOtherStream, isStorageFull, isWrongRevision } from '../../ground/nats/retry.js'
import { partitionNumbered, probeSubject, recordsPartition, subjectMappings } from './partitions.js'

/** So many nodes that a mapping to another number of partitions sends at least one of them elsewhere. */
const probes = 32
/** About 3 s: for so long, a stream may have no leader, or a full one may get room. */
const triesMax = 6

/**
 * Asks with empty messages in the names of some nodes, none of which is stored. Throws a `StartFault` that says which line
 * of the server's configuration to change, if one would get into another stream than its partition's, or into none.
 */
export async function checkMapping(nats: Pick<Nats, 'publish'>, count: number): Promise<void> {
  // With one partition, a mapping that was left over still leads to streams that are drained.
  if (count === 1) return
  const unknown = new Set<string>()
  for (let number = 0; number < probes; number += 1) {
    const node = `probe-${number}`
    const { recordsStream } = partitionNumbered(recordsPartition('weir', node, count))!
    if (unknown.has(recordsStream)) continue
    const is = await isStoredIn(nats, probeSubject(node), recordsStream)
    if (is === undefined) unknown.add(recordsStream)
    if (is === false) throw new StartFault(faultOf(probeSubject(node), recordsStream, count))
  }
}

/** Undefined if that can't be told: a cluster refuses a message to a full stream before it looks at the rest. */
async function isStoredIn(
  nats: Pick<Nats, 'publish'>,
  subject: string,
  streamName: string,
): Promise<boolean | undefined> {
  // The server compares the stream first. In the right one, it refuses the message, because no sequence is so high.
  const expect = { streamName, lastSequence: Number.MAX_SAFE_INTEGER }
  try {
    const { sequence } = await nats.publish(subject, '', { expect, triesMax })
    throw new Error(`${streamName} stored a message as ${sequence} that it should have refused.`)
  } catch (error) {
    if (isWrongRevision(error)) return true
    if (isOtherStream(error) || isNoStream(error)) return false
    if (isStorageFull(error)) return undefined
    throw error
  }
}

function faultOf(subject: string, wanted: string, count: number): string {
  const [[from, to] = []] = Object.entries(subjectMappings(count))
  return `WEIR_PARTITIONS is ${count}, but nats-server stores a message on ${subject} elsewhere than in ${wanted}, or refuses it. The account that has Weir's streams needs this line in its "mappings", instead of any other for these subjects: "${from}": "${to}". "weir nats-config" prints the whole configuration.`
}
