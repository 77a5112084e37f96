/** A request of a client for messages of a consumer: ADR-13 of NATS. */
export interface PullRequest {
  readonly reply: string
  left: number
  readonly endsMs: number
  readonly noWait: boolean
  readonly heartbeatMs: number
  heardMs: number
}

const nanosPerMs = 1e6

interface Asked {
  readonly batch?: number
  /** Nanoseconds. */
  readonly expires?: number
  readonly idle_heartbeat?: number
  readonly no_wait?: boolean
}

export const pullRequestOf = (
  { batch = 1, expires = 0, no_wait = false, idle_heartbeat = 0 }: Asked,
  reply: string,
  nowMs: number,
): PullRequest => ({
  reply,
  left: batch,
  endsMs: expires === 0 ? Number.POSITIVE_INFINITY : nowMs + expires / nanosPerMs,
  noWait: no_wait,
  heartbeatMs: idle_heartbeat / nanosPerMs,
  heardMs: nowMs,
})
