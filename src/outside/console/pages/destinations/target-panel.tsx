/** Where a destination sends to, and the rights that it needs there. */
import { useAnswer } from '../../data/asking/api.js'
import { CopyText } from '../../kit/copy.js'
import { Facts } from '../../kit/facts.js'
import { Time } from '../../kit/time.js'
import { Name } from '../../parts/name.js'
import { Answered } from '../../parts/states.js'
import { type Destination, ddlCommand, targetOf } from './target.js'

export function TargetPanel({ destination }: { readonly destination: Destination }) {
  const { id, created_at, format, on_expiry, paused } = destination
  const [kind, target] = targetOf(destination)
  const ddl = ddlCommand(destination)
  // Kinds at AWS are addressed by an ARN, and have rights to grant there.
  const isAtAws = Object.values(target).some((each) => typeof each === 'string' && each.startsWith('arn:'))
  return (
    <div class="split even">
      <section class="panel stack" aria-label="Target">
        <h2>Target</h2>
        <Facts
          entries={[
            [
              'Id',
              <span key="id" class="mono">
                {id}
              </span>,
            ],
            ['Kind', kind],
            ['Created', <Time key="created" at={created_at} />],
            ['Format', format],
            [
              'Events that get too old',
              on_expiry === 'block'
                ? 'block: records are kept, publishes may be refused'
                : 'drop: they are dropped and counted',
            ],
            ...(paused ? [['Paused', <PausedBy key="paused" pause={paused} />] as const] : []),
          ]}
        />
        <CopyText what="the target" text={JSON.stringify({ [kind]: target }, null, 2)} />
        <p class="quiet">Secrets are stored encrypted and never shown: null stands for each.</p>
      </section>
      <div class="stack">
        {isAtAws && <Rights id={id} />}
        {ddl !== undefined && (
          <section class="panel stack" aria-label="Table">
            <h2>The table</h2>
            <p>This command prints the table for a kind of events; name your own kind.</p>
            <CopyText what="the command" text={ddl} />
          </section>
        )}
      </div>
    </div>
  )
}

const PausedBy = ({ pause }: { readonly pause: NonNullable<Destination['paused']> }) => (
  <>
    <Time at={pause.at} /> {pause.api_key_id === null ? `by ${pause.source}` : <Name id={pause.api_key_id} />}
  </>
)

function Rights({ id }: { readonly id: string }) {
  const answer = useAnswer([id], (api) => api.iamPolicy(id))
  return (
    <section class="panel stack" aria-label="Rights at AWS">
      <h2>Rights at AWS</h2>
      <Answered answer={answer}>
        {({ policy, trust_policy, notes }) => (
          <>
            <CopyText what="the IAM policy" text={JSON.stringify(policy, null, 2)} />
            {trust_policy !== null && (
              <>
                <h3>Trust policy of the role</h3>
                <CopyText what="the trust policy" text={JSON.stringify(trust_policy, null, 2)} />
              </>
            )}
            {notes.map((note) => (
              <p key={note} class="quiet">
                {note}
              </p>
            ))}
          </>
        )}
      </Answered>
    </section>
  )
}
