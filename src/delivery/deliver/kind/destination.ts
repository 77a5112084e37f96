/** An event destination, as delivery knows it. */

/** Members that no one has set are left out, not null; secrets are there. */
export type GivenOptions = Readonly<Record<string, unknown>>

/** All that delivery knows about an event destination; a family of kinds may add to it, such as `AwsDestination`. */
export interface DestinationConfig<Options = GivenOptions> {
  /** `ed_…`: names what a destination has for itself at the other side, such as log streams. */
  readonly id: string
  /** `ac_…`. */
  readonly accountId: string
  readonly kind: string
  /** Where events go, in the form that the kind declares: the ARN of a stream, a URL. */
  readonly address: string
  /** The `options` that the kind declares; empty if nothing is set. */
  readonly options: Options
  /** When someone paused it; undefined if it is not paused by hand. */
  readonly pausedAt?: string | undefined
  /** Its events are never dropped for their age; missing if they may be. */
  readonly keepsEvents?: true
}

/** Everything about a destination that decides where and how events are sent. */
export const targetOf = ({ pausedAt: _, keepsEvents: __, ...target }: DestinationConfig): string =>
  JSON.stringify(target)
