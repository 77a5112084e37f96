/** A question by hand: a client, where it wants to go, and what it asks for there; and the answer. */
import { useSignal } from '@preact/signals'
import type { DecisionRequest } from '../../../../words/client/client.js'
import type { Decision } from '../../../../words/shape/decisions/decision.js'
import { may } from '../../data/access/session.js'
import { useAnswer } from '../../data/asking/api.js'
import {
  parametersOf,
  type Question,
  questionIn,
  questionTypes,
  requestOf,
} from '../../data/decisions/question.js'
import { go, hrefTo, parameter } from '../../data/location.js'
import { newestEdges } from '../../data/resources/edges.js'
import { ChoiceField, TextField } from '../../kit/forms/fields.js'
import { Explanation } from '../../parts/explanation.js'
import { Answered, Empty } from '../../parts/states.js'
import { NextSteps } from './next-steps.js'

const methods = ['get', 'post', 'put', 'patch', 'delete', 'head', 'options'].map(
  (method) => [method, method.toUpperCase()] as const,
)

/** Hostports to choose from; others can be typed. */
const edgesMax = 200

export function QuestionForm() {
  const draft = useSignal<Question>(questionIn(parameter))
  const { client, endpoint, type, method, path } = draft.value
  const change = (changes: Partial<Question>): void => {
    draft.value = { ...draft.value, ...changes }
  }
  const hostports = useHostports()
  const submit = (event: SubmitEvent): void => {
    event.preventDefault()
    go(hrefTo(['explain'], { about: 'question', ...parametersOf(draft.value) }))
  }
  return (
    <form class="asking" onSubmit={submit}>
      <TextField
        label="Client"
        value={client}
        placeholder="203.0.113.97"
        onChange={(text) => change({ client: text.trim() })}
      />
      <TextField
        label="Endpoint"
        value={endpoint}
        placeholder="www.example.com:443"
        suggestions={hostports}
        onChange={(text) => change({ endpoint: text.trim() })}
      />
      <ChoiceField
        label="May it make"
        value={type}
        choices={questionTypes}
        onChange={(next) => change({ type: next as Question['type'] })}
      />
      {type === 'http_request' && (
        <>
          <ChoiceField
            label="Method"
            value={method}
            choices={methods}
            onChange={(next) => change({ method: next })}
          />
          <TextField label="Path" value={path} onChange={(text) => change({ path: text.trim() })} />
        </>
      )}
      <button type="submit" class="main" disabled={client === '' || endpoint === ''}>
        Explain
      </button>
    </form>
  )
}

function useHostports(): readonly string[] {
  const { data = [] } = useAnswer([], async (client) => {
    const edges = await newestEdges(client, edgesMax)
    return edges.flatMap(({ hostports }) => hostports).sort()
  })
  return data
}

interface AskedAnswer {
  readonly request: DecisionRequest
  readonly decision: Decision
}

/** The decision that Weir would make now. Nothing is enforced or logged by it. */
export function Asked({ question }: { readonly question: Question }) {
  const answer = useAnswer([JSON.stringify(question)], async (client): Promise<AskedAnswer | null> => {
    const request = requestOf(question)
    return request === undefined || !may('decide')
      ? null
      : { request, decision: await client.decide(request) }
  })
  if (!may('decide'))
    return (
      <Empty>
        A question needs a key with the right “decide”, which yours has not. Records can be explained.
      </Empty>
    )
  return (
    <Answered answer={answer}>
      {(asked) =>
        asked === null ? (
          <Empty>Name a client and where it wants to go: Weir says what it would decide now, and why.</Empty>
        ) : (
          <>
            <Explanation decision={asked.decision} />
            <NextSteps client={question.client} {...asked} />
          </>
        )
      }
    </Answered>
  )
}
