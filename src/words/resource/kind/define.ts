/**
 * Start here: a resource kind is declared once. Its fields determine the TypeScript type of stored rows, the request
 * bodies, the response and its schema, the table's columns, the OpenAPI document and the audit payload. `resource/registry.ts`
 * lists all kinds. The room never knows how rows are stored or served: rules of a declaration see other resources
 * through `Lookups`.
 *
 * - A **row** is a resource as it is stored: every field present, unset ones null, other resources as their ids.
 * - A resource is **shown** to clients with its `uri`, references as `{id, uri}`, secrets null.
 */
import type { Static, TSchema } from '../../../ground/core/schema.js'
import type { MarkedProblem } from '../../../ground/expr/problem.js'

/**
 * How a field is stored in its ClickHouse table; `module` has a column per field of the module. `none`: it is not a part
 * of the row, but learned while Weir runs and kept elsewhere, so responses show it, and audit events do not.
 */
export type Column = 'text' | 'texts' | 'flag' | 'integer' | 'time' | 'json' | 'module' | 'none'

export interface Field<S extends TSchema = TSchema, Unset extends null | never = null> {
  /** The schema of a value, if there is one. */
  readonly schema: S
  readonly column: Column
  /** Who sets it: clients at any time, clients at creation only, or Weir. */
  readonly setBy: 'client' | 'client-at-creation' | 'weir'
  readonly required: boolean
  /**
   * One of several fields of which one must be set. As with a required field, an empty value in an update says nothing,
   * since clients send one for what they leave out; only null clears it.
   */
  readonly isChoice?: boolean
  /** The value if none is sent. */
  readonly fallback: Static<S> | Unset
  /** In responses an unset field is omitted or null; `never`: it has a value from creation on. */
  readonly unset: 'omitted' | 'null' | 'never'
  readonly shown: Shown | 'hidden'
  /**
   * Sealed text: stored apart from the fields that the API shows, and read by delivery only. Rows that plans work on
   * don't contain it; writing a row without it keeps the stored value.
   */
  readonly sealed?: boolean
  readonly reference?: Reference
  /** The schema of references as responses show them, because clients may send those back. */
  readonly shownRefs?: TSchema
  /** Can be cleared with a DELETE at the resource's path plus the name in responses. */
  readonly isDetachable?: boolean
  /** The fields of a module. */
  readonly fields?: Fields
  /** Fills in omitted parts of a valid value, and brings it into its canonical spelling. */
  complete?(value: Static<S>): Static<S> | Unset
}

/** How a field appears in responses. */
export interface Shown<S extends TSchema = TSchema> {
  readonly name?: string
  readonly schema: S
  readonly render: (value: unknown, links: Links) => unknown
}

/**
 * A field whose type also says who sets it and how it is shown. The types of requests and responses are computed from
 * that, so every declaration consists of such fields.
 */
export type TypedField<S extends TSchema, Unset extends null | never, K extends FieldTraits> = Omit<
  Field<S, Unset>,
  keyof FieldTraits
> &
  K

export type FieldTraits = Pick<Field, 'setBy' | 'required' | 'unset' | 'shown'>

export interface Reference {
  readonly kind: string
  readonly idPrefix: string
  readonly many: boolean
  /** For ids of resources that Weir does not own: only the format is checked; links use this path. */
  readonly foreignPath?: string
}

/** Builds the `uri` of a path, or of a resource from its kind and id. */
export interface Links {
  uri(path: string): string
  of(kind: string, id: string): string
}

export type Fields = Readonly<Record<string, Field<TSchema, null | never>>>

/** The type of a field in a row. */
export type StoredOf<F> = F extends { readonly fallback: infer Value } ? Value : never

export type RowOf<F extends Fields> = RowHead & { readonly [Name in keyof F]: StoredOf<F[Name]> }

/** Columns of every row. */
type RowHead = {
  readonly id: string
  readonly account_id: string
  /** Grows with each change of the account; a table keeps every version. */
  readonly version: number
  /** Milliseconds since the epoch. */
  readonly created_at: number
}

export type Row = RowHead & Readonly<Record<string, unknown>>

/** The account's resources as the rules of a declaration see them. */
export interface Lookups {
  get(kind: string, id: string): Row | undefined
  all(kind: string): Iterable<Row>
  /** For bounds of the deployment. */
  ofAllAccounts(kind: string): Iterable<Row>
  /** Child resources of a resource of the account. */
  children(kind: string, parentId: string): Iterable<Row>
  rules(ipPolicyId: string): Iterable<Row>
  countRules(ipPolicyId: string): number
  bansOf(ipPolicyId: string): PolicyBans
  /** Did an operator give the account this right? */
  hasRight(right: AccountRight): boolean
  /** The parent domain of reserved addresses. */
  readonly tcpDomain: string
  /**
   * The name of a resource's field in the body of the request: `policies.inbound` of an edge is `inbound` if the body
   * is the module alone.
   */
  nameInBody(path: string): string
  /** The problem with a source of an event subscription; later rooms know the event kinds. */
  sourceProblems(source: unknown): readonly {
    readonly member: string
    readonly msg: string
    readonly mark?: MarkedProblem['mark']
  }[]
}

