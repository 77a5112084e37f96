/** When the configuration of a process is compiled. */

import { mock } from 'node:test'
import t from 'tap'
import { createLogger } from '../../../src/ground/core/telemetry/log.js'
import { createRegistry } from '../../../src/ground/core/telemetry/metrics.js'
import { createOccurrences } from '../../../src/ground/core/telemetry/occurrences.js'
import { Configuration, changeCoalesceMs } from '../../../src/judging/produce/compiled-configuration.js'
import { policyKind, rowKey, stateKey } from '../../../src/words/view/keys.js'
import { total } from '../../harness/metrics.js'
import { until } from '../../harness/weir.js'
import { accountId, openSentView, policyId, policyOf, stateOf } from '../../words/view/sent-view.js'

t.test('it is compiled once at a start, and again after a change', async (t) => {
  mock.timers.enable({ apis: ['setTimeout'] })
  t.teardown(() => mock.timers.reset())
  const { view, send, sendFirst } = await openSentView()
  t.teardown(() => view.close())
  const registry = createRegistry()
  const configuration = new Configuration(
    view,
    createOccurrences({ logger: createLogger('test', 'silent'), registry }),
    [],
    'pipeline',
  )
  t.teardown(() => configuration.close())
  const built = async () => total(await registry.metrics(), 'weir_configurations_built_total')

  sendFirst()
  await configuration.open()
  // A build that begins now would come before that of the change below.
  mock.timers.tick(changeCoalesceMs)
  t.equal(await built(), 1, 'what made it usable is in it already')

  send(4, rowKey(policyKind, policyId), policyOf(2))
  send(5, stateKey(accountId), stateOf(2))
  mock.timers.tick(changeCoalesceMs)
  await until('the change is in use', () => configuration.current.policySet.revision === 5)
  t.equal(await built(), 2, 'changes in quick succession are compiled together')
})
