/** One record, or one question: what was decided then, what is decided now, and what became of the events. */
import { useSignal } from '@preact/signals'
import type { LoggedDecision } from '../../../words/shape/decisions/logged-decision.js'
import { firstOf, useAnswer } from '../data/asking/api.js'
import { questionIn } from '../data/decisions/question.js'
import { go, hrefTo, parameter } from '../data/location.js'
import { Choices, choiceIn } from '../kit/choices.js'
import { TextField } from '../kit/forms/fields.js'
import { Link } from '../kit/link.js'
import { type Column, Table } from '../kit/tables/table.js'
import { decisionColumns, main, wide } from '../parts/decision-cells.js'
import type { PageProps } from '../parts/page.js'
import { Answered, Empty } from '../parts/states.js'
import { Asked, QuestionForm } from './explain/question-form.js'
import { Traced } from './explain/traced.js'

const subjects = [
  ['record', 'a record or event'],
  ['question', 'a question'],
] as const

/** `explain`, `explain/<id of a record or an event>`. */
export function Explain({ rest: [id = ''] }: PageProps) {
  const isQuestion = id === '' && (choiceIn('about', subjects) === 'question' || parameter('client') !== '')
  return (
    <div class="stack">
      <h1>Explain</h1>
      {id === '' && parameter('client') === '' && (
        <Choices label="What to explain" name="about" choices={subjects} />
      )}
      {isQuestion ? <QuestionForm /> : <IdForm key={id} id={id} />}
      {isQuestion && <Asked question={questionIn(parameter)} />}
      {id !== '' && <Traced id={id} />}
      {id === '' && !isQuestion && <Latest />}
    </div>
  )
}

function IdForm({ id }: { readonly id: string }) {
  const draft = useSignal(id)
  const submit = (event: SubmitEvent): void => {
    event.preventDefault()
    const wanted = draft.value.trim()
    if (wanted !== '') go(hrefTo(['explain', wanted]))
  }
  return (
    <form class="asking" onSubmit={submit}>
      <TextField
        label="Id of a record or an event"
        value={draft.value}
        placeholder="01KAFZR7DA0T4CH30SW7DJ5M3B or ev_…"
        onChange={(text) => {
          draft.value = text
        }}
      />
      <button type="submit" class="main">
        Explain
      </button>
    </form>
  )
}

/** Decisions to explain, for someone without an id: the last ones that let nothing in. */
const listed = 15

const { time, decision, client, from, endpoint, decidedBy } = decisionColumns

const columns: readonly Column<LoggedDecision>[] = [
  ...[time, decision, main(client), from, endpoint, wide(decidedBy)],
  {
    title: 'Record',
    cell: ({ record_id }) => (
      <Link to={['explain', record_id]} class="mono cut" title={record_id}>
        {record_id}
      </Link>
    ),
  },
]

function Latest() {
  const answer = useAnswer([], (client) =>
    firstOf(client.decisions({ decision: 'block,deny', since: '24h', limit: listed }), listed),
  )
  return (
    <section class="stack" aria-labelledby="latest">
      <p class="quiet">
        The id stands in your log, in the event (<code>event_id</code>) and in each row of{' '}
        <Link to={['search']}>Search</Link> and <Link to={['live']}>Live</Link>.
      </p>
      <h2 id="latest">Or one of those that were stopped last</h2>
      <Answered answer={answer}>
        {({ entries }) => (
          <Table
            label="What was stopped last, newest first"
            rows={entries}
            columns={columns}
            keyOf={({ id }) => id}
            onOpen={({ id, record_id }) => go(hrefTo(['explain', record_id], { decision: id }))}
            empty={
              <Empty>
                <p>Nothing was stopped within the last day.</p>
                <Link to={['explain']} with={{ about: 'question' }}>
                  Ask what would be decided
                </Link>
              </Empty>
            }
          />
        )}
      </Answered>
    </section>
  )
}
