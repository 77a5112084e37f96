/**
 * One challenger, on one screen: whether it could be promoted and its tests pass, what it decides differently about live
 * traffic, what it would have about that of the past, and both explanations of any decision.
 */
import type { Resource } from '../../../client/kinds.js'
import { may } from '../../data/access/session.js'
import { act, useAnswer } from '../../data/asking/api.js'
import { EditButton } from '../../parts/button.js'
import { Facts } from '../../parts/facts.js'
import { Link } from '../../parts/link.js'
import { Answered, Failure } from '../../parts/states.js'
import { Time } from '../../parts/time.js'
import { StateWord, type Tone } from '../../parts/words.js'
import { DraftedParts } from './drafted-parts.js'
import { LiveDifference, LiveDifferences } from './live-difference.js'
import { PastDifference } from './past-difference.js'
import { Progress } from './progress.js'

type Challenger = Resource<'challenger'>
type State = NonNullable<Challenger['state']>

const tones: Readonly<Record<State, Tone>> = {
  running: 'good',
  ended: 'quiet',
  promoted: 'good',
  discarded: 'quiet',
}

export const ChallengerState = ({ challenger: { state } }: { readonly challenger: Challenger }) =>
  state == null ? null : <StateWord tone={tones[state]} text={state} />

export const nameOfChallenger = ({ description, id }: Challenger): string => description || id

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
                <DraftedParts draft={challenger.draft} />
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

/** What a promotion would meet now: failing tests, or a configuration that has changed since the draft was made. */
function Promotion({ challenger: { id } }: { readonly challenger: Challenger }) {
  const check = useAnswer(
    [id],
    async (client) =>
      client.challengers.promote(id, { validateOnly: true }).then(
        () => null,
        (error: unknown) => ({ error }),
      ),
    { everyMs: lookEveryMs },
  )
  return (
    <section class="panel stack" aria-labelledby="promotion">
      <h2 id="promotion">If it were promoted now</h2>
      <Answered answer={check}>
        {(refused) =>
          refused === null ? (
            <p>
              <StateWord tone="good" text="it would be taken" /> No policy test would fail, and what it was
              drafted from has not changed.
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
