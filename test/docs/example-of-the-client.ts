/** The example of docs/api.md, so that its types are checked with all others. */
import { openClient } from '../../src/words/client/client.js' // `ApiError` is there, too

const weir = openClient({ url: 'http://127.0.0.1:8080', token: 'weir_…' })

const office = await weir.ipPolicy.create({ description: 'the office' }, { idempotencyKey: 'office-1' })
await weir.replaceRules(office.id, [{ cidr: '203.0.113.0/24', action: 'allow' }])
const edge = await weir.tcpEdge.create({ hostports: ['ssh.example.com:22'] })
await weir.tcpEdge.ip_restriction.put(edge.id, { ip_policy_ids: [office.id] })
await weir.tcpEdge.delete(edge.id, { validateOnly: true }) // could it be deleted?

const { id } = await weir.tryRules(office.id, [{ cidr: '203.0.113.0/25', action: 'allow' }], { since: '24h' })
console.log((await weir.trial(id)).decisions?.changed) // once its state is 'done'

for await (const change of weir.tcpEdge.changes(edge.id)) console.log(change.version, change.fields) // newest first
await weir.tcpEdge.restore(edge.id, 12, { validateOnly: true }) // could version 12 be put back?
for await (const rule of weir.ipPolicyRule.list({ filter: "action == 'allow'" })) console.log(rule.cidr) // every page
await weir.httpsEdgeRoute.under('edghts_…').get('edghtsrt_…') // lives under an edge, and is listed with it
