/** What a draft is about: the edges, routes, IP policies and the restriction that it changes. */
import type { ChallengerDraft } from '../../../resource/challenger-draft.js'
import { Name } from '../../parts/name.js'

const plural = (count: number, one: string, many: string): string[] =>
  count === 0 ? [] : [`${count} ${count === 1 ? one : many}`]

/** `1 edge, 2 IP policies`. */
export const draftedParts = ({ edges, routes, ip_policies, ip_restrictions }: ChallengerDraft): string =>
  [
    ...plural(edges.length, 'edge', 'edges'),
    ...plural(routes.length, 'route', 'routes'),
    ...plural(ip_policies.length, 'IP policy', 'IP policies'),
    ...plural(ip_restrictions.length, 'restriction', 'restrictions'),
  ].join(', ')

export const DraftedParts = ({ draft }: { readonly draft: ChallengerDraft }) => (
  <section class="panel stack" aria-labelledby="drafted">
    <h2 id="drafted">The draft</h2>
    <ul class="listed">
      {[...draft.edges, ...draft.routes].map(({ id, policies, ip_restriction }) => (
        <li key={id}>
          {policies !== undefined && 'traffic policies'}
          {policies !== undefined && ip_restriction !== undefined && ' and '}
          {ip_restriction !== undefined && 'IP restriction'} of <Name id={id} />
        </li>
      ))}
      {draft.ip_policies.map(({ id, add, change, remove }) => (
        <li key={id}>
          rules of <Name id={id} />: {add.length} added, {change.length} changed, {remove.length} removed
        </li>
      ))}
      {draft.ip_restrictions.map(({ id }) => (
        <li key={id}>
          the restriction <Name id={id} />
        </li>
      ))}
    </ul>
    <details>
      <summary>As it was sent</summary>
      <pre>{JSON.stringify(draft, null, 2)}</pre>
    </details>
  </section>
)
