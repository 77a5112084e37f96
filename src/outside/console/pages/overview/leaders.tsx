/** The highest counts: countries, rules and policies that stop, edges. */
import type { StatsOptions } from '../../../../words/client/client.js'
import type { Stats } from '../../../../words/shape/stats.js'
import { useAnswer } from '../../data/asking/api.js'
import type { GoesBy } from '../../data/decisions/row-times.js'
import { countryName, number } from '../../data/texts/format.js'
import { type Ranked, Ranking } from '../../kit/charts/ranking.js'
import { Link } from '../../kit/link.js'
import { Name } from '../../parts/name.js'
import { Answered } from '../../parts/states.js'

const listed = 6
type Dimension = NonNullable<StatsOptions['by']>
type Point = Stats['counts'][number]

export interface LeadersProps {
  readonly title: string
  readonly range: string
  readonly by: GoesBy
  readonly count: (point: Point) => number
  readonly of: readonly Counted[]
  /** The text if there are none. */
  readonly none?: string
}

interface Counted {
  readonly by: Dimension
  readonly labelOf: (value: string) => Ranked['label']
  /** The search for what is counted. */
  readonly searchOf: (value: string) => Readonly<Record<string, string>>
}

/** The values with the highest counts of a range. */
function Leading({ title, range, by: goesBy, count, of, none = 'Nothing in this time.' }: LeadersProps) {
  const answer = useAnswer(
    [of.map(({ by }) => by).join(), range, goesBy.time],
    (api) =>
      Promise.all(
        of.map(({ by }) => api.stats({ by, since: range, interval: 'day', values: listed, ...goesBy })),
      ),
    {
      everyMs: 60_000,
    },
  )
  return (
    <section class="panel stack">
      <h2>{title}</h2>
      <Answered answer={answer}>
        {(all) => {
          const entries = all
            .flatMap((stats, index) =>
              ranked(stats, count).map(entryOf(of[index]!, { since: range, ...goesBy })),
            )
            .sort((one, other) => other.count - one.count)
            .slice(0, listed)
          return entries.length === 0 ? (
            <p class="quiet">{none}</p>
          ) : (
            <Ranking label={title} entries={entries} />
          )
        }}
      </Answered>
    </section>
  )
}

export const entryOf =
  ({ by, labelOf, searchOf }: Counted, searched: GoesBy & { readonly since: string }) =>
  ([value, sum]: [value: string, sum: number]): Ranked => ({
    key: `${by} ${value}`,
    count: sum,
    label: labelOf(value),
    counted: (
      <Link to={['search']} with={{ ...searchOf(value), ...searched }}>
        {number(sum)}
      </Link>
    ),
  })

/** Each value with its sum over the range, the highest first. */
export function ranked({ counts }: Stats, count: LeadersProps['count']): [value: string, sum: number][] {
  const sums = new Map<string, number>()
  for (const point of counts)
    if (point.value !== null) sums.set(point.value, (sums.get(point.value) ?? 0) + count(point))
  return [...sums].filter(([, sum]) => sum > 0).sort(([, a], [, b]) => b - a)
}

const all = ({ allow, block, deny }: Point): number => allow + block + deny
export const stopped = ({ block, deny }: Point): number => block + deny

export const Leaders = (searched: Pick<LeadersProps, 'range' | 'by'>) => (
  <div class="thirds">
    <Leading
      title="Rules and policies that stop"
      {...searched}
      count={stopped}
      of={[
        { by: 'rule', labelOf: (id) => <Name id={id} />, searchOf: (rule_id) => ({ rule_id }) },
        { by: 'policy', labelOf: (policy) => policy, searchOf: (policy) => ({ policy }) },
      ]}
      none="No rule and no traffic policy in this time."
    />
    <Leading
      title="Countries"
      {...searched}
      count={all}
      of={[{ by: 'country', labelOf: countryName, searchOf: (country) => ({ country }) }]}
    />
    <Leading
      title="Edges"
      {...searched}
      count={all}
      of={[{ by: 'edge', labelOf: (id) => <Name id={id} />, searchOf: (edge_id) => ({ edge_id }) }]}
    />
  </div>
)
