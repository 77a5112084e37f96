/** Forms of bouncers: what each is called, and which IP policies and lists it enforces. */
import { useSignal } from '@preact/signals'
import type { Resource } from '../../../client/kinds.js'
import { TextField } from '../../parts/forms/fields.js'
import { FormDrawer } from '../../parts/forms/form-drawer.js'
import { showToken } from '../../parts/forms/new-token.js'
import { ListChoice, PolicyChoice } from '../../parts/forms/policy-choice.js'

interface FormProps {
  readonly onClose: (isDone: boolean) => void
}

export function NewBouncer({ onClose }: FormProps) {
  const values = useBouncer()
  return (
    <FormDrawer
      title="Create a bouncer"
      submit="Create"
      done="The bouncer was created."
      isDisabled={enforcesNothing(values)}
      work={async (client) => {
        const { token } = await client.bouncer.create(bodyOf(values))
        showToken({ title: 'bouncer', token: token ?? '' })
      }}
      onClose={onClose}
    >
      <BouncerFields values={values} />
    </FormDrawer>
  )
}

export function ChangeBouncer({ bouncer, onClose }: FormProps & { readonly bouncer: Resource<'bouncer'> }) {
  const values = useBouncer(bouncer)
  return (
    <FormDrawer
      title="Edit the bouncer"
      submit="Save"
      done="The bouncer was saved."
      isDisabled={enforcesNothing(values)}
      work={(client) => client.bouncer.update(bouncer.id, bodyOf(values))}
      onClose={onClose}
    >
      <BouncerFields values={values} />
    </FormDrawer>
  )
}

const useBouncer = (bouncer?: Resource<'bouncer'>) => ({
  description: useSignal(bouncer?.description ?? ''),
  policies: useSignal<readonly string[]>(bouncer?.ip_policies.map(({ id }) => id) ?? []),
  lists: useSignal<readonly string[]>(bouncer?.ip_lists.map(({ id }) => id) ?? []),
})

type Values = ReturnType<typeof useBouncer>

const enforcesNothing = ({ policies, lists }: Values): boolean =>
  policies.value.length + lists.value.length === 0

const bodyOf = ({ description, policies, lists }: Values) => ({
  description: description.value,
  // An empty list says nothing about what was chosen before.
  ip_policy_ids: policies.value.length === 0 ? null : policies.value,
  ip_list_ids: lists.value.length === 0 ? null : lists.value,
})

const BouncerFields = ({ values: { description, policies, lists } }: { readonly values: Values }) => (
  <>
    <TextField
      label="Description"
      value={description.value}
      onChange={(text) => {
        description.value = text
      }}
      hint="Where it enforces them, such as: the firewall in Frankfurt."
    />
    <PolicyChoice
      chosen={policies.value}
      onChange={(ids) => {
        policies.value = ids
      }}
    />
    <ListChoice
      chosen={lists.value}
      onChange={(ids) => {
        lists.value = ids
      }}
    />
  </>
)
