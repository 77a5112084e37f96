/**
 * Puts a resource back: as it was before a change, or as the change made it. What it would change is asked of the API and
 * shown first.
 */
import { useSignal } from '@preact/signals'
import { ApiError } from '../../../../words/client/api-error.js'
import type { Client } from '../../../../words/client/client.js'
import type { Change, ChangedField } from '../../../../words/shape/decisions/change-schema.js'
import type { RuleCounts } from '../../../../words/shape/ip-policy-rules.js'
import { may } from '../../data/access/session.js'
import { act, api } from '../../data/asking/api.js'
import { changedFields } from '../../data/drafts/differences.js'
import { kindTitle, operationsOf } from '../../data/resources/resource-kinds.js'
import { Button } from '../../kit/button.js'
import { Difference, rulesText } from '../../parts/difference.js'
import { EditButton } from '../../parts/edit-button.js'
import { Failure } from '../../parts/states.js'

/** The changes that a restoration would make. */
interface Preview {
  readonly version: number
  readonly fields: readonly ChangedField[]
  readonly isDeleted: boolean
  /** For an IP policy that exists now. */
  readonly rules: RuleCounts | undefined
}

export function Restoration({ change }: { readonly change: Change }) {
  const preview = useSignal<Preview | undefined>(undefined)
  const fault = useSignal<unknown>(undefined)
  if (!may('write')) return null
  const show = async (version: number): Promise<void> => {
    try {
      preview.value = await previewOf(api, change, version)
      fault.value = undefined
    } catch (error) {
      preview.value = undefined
      fault.value = error
    }
  }
  const { verb, version } = change
  return (
    <section class="stack" aria-label="Restore">
      <h3>Restore</h3>
      <div class="row">
        {verb !== 'create' && version > 1 && (
          <Button onClick={() => show(version - 1)}>As before this change…</Button>
        )}
        {verb !== 'delete' && <Button onClick={() => show(version)}>As this change made it…</Button>}
      </div>
      {fault.value !== undefined && <Failure error={fault.value} />}
      {preview.value !== undefined && (
        <Previewed
          change={change}
          preview={preview.value}
          onDone={() => show(preview.value?.version ?? version)}
        />
      )}
    </section>
  )
}

interface PreviewedProps {
  readonly change: Change
  readonly preview: Preview
  readonly onDone: () => void
}

function Previewed({ change, preview: { version, fields, isDeleted, rules }, onDone }: PreviewedProps) {
  const { kind, id } = change
  const title = kindTitle(kind)
  const isSame = fields.length === 0 && !isDeleted
  const restore = async (): Promise<void> => {
    const isDone = await act(`The ${title} is as it was at version ${version}.`, async (client) =>
      (await operationsFor(client, change)).restore(id, version),
    )
    if (isDone) onDone()
  }
  const restoreRules = async (): Promise<void> => {
    const isDone = await act(`The rules are as they were at version ${version}.`, (client) =>
      client.restoreRules(id, version),
    )
    if (isDone) onDone()
  }
  return (
    <div class="stack panel">
      <h3>
        {isDeleted ? 'It would be created again:' : isSame ? 'Its fields are so now.' : 'It would change:'}
      </h3>
      {!isSame && <Difference fields={fields} />}
      {!isSame && <EditButton kind="main" onClick={restore}>{`Restore version ${version}`}</EditButton>}
      {kind === 'ip_policy' && isDeleted && (
        <p class="quiet">Its rules come back on their own, after it: open this change again then.</p>
      )}
      {rules !== undefined && (
        <>
          <h3>Its rules: {rulesText(rules)}</h3>
          {rules.added + rules.updated + rules.removed > 0 && (
            <EditButton
              kind="main"
              onClick={restoreRules}
            >{`Restore the rules of version ${version}`}</EditButton>
          )}
        </>
      )}
    </div>
  )
}

async function previewOf(client: Client, change: Change, version: number): Promise<Preview> {
  const { kind, id } = change
  const operations = await operationsFor(client, change)
  const [present, restored] = await Promise.all([
    presentOf(operations.get(id)),
    operations.restore(id, version, { validateOnly: true }),
  ])
  const isDeleted = present === undefined
  return {
    version,
    fields: changedFields((present ?? {}) as Shown, restored as Shown),
    isDeleted,
    rules:
      kind === 'ip_policy' && !isDeleted
        ? await client.restoreRules(id, version, { validateOnly: true })
        : undefined,
  }
}

type Shown = Readonly<Record<string, unknown>>

/** Undefined: it was deleted. */
const presentOf = (asked: Promise<unknown>): Promise<unknown> =>
  asked.catch((error) => {
    if (error instanceof ApiError && error.status_code === 404) return undefined
    throw error
  })

/** A route lives below an edge, which its history names. */
async function operationsFor(client: Client, { kind, id }: Change) {
  const operations = operationsOf(client, kind) ?? operationsOf(client, kind, await edgeOfRoute(client, id))
  if (operations !== undefined) return operations
  throw new Error(`The history does not name the edge of ${id}`)
}

async function edgeOfRoute(client: Client, id: string): Promise<string | undefined> {
  for await (const { fields } of client.changes({ filter: `id == ${JSON.stringify(id)}` })) {
    const edge = fields.find(({ name }) => name === 'edge_id')
    const found = edge?.after ?? edge?.before
    if (typeof found === 'string') return found
  }
  return undefined
}
