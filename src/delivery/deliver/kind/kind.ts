/**
 * The declaration of a destination kind. A kind is one file of `deliver/kinds/` and one line in `deliver/kinds.ts`: the
 * API's schema, settings and labels of metrics derive from it. The file of a kind is always in the same order: address,
 * options, limits, client, sender, declaration.
 *
 * A sender only reports what to send again. The lane decides when and how often, what becomes a dead letter and when a
 * destination pauses.
 */

import type { Problem } from '../../../ground/core/errors.js'
import type { KindAdvice } from './advice.js'
import type { DestinationConfig } from './destination.js'
import type { KindForm, Words } from './form.js'
import type { BatchLimits, Sender, SenderDeps } from './sender.js'
import type { OptionsOf, TargetOptions } from './target-options.js'

/** The limits that a kind declares; the size of a request is a setting. */
export type KindLimits = Omit<BatchLimits, 'requestBytesMax'>

/** The member of a target that says where events go. */
export interface DestinationAddress<Field extends string = string> {
  readonly field: Field
  /** For the API's document: a regular expression that every valid address matches. */
  readonly pattern: string
  readonly example: string
  /** The problem with an address, if there is one; the sentence continues after the field's name. */
  check(address: string): Problem | undefined
}

/** The declaration of a kind. */
export interface DestinationKind<
  Name extends string = string,
  Field extends string = string,
  Options extends TargetOptions | undefined = TargetOptions | undefined,
> {
  /** The member of `target` in the API, the label `target` of metrics, and in capitals a part of settings' names. */
  readonly name: Name
  /** For the documents: "Kinesis stream". */
  readonly title: string
  /** For the documents: the service's call, and how it groups or orders events. */
  readonly about: string
  readonly address: DestinationAddress<Field>
  /** Further members of a target. */
  readonly options?: Options
  /** The setting that replaces the service's address, if there is one. */
  readonly endpointSetting?: string
  /** The setting that names the directory of a kind that writes files; unless it is set, nothing is written. */
  readonly directorySetting?: string
  /** The setting that bounds the bytes that it keeps there for an account. */
  readonly spaceSetting?: string
  readonly limits: KindLimits
  /** Bytes of events in one request: the service's limit, and the default of `WEIR_<NAME>_REQUEST_MAX`. */
  readonly requestBytes: { readonly max: number; readonly default: number }
  /** Advice about a fault, in the words of the service. Default: general sentences. */
  readonly advice?: KindAdvice
  /**
   * The texts for people who set one up: the words of its members, and its tiles in the gallery. Default: title and names.
   */
  readonly setup?: { readonly words: Words; readonly forms: readonly KindForm[] }
  /** Does the service get the line break after an event's JSON? */
  readonly keepsLineBreak: boolean
  open(config: DestinationConfig<OptionsOf<Options>>, deps: SenderDeps): Sender
}

/** Identity, so that the types of a declaration are kept. */
export const defineDestinationKind = <
  const Name extends string,
  const Field extends string,
  Options extends TargetOptions | undefined = undefined,
>(
  kind: DestinationKind<Name, Field, Options>,
): DestinationKind<Name, Field, Options> => kind
