/** Where traffic is stopped: a map of countries, and those with most of it. */
import { useAnswer } from '../../data/asking/api.js'
import { go, hrefTo } from '../../data/location.js'
import { countryName, number } from '../../data/texts/format.js'
import { Ranking } from '../../kit/charts/ranking.js'
import { WorldMap } from '../../parts/charts/world-map.js'
import { Answered } from '../../parts/states.js'
import { entryOf, type LeadersProps, ranked, stopped } from './leaders.js'

/** The map shows all countries; the week has eight days of them. */
const countriesMax = 250
const listed = 6

/** The outlines of countries are loaded once there is something to show. */
export function StoppedMap({ range, by: goesBy }: Pick<LeadersProps, 'range' | 'by'>) {
  const answer = useAnswer(
    [range, goesBy.time],
    (api) => api.stats({ by: 'country', since: range, interval: 'day', values: countriesMax, ...goesBy }),
    { everyMs: 60_000 },
  )
  const searchOf = (country: string) => ({ country, decision: 'block,deny' })
  return (
    <section class="panel stack" aria-labelledby="where">
      <h2 id="where">Where it is stopped</h2>
      <Answered answer={answer}>
        {(stats) => {
          const countries = ranked(stats, stopped)
          const all = stats.counts.reduce((sum, point) => sum + stopped(point), 0)
          const known = countries.reduce((sum, [, count]) => sum + count, 0)
          if (all === 0) return <p class="quiet">Nothing was stopped in this time.</p>
          if (known === 0)
            return <p class="quiet">The country of none of the {number(all)} that were stopped is known.</p>
          return (
            <>
              <WorldMap
                label="Map of the countries whose traffic is stopped"
                counts={countries.map(([code, count]) => ({ code, count }))}
                onChoose={(code) => go(hrefTo(['search'], { ...searchOf(code), since: range, ...goesBy }))}
              />
              <Ranking
                label="Countries whose traffic is stopped"
                total={all}
                entries={countries
                  .slice(0, listed)
                  .map(
                    entryOf({ by: 'country', labelOf: countryName, searchOf }, { since: range, ...goesBy }),
                  )}
              />
              {known < all && (
                <p class="quiet">
                  Of {number(all)} that were stopped, the country of {number(all - known)} is not known.
                </p>
              )}
            </>
          )
        }}
      </Answered>
    </section>
  )
}