/** The bans of an IP policy. */
export interface PolicyBans {
  /** Enforced deny rules that have a range. */
  readonly ranges: number
  /** The lists that such rules name. */
  readonly listIds: Iterable<string>
}

interface ResourceDefinition<
  F extends Fields = Fields,
  Kind extends string = string,
  ListName extends string = string,
  Op extends Operation = Operation,
  ParentKind extends string = string,
  ParentField extends string = string,
> {
  readonly kind: Kind
  readonly idPrefix: string
  /** `{edge_id}` in the path names the field with the parent's id. */
  readonly path: string
  readonly listName: ListName
  /** Its name for people, in messages and in the API reference. */
  readonly title: string
  /** Its purpose, in one sentence for the API reference. */
  readonly about: string
  /**
   * Example for the API reference, including fields that Weir sets. Example requests contain the fields that clients set,
   * and work when sent with real ids.
   */
  readonly example: Readonly<Record<string, unknown>>
  /** The object in its audit event kinds; without it, changes emit no events. */
  readonly audit?: string
  readonly fields: F
  /** The right that an account needs to use the kind. */
  readonly right?: AccountRight
  /** Rows that Weir keeps as parts of another kind: no list, history or log shows them. */
  readonly isInternal?: boolean
  /** Fields that a restoration leaves as they are, because what they name is stored elsewhere. */
  readonly notRestored?: readonly string[]
  /** Operations of the API; default: all. */
  readonly operations?: readonly Op[]
  /** The parent, if resources live under its path; the parent shows them as `listName`. */
  readonly parent?: { readonly kind: ParentKind; readonly field: ParentField }
  /** A deletion revokes the resource's token, so a deleted one is never restored. */
  readonly deletionRevokes?: boolean
  /** Refuses deletion while other resources refer to it; otherwise they keep a dangling id. */
  readonly keptWhileReferenced?: boolean
  /** Texts that must be unique in the deployment, such as hostports; `takenMessage` is the error for a taken one. */
  claims?(row: RowOf<F>): readonly string[]
  readonly takenMessage?: (claim: string) => string
  /** The error for a claim of names that overlap with those of another account; it must not show whose or which. */
  readonly overlapMessage?: (claim: string) => string
  /** `derive` draws the claims of a new resource at random, and again if they are taken. */
  readonly claimsAreDrawn?: boolean
  /** Checks relations to other resources; throws a `WeirError` that names the conflicting one. */
  check?(row: RowOf<F>, previous: RowOf<F> | undefined, lookups: Lookups): void
  /** Throws a `WeirError` if other resources depend on it without a reference. */
  checkDeletion?(row: RowOf<F>, lookups: Lookups): void
  /**
   * Slow work, or work that needs the secret of another resource: once, when the resource is created and its references
   * are known to exist.
   */
  prepare?(draft: RowOf<F>, tools: PrepareTools): Promise<RowOf<F>>
  /** Derived values, before the row is checked and stored; may run several times for one write. */
  derive?(draft: RowOf<F>, previous: RowOf<F> | undefined, tools: DeriveTools): RowOf<F>
  /** Members of responses that replace fields or come in addition. */
  embed?(row: RowOf<F>, links: Links): Record<string, unknown>
}

/** Rights that an operator can give an account. */
export const accountRights = ['abuse_reports', 'unserved_allowed', 'catch_all_allowed', 'doctor'] as const

export type AccountRight = (typeof accountRights)[number]

export type Operation = 'create' | 'get' | 'list' | 'update' | 'delete'

export const allOperations: readonly Operation[] = ['create', 'get', 'list', 'update', 'delete']

/** Does the API have any operation for the kind? */
export const isServed = ({ operations = allOperations }: Pick<AnyResource, 'operations'>): boolean =>
  operations.length > 0

export interface DeriveTools {
  seal(secret: string, belongsTo: string): string
  /** Shows whether a secret equals the sealed one, and reveals nothing else. */
  digest(secret: string, belongsTo: string): string
  newToken(): { readonly token: string; readonly hash: string }
  /** `host:port` in a region, at random. */
  drawTcpAddress(region: string): string
  /** The domain of addresses and names that Weir assigns. */
  readonly tcpDomain: string
  /** Adds fields to the response that creates the resource; they are never shown again. */
  answerOnce(fields: Record<string, unknown>): void
}

/** As `WEIR_SSH_ANY_HOST` has it. */
export type SshAnyHost = 'empty' | 'star'

export interface PrepareTools extends DeriveTools {
  /** The names in a host certificate for every host: none, or a pattern. */
  readonly sshAnyHost: SshAnyHost
  /** Unseals a secret of a resource that the draft refers to; for immediate use, never to be stored. */
  unsealed(secret: SealedSecret): Promise<string>
  /** Runs CPU-heavy work: few at a time in this process, across all accounts. */
  inTurn<T>(work: () => Promise<T>): Promise<T>
}

/** The place of a sealed value, and the context that it is bound to. */
export interface SealedSecret {
  readonly kind: string
  readonly id: string
  readonly field: string
  readonly belongsTo: string
}

/** Returns its argument; exists to infer the types of a declaration. */
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

/** A declaration without its field types, for code that handles all kinds. */
export type AnyResource = ResourceDefinition

export const anyResource = (definition: Pick<AnyResource, 'kind' | 'fields'>): AnyResource =>
  definition as AnyResource
