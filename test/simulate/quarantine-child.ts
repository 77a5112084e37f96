/** In the place of the process that tries records which may end one: no record of a simulated world does. */
import type { ChildProcess } from 'node:child_process'
import { EventEmitter } from 'node:events'
import type { FromQuarantine, Trial } from '../../src/judging/pipeline/quarantine.js'
import type { Scheduler } from './world/scheduler.js'

const startMs = 300
const trialMs = 2

export function openQuarantineChild(scheduler: Scheduler): ChildProcess {
  const child = new EventEmitter()
  const say = (ms: number, message: FromQuarantine): void => {
    scheduler.after(ms, () => child.emit('message', message))
  }
  say(startMs, { type: 'ready' })
  const send = ({ id }: Trial): boolean => {
    say(trialMs, { type: 'survived', id })
    return true
  }
  return Object.assign(child, {
    connected: true,
    exitCode: null,
    signalCode: null,
    send,
    kill: () => true,
  }) as unknown as ChildProcess
}
