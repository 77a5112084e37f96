/** `weir publish`: its options. */
import type { Command } from 'commander'
import type { Settings } from '../../../management/process/settings.js'
import type { PublishOptions } from './publish-sources.js'

export function addPublishCommand(program: Command, settings: () => Settings): void {
  program
    .command('publish')
    .description("lines of a proxy's log become records; NATS_URL, or the service on this data directory")
    .summary("lines of a proxy's log become records")
    .requiredOption('--format <format>', 'what the lines look like, such as nginx; list: shows all')
    .option('--file <file>', 'follow this file, across rotations, instead of standard input')
    .option('--position <file>', 'where to keep how far --file was read; default: in the data directory')
    .option('--from-end', 'without a position yet: only what is written to --file from now on')
    .option('--until-end', 'read --file to its end, and stop when all of it is stored')
    .option(
      '--history',
      'records of the past: they are logged by their own times, without events, and count as no traffic of now',
    )
    .option('--deliver', 'with --history: send the events of these records all the same')
    .option('--syslog <address>', 'take syslog over UDP and TCP instead, such as on 127.0.0.1:5140')
    .option('--server-name <name>', 'the name that clients asked for, if the log has none')
    .option('--server-port <port>', 'the port that clients connected to, whatever the log says')
    .option('--caddy-duration <format>', "Caddy's duration_format, if it is not the default: ms or nano")
    .option('--edge <id>', 'all lines are of this edge')
    .option('--account <id>', 'whose the lines are, if the deployment has several accounts')
    .option('--node <name>', 'the name of this node in NATS; default: that of the machine')
    .option(
      '--traceparent <value>',
      'the trace that these records belong to, as the header traceparent of W3C',
    )
    .option('--json', 'the counts as JSON, at the end; with --format list, a line for each')
    .option(
      '--check [file]',
      'show what becomes of the lines of a sample, or of standard input; nothing is sent',
    )
    .option('--rejects <file>', 'append lines that are refused to this file')
    .action(async (options: PublishOptions) => {
      const { publish } = await import('./publish.js')
      process.exitCode = await publish(settings(), options)
    })
}
