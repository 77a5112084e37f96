/** `weir replay`: events of recorded traffic are sent to a destination again; Ctrl-C cancels it. */

import { sleep } from '../../ground/core/clock.js'
import { listed } from '../../ground/core/text/plural.js'
import { forTerminal } from '../../ground/core/text/terminal.js'
import { stopSignal } from '../../management/process/child.js'
import type { Settings } from '../../management/process/settings.js'
import type { Client } from '../../words/client/client.js'
import type { Replay } from '../../words/shape/replay.js'
import { clientOf } from './connection/api-client.js'
import { ProgressLine } from './progress.js'

export interface ReplayOptions {
  readonly from: string
  readonly to?: string
  readonly filter?: string
  readonly type?: readonly string[]
  readonly json?: true
}

const lookAgainMs = 500

/** Resolves with the exit code when the replay has ended. */
export async function replayTo(
  settings: Settings,
  destination: string,
  { from, to, filter, type, json }: ReplayOptions,
): Promise<number> {
  const client = clientOf(settings)
  const stop = new AbortController()
  void stopSignal().then(() => stop.abort())
  const request = {
    from,
    ...(to !== undefined && { to }),
    ...(filter !== undefined && { filter }),
    ...(type !== undefined && { types: [...type] }),
  }
  const begun = await client.replay(destination, request)
  process.stderr.write(
    `weir: ${begun.id}: ${begun.progress.of} messages, from ${begun.from} to ${begun.to}.\n`,
  )
  if (begun.types_left_out.length > 0)
    process.stderr.write(
      `weir: Events of ${listed(begun.types_left_out, 'and')} are not sent: they lack a name of the filter.\n`,
    )
  const replay = await whenEnded(client, begun, stop.signal)
  if (json) process.stdout.write(`${JSON.stringify(replay)}\n`)
  else process.stdout.write(forTerminal(`${reportOf(replay)}\n`))
  return replay.state === 'done' ? 0 : 1
}

const reportOf = ({ error, ...replay }: Replay): string =>
  `${progressText(replay)}${error === null ? '.' : `: ${error}`}`

const progressText = ({ id, state, progress: { messages, of } }: Omit<Replay, 'error'>): string =>
  `${id}: ${state}, ${messages} of ${of} messages`

async function whenEnded(client: Client, begun: Replay, signal: AbortSignal): Promise<Replay> {
  const line = new ProgressLine()
  try {
    for (let replay = begun; ; replay = await client.getReplay(begun.id)) {
      if (replay.state !== 'running') return replay
      const { messages, of } = replay.progress
      line.show(progressText(replay), { done: messages, of })
      if (signal.aborted) await client.cancelReplay(begun.id)
      else await sleep(lookAgainMs, signal)
    }
  } finally {
    line.end()
  }
}
