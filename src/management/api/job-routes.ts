/** Routes of one job, a replay or a trial: get and cancel it. */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { notFound, shown } from '../../ground/core/errors.js'
import type { TSchema } from '../../ground/core/schema.js'
import { pathParams, queryOf, sendJson } from '../http/context.js'
import { describe } from '../http/openapi/openapi.js'

interface JobRoutes<Job> {
  readonly name: 'replay' | 'trial'
  /** Followed by the id of a job. */
  readonly path: string
  readonly tag: string
  readonly schema: TSchema
  readonly texts: { readonly get: string; readonly cancel: string }
  readonly get: (accountId: string, id: string) => Promise<Job | undefined>
  readonly cancel: (accountId: string, id: string) => Promise<Job | undefined>
  readonly shown: (job: Job) => object
}

export function registerJob<Job>(app: FastifyInstance, jobs: JobRoutes<Job>): void {
  const { name, tag, schema, texts } = jobs
  const path = `${jobs.path}/:id`
  const found = async (request: FastifyRequest, find: JobRoutes<Job>['get']): Promise<Job> => {
    queryOf(request)
    const id = pathParams(request)['id'] ?? ''
    const job = await find(request.caller.accountId, id)
    if (job === undefined) throw notFound(`The ${name} ${shown(id)} does not exist or has expired.`)
    return job
  }
  const get = describe({
    operationId: `get_${name}`,
    summary: texts.get,
    tag,
    path,
    success: [200, schema],
  })
  app.get(path, get, async (request, reply) => sendJson(reply, jobs.shown(await found(request, jobs.get))))
  const cancel = describe({
    operationId: `cancel_${name}`,
    summary: `Cancel a ${name}`,
    description: texts.cancel,
    tag,
    path,
    success: [204],
  })
  app.delete(path, cancel, async (request, reply) => {
    await found(request, jobs.cancel)
    return reply.status(204).send()
  })
}
