/** What a run found, for people, for programs, and for systems that show JUnit XML. */
import { junitOf } from '../../src/outside/cli/policy-tests/junit.js'
import type { Outcome, Result } from './run.js'

/** A line for a clause that holds, and what is needed to understand one that does not. */
export function resultLines({ clause, state, finding, why }: Result): string {
  const { number, says, page } = clause
  if (state === 'held') return `  held     ${number}  ${says}`
  if (state === 'not_checked') return `  –        ${number}  ${says}\n                not checked: ${why}`
  return [
    `  BROKEN   ${number}  ${says}`,
    `                page:   docs/${page}`,
    `                asked:  ${finding?.asked}`,
    `                should: ${finding?.should}`,
    `                came:   ${finding?.came}`,
  ].join('\n')
}

export function summary({ results, left }: Outcome): string {
  const count = (state: Result['state']): number => results.filter((each) => each.state === state).length
  const counts = `${count('held')} held, ${count('broken')} broken, ${count('not_checked')} not checked.`
  const remains = left.length === 0 ? 'Nothing is left behind.' : `Could not be removed: ${left.join(', ')}`
  return `${counts} ${remains}`
}

export const asJson = ({ label, results, left }: Outcome): object => ({
  run: label,
  promises: results.map(({ clause: { number, says, page }, state, finding, why, tookMs }) => ({
    number,
    sentence: says,
    page: `docs/${page}`,
    state,
    asked: finding?.asked ?? null,
    should: finding?.should ?? null,
    came: finding?.came ?? null,
    why: why ?? null,
    took_ms: tookMs,
  })),
  left,
})

/** Only what was checked: a clause that was not is no test that passed. */
export const asJunit = ({ results }: Outcome): string =>
  junitOf(
    'conformance',
    results
      .filter(({ state }) => state !== 'not_checked')
      .map(({ clause: { number, says }, finding }) => ({
        name: `${number} ${says}`,
        failure:
          finding &&
          `${finding.should}\nasked: ${finding.asked}\nshould: ${finding.should}\ncame: ${finding.came}`,
      })),
  )
