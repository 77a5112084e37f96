/** How the console learns why something was decided. */
import { ApiError } from '../../../../words/client/api-error.js'
import type { Client, DecisionRequest } from '../../../../words/client/client.js'
import type { Decision } from '../../../../words/shape/decisions/decision.js'
import type { LoggedDecision } from '../../../../words/shape/decisions/logged-decision.js'
import { may } from '../access/session.js'

interface Why {
  /** Null if it can't be explained any more. */
  readonly explained: Decision | null
  /** Why there is no explanation, or not the whole one. */
  readonly missing: string | null
}

/**
 * The explanation of an entry of the log, with the configuration of then. The record says most. If the log has it not
 * yet, or lists so many publications of it that this one is left out, the question is asked again with what the entry has.
 */
export async function whyOf(client: Client, entry: LoggedDecision): Promise<Why> {
  const found = await traced(client, entry).catch((error: unknown) => {
    if (error instanceof ApiError && error.status_code < 500 && may('decide')) return undefined
    throw error
  })
  if (found !== undefined) return found
  if (!may('decide'))
    return { explained: null, missing: 'The log lists only newer publications of this record.' }
  return {
    explained: await client.decide(questionOf(entry), { revision: entry.revision, ...unservedOf(entry) }),
    missing: 'Judged again from what the log has: client, endpoint, edge and path.',
  }
}

async function traced(client: Client, { id, record_id }: LoggedDecision): Promise<Why | undefined> {
  const { publications, asked } = await client.record(record_id)
  return [...publications, ...asked].find(({ decision }) => decision.id === id)
}

/** The decision about a name that no edge served: records pass, and so do questions that said so. */
export const unservedOf = ({ decided_by }: LoggedDecision) =>
  ({ unserved: decided_by.type === 'unserved' ? 'deny' : 'allow' }) as const

/** The question that an entry of the log answers, as far as the log has it. */
export function questionOf({
  type,
  client_ip,
  server_name,
  server_port,
  edge_id,
  route_id,
  method,
  path,
}: LoggedDecision): DecisionRequest {
  const request = {
    type,
    conn: {
      client_ip,
      ...(server_name !== null && { server_name }),
      ...(server_port !== null && { server_port }),
    },
    ...(edge_id !== null && { edge_id }),
    ...(route_id !== null && { route_id }),
    ...(type === 'http_request' && {
      http: { request: { ...(method !== null && { method }), url: { path: path ?? '/' } } },
    }),
  }
  return request as DecisionRequest
}
