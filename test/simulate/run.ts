/** Plays a plan in a world of its own, and judges what came of it. */
import { createHash } from 'node:crypto'
import { Author } from './actors/author.js'
import { Publisher } from './actors/publisher.js'
import { Saboteur } from './actors/saboteur.js'
import type { RoleName } from './deployment.js'
import { type Action, actionsEndMs, isLoss, type Plan, processesOf } from './plan.js'
import { brokenPromises, isDelivered } from './promises.js'
import { Stage } from './stage.js'
import type { Line } from './witness.js'
import { world } from './world/scheduler.js'

export interface Outcome {
  /** A sentence for each promise that was not kept. */
  readonly broken: readonly string[]
  readonly timeline: readonly Line[]
  readonly events: number
  /** Of all that was seen: the same for the same plan. */
  readonly digest: string
  readonly ms: number
}

const readyWithinMs = 30_000
/** Promised are 2 s; nothing is in the way yet. */
const configuredMs = 300
/** After everything is mended. */
const deliveredWithinMs = 90_000
/** The last entries of the ledger and the books come later; what vanished is counted when nobody had it for 20 s. */
const settledMs = 15_000
const settledAfterLossMs = 60_000

export async function run(plan: Plan): Promise<Outcome> {
  const stage = new Stage(plan)
  const uncaught = (error: unknown): void => {
    stage.witness.deaths.push(`${stage.scheduler.current.name} did not catch: ${String(error)}.`)
  }
  process.on('unhandledRejection', uncaught)
  try {
    const broken = await play(stage)
    const { witness, scheduler } = stage
    const digest = createHash('sha256')
      .update(JSON.stringify([witness.timeline, witness.stored]))
      .digest('hex')
      .slice(0, 16)
    const { timeline } = witness
    return { broken, timeline, digest, events: scheduler.eventCount, ms: scheduler.nowMs }
  } finally {
    process.off('unhandledRejection', uncaught)
    stage.close()
  }
}

async function play(stage: Stage): Promise<string[]> {
  const { plan, scheduler, witness, deployment } = stage
  const [author, publisher, saboteur] = [new Author(stage), new Publisher(stage), new Saboteur(stage)]
  for (const name of processesOf(plan.setup)) deployment.start(name, name.replace(/-\d+$/, '') as RoleName)
  const isReady = (): boolean => [...deployment.lives.values()].every((life) => life.isReady)
  if (!(await stage.until(isReady, readyWithinMs)))
    return ['A start with nothing in its way was not ready in time.']
  let isPrepared = false
  const prepare = async (): Promise<void> => {
    await author.prepare()
    await publisher.open()
    isPrepared = true
  }
  scheduler.after(0, () => void prepare(), world)
  if (!(await stage.until(() => isPrepared, readyWithinMs)))
    return ['The first writes were not answered in time.']
  // Each process has the configuration soon after it was confirmed.
  await stage.until(() => false, configuredMs)
  const act = (action: Action): void => {
    if (action.does === 'publish') publisher.publish(action.message, action.records)
    else if (action.does === 'write') author.write(action.write)
    else saboteur.do(action)
  }
  for (const action of plan.actions) {
    scheduler.after(action.atMs, () => act(action), world)
    if (action.does === 'put back')
      scheduler.after(action.atMs - action.agoMs, () => saboteur.copy(action.stream), world)
  }
  await stage.until(() => false, actionsEndMs)
  saboteur.mend()
  witness.note('world', 'everything is mended')
  const isOver = (): boolean => publisher.isDone && author.isDone && isReady() && isDelivered(stage)
  await stage.until(isOver, deliveredWithinMs)
  let broken = brokenPromises(stage)
  const isKept = (): boolean => {
    broken = brokenPromises(stage)
    return broken.length === 0
  }
  const endMs = scheduler.nowMs + (plan.actions.some(isLoss) ? settledAfterLossMs : settledMs)
  while (!isKept() && scheduler.nowMs < endMs) await stage.until(() => false, 500)
  return broken
}
