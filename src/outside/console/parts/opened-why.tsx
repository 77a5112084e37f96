/** The explanation of the decision that the URL names, over the list that may have it. */
import type { LoggedDecision } from '../../../words/shape/decisions/logged-decision.js'
import { useAnswer } from '../data/asking/api.js'
import { setParameters } from '../data/location.js'
import { Drawer } from '../kit/drawer.js'
import { WhyDrawer } from './explanation.js'
import { Answered, Empty } from './states.js'

interface OpenedWhyProps {
  /** Empty if none is open. */
  readonly id: string
  /** The entry, if the list has it: someone may have been sent a link. */
  readonly known: LoggedDecision | undefined
}

export function OpenedWhy({ id, known }: OpenedWhyProps) {
  if (id === '') return null
  return known === undefined ? <Fetched key={id} id={id} /> : <Why entry={known} />
}

function Fetched({ id }: { readonly id: string }) {
  const answer = useAnswer([id], async (client) => {
    const at = Number(id.split('-')[0])
    const [since, until] = [at, at + 1].map((ms) => new Date(ms).toISOString())
    for await (const entry of client.decisions({ since: since!, until: until! }))
      if (entry.id === id) return entry
    return null
  })
  return (
    <Answered answer={answer}>
      {(entry) =>
        entry === null ? (
          <Drawer title="Why?" onClose={() => setParameters({ open: '' })}>
            <Empty>The log has no decision {id} of this account; it may have been removed for its age.</Empty>
          </Drawer>
        ) : (
          <Why entry={entry} />
        )
      }
    </Answered>
  )
}

const Why = ({ entry }: { readonly entry: LoggedDecision }) => (
  <WhyDrawer entry={entry} onClose={() => setParameters({ open: '' })} />
)
