/** `POST …/{id}/restore?version=`: a resource is put back as it was at a version of its account. */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { badRequest } from '../../ground/core/errors.js'
import { Type } from '../../ground/core/schema.js'
import { pluralOf } from '../../ground/core/text/plural.js'
import { type AnyResource, allOperations, type Row } from '../../words/resource/kind/define.js'
import type { KindName } from '../../words/resource/registry.js'
import { childKindsOf, resourceSchema } from '../../words/resource/shown-schema.js'
import type { ViewState } from '../../words/view/view-state.js'
import { article, checkNames } from '../exchange/body/input.js'
import { versionIn } from '../exchange/query-values.js'
import { queryOf, requestBody, rightNeeded } from '../http/context.js'
import { shownExample } from '../http/openapi/examples.js'
import { conflictOf, describe, routePath, shownBy } from '../http/openapi/openapi.js'
import { idempotencyHeaders, writeParameters } from '../http/openapi/write-parameters.js'
import { withAnswer, writeHandler, writeParameterNames } from '../http/write-handlers.js'
import { knownId } from './change-routes.js'
import type { WriteContext } from './parts/write-context.js'

export const restoreQuery = Type.Object({
  version: Type.Integer({ minimum: 1, description: 'The version to go back to, as the changes list it.' }),
  ...writeParameters.query.properties,
})

/** A resource below the path of another. */
interface Below {
  readonly resource: AnyResource
  readonly row: Row
}

/** Kinds that can be updated can be restored. */
export function registerRestore(app: FastifyInstance, context: WriteContext, resource: AnyResource): void {
  if (!(resource.operations ?? allOperations).includes('update')) return
  const path = `${routePath(resource.path)}/:id/restore`
  const described = describe({
    operationId: `restore_${resource.kind}`,
    summary: `Restore ${article(resource.title)}`,
    description: resource.deletionRevokes
      ? 'Puts its fields back as they were. A deleted one stays deleted, because its token was revoked.'
      : 'Puts its fields back as they were, also if it was deleted: then what it had below its path, such as the routes of an HTTPS edge, comes back with it. The rules of an IP policy are restored on their own: `POST /ip_policies/{id}/rules/restore`.',
    tag: pluralOf(resource.title),
    path,
    success: [200, shownBy(resourceSchema(resource), shownExample(resource))],
    query: restoreQuery,
    conflict: conflictOf(resource),
    headers: idempotencyHeaders,
  })
  const restore = writeHandler(
    context,
    async (request) => {
      const past = await pastRow(context, request, resource)
      const below = await pastRowsBelow(context, request, resource, past)
      const plan = context.writes.restore(request.caller, resource, past, { below })
      return withAnswer(plan, ({ row }, state) => ({
        status: 200,
        body: {
          ...context.presenter.show(resource, row, state),
          ...shownBelow(context, resource, row, state, below),
        },
      }))
    },
    { parameters: ['version'] },
  )
  app.post(path, { ...described, ...rightNeeded(context, resource) }, restore)
}

/** The version in the query of a restoration. */
export function versionAsked(request: FastifyRequest): number {
  checkNames(requestBody(request), [], 'restoration')
  const { version } = queryOf(request, ['version', ...writeParameterNames])
  if (version !== undefined) return versionIn('version', version)
  throw badRequest('The query parameter "version" is needed: the changes of the resource list its versions.')
}

/** A version that the account has not reached has no contents yet. */
async function checkReached({ store }: WriteContext, accountId: string, version: number): Promise<void> {
  const reached = (await store.settled(accountId)).versionOf(accountId)
  if (version > reached)
    throw badRequest(
      `The query parameter "version" is ${version}, but the account has reached version ${reached} only.`,
    )
}

/** The resource as it was at the version in the query. */
export async function pastRow(
  context: WriteContext,
  request: FastifyRequest,
  resource: AnyResource,
): Promise<Row> {
  const id = await knownId(context, request, resource)
  const version = versionAsked(request)
  await checkReached(context, request.caller.accountId, version)
  const past = await context.store.history.at(request.caller.accountId, resource, id, version)
  const name = `The ${resource.title} ${id}`
  if (past === undefined) throw badRequest(`${name} did not exist at version ${version}.`)
  if (!past.deleted) return past.row
  throw badRequest(
    `${name} was deleted by version ${past.row.version}, so there is nothing to restore at version ${version}: choose one before the deletion.`,
  )
}

/** The state of a plan is that before it: of a resource that was deleted, it does not have what comes back with it. */
function shownBelow(
  { presenter }: WriteContext,
  resource: AnyResource,
  { id }: Row,
  state: ViewState,
  below: readonly Below[],
): Record<string, unknown> {
  if (state.rows.get(resource.kind)?.has(id)) return {}
  return Object.fromEntries(
    childKindsOf(resource).map((child) => [
      child.listName,
      below.filter((each) => each.resource === child).map(({ row }) => presenter.show(child, row, state)),
    ]),
  )
}

/** Resources below the path of this one, at the version in the query. */
async function pastRowsBelow(
  { store }: WriteContext,
  request: FastifyRequest,
  resource: AnyResource,
  { id }: Row,
): Promise<Below[]> {
  const { accountId } = request.caller
  const version = versionAsked(request)
  const found: Below[] = []
  for (const child of childKindsOf(resource)) {
    const rows = await store.pastRows.at(accountId, version, child.kind as KindName, child.parent!.field, [
      id,
    ])
    found.push(...rows.map((row) => ({ resource: child, row })))
  }
  return found
}
