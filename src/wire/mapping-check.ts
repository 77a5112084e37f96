/** Does the server spread records over the partitions as the settings say? */
import { StartFault } from '../core/errors.js'
import type { Nats } from '../nats/nats.js'
import { partitionNumbered, probeSubject, recordsPartition, subjectMappings } from './partitions.js'

/** So many nodes that a mapping to another number of partitions sends at least one of them elsewhere. */
const probes = 32

/**
 * Publishes empty messages in the names of some nodes; each acknowledgement names the stream. Throws a `StartFault` that says
 * which line of the server's configuration to change, if one is in another stream than its partition's.
 */
export async function checkMapping(nats: Pick<Nats, 'publish'>, count: number): Promise<void> {
  // With one partition, a mapping that was left over still leads to streams that are drained.
  if (count === 1) return
  const nodes = Array.from({ length: probes }, (_, number) => `probe-${number}`)
  for (const node of nodes) {
    const wanted = partitionNumbered(recordsPartition('weir', node, count))!.recordsStream
    const { stream = '' } = await nats.publish(probeSubject(node), '')
    if (stream !== wanted) throw new StartFault(faultOf(probeSubject(node), { wanted, stream, count }))
  }
}

function faultOf(
  subject: string,
  { wanted, stream, count }: { readonly wanted: string; readonly stream: string; readonly count: number },
): string {
  const [[from, to] = []] = Object.entries(subjectMappings(count))
  return `WEIR_PARTITIONS is ${count}, but nats-server stores a message on ${subject} in ${stream} instead of ${wanted}. The account that has Weir's streams needs this line in its "mappings", instead of any other for these subjects: "${from}": "${to}". "weir nats-config" prints the whole configuration.`
}
