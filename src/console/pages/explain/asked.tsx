/** The answer to a question that was asked by hand. Nothing is enforced or logged by it. */
import type { Decision } from '../../../shape/decision.js'
import { useAnswer } from '../../data/api.js'
import { type Question, requestOf } from '../../data/question.js'
import { may } from '../../data/session.js'
import { Explanation } from '../../parts/explanation.js'
import { Answered, Empty } from '../../parts/states.js'
import { NextSteps } from './next-steps.js'

export function Asked({ question }: { readonly question: Question }) {
  const answer = useAnswer([JSON.stringify(question)], async (client): Promise<Decision | null> => {
    const request = requestOf(question)
    return request === undefined || !may('decide') ? null : client.decide(request)
  })
  if (!may('decide'))
    return (
      <Empty>
        A question needs a key with the right “decide”, which yours has not. Records can be explained.
      </Empty>
    )
  return (
    <Answered answer={answer}>
      {(decision) =>
        decision === null ? (
          <Empty>Name a client and where it wants to go: Weir says what it would decide now, and why.</Empty>
        ) : (
          <>
            <Explanation decision={decision} />
            <NextSteps client={question.client} decision={decision} />
          </>
        )
      }
    </Answered>
  )
}
