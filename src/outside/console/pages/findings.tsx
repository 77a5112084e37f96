/** Parts of the configuration that can hardly be meant: each with its evidence, its place, and a draft without it. */
import { useSignal } from '@preact/signals'
import type { Finding, FindingKind, Findings as Found } from '../../../words/shape/finding.js'
import { useAnswer } from '../data/asking/api.js'
import { now } from '../data/clock.js'
import { goesByNow, timeChoices } from '../data/decisions/row-times.js'
import { parameter, setParameters } from '../data/location.js'
import { number, withLocalTimes } from '../data/texts/format.js'
import { Button } from '../kit/button.js'
import { Choices, choiceIn } from '../kit/choices.js'
import { ChoiceField } from '../kit/forms/fields.js'
import { Sentence } from '../kit/sentence.js'
import { type Column, Table } from '../kit/tables/table.js'
import { Time } from '../kit/time.js'
import { Answered, Empty } from '../parts/states.js'
import { StateWord } from '../parts/words.js'
import { FindingDrawer, Place } from './findings/finding-drawer.js'

const severities = [
  ['', 'All'],
  ['attention', 'Attention'],
  ['notice', 'Notice'],
] as const

const columns: readonly Column<Finding>[] = [
  {
    title: 'Severity',
    cell: ({ severity }) => (
      <StateWord tone={severity === 'attention' ? 'warning' : 'quiet'} text={severity} />
    ),
  },
  { title: 'What', isMain: true, cell: ({ sentence }) => <Sentence text={sentence} /> },
  { title: 'Where', cell: ({ about }) => <Place place={about} /> },
]

const kindText = (kind: FindingKind): string => kind.replaceAll('_', ' ')

const keyOf = ({ kind, about: { id, place }, evidence }: Finding): string =>
  `${kind} ${id} ${place ?? ''} ${evidence.by?.id ?? ''}`

export function Findings() {
  const { time = 'stored' } = goesByNow()
  const answer = useAnswer([time], (client) => client.findings({ time }))
  return (
    <div class="stack">
      <div class="row apart">
        <h1>Findings</h1>
        <Button onClick={answer.again} isDisabled={answer.isLoading}>
          Look again
        </Button>
      </div>
      <Answered answer={answer}>{(found) => <List found={found} again={answer.again} />}</Answered>
    </div>
  )
}

const step = 100

function List({ found, again }: { readonly found: Found; readonly again: () => void }) {
  const count = useSignal(step)
  const [kind, severity, opened] = [parameter('kind'), choiceIn('severity', severities), parameter('open')]
  const listed = found.findings.filter(
    (each) => (kind === '' || each.kind === kind) && (severity === '' || each.severity === severity),
  )
  const finding = found.findings.find((each) => keyOf(each) === opened)
  return (
    <>
      <p class="quiet">
        Rules, expressions and parts without effect, as of <Time at={found.as_of} />. Traffic of 30 days is
        looked at, as far as the log has it.
      </p>
      <div class="filters">
        <ChoiceField
          label="Kind"
          value={kind}
          choices={[
            ['', 'every kind'],
            ...found.kinds.map(
              (each) => [each.kind, `${kindText(each.kind)}: ${number(each.found)}`] as const,
            ),
          ]}
          onChange={(next) => setParameters({ kind: next, open: '' })}
        />
        <Choices label="Severity" name="severity" choices={severities} />
        <Choices label="Goes by" name="time" choices={timeChoices} />
      </div>
      <Table
        label="Findings"
        rows={listed.slice(0, count.value)}
        columns={columns}
        keyOf={keyOf}
        opened={opened}
        onOpen={(each) => setParameters({ open: keyOf(each) })}
        empty={<NoFindings isFiltered={kind !== '' || severity !== ''} />}
      />
      {listed.length > count.value && (
        <Button onClick={() => (count.value += step)}>Show more of {number(listed.length)}</Button>
      )}
      <Missing found={found} />
      {finding !== undefined && (
        <FindingDrawer
          finding={finding}
          onClose={() => setParameters({ open: '' })}
          onDone={() => {
            setParameters({ open: '' })
            again()
          }}
        />
      )}
    </>
  )
}

const NoFindings = ({ isFiltered }: { readonly isFiltered: boolean }) =>
  isFiltered ? (
    <Empty>
      <p>Nothing like that was found.</p>
      <Button onClick={() => setParameters({ kind: '', severity: '' })}>Show all findings</Button>
    </Empty>
  ) : (
    <Empty>Nothing was found: every part of the configuration that was looked at has an effect.</Empty>
  )

/** The number of findings that are not listed, and the kinds of which not all could be judged. */
const Missing = ({ found: { kinds } }: { readonly found: Found }) => (
  <>
    {kinds.map(({ kind, left_out, unknown }) => (
      <p key={kind} class="quiet" hidden={left_out === 0 && unknown === null}>
        {left_out > 0 && `Of “${kindText(kind)}”, ${number(left_out)} more are not listed. `}
        {unknown !== null && `Of “${kindText(kind)}”, not all is known. ${withLocalTimes(unknown, now())}`}
      </p>
    ))}
  </>
)
