/** Reserved addresses: how they are drawn, and who may serve and delete them. */
import t from 'tap'
import { isUnder } from '../../../../src/ground/core/address/host-name.js'
import {
  checkReserved,
  checkUnserved,
  drawTcpAddress,
  regions,
  tcpAddressSpace,
} from '../../../../src/words/resource/fields/tcp-address.js'
import { lookupsIn, refusalOf } from '../lookups.js'

t.test('addresses are drawn from the whole space, and from nothing else', async (t) => {
  const space = { ...tcpAddressSpace('weir.example'), hostsPerRegion: 2, portMin: 10, portMax: 12 }
  for (const region of regions) {
    const drawn = new Set(Array.from({ length: 500 }, () => drawTcpAddress(space, region)))
    const all = [1, 2].flatMap((host) =>
      [10, 11, 12].map((port) => `${host}.tcp.${region}.weir.example:${port}`),
    )
    t.strictSame([...drawn].toSorted(), all.toSorted())
  }
})

t.test('names under a domain', async (t) => {
  const cases: [name: string, isUnder: boolean][] = [
    ['weir.example', true],
    ['1.tcp.eu.weir.example', true],
    ['xweir.example', false],
    ['weir.example.com', false],
    ['example', false],
  ]
  for (const [name, want] of cases) t.equal(isUnder('weir.example', name), want, name)
})

const reserved = '1.tcp.eu.weir.example:20000'
const lookups = lookupsIn({
  reserved_addr: [{ addr: reserved }],
  tcp_edge: [{ id: 'edgtcp_1', hostports: [reserved] }],
  https_edge: [{ id: 'edghts_1', hostports: null }],
})

t.test('an edge serves only addresses that its account reserved', async (t) => {
  const cases: [
    name: string,
    hostports: string[] | null,
    previous: string[] | undefined,
    culprit: string | undefined,
  ][] = [
    ['none', null, undefined, undefined],
    ['names elsewhere', ['ssh.example.com:22', 'weir.example.com:22'], undefined, undefined],
    ['a reserved one', [reserved], undefined, undefined],
    ['its port is another', ['1.tcp.eu.weir.example:20001'], undefined, 'hostports[0]'],
    ['the domain itself', ['a.example:1', 'weir.example:22'], undefined, 'hostports[1]'],
    ['served before, so it stays', ['x.weir.example:22'], ['x.weir.example:22'], undefined],
    [
      'another one is added',
      ['x.weir.example:22', 'y.weir.example:22'],
      ['x.weir.example:22'],
      'hostports[1]',
    ],
  ]
  for (const [name, hostports, previous, culprit] of cases) {
    const before = previous && { hostports: previous }
    const refusal = refusalOf(() => checkReserved({ hostports }, before, lookups))
    if (culprit === undefined) t.equal(refusal, undefined, name)
    else t.match(refusal, `"${culprit}"`, name)
  }
})

t.test('an address that an edge serves is not deleted', async (t) => {
  t.match(
    refusalOf(() => checkUnserved(reserved, lookups)),
    'the edge edgtcp_1 names it',
  )
  t.equal(
    refusalOf(() => checkUnserved('2.tcp.eu.weir.example:20000', lookups)),
    undefined,
  )
})
