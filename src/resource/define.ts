/**
 * A resource kind is declared once. From its fields come the TypeScript type of what is stored, the request
 * bodies, the response and its schema, the table's columns, the OpenAPI document and the audit payload.
 *
 * - A **row** is a resource as it is stored: every field present, unset ones null, other resources as their ids.
 * - A resource is **shown** to clients with its `uri`, references as `{id, uri}`, secrets null.
 */
import type { Static, TSchema } from '../core/schema.js'

/** How a field is kept in its ClickHouse table; `module` has a column per field of the module. */
export type Column = 'text' | 'texts' | 'flag' | 'integer' | 'time' | 'json' | 'module'

export interface Field<S extends TSchema = TSchema, Unset extends null | never = null> {
  /** Of a value that is given. */
  readonly schema: S
  readonly column: Column
  /** Who sets it: clients whenever they like, clients at creation, or Weir. */
  readonly setBy: 'client' | 'client-at-creation' | 'weir'
  readonly required: boolean
  /** The value where none is given. */
  readonly fallback: Static<S> | Unset
  /** An unset field is left out of responses, or an explicit null; `never`: creation fills in what is left out. */
  readonly unset: 'omitted' | 'null' | 'never'
  readonly shown: Shown | 'hidden'
  /**
   * Sealed text: kept apart from what the API shows, and given to delivery alone. The rows that plans work on don't
   * hold it; a row that leaves it out keeps what it had.
   */
  readonly sealed?: boolean
  readonly reference?: Reference
  /** References as responses show them, for requests that send them back under the name they are shown under. */
  readonly shownRefs?: TSchema
  /** Can be cleared by a DELETE of its own, at the resource's path and the name it is shown under. */
  readonly isDetachable?: boolean
  /** Fields of a module. */
  readonly fields?: Fields
  /** Fills in what a valid value leaves out, one spelling for all that mean the same. */
  complete?(value: Static<S>): Static<S> | Unset
}

/** How a field appears in responses. */
export interface Shown<S extends TSchema = TSchema> {
  readonly name?: string
  readonly schema: S
  readonly render: (value: unknown, links: Links) => unknown
}

/**
 * A field whose type tells more than what is stored: who sets it and how it is shown. The types of clients are made of
 * it, so every declaration consists of such fields.
 */
export type KnownField<S extends TSchema, Unset extends null | never, K extends Known> = Omit<
  Field<S, Unset>,
  keyof Known
> &
  K

export type Known = Pick<Field, 'setBy' | 'required' | 'unset' | 'shown'>

export interface Reference {
  readonly kind: string
  readonly idPrefix: string
  readonly many: boolean
  /** Of an id without a resource of ours behind it: its form alone is checked, and this is where it is said to be. */
  readonly foreignPath?: string
}

/** Where things are: `uri` of a path or of a resource by its kind. */
export interface Links {
  uri(path: string): string
  of(kind: string, id: string): string
}

export type Fields = Readonly<Record<string, Field<TSchema, null | never>>>

/** The type of a field in a row. */
export type StoredOf<F> = F extends { readonly fallback: infer Value } ? Value : never

export type RowOf<F extends Fields> = RowHead & { readonly [Name in keyof F]: StoredOf<F[Name]> }

/** What every row has. */
export interface RowHead {
  readonly id: string
  readonly account_id: string
  /** Grows with each change of the account; a table keeps every version. */
  readonly version: number
  /** Milliseconds since the epoch. */
  readonly created_at: number
}

export type Row = RowHead & Readonly<Record<string, unknown>>

/** The account's resources, as far as a rule of a declaration may look. */
export interface Lookups {
  get(kind: string, id: string): Row | undefined
  all(kind: string): Iterable<Row>
  /** Those that live under a resource of the account. */
  children(kind: string, parentId: string): Iterable<Row>
  rules(ipPolicyId: string): Iterable<Row>
  countRules(ipPolicyId: string): number
  /** The domain that reserved addresses are under. */
  readonly tcpDomain: string
  /**
   * How the body of the request calls a field of the resource: `policies.inbound` of an edge is `inbound` where the
   * body is the module alone.
   */
  nameInBody(path: string): string
  /** What is wrong with a source of an event subscription, which is known right of this room. */
  sourceProblem(source: unknown): { readonly member: string; readonly msg: string } | undefined
}

export interface ResourceDefinition<
  F extends Fields = Fields,
  Kind extends string = string,
  ListName extends string = string,
  Op extends Operation = Operation,
  ParentKind extends string = string,
  ParentField extends string = string,
