/** Addresses of hosts that accounts name, from the hosts file, DNS and the system. */
import t from 'tap'
import { lookUpHost } from '../../../src/delivery/outgoing/host-lookup.js'

t.test('a name of the hosts file, in any spelling', async (t) => {
  for (const name of ['localhost', 'LocalHost']) {
    const found = await lookUpHost(name)
    t.ok(
      found.some(({ address }) => address === '127.0.0.1' || address === '::1'),
      name,
    )
  }
})

t.test('a name that nobody knows', async (t) => {
  await t.rejects(lookUpHost('no-such-host.invalid'), { code: /ENOTFOUND|EAI_AGAIN/ })
})
