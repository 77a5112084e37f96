/** Routes that pause and resume an event destination: writes of its field `paused`. */
import type { FastifyInstance } from 'fastify'
import { isoMillis, now } from '../core/clock.js'
import { pluralOf } from '../core/plural.js'
import { anyResource, type Row } from '../resource/define.js'
import { type DestinationPause, eventDestination } from '../resource/event-destination.js'
import { resourceSchema } from '../resource/shown-schema.js'
import type { Caller } from './caller.js'
import { type ApiContext, requestBody, rowAt } from './context.js'
import { shownExample } from './examples.js'
import { checkNames } from './input.js'
import { describe, postParameters, routePath, shownBy } from './openapi.js'
import { withAnswer, writeHandler } from './write-handlers.js'

const destination = anyResource(eventDestination)

/** The new value of the field; undefined: it stays. */
type Change = (row: Row, caller: Caller) => DestinationPause | null | undefined

/** A second pause changes nothing: the destination still says who paused it first. */
const pause: Change = (row, { principal: { source, credentialId } }) =>
  row['paused'] ? undefined : { at: isoMillis(now()), source, api_key_id: credentialId }

const resume: Change = (row) => (row['paused'] ? null : undefined)

export function registerPauses(app: FastifyInstance, context: ApiContext): void {
  const register = (verb: string, change: Change, summary: string, description: string): void => {
    const path = `${routePath(destination.path)}/:id/${verb}`
    const described = describe({
      operationId: `${verb}_event_destination`,
      summary,
      description,
      tag: pluralOf(destination.title),
      path,
      success: [200, shownBy(resourceSchema(destination), shownExample(destination))],
      ...postParameters,
    })
    app.post(path, described, writeOf(context, verb, change))
  }
  register(
    'pause',
    pause,
    'Pause an event destination',
    'Within 2 s nothing more is sent to it, and its events wait as in an outage, until it is resumed. One that is paused already stays as it is.',
  )
  register(
    'resume',
    resume,
    'Resume an event destination',
    'Its events are sent at once. One that is not paused stays as it is.',
  )
}

const writeOf = (context: ApiContext, verb: string, change: Change) =>
  writeHandler(context, (request) => {
    const { caller } = request
    const { id } = rowAt(context, request, destination)
    checkNames(requestBody(request), [], verb)
    const plan = context.writes.update(caller, destination, id, (row) => {
      const paused = change(row, caller)
      return paused === undefined ? {} : { paused }
    })
    return withAnswer(plan, ({ row }, state) => ({
      status: 200,
      body: context.presenter.show(destination, row, state),
    }))
  })