> {
  readonly kind: Kind
  readonly idPrefix: string
  /** `{edge_id}` in it names the field that holds the parent's id. */
  readonly path: string
  readonly listName: ListName
  /** How a person calls it, in messages and in the API reference. */
  readonly title: string
  /** What it is for, in a sentence of the API reference. */
  readonly about: string
  /**
   * One of its kind for the API reference: fields by their names, those that Weir sets included. Requests are made of
   * what clients set of it, and work when they are sent, with ids of one's own in them.
   */
  readonly example: Readonly<Record<string, unknown>>
  /** The object of its audit event kinds; none: changes emit no events. */
  readonly audit?: string
  readonly fields: F
  /** The account needs it to use the kind at all. */
  readonly right?: AccountRight
  /** Which operations the API has; all where nothing is said. */
  readonly operations?: readonly Op[]
  /** The parent's kind, where resources live under another one's path; the parent shows them as `listName`. */
  readonly parent?: { readonly kind: ParentKind; readonly field: ParentField }
  /** Refuses to delete what others name; without it, they keep the id and see nothing behind it. */
  readonly keptWhileNamed?: boolean
  /** Text that only one resource of the deployment may hold, such as a hostport; `takenMessage` explains. */
  claims?(row: RowOf<F>): readonly string[]
  readonly takenMessage?: (claim: string) => string
  /** `derive` draws what a new resource claims, and draws again where somebody else has it. */
  readonly claimsAreDrawn?: boolean
  /** Relations to other resources: throws a `WeirError` that names the culprit. */
  check?(row: RowOf<F>, previous: RowOf<F> | undefined, lookups: Lookups): void
  /** Throws a `WeirError` where others rely on the resource in a way that no reference tells. */
  checkDeletion?(row: RowOf<F>, lookups: Lookups): void
  /**
   * What is slow to make or takes another resource's secret: once, when the resource is created, after what it names
   * was found to be there.
   */
  prepare?(draft: RowOf<F>, tools: PrepareTools): Promise<RowOf<F>>
  /** Derived values, before the row is checked and stored; may run several times for one write. */
  derive?(draft: RowOf<F>, previous: RowOf<F> | undefined, tools: DeriveTools): RowOf<F>
  /** What responses show beyond the fields, or in their place. */
  embed?(row: RowOf<F>, links: Links): Record<string, unknown>
}

/** Rights that an operator can give an account. */
export const accountRights = ['abuse_reports'] as const

export type AccountRight = (typeof accountRights)[number]

export type Operation = 'create' | 'get' | 'list' | 'update' | 'delete'

export const allOperations: readonly Operation[] = ['create', 'get', 'list', 'update', 'delete']

/** Has the API anything to do with the kind? */
export const isServed = ({ operations = allOperations }: Pick<AnyResource, 'operations'>): boolean =>
  operations.length > 0

export interface DeriveTools {
  seal(secret: string, belongsTo: string): string
  /** Tells whether a secret is the one that was sealed before, and nothing else of it. */
  digest(secret: string, belongsTo: string): string
  newToken(): { readonly token: string; readonly hash: string }
  /** `host:port` in a region, at random. */
  drawTcpAddress(region: string): string
  /** The domain of addresses and names that Weir assigns. */
  readonly tcpDomain: string
  /** Answered once, in the response that creates the resource. */
  answerOnce(fields: Record<string, unknown>): void
}

export interface PrepareTools extends DeriveTools {
  /** A sealed value of a resource that the draft names; for the moment, and never to be kept. */
  unsealed(secret: SealedSecret): Promise<string>
  /** For what keeps a thread busy: few at once in this process, over all accounts. */
  inTurn<T>(work: () => Promise<T>): Promise<T>
}

/** Where a sealed value is kept, and what it was sealed for. */
export interface SealedSecret {
  readonly kind: string
  readonly id: string
  readonly field: string
  readonly belongsTo: string
}

/** Identity, so that a declaration's types are kept. */
export const defineResource = <
  F extends Fields,
  const Kind extends string,
  const ListName extends string,
  const Op extends Operation = Operation,
  const ParentKind extends string = never,
  const ParentField extends string = never,
>(
  definition: ResourceDefinition<F, Kind, ListName, Op, ParentKind, ParentField>,
): ResourceDefinition<F, Kind, ListName, Op, ParentKind, ParentField> => definition

/** A declaration whose field types don't matter to the reader: what the machinery works on. */
export type AnyResource = ResourceDefinition

export const anyResource = (definition: Pick<AnyResource, 'kind' | 'fields'>): AnyResource =>
  definition as AnyResource
