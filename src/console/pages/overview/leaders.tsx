/** What there is most of: countries, rules that block, edges. */
import type { StatsOptions } from '../../../client/client.js'
import type { Stats } from '../../../shape/stats.js'
import { useAnswer } from '../../data/asking/api.js'
import { countryName, number } from '../../data/texts/format.js'
import { type Ranked, Ranking } from '../../parts/charts/ranking.js'
import { Link } from '../../parts/link.js'
import { Name } from '../../parts/name.js'
import { Answered } from '../../parts/states.js'

const listed = 6
type Dimension = NonNullable<StatsOptions['by']>
type Point = Stats['counts'][number]

interface LeadersProps {
  readonly title: string
  readonly by: Dimension
  readonly range: string
  readonly count: (point: Point) => number
  readonly labelOf: (value: string) => Ranked['label']
  /** The search for what is counted. */
  readonly searchOf: (value: string) => Readonly<Record<string, string>>
}

/** The values with the highest counts of a range. */
function Leading({ title, by, range, count, labelOf, searchOf }: LeadersProps) {
  const answer = useAnswer(
    [by, range],
    (api) => api.stats({ by, since: range, interval: 'day', values: listed }),
    {
      everyMs: 60_000,
    },
  )
  return (
    <section class="panel stack">
      <h2>{title}</h2>
      <Answered answer={answer}>
        {(stats) => {
          const entries = ranked(stats, count).map(
            ([key, sum]): Ranked => ({
              key,
              count: sum,
              label: labelOf(key),
              counted: (
                <Link to={['search']} with={{ ...searchOf(key), since: range }}>
                  {number(sum)}
                </Link>
              ),
            }),
          )
          return entries.length === 0 ? (
            <p class="quiet">Nothing in this time.</p>
          ) : (
            <Ranking label={title} entries={entries} />
          )
        }}
      </Answered>
    </section>
  )
}

/** Each value with its sum over the range, the highest first. */
function ranked({ counts }: Stats, count: LeadersProps['count']): [value: string, sum: number][] {
  const sums = new Map<string, number>()
  for (const point of counts)
    if (point.value !== null) sums.set(point.value, (sums.get(point.value) ?? 0) + count(point))
  return [...sums].filter(([, sum]) => sum > 0).sort(([, a], [, b]) => b - a)
}

const all = ({ allow, block, deny }: Point): number => allow + block + deny
const stopped = ({ block, deny }: Point): number => block + deny

export const Leaders = ({ range }: { readonly range: string }) => (
  <div class="thirds">
    <Leading
      title="Countries"
      by="country"
      range={range}
      count={all}
      labelOf={countryName}
      searchOf={(country) => ({ country })}
    />
    <Leading
      title="Rules that block"
      by="rule"
      range={range}
      count={stopped}
      labelOf={(id) => <Name id={id} />}
      searchOf={(rule_id) => ({ rule_id })}
    />
    <Leading
      title="Edges"
      by="edge"
      range={range}
      count={all}
      labelOf={(id) => <Name id={id} />}
      searchOf={(edge_id) => ({ edge_id })}
    />
  </div>
)
