/**
 * Advice of a kind: the meaning of a fault and what to do about it, in the words of the service. A sentence is for an
 * operator who reads the error beside it. What Weir does by itself, and what a button or a command does, is added by those
 * who show it.
 */
import type { FaultClass } from '../../outgoing/fault-class.js'

/** By the code of an error; `any`: for all others of the class. */
interface ClassAdvice {
  readonly any: string
  readonly [code: string]: string
}

export type KindAdvice = Readonly<Record<FaultClass, ClassAdvice>>

/** Codes that all kinds have whose server an account names. */
export const connectionAdvice = (server: string) => ({
  ConnectionLost: `There is no connection to the ${server}, or it ended: it is down, or something on the way blocks it. Look whether it runs and listens on this port.`,
  Timeout: `The ${server} does not answer in time: it is overloaded, or something on the way drops packets. Look at its load and its log.`,
  UnknownHost: `The name of the ${server} is not found in DNS. Correct the address, or the name server of the machine that delivers.`,
})

export const tlsAdvice = (server: string, ca: string): string =>
  `No encrypted connection to the ${server} could be made. Look whether its certificate is valid for this name, whether it speaks TLS on this port, and ${ca}.`

/** For kinds without sentences of their own. */
const general: KindAdvice = {
  throttle: {
    any: 'The service accepts fewer events than there are. If the backlog grows, raise the limit of the service, or let a filter keep events back.',
  },
  transient: {
    any: 'Requests fail or are not answered in time. Look at the error, at the way to the service, and whether it is up.',
  },
  credentials: { any: 'The service refuses the credentials. Set valid ones.' },
  configuration: {
    any: 'The service refuses every request. Look at the error, at the address, and at what the credentials may do there.',
  },
  poison: {
    any: 'The service refuses the contents of many events in a row. Look at the error and at the dead letters: the target may expect another format.',
  },
}

export function adviceOfFault(
  advice: KindAdvice = general,
  cause: FaultClass,
  code: string | undefined,
): string {
  const ofClass = advice[cause]
  return (code !== undefined && Object.hasOwn(ofClass, code) && ofClass[code]) || ofClass.any
}
