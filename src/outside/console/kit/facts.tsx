/** Names with their values, one below the other. */
import { type ComponentChildren, Fragment } from 'preact'

/** The name identifies the fact in its list. */
export type Fact = readonly [name: string, value: ComponentChildren]

export const Facts = ({ entries }: { readonly entries: readonly Fact[] }) => (
  <dl class="facts">
    {entries.map(([name, value]) => (
      <Fragment key={name}>
        <dt>{name}</dt>
        <dd>{value}</dd>
      </Fragment>
    ))}
  </dl>
)
