/** Routes that pause and resume an event destination: writes of its field `paused`. */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { LaneStatus } from '../../delivery/deliver/lane/health.js'
import { isoMillis, now } from '../../ground/core/clock.js'
import { objectOf, type TObject, type TSchema } from '../../ground/core/schema.js'
import { pluralOf } from '../../ground/core/text/plural.js'
import { eventDestination } from '../../words/resource/event-destination.js'
import { anyResource, type Row } from '../../words/resource/kind/define.js'
import { resourceSchema } from '../../words/resource/shown-schema.js'
import { resumptionExample, resumptionSchema } from '../../words/shape/resumption.js'
import type { Caller } from '../access/caller.js'
import { checkNames } from '../exchange/body/input.js'
import { requestBody, rowAt } from '../http/context.js'
import { shownExample } from '../http/openapi/examples.js'
import { describe, routePath, shownBy } from '../http/openapi/openapi.js'
import { postParameters } from '../http/openapi/write-parameters.js'
import { isValidateOnly, withAnswer, writeHandler } from '../http/write-handlers.js'
import { resumptionOf } from '../operate/advice/resumed.js'
import type { WriteContext } from './parts/write-context.js'

const destination = anyResource(eventDestination)

interface Tries {
  /**
   * Tries to deliver now, unless the destination is paused by hand. Returns the state before; undefined if no deliverer
   * answers.
   */
  tryNow(row: Row): Promise<LaneStatus | undefined>
}

/** A second pause changes nothing: the destination still says who paused it first. */
const pauseOf = (row: Row, { principal: { source, credentialId } }: Caller): Partial<Row> =>
  row['paused'] ? {} : { paused: { at: isoMillis(now()), source, api_key_id: credentialId } }

const resumeOf = (row: Row): Partial<Row> => (row['paused'] ? { paused: null } : {})

export function registerPauses(app: FastifyInstance, context: WriteContext, { tryNow }: Tries): void {
  const shown = resourceSchema(destination) as TObject
  const example = shownExample(destination)
  app.post(
    pathOf('pause'),
    described({
      verb: 'pause',
      description:
        'Within 2 s nothing more is sent to it, and its events wait as in an outage, until it is resumed. One that is paused already stays as it is.',
      shown: shownBy(shown, example),
    }),
    writeHandler(context, (request) => {
      const { caller } = request
      const { id } = asked(context, request, 'pause')
      const plan = context.writes.update(caller, destination, id, (row) => pauseOf(row, caller))
      return withAnswer(plan, ({ row }, state) => ({
        status: 200,
        body: context.presenter.show(destination, row, state),
      }))
    }),
  )

  const resumed = objectOf(
    { ...shown.properties, resumed: resumptionSchema },
    { title: 'ResumedEventDestination', description: 'The destination, and what was done.' },
  )
  app.post(
    pathOf('resume'),
    described({
      verb: 'resume',
      description:
        'Its events are sent at once. One that nobody paused, but that Weir paused because of a fault, is tried at once. `resumed` says what was done.',
      shown: shownBy(resumed, { ...example, resumed: resumptionExample }),
    }),
    writeHandler(context, async (request) => {
      const before = asked(context, request, 'resume')
      const isTried = !before['paused'] && !isValidateOnly(request)
      const resumption = resumptionOf(before, isTried ? await tryNow(before) : undefined)
      const plan = context.writes.update(request.caller, destination, before.id, resumeOf)
      return withAnswer(plan, ({ row }, state) => ({
        status: 200,
        body: { ...context.presenter.show(destination, row, state), resumed: resumption },
      }))
    }),
  )
}

const pathOf = (verb: string): string => `${routePath(destination.path)}/:id/${verb}`

interface Described {
  readonly verb: 'pause' | 'resume'
  readonly description: string
  readonly shown: TSchema
}

const described = ({ verb, description, shown }: Described) =>
  describe({
    operationId: `${verb}_event_destination`,
    summary: `${verb === 'pause' ? 'Pause' : 'Resume'} an event destination`,
    description,
    tag: pluralOf(destination.title),
    path: pathOf(verb),
    success: [200, shown],
    ...postParameters,
  })

/** The destination that the path names; the request has no members. */
function asked(context: WriteContext, request: FastifyRequest, verb: string): Row {
  checkNames(requestBody(request), [], verb)
  return rowAt(context, request, destination)
}
