/** Countries ranked, and on demand a map beside them, which is loaded when it is shown first. */
import { signal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { parameter, setParameters } from '../../data/location.js'
import { countryName, number } from '../../data/texts/format.js'
import type { World } from '../../data/world.js'
import { Ranking } from '../../kit/charts/ranking.js'
import { Failure, Waits } from '../states.js'

interface CountryCount {
  /** ISO 3166-1 alpha-2. */
  readonly code: string
  readonly count: number
}

interface CountriesProps {
  /** The highest first. */
  readonly counts: readonly CountryCount[]
  readonly onChoose: (code: string) => void
}

export function Countries({ counts, onChoose }: CountriesProps) {
  const isMapShown = parameter('map') === 'on'
  return (
    <div class={isMapShown ? 'split' : 'stack'}>
      {isMapShown && (
        <WorldMap label="Map of the countries that are ranked beside it" {...{ counts, onChoose }} />
      )}
      <div class="stack">
        <fieldset class="choices" aria-label="View">
          <button
            type="button"
            aria-pressed={isMapShown}
            onClick={() => setParameters({ map: isMapShown ? '' : 'on' })}
          >
            Map
          </button>
        </fieldset>
        <Ranking
          label="Countries"
          entries={counts.map(({ code, count }) => ({
            key: code,
            count,
            label: (
              <button type="button" class="as-link" onClick={() => onChoose(code)}>
                {countryName(code)}
              </button>
            ),
          }))}
        />
      </div>
    </div>
  )
}

const loaded = signal<World | undefined>(undefined)
const fault = signal<unknown>(undefined)

async function load(): Promise<void> {
  fault.value = undefined
  try {
    loaded.value = (await import('../../data/world.js')).world
  } catch (error) {
    fault.value = error
  }
}

interface WorldMapProps extends CountriesProps {
  readonly label: string
}

/** Whoever shows it ranks the countries next to it, as links or buttons: the map is for those who can point at it. */
export function WorldMap({ label, counts, onChoose }: WorldMapProps) {
  useEffect(() => {
    if (loaded.value === undefined) void load()
  }, [])
  if (fault.value !== undefined) return <Failure error={fault.value} again={() => void load()} />
  if (loaded.value === undefined)
    return (
      <div class="map-room">
        <Waits />
      </div>
    )
  const { width, height, outlines } = loaded.value
  const countOf = new Map(counts.map(({ code, count }) => [code, count]))
  const most = Math.max(1, ...countOf.values())
  const choose = (event: MouseEvent): void => {
    const code = event.target instanceof Element ? event.target.getAttribute('data-code') : null
    if (code !== null && countOf.has(code)) onChoose(code)
  }
  return (
    <figure class="map">
      {/* biome-ignore lint/a11y/useKeyWithClickEvents: the ranking beside it has a button for each country */}
      <svg viewBox={`0 0 ${width} ${height}`} role="img" aria-label={label} onClick={choose}>
        {outlines.map(([code, path], index) => (
          <path
            key={`${code} ${index}`}
            d={path}
            data-code={code}
            class={`level-${levelOf(countOf.get(code) ?? 0, most)}`}
          >
            {code !== '' && (
              <title>
                {countryName(code)}: {number(countOf.get(code) ?? 0)}
              </title>
            )}
          </path>
        ))}
      </svg>
      <figcaption class="quiet">
        The stronger the color, the more; point at a country for its number.
      </figcaption>
    </figure>
  )
}

const levelsMax = 4

/** 0 for nothing; the others by the square root, because one country often has most. */
const levelOf = (count: number, most: number): number => Math.ceil(levelsMax * Math.sqrt(count / most))
