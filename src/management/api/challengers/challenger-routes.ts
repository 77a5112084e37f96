/** Operations of challengers besides those of any kind: to make the draft the configuration, and to end it by hand. */

import type { FastifyInstance, FastifyRequest } from 'fastify'
import { isObject } from '../../../ground/core/json-object.js'
import { pluralOf } from '../../../ground/core/text/plural.js'
import { challenger } from '../../../words/resource/challenger.js'
import { httpsEdgeRoute } from '../../../words/resource/https-edge.js'
import { ipPolicyRule } from '../../../words/resource/ip-policy.js'
import { ipRestriction } from '../../../words/resource/ip-restriction.js'
import { anyResource } from '../../../words/resource/kind/define.js'
import { resourceSchema } from '../../../words/resource/shown-schema.js'
import type { Caller } from '../../access/caller.js'
import { checkNames } from '../../exchange/body/input.js'
import { withIds } from '../../exchange/body/sent-back.js'
import { problemSchema } from '../../exchange/problem.js'
import { requestBody, rowAt } from '../../http/context.js'
import { shownExample } from '../../http/openapi/examples.js'
import { describe, routePath, shownBy } from '../../http/openapi/openapi.js'
import { idempotencyHeaders, writeParameters } from '../../http/openapi/write-parameters.js'
import { withAnswer, writeHandler } from '../../http/write-handlers.js'
import type { Plan } from '../../store/change/plan.js'
import type { Challengers } from '../../write/challengers.js'
import type { WriteResult } from '../../write/writes.js'
import type { WriteContext } from '../parts/write-context.js'

type Body = Record<string, unknown>

/** How a challenger is created. */
export const challengerCreation = (challengers: Challengers) => ({
  read: bodyWithIds,
  plan: (caller: Caller, values: Readonly<Body>, requestedAt: number) =>
    challengers.create(caller, values, requestedAt),
})

/** Modules may be sent as GET shows them, with references instead of ids. */
function bodyWithIds(body: Body): Body {
  const { draft } = body
  if (!isObject(draft)) return body
  const read = { ...draft }
  const each = (list: string, entryOf: (entry: Body, place: string) => Body): void => {
    const entries = draft[list]
    if (!Array.isArray(entries)) return
    read[list] = entries.map((entry, index) =>
      isObject(entry) ? entryOf(entry, `draft.${list}[${index}].`) : entry,
    )
  }
  const { ip_restriction } = httpsEdgeRoute.fields
  for (const list of ['edges', 'routes']) {
    each(list, (entry, place) => {
      const module = entry['ip_restriction']
      if (!isObject(module)) return entry
      return { ...entry, ip_restriction: withIds(ip_restriction.fields, module, `${place}ip_restriction.`) }
    })
  }
  each('ip_policies', (entry, place) => {
    const read = { ...entry }
    for (const list of ['add', 'change']) {
      const rules = entry[list]
      if (!Array.isArray(rules)) continue
      read[list] = rules.map((rule, index) =>
        isObject(rule) ? withIds(ipPolicyRule.fields, rule, `${place}${list}[${index}].`) : rule,
      )
    }
    return read
  })
  each('ip_restrictions', (entry, place) => withIds(ipRestriction.fields, entry, place) as Body)
  return { ...body, draft: read }
}

const resource = anyResource(challenger)

export function registerChallengers(
  app: FastifyInstance,
  context: WriteContext,
  challengers: Challengers,
): void {
  const register = (
    name: string,
    texts: { summary: string; description: string },
    others: object,
    planOf: (caller: Caller, id: string) => Plan<WriteResult>,
  ) => {
    const path = `${routePath(challenger.path)}/:id/${name}`
    const described = describe({
      operationId: `${name}_${challenger.kind}`,
      ...texts,
      tag: pluralOf(challenger.title),
      path,
      success: [200, shownBy(resourceSchema(resource), shownExample(resource))],
      query: writeParameters.query,
      headers: idempotencyHeaders,
    })
    const handler = writeHandler(context, (request: FastifyRequest) => {
      const { id } = rowAt(context, request, resource)
      checkNames(requestBody(request), [], name)
      return withAnswer(planOf(request.caller, id), ({ row }, state) => ({
        status: 200,
        body: context.presenter.show(resource, row, state),
      }))
    })
    const { schema } = described
    const response = { ...schema.response, ...others }
    app.post(path, { ...described, schema: { ...schema, response } }, handler)
  }
  register(
    'promote',
    {
      summary: 'Promote a challenger: make its draft the configuration',
      description:
        'One write: all of the draft, or nothing. The policy tests of the account run with it. What the draft was made from must be as it was then.',
    },
    { 409: outdated },
    (caller, id) => challengers.promote(caller, id),
  )
  register(
    'discard',
    {
      summary: 'Discard a challenger: end it, and keep what is known of it',
      description: 'Nothing of the configuration changes.',
    },
    {},
    (caller, id) => challengers.discard(caller, id),
  )
}

const outdated = {
  description: 'What the challenger was drafted from has changed since.',
  ...problemSchema,
}
