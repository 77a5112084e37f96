/** Forms of the modules `ip_restriction` and `backend` of a TCP edge or a route. */
import { useSignal } from '@preact/signals'
import { firstOf, useAnswer } from '../../data/asking/api.js'
import {
  type BackendModule,
  draftAt,
  type IpRestrictionModule,
  operationsAt,
  type Place,
} from '../../data/resources/edges.js'
import { textOf } from '../../data/texts/format.js'
import { ChoiceField, SwitchField } from '../../kit/forms/fields.js'
import { FormDrawer } from '../../parts/forms/form-drawer.js'
import { PolicyChoice } from '../../parts/forms/policy-choice.js'
import { Answered } from '../../parts/states.js'
import { Shadow } from '../../parts/trial/shadow.js'
import { TrialRun } from '../../parts/trial/trial-run.js'

interface ModuleFormProps<Module> {
  readonly place: Place
  readonly module: Module | null
  readonly onClose: (isDone: boolean) => void
}

export function IpRestrictionForm({ place, module, onClose }: ModuleFormProps<IpRestrictionModule>) {
  const isEnabled = useSignal(module?.enabled ?? true)
  const chosen = useSignal<readonly string[]>(module?.ip_policies.map(({ id }) => id) ?? [])
  const body = { enabled: isEnabled.value, ip_policy_ids: [...chosen.value] }
  const isChanged =
    body.enabled !== module?.enabled ||
    body.ip_policy_ids.toSorted().join() !==
      module.ip_policies
        .map(({ id }) => id)
        .toSorted()
        .join()
  return (
    <FormDrawer
      title="IP policies here"
      submit="Save"
      done="The IP policies were saved."
      work={(client) => {
        const { id, operations } = operationsAt(client, place)
        return operations.ip_restriction.put(id, body)
      }}
      onClose={onClose}
      isDisabled={chosen.value.length === 0}
    >
      <p class="quiet">A client is let in if an allow rule contains its address, and no deny rule does.</p>
      <SwitchField
        name="enabled"
        label="They apply"
        value={isEnabled.value}
        onChange={(isOn) => {
          isEnabled.value = isOn
        }}
      />
      <PolicyChoice
        chosen={chosen.value}
        onChange={(ids) => {
          chosen.value = ids
        }}
      />
      <TrialRun
        draft={JSON.stringify(body)}
        blocked={chosen.value.length === 0 ? 'Choose an IP policy first.' : undefined}
        begin={(client, since) => {
          const { id, operations } = operationsAt(client, place)
          return operations.ip_restriction.try(id, body, { since })
        }}
      />
      {isChanged && (
        <Shadow
          draft={() => draftAt(place, { ip_restriction: body })}
          isBlocked={chosen.value.length === 0}
        />
      )}
    </FormDrawer>
  )
}

const listedMax = 200

export function BackendForm({ place, module, onClose }: ModuleFormProps<BackendModule>) {
  const isEnabled = useSignal(module?.enabled ?? true)
  const chosen = useSignal(module?.backend.id ?? '')
  const backends = useAnswer([], (client) => firstOf(client.tunnelGroupBackend.list(), listedMax))
  return (
    <FormDrawer
      title="Backend"
      submit="Save"
      done="The backend was saved."
      work={(client) => {
        const { id, operations } = operationsAt(client, place)
        return operations.backend.put(id, { enabled: isEnabled.value, backend_id: chosen.value })
      }}
      onClose={onClose}
      isDisabled={chosen.value === ''}
    >
      <SwitchField
        name="enabled"
        label="It is used"
        value={isEnabled.value}
        onChange={(isOn) => {
          isEnabled.value = isOn
        }}
      />
      <Answered answer={backends}>
        {({ entries }) => (
          <ChoiceField
            name="backend_id"
            label="Tunnel group"
            value={chosen.value}
            choices={[
              ['', entries.length === 0 ? 'There is none: POST /backends/tunnel_group' : 'choose one'],
              ...entries.map(
                ({ id, description, labels }) => [id, description || textOf(labels) || id] as const,
              ),
            ]}
            onChange={(id) => {
              chosen.value = id
            }}
          />
        )}
      </Answered>
    </FormDrawer>
  )
}
