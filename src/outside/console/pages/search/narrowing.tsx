/** The selections of a search besides its expression, and its time. */
import { useAnswer } from '../../data/asking/api.js'
import { recordsAndPast, timeChoices } from '../../data/decisions/row-times.js'
import { defaultSince, type Selection, selectingNames, sinceEver } from '../../data/decisions/selection.js'
import { parameter, setParameters } from '../../data/location.js'
import { newestEdges } from '../../data/resources/edges.js'
import { countryName } from '../../data/texts/format.js'
import { ChoiceField } from '../../kit/forms/fields.js'
import { Time } from '../../kit/time.js'
import { Name } from '../../parts/name.js'

const decisionChoices = [
  ['', 'any'],
  ['block,deny', 'stopped'],
  ['allow', 'allow'],
  ['block', 'block: by an IP policy'],
  ['deny', 'deny: by a traffic policy, or not served'],
] as const

const deciderChoices = [
  ['', 'anything'],
  ['restriction', 'restriction'],
  ['ip_restriction', 'module ip_restriction'],
  ['traffic_policy', 'traffic policy'],
  ['unserved', 'no edge serves it'],
  ['none', 'nothing'],
] as const

const sourceChoices = [
  ['', 'records'],
  ['asked', 'questions'],
  ['history', 'the past, loaded'],
  [recordsAndPast, 'records and the past'],
  ['any', 'all'],
] as const

/** Records of the past go by their own times, unless another is chosen. */
const timeChoicesOfPast = [
  ['', 'when it began'],
  ['stored', 'when stored'],
] as const

export const Narrowing = ({ selection }: { readonly selection: Selection }) => (
  <>
    <div class="narrowing">
      <Choice label="Decision" name="decision" choices={decisionChoices} />
      <Choice label="Decided by" name="decided_by" choices={deciderChoices} />
      <EdgeChoice />
      <Choice label="Source" name="source" choices={sourceChoices} />
      <Choice
        label="Goes by"
        name="time"
        choices={selection.source === 'history' ? timeChoicesOfPast : timeChoices}
      />
      <Ranges selection={selection} />
    </div>
    <Chosen />
  </>
)

interface ChoiceProps {
  readonly label: string
  readonly name: string
  readonly choices: readonly (readonly [value: string, text: string])[]
}

function Choice({ label, name, choices }: ChoiceProps) {
  const value = parameter(name)
  const known = choices.some(([each]) => each === value) ? choices : [...choices, [value, value] as const]
  return (
    <ChoiceField
      label={label}
      value={value}
      choices={known}
      onChange={(next) => setParameters({ [name]: next, open: '' }, { replace: false })}
    />
  )
}

/** More would make the choice useless; the search field takes an endpoint. */
const edgesMax = 200

function EdgeChoice() {
  const { data = [] } = useAnswer([], async (client) => {
    const edges = await newestEdges(client, edgesMax)
    return edges
      .map(({ id, hostports }) => [id, hostports[0] ?? id] as const)
      .sort(([, one], [, other]) => one.localeCompare(other))
  })
  return <Choice label="Edge" name="edge_id" choices={[['', 'any'], ...data]} />
}

const ranges = [
  ['1h', '1 hour'],
  [defaultSince, '1 day'],
  ['7d', '1 week'],
  [sinceEver, 'all'],
] as const

/** Ranges to choose from, and the one that was selected in the histogram. */
function Ranges({ selection: { since, until } }: { readonly selection: Selection }) {
  const given = parameter('since') || defaultSince
  const isOther = until !== '' || !ranges.some(([value]) => value === given)
  return (
    <div class="field">
      <span class="label">Time</span>
      <div class="row">
        <fieldset class="choices" aria-label="Time">
          {ranges.map(([value, text]) => (
            <button
              key={value}
              type="button"
              aria-pressed={!isOther && value === given}
              onClick={() =>
                setParameters(
                  { since: value === defaultSince ? '' : value, until: '', open: '' },
                  { replace: false },
                )
              }
            >
              {text}
            </button>
          ))}
        </fieldset>
        {isOther && (
          <span>
            <Moment text={since} /> to {until === '' ? 'now' : <Moment text={until} />}
          </span>
        )}
      </div>
    </div>
  )
}

/** A time, or a length of time before now. */
const Moment = ({ text }: { readonly text: string }) =>
  Number.isNaN(Date.parse(text)) || /^\d+[smhd]$/.test(text) ? <>{text} ago</> : <Time at={text} />

const titles: Readonly<Record<string, string>> = {
  client: 'Client',
  route_id: 'Route',
  rule_id: 'Rule',
  policy: 'Policy',
  country: 'Country',
  asn: 'AS',
  record_id: 'Record',
}

/** The parameters that hold and have no field of their own, each with a button to remove it. */
function Chosen() {
  const chosen = selectingNames.filter((name) => titles[name] !== undefined && parameter(name) !== '')
  if (chosen.length === 0) return null
  return (
    <ul class="row" aria-label="The search is narrowed to">
      {chosen.map((name) => (
        <li key={name} class="chip">
          <span class="quiet">{titles[name]}</span> <Value name={name} value={parameter(name)} />
          <button
            type="button"
            aria-label={`Remove ${titles[name]}`}
            title="Remove"
            onClick={() => setParameters({ [name]: '', open: '' }, { replace: false })}
          >
            ×
          </button>
        </li>
      ))}
    </ul>
  )
}

function Value({ name, value }: { readonly name: string; readonly value: string }) {
  if (name === 'rule_id' || name === 'route_id') return <Name id={value} />
  if (name === 'country') return <>{countryName(value)}</>
  return <span class="mono">{value}</span>
}
