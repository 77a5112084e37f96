/** An ingress node: it publishes each message until that is confirmed. */
import type { Nats } from '../../../src/ground/nats/nats.js'
import { poisonBytes } from '../destinations/service.js'
import type { PlannedRecord } from '../plan.js'
import type { Stage } from '../stage.js'
import type { Process } from '../world/scheduler.js'

export const servedPort = 20_001
const againAfterMs = 200

export class Publisher {
  readonly #stage: Stage
  readonly process: Process = { name: 'node', isAlive: true, clockAheadMs: 0 }
  #nats: Nats | undefined
  #under = 0

  constructor(stage: Stage) {
    this.#stage = stage
  }

  /** Is every message confirmed? */
  get isDone(): boolean {
    return this.#under === 0
  }

  async open(): Promise<void> {
    this.#nats = await this.#stage.inProcess(this.process, () => this.#stage.deployment.client('node'))
  }

  publish(message: number, records: readonly PlannedRecord[]): void {
    const { witness } = this.#stage
    const lines = records.map((record) => ({ ...record, message, text: textOf(record) }))
    for (const line of lines) witness.issued.set(line.number, line)
    this.#under += 1
    const text = lines.map((line) => line.text).join('\n')
    void this.#stage
      .inProcess(this.process, () => this.#insist(message, text))
      .then(() => {
        this.#under -= 1
        witness.note('node', `message ${message} is confirmed`)
        for (const { number } of lines) witness.issued.get(number)!.confirmedMs = witness.nowMs
      })
  }

  async #insist(message: number, text: string): Promise<void> {
    for (;;) {
      try {
        await this.#nats!.publish('weir.records.eu.n1', text, { msgId: `m${message}` })
        return
      } catch {
        await this.#stage.pause(againAfterMs)
      }
    }
  }
}

/** The same for each world, so that what a service got can be told from what it should have. */
function textOf({ number, sort }: PlannedRecord): string {
  if (sort === 'bad') return `{"record_id":"r${number}",`
  const conn = {
    client_ip: sort === 'denied' ? '203.0.113.200' : '203.0.113.7',
    client_port: 40_000,
    server_ip: '198.51.100.1',
    server_name: 'served.example',
    server_port: servedPort,
    start_ts: '2026-01-01T00:00:00Z',
    end_ts: '2026-01-01T00:00:01Z',
    bytes_in: number,
    bytes_out: sort === 'poison' ? poisonBytes : 1,
  }
  return JSON.stringify({ record_id: `r${number}`, type: 'tcp_connection', conn })
}
