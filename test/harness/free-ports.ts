/** Ports for programs of a test that take several. */
import { freePort } from '../../src/delivery/nats-server/nats-probe.js'

/** All different: the system may give a port again as soon as it is free again. */
export async function freePorts(count: number): Promise<number[]> {
  const ports = new Set<number>()
  while (ports.size < count) ports.add(await freePort())
  return [...ports]
}
