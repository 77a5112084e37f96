/** One finding: what shows it, and how it would be without it. */
import type { ComponentChildren } from 'preact'
import type { Finding } from '../../../../words/shape/finding.js'
import { act } from '../../data/asking/api.js'
import { beginPoliciesDraft } from '../../data/drafts/policies-draft.js'
import { go, hrefTo } from '../../data/location.js'
import { placeOfPolicies, policiesPath } from '../../data/resources/edges.js'
import { number } from '../../data/texts/format.js'
import { Button } from '../../kit/button.js'
import { Drawer } from '../../kit/drawer.js'
import { type Fact, Facts } from '../../kit/facts.js'
import { Link } from '../../kit/link.js'
import { Sentence } from '../../kit/sentence.js'
import { Time } from '../../kit/time.js'
import { EditButton } from '../../parts/edit-button.js'
import { Name } from '../../parts/name.js'
import { StateWord } from '../../parts/words.js'

/** A part of the configuration, with a link to where it is. */
export const Place = ({ place: { id, name, place, kind } }: { readonly place: Finding['about'] }) => (
  <>
    {/^(tcp_edge|https_edge_route)$/.test(kind) && name !== null ? (
      <span title={id}>{name}</span>
    ) : (
      <Name id={id} />
    )}
    {place !== null && <span class="mono quiet"> {place}</span>}
  </>
)

interface FindingDrawerProps {
  readonly finding: Finding
  readonly onClose: () => void
  /** It was mended. */
  readonly onDone: () => void
}

export function FindingDrawer({ finding, onClose, onDone }: FindingDrawerProps) {
  const { severity, sentence, about, draft } = finding
  return (
    <Drawer title="Finding" onClose={onClose}>
      <p class="verdict">
        <StateWord tone={severity === 'attention' ? 'warning' : 'quiet'} text={severity} />{' '}
        <Sentence text={sentence} />
      </p>
      <Facts entries={[['Where', <Place key="about" place={about} />], ...evidenceOf(finding)]} />
      <p>
        <Link to={['changes']} with={{ id: about.id }}>
          Who made it, and when
        </Link>
      </p>
      {draft !== null && <Draft finding={finding} draft={draft} onDone={onDone} />}
    </Drawer>
  )
}

function evidenceOf({ evidence }: Finding): Fact[] {
  const { since, until, looked_at, matched, uses, by, used_by, expression } = evidence
  const facts: readonly (readonly [string, ComponentChildren])[] = [
    ['Expression', expression !== null && <code>{expression}</code>],
    ['Because of', by && <Place place={by} />],
    ['Since', since && <Time at={since} />],
    ['Until', until && <Time at={until} />],
    ['Looked at', looked_at !== null && `${number(looked_at)} records`],
    ['Of these matched', matched !== null && number(matched)],
    ['Holds at', uses !== null && `${number(uses)} ${uses === 1 ? 'place' : 'places'}`],
    ['Such as', used_by && <Place place={used_by} />],
  ]
  return facts.filter(([, value]) => value !== false && value !== null)
}

interface DraftProps {
  readonly finding: Finding
  readonly draft: NonNullable<Finding['draft']>
  readonly onDone: () => void
}

/** Policies are opened as a draft, to be tried and saved there; a rule is taken out of force here. */
function Draft({ finding: { about }, draft: { method, uri, body }, onDone }: DraftProps) {
  const place = method === 'POST' ? placeOfPolicies(uri) : undefined
  const open = async (): Promise<void> => {
    if (place !== undefined && (await beginPoliciesDraft(place, body))) go(hrefTo(policiesPath(place)))
  }
  const take = async (): Promise<void> => {
    if (
      await act('The rule is not enforced any more.', (client) => client.ipPolicyRule.update(about.id, body))
    )
      onDone()
  }
  return (
    <section class="stack" aria-labelledby="without">
      <h3 id="without">Without it</h3>
      {place !== undefined && (
        <div class="row">
          <Button onClick={open}>Open as a draft: try it, then save it</Button>
        </div>
      )}
      {method === 'PATCH' && about.kind === 'ip_policy_rule' && (
        <div class="row">
          <EditButton
            onClick={take}
            confirm="The rule stays, and decides nothing: decisions show what it would have changed. Take it out of force?"
          >
            Take the rule out of force
          </EditButton>
        </div>
      )}
      <details>
        <summary>The draft as the API takes it</summary>
        <pre>
          {method} {uri}
          {'\n'}
          {JSON.stringify(body, null, 2)}
        </pre>
      </details>
    </section>
  )
}
