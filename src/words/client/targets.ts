/** Targets of destinations before these are created: what is to be done at the other side, and a test event. */
import type { TargetSetup, TargetSetupRequest } from '../shape/delivery/target-setup.js'
import type { TargetTest } from '../shape/delivery/target-test.js'
import type { Http } from './http.js'
import type { NewResource } from './kinds.js'

const path = '/event_destinations'

export class TargetClient {
  readonly #http: Http

  constructor(http: Http) {
    this.#http = http
  }

  /** Sends a test event where a destination with this body would send its events. A refusal is an answer. */
  test(body: NewResource<'eventDestination'>): Promise<TargetTest> {
    return this.#http.send('POST', `${path}/send_test_event`, { body })
  }

  /** The steps at the other side, in order; the target may be half filled in. */
  setup(request: TargetSetupRequest): Promise<TargetSetup> {
    return this.#http.send('POST', `${path}/setup`, { body: request })
  }
}
