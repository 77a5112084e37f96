/** The target of a destination as it is shown. */
import type { Resource } from '../../../../words/client/kinds.js'
import type { Value } from './target-members.js'

export type Destination = Resource<'eventDestination'>

/** The kind, and the members of the one target that is set. */
export function targetOf({ target }: Pick<Destination, 'target'>): readonly [kind: string, target: Value] {
  const [kind, members] = Object.entries(target).find(([, each]) => each !== null) ?? ['', {}]
  return [kind, members as Value]
}

/** The command that prints a table for the events, for kinds of targets that are tables. */
export function ddlCommand(destination: Destination): string | undefined {
  const [kind, { database, table }] = targetOf(destination)
  const name = [database, table].filter(Boolean).join('.')
  const example = '--kind tcp_connection_closed.v0'
  if (kind === 'clickhouse') return `weir ddl --dialect clickhouse ${example} --table ${name}`
  return kind === 's3' ? `weir ddl --dialect athena ${example}` : undefined
}
