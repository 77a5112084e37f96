/** The role `decide`: `weir.decide` and `weir.decide.agent`, and decisions over HTTP for proxies. */

import { agentSubject, connectionSubject, keyUseBucket } from '../delivery/wire/names.js'
import type { UntrustedProxy } from '../delivery/wire/process-report.js'
import { neededByDecide } from '../delivery/wire/streams.js'
import { monotonicMs, now } from '../ground/core/clock.js'
import { inSpan, tracing } from '../ground/core/telemetry/tracing.js'
import { type AgentWatch, decide, decideAgent, replyAboutNames } from '../judging/evaluate/reply.js'
import { Answers } from '../judging/pipeline/answers.js'
import { Configuration } from '../judging/produce/compiled-configuration.js'
import { keyFinder } from '../management/access/caller.js'
import { KeyUses } from '../management/access/key-uses.js'
import { openDecisionPort } from '../management/decide/decision-port.js'
import { beginDecision } from '../management/decide/decision-span.js'
import { requestsEndMs } from '../management/exchange/connection-limits.js'
import type { Addresses, Frame, Role } from '../management/process/child.js'
import { firstApiStart, openReadiness, roleOf } from '../management/process/readiness.js'
import type { RoleContext } from '../management/process/role-context.js'
import { openView } from '../words/view/view.js'
import { reportProcess } from './process-report.js'
import { connect, joinOthers, openGeography } from './role-parts.js'

export async function openDecide(context: RoleContext, { parent, release }: Frame): Promise<Role> {
  const { settings, occurrences } = context
  const geo = await openGeography(context, { warns: parent === undefined })
  const readiness = await openReadiness(context, parent, release)
  const nats = release.own(await connect(context, 'decide', readiness.waitsFor))
  let addresses: Addresses = {}
  let untrustedProxy: UntrustedProxy | undefined
  reportProcess(nats, 'decide', readiness, release, () => ({ addresses, untrustedProxy }))
  await joinOthers(context, nats, 'decide', { parent, release, waitsFor: readiness.waitsFor })
  readiness.waitsFor(firstApiStart)
  const view = release.own(await openView(nats, occurrences))
  readiness.waitsForView(view)
  const configuration = release.own(new Configuration(view, occurrences, context.eventKinds, 'decide', false))
  await configuration.open()
  const policySet = () => configuration.current.policySet
  const answers = release.own(new Answers({ nats, mode: settings.decisionLog.rows, occurrences }))
  const decided = (request: Uint8Array): Uint8Array => {
    const aboutNames = replyAboutNames(policySet(), view.state, request)
    if (aboutNames !== undefined) return aboutNames
    const startedMs = monotonicMs()
    const answer = decide(policySet(), geo, request, answers.noted, settings.decide.explain === 'on')
    occurrences.decisionTimed({ over: 'nats' }, (monotonicMs() - startedMs) / 1000)
    return answer
  }
  const decidedTraced = (request: Uint8Array, headerOf: (name: string) => string): Uint8Array => {
    if (tracing() === undefined) return decided(request)
    const span = beginDecision('nats', { get: headerOf })
    try {
      return inSpan(span, () => decided(request))
    } finally {
      span?.end()
    }
  }
  release.own(nats.answer(connectionSubject, 'decide', decidedTraced))
  // The API creates the bucket; one that is older has none.
  const keyUses = release.own(new KeyUses({ bucket: () => nats.findBucket(keyUseBucket), occurrences }))
  const agents: AgentWatch = { ...answers.agents, used: (id, clientIp) => keyUses.note(id, clientIp) }
  release.own(nats.answer(agentSubject, 'decide', (request) => decideAgent(policySet(), request, agents)))
  const { host, trustedProxies = [] } = settings.api
  const keysOf = keyFinder(view)
  const untrusted = (address: string): void => {
    untrustedProxy = { address, atMs: now() }
  }
  const asked = {
    policySet,
    geo,
    keysOf,
    keyUses,
    trustedProxies,
    untrusted,
    occurrences,
    noted: answers.noted,
  }
  const port = await openDecisionPort(host, settings.decide.port, asked)
  release.add(() => port?.close(requestsEndMs))
  if (port !== undefined) addresses = { decide: port.url }
  await readiness.started({ nats, streams: neededByDecide, view })
  return { ...roleOf(readiness), addresses }
}
