/** One record, or one question: what was decided then, what is decided now, and what became of the events. */
import { useSignal } from '@preact/signals'
import { questionIn } from '../data/decisions/question.js'
import { go, hrefTo, parameter } from '../data/location.js'
import { Choices, choiceIn } from '../kit/choices.js'
import { TextField } from '../kit/forms/fields.js'
import type { PageProps } from '../parts/page.js'
import { Latest } from './explain/latest.js'
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
