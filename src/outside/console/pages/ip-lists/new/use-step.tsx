/** Where a new list is used: an expression to copy, rules of IP policies, bouncers. */
import { useAnswer } from '../../../data/asking/api.js'
import { number } from '../../../data/texts/format.js'
import { CopyText } from '../../../kit/copy.js'
import { Link } from '../../../kit/link.js'
import { Answered } from '../../../parts/states.js'
import { SourceState, sourceOf } from '../list-source.js'
import { inListExpression } from '../list-view.js'

const lookEveryMs = 2_000

export function UseStep({ id }: { readonly id: string }) {
  const answer = useAnswer([id], (client) => client.ipList.get(id), { everyMs: lookEveryMs })
  return (
    <Answered answer={answer}>
      {(list) => (
        <section class="panel stack form" aria-label="Use it">
          <h2>“{list.name}” is there. Use it</h2>
          <p role="status">
            {number(list.entries)} {list.entries === 1 ? 'entry' : 'entries'}
            {sourceOf(list) !== null && (
              <>
                {' · '}
                <SourceState list={list} />
              </>
            )}
          </p>
          <ol class="stack numbered">
            <li>
              <p>
                In a <Link to={['edges']}>traffic policy of an edge</Link>: true for clients on the list.
              </p>
              <CopyText what="the expression" text={inListExpression(list.name)} />
            </li>
            <li>
              In a rule of an <Link to={['ip-policies']}>IP policy</Link>, which allows or denies its entries.
            </li>
            <li>
              In a <Link to={['bouncers']}>bouncer</Link>, which bans them in a firewall.
            </li>
          </ol>
          <div class="row">
            <Link class="button main" to={['ip-lists', id]}>
              Done
            </Link>
          </div>
        </section>
      )}
    </Answered>
  )
}
