/** `weir doctor`: what is wrong with this deployment, and a file for those who help. */
import type { Command } from 'commander'
import type { DoctorSources } from './doctor-report.js'

interface DoctorOptions {
  readonly bundle?: string
  readonly json?: true
  readonly strict?: true
}

export function addDoctorCommand(program: Command, sources: DoctorSources): void {
  program
    .command('doctor')
    .description(
      'look at settings, disk, processes, NATS, ClickHouse, destinations and ways in; say what is wrong and what to do',
    )
    .summary('say what is wrong, and what to do')
    .option('--bundle <file>', 'write what helps those who help, without secrets, as .tar.gz')
    .option('--strict', 'end with 1 for a warning, too')
    .option('--json', 'the lines as JSON')
    .action(async ({ bundle, json, strict }: DoctorOptions) => {
      const { diagnose, reportText } = await import('./doctor-report.js')
      const report = await diagnose(sources)
      process.stdout.write(`${json ? JSON.stringify(report) : reportText(report)}\n`)
      if (bundle !== undefined) {
        const { writeBundle } = await import('./bundle.js')
        const written = await writeBundle(bundle, report, sources.load)
        process.stderr.write(`weir: ${written}\n`)
      }
      if (report.state === 'bad' || (strict && report.state === 'warning')) process.exitCode = 1
    })
}
