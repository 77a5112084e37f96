/**
 * One challenger, on one screen: whether it could be promoted and its tests pass, what it decides differently about live
 * traffic, what it would have about that of the past, and both explanations of any decision.
 */
import type { Resource } from '../../../../words/client/kinds.js'
import { may } from '../../data/access/session.js'
import { act, firstOf, useAnswer } from '../../data/asking/api.js'
import { Facts } from '../../kit/facts.js'
import { Link } from '../../kit/link.js'
import { Time } from '../../kit/time.js'
import { EditButton } from '../../parts/edit-button.js'
import { onDemand } from '../../parts/on-demand.js'
import { Answered, Failure } from '../../parts/states.js'
import { StateWord } from '../../parts/words.js'
import { DraftedParts } from './drafted-parts.js'
import { LiveDifference, LiveDifferences } from './live-difference.js'
import { ChallengerState, nameOfChallenger } from './name-and-state.js'
import { Progress } from './progress.js'

type Challenger = Resource<'challenger'>

/** Few try a draft that runs already. */
const PastDifference = onDemand(async () => (await import('./past-difference.js')).PastDifference)

const lookEveryMs = 15_000

export function ChallengerView({ id }: { readonly id: string }) {
  const answer = useAnswer([id], (client) => client.challenger.get(id), { everyMs: lookEveryMs })
  return (
    <div class="stack">
      <p>
        <Link to={['challengers']}>← all challengers</Link>
      </p>
      <Answered answer={answer}>
        {(challenger) => (
          <>
            <Head challenger={challenger} again={answer.again} />
            <div class="split">
              <LiveDifference challenger={challenger} />
              <div class="stack aside">
                {challenger.state === 'running' && may('write') && <Promotion challenger={challenger} />}
                <DraftedParts challenger={challenger} />
                <PastDifference challenger={challenger} />
              </div>
            </div>
            {challenger.state === 'running' && <LiveDifferences id={id} />}
          </>
        )}
      </Answered>
    </div>
  )
}

interface HeadProps {
  readonly challenger: Challenger
  readonly again: () => void
}

function Head({ challenger, again }: HeadProps) {
  const { id, state, created_at, ends_at, promoted_at, discarded_at } = challenger
  const end = async (done: string, work: 'promote' | 'discard'): Promise<void> => {
    await act(done, (client) => client.challengers[work](id))
    again()
  }
  return (
    <>
      <div class="row apart">
        <h1>{nameOfChallenger(challenger)}</h1>
        {state === 'running' && (
          <div class="row">
            <EditButton
              kind="main"
              onClick={() => end('The draft is the configuration now.', 'promote')}
              confirm="Make this draft the configuration, as one change? Policy tests run with it. It can be undone on the page “Changes”."
            >
              Promote
            </EditButton>
            <EditButton
              kind="danger"
              onClick={() => end('The challenger is discarded.', 'discard')}
              confirm="End this challenger? What is known of its difference stays; it can't be started again."
            >
              Discard
            </EditButton>
          </div>
        )}
      </div>
      <Facts
        entries={[
          ['State', <ChallengerState key="state" challenger={challenger} />],
          ['Id', <code key="id">{id}</code>],
          ['Progress', <Progress key="progress" id={id} isCounted={false} />],
          ['Began', <Time key="began" at={created_at} isRelative />],
          ...(promoted_at === null
            ? []
            : [['Promoted', <Time key="promoted" at={promoted_at} isRelative />] as const]),
          ...(discarded_at === null
            ? []
            : [['Discarded', <Time key="discarded" at={discarded_at} isRelative />] as const]),
          ...(ends_at == null || state !== 'running'
            ? []
            : [['Ends', <Time key="ends" at={ends_at} isRelative />] as const]),
          [
            'History',
            <Link key="history" to={['changes']} with={{ id }}>
              of the challenger
            </Link>,
          ],
        ]}
      />
    </>
  )
}

/** The obstacles to a promotion now: failing tests, or a configuration that has changed since the draft was made. */
function Promotion({ challenger: { id } }: { readonly challenger: Challenger }) {
  const check = useAnswer(
    [id],
    async (client) => {
      const [refused, { entries }] = await Promise.all([
        client.challengers.promote(id, { validateOnly: true }).then(
          () => null,
          (error: unknown) => ({ error }),
        ),
        firstOf(client.policyTest.list({ limit: 1 }), 1),
      ])
      return { refused, hasTests: entries.length > 0 }
    },
    { everyMs: lookEveryMs },
  )
  return (
    <section class="panel stack" aria-labelledby="promotion">
      <h2 id="promotion">If it were promoted now</h2>
      <Answered answer={check}>
        {({ refused, hasTests }) =>
          refused === null ? (
            <p>
              <StateWord tone="good" text="it would be taken" /> What it was drafted from has not changed.{' '}
              {hasTests ? 'No policy test would fail.' : 'There are no policy tests.'}
            </p>
          ) : (
            <>
              <p>
                <StateWord tone="bad" text="it would be refused" />
              </p>
              <Failure error={refused.error} />
            </>
          )
        }
      </Answered>
    </section>
  )
}
