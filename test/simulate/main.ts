Error.stackTraceLimit = Number(process.env['STACKS'] ?? 0)

import { planOf } from './plan.js'
import { run } from './run.js'

const cpu = () => {
  const u = process.cpuUsage()
  return (u.user + u.system) / 1000
}
const from = Number(process.argv[2] ?? 1),
  to = Number(process.argv[3] ?? from)
const write = process.stdout.write.bind(process.stdout)
process.on('unhandledRejection', (e) => write(`UNHANDLED ${(e as Error)?.stack ?? e}\n`))
for (let seed = from; seed <= to; seed++) {
  const before = cpu()
  const plan = planOf(seed)
  const { broken, timeline, events, ms } = await run(plan)
  if (broken.length > 0 || from === to) {
    write(`seed ${seed}: ${JSON.stringify(plan.setup)}\n`)
    for (const b of [...new Set(broken)].slice(0, 5)) write(`  BROKEN ${b}\n`)
    if (from === to)
      for (const { atMs, by, text } of timeline)
        write(`${(atMs / 1000).toFixed(3)} ${by} ${text.slice(0, 300)}\n`)
  }
  write(`seed ${seed}: ${events} events ${Math.round(ms)} ms, cpu ${Math.round(cpu() - before)} ms\n`)
}
process.exit(0)
