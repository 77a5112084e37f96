/**
 * What the test runner takes for `async-hook-domain`, in bundled tests: an error that no one catches fails the test that
 * runs. To find the test that began a piece of work, that package has a hook at each promise and at every other
 * asynchronous resource, which costs a test of the API a tenth of its time. Here it is the test that began last; in a
 * process they run one after the other, but for a few.
 */
import { executionAsyncResource } from 'node:async_hooks'

/** @type {Domain[]} */
const alive = []

/**
 * @param {unknown} error
 * @param {string} origin
 */
function caught(error, origin) {
  // Tests that wait for their turn have one, too.
  const domain = alive.findLast(({ test }) => test?.started) ?? alive[0]
  if (domain === undefined) throw error
  try {
    domain.onerror(error, origin)
  } catch (next) {
    domain.destroy()
    caught(next, origin)
  }
}

export class Domain {
  /** @param {(error: any, origin: string) => void} onerror gets the error and the name of the event that told of it */
  constructor(onerror) {
    this.onerror = onerror
    /** @type {{ test?: { started: boolean } }} */
    const resource = executionAsyncResource()
    this.test = resource.test
    if (alive.push(this) === 1) process.on('uncaughtException', caught)
  }

  destroy() {
    const at = alive.indexOf(this)
    if (at === -1) return
    alive.splice(at, 1)
    if (alive.length === 0) process.off('uncaughtException', caught)
  }
}
