/** The modules of an edge or a route: who is let in, by which policies, and where it goes. */
import { act, useAnswer } from '../../data/asking/api.js'
import { sides } from '../../data/drafts/policies-draft.js'
import { setParameters } from '../../data/location.js'
import {
  type Edge,
  operationsAt,
  type Place,
  type PoliciesModule,
  policiesAt,
  policiesPath,
  type Route,
} from '../../data/resources/edges.js'
import { number } from '../../data/texts/format.js'
import { Link } from '../../kit/link.js'
import { EditButton } from '../../parts/edit-button.js'
import { Names } from '../../parts/name.js'
import { PolicyLine } from '../../parts/policy-line.js'
import { StateWord } from '../../parts/words.js'

interface ModulesProps {
  readonly place: Place
  readonly of: Edge | Route
  readonly again: () => void
}

export function Modules({ place, of: holder, again }: ModulesProps) {
  return (
    <div class="stack">
      {'ip_restriction' in holder && <IpRestriction {...{ place, again }} module={holder.ip_restriction} />}
      <Policies {...{ place, again }} module={holder.policies} />
      {'backend' in holder && <Backend {...{ place, again }} module={holder.backend} />}
    </div>
  )
}

/** The parameter `edit` of the URL that opens the form of a module. */
const editOf = (what: string, { routeId }: Place): string =>
  routeId === undefined ? what : `${what}:${routeId}`

const OffWord = ({ isEnabled }: { readonly isEnabled: boolean }) =>
  isEnabled ? null : <StateWord tone="quiet" text="switched off" />

interface ModuleProps<Module> {
  readonly place: Place
  readonly module: Module | null
  readonly again: () => void
}

function IpRestriction({ place, module, again }: ModuleProps<NonNullable<Route['ip_restriction']>>) {
  const remove = async (): Promise<void> => {
    const isDone = await act('The IP policies were removed here.', (client) => {
      const { id, operations } = operationsAt(client, place)
      return operations.ip_restriction.delete(id)
    })
    if (isDone) again()
  }
  return (
    <section class="panel stack tight" aria-label="IP policies">
      <div class="row apart">
        <h2>IP policies</h2>
        <div class="row">
          <EditButton onClick={() => setParameters({ edit: editOf('ip_restriction', place) })}>
            {module === null ? 'Set IP policies' : 'Change and try'}
          </EditButton>
          {module !== null && (
            <EditButton
              kind="danger"
              onClick={remove}
              confirm="Remove the IP policies here? Every address is let in then, unless a restriction of the account says no."
            >
              Remove
            </EditButton>
          )}
        </div>
      </div>
      {module === null ? (
        <p class="quiet">None here: every address gets as far as the traffic policies.</p>
      ) : (
        <p>
          <OffWord isEnabled={module.enabled} /> <Names ids={module.ip_policies.map(({ id }) => id)} />
        </p>
      )}
    </section>
  )
}

function Backend({ place, module, again }: ModuleProps<NonNullable<Route['backend']>>) {
  const remove = async (): Promise<void> => {
    const isDone = await act('The backend was removed here.', (client) => {
      const { id, operations } = operationsAt(client, place)
      return operations.backend.delete(id)
    })
    if (isDone) again()
  }
  return (
    <section class="panel stack tight" aria-label="Backend">
      <div class="row apart">
        <h2>Backend</h2>
        <div class="row">
          <EditButton onClick={() => setParameters({ edit: editOf('backend', place) })}>
            {module === null ? 'Set a backend' : 'Change'}
          </EditButton>
          {module !== null && (
            <EditButton kind="danger" onClick={remove} confirm="Remove the backend here?">
              Remove
            </EditButton>
          )}
        </div>
      </div>
      {module === null ? (
        <p class="quiet">None.</p>
      ) : (
        <p>
          <OffWord isEnabled={module.enabled} /> <BackendName id={module.backend.id} />
        </p>
      )}
    </section>
  )
}

function BackendName({ id }: { readonly id: string }) {
  const { data } = useAnswer([id], (client) => client.tunnelGroupBackend.get(id))
  return <span title={id}>{data?.description ?? id}</span>
}

function Policies({ place, module, again }: ModuleProps<PoliciesModule>) {
  const remove = async (): Promise<void> => {
    const isDone = await act('The traffic policies were removed here.', (client) => {
      const { id, policies } = policiesAt(client, place)
      return policies.delete(id)
    })
    if (isDone) again()
  }
  return (
    <section class="panel stack tight" aria-label="Traffic policies">
      <div class="row apart">
        <h2>Traffic policies</h2>
        <div class="row">
          <Link class="button" to={policiesPath(place)}>
            Draft and try
          </Link>
          {module !== null && (
            <EditButton kind="danger" onClick={remove} confirm="Remove all traffic policies here?">
              Remove
            </EditButton>
          )}
        </div>
      </div>
      {module === null || module.inbound.length + module.outbound.length === 0 ? (
        <p class="quiet">None here.</p>
      ) : (
        <>
          <OffWord isEnabled={module.enabled} />
          <PolicyTable place={place} module={module} />
        </>
      )}
    </section>
  )
}

/** With how often each has denied in the last day. */
function PolicyTable({ place, module }: { readonly place: Place; readonly module: PoliciesModule }) {
  const denied = useDenied(place)
  return (
    <ol class="policies">
      {sides.flatMap((side) =>
        module[side].map((policy, index) => (
          <PolicyLine key={`${side} ${index}`} {...{ side, index, policy }}>
            {policy.name !== undefined && (denied?.get(policy.name) ?? 0) > 0 && (
              <Link to={['search']} with={{ policy: policy.name, edge_id: place.edgeId, decision: 'deny' }}>
                {number(denied?.get(policy.name) ?? 0)} denied in 24 h
              </Link>
            )}
          </PolicyLine>
        )),
      )}
    </ol>
  )
}

/** Decisions by the names of traffic policies. */
function useDenied({ edgeId, routeId }: Place): ReadonlyMap<string, number> | undefined {
  const { data } = useAnswer([edgeId, routeId], (client) =>
    client.stats({
      by: 'policy',
      interval: 'hour',
      since: '24h',
      values: 20,
      edgeId,
      ...(routeId === undefined ? {} : { routeId }),
    }),
  )
  if (data === undefined) return undefined
  const denied = new Map<string, number>()
  for (const { value, deny } of data.counts)
    if (value !== null) denied.set(value, (denied.get(value) ?? 0) + deny)
  return denied
}
