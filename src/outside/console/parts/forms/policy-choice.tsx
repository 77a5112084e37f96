/** Some of the account's IP policies or IP lists, as boxes to tick. */
import type { Client } from '../../../../words/client/client.js'
import { firstOf, useAnswer } from '../../data/asking/api.js'
import { nameOf } from '../../data/resources/resource-names.js'
import { Boxes } from '../../kit/forms/boxes.js'
import { Answered, Empty } from '../states.js'

interface ChoiceProps {
  readonly chosen: readonly string[]
  readonly onChange: (ids: readonly string[]) => void
}

interface Named {
  readonly id: string
  readonly text: string
}

interface ResourceBoxesProps extends ChoiceProps {
  /** The member of the body that has the ids. */
  readonly name: string
  readonly label: string
  readonly none: string
  readonly load: (
    client: Client,
  ) => Promise<{ readonly entries: readonly Named[]; readonly hasMore: boolean }>
}

const listedMax = 200

async function policiesOf(client: Client) {
  const { entries, hasMore } = await firstOf(client.ipPolicy.list(), listedMax)
  return { entries: entries.map(({ id, description }) => ({ id, text: description || id })), hasMore }
}

async function listsOf(client: Client) {
  const { entries, hasMore } = await firstOf(client.ipList.list(), listedMax)
  return { entries: entries.map(({ id, name }) => ({ id, text: name })), hasMore }
}

export const PolicyChoice = (props: ChoiceProps) => (
  <ResourceBoxes
    {...props}
    name="ip_policy_ids"
    label="IP policies"
    none="There is no IP policy yet. Make one on the page “IP policies” first."
    load={policiesOf}
  />
)

export const ListChoice = (props: ChoiceProps) => (
  <ResourceBoxes
    {...props}
    name="ip_list_ids"
    label="IP lists"
    none="There is no IP list yet. Make one on the page “IP lists” first."
    load={listsOf}
  />
)

function ResourceBoxes({ name, label, chosen, onChange, none, load }: ResourceBoxesProps) {
  const answer = useAnswer([], load)
  return (
    <Answered answer={answer}>
      {({ entries: known, hasMore }) => {
        // One that is referred to is there, however old or deleted it is.
        const others = chosen
          .filter((id) => !known.some((each) => each.id === id))
          .map((id) => ({ id, text: nameOf(id).text }))
        const entries = [...others, ...known]
        if (entries.length === 0) return <Empty>{none}</Empty>
        return (
          <Boxes {...{ name, label, entries, chosen, onChange }}>
            {hasMore && <p class="quiet">Only the newest {listedMax} are listed.</p>}
          </Boxes>
        )
      }}
    </Answered>
  )
}
