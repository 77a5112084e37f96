/** A process that plays worlds for `main.ts`, one after the other. Nothing else runs in it: its time is theirs. */
import { type Plan, planOf } from './plan.js'
import { type Outcome, run } from './run.js'

/** A seed, or a plan that was made smaller. */
export type Task = number | Plan

export interface Played extends Omit<Outcome, 'timeline'> {
  readonly task: Task
  /** Of worlds that broke a promise. */
  readonly timeline?: Outcome['timeline']
  readonly cpuMs: number
}

// Errors are many where everything fails, and nobody reads where they come from.
Error.stackTraceLimit = Number(process.env['STACKS'] ?? 0)
process.removeAllListeners('warning')
process.on('warning', () => {})

const cpuMs = (): number => {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}

// Time stands still for what else could keep it alive.
process.once('disconnect', () => process.exit())

let tasks: Promise<unknown> = Promise.resolve()

process.on('message', (task: Task) => {
  tasks = tasks.then(async () => {
    const before = cpuMs()
    const { timeline, ...outcome } = await run(typeof task === 'number' ? planOf(task) : task)
    const played: Played = {
      task,
      ...outcome,
      cpuMs: cpuMs() - before,
      ...(outcome.broken.length > 0 && { timeline }),
    }
    process.send!(played)
  })
})
