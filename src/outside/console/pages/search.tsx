/** Decisions of the past: what was decided, and by which rule. */
import type { LoggedDecision } from '../../../words/shape/decisions/logged-decision.js'
import { type Listed, useSteps } from '../data/asking/more.js'
import type { Answer } from '../data/asking/questions.js'
import { vocabularyOf } from '../data/asking/vocabulary.js'
import { DecisionSearch } from '../data/decisions/decision-search.js'
import { meaningOf } from '../data/decisions/question.js'
import { optionsOf, type Selection, selectionNow } from '../data/decisions/selection.js'
import { go, hrefTo, parameter, setParameters } from '../data/location.js'
import { FilterInput } from '../parts/editor/filter-input.js'
import { OpenedWhy } from '../parts/opened-why.js'
import { Answered } from '../parts/states.js'
import { Breakdown, Histogram } from './search/breakdown.js'
import { Export } from './search/export.js'
import { Narrowing } from './search/narrowing.js'
import { Results } from './search/results.js'

const rowsStep = 50

export function Search() {
  const selection = selectionNow()
  const key = JSON.stringify(selection)
  const answer = useSteps(
    [key],
    (client) => new DecisionSearch(client.decisionPages(optionsOf(selection))),
    rowsStep,
  )
  return (
    <div class="stack">
      <div class="row apart">
        <h1>Search</h1>
        <Export selection={selection} />
      </div>
      <SearchField selection={selection} error={answer.error} />
      <Narrowing selection={selection} />
      <Histogram selection={selection} />
      <Breakdown selection={selection} />
      <Answered answer={answer}>
        {(listed) => (
          <div class="stack" aria-busy={answer.isWaiting}>
            <Results selection={selection} found={listed} isLoading={answer.isLoading} more={answer.more} />
          </div>
        )}
      </Answered>
      <Opened listed={answer.data} />
    </div>
  )
}

interface SearchFieldProps {
  readonly selection: Selection
  readonly error: unknown
}

function SearchField({ selection: { filter }, error }: SearchFieldProps) {
  const { names } = vocabularyOf('decisions')
  const apply = (text: string): string => {
    const meaning = meaningOf(text, (name) => names.some((each) => each.name === name))
    if ('eventId' in meaning) {
      go(hrefTo(['explain', meaning.eventId]))
      return ''
    }
    // Text that is no expression is shown below the field, next to the expression that is still in use.
    const { filter: expression } = meaning.changes
    setParameters({ ...meaning.changes, open: '' }, { replace: false })
    return expression === undefined ? filter : String(expression)
  }
  return (
    <FilterInput
      label="Search for"
      about="decisions"
      value={filter}
      error={error}
      onApply={apply}
      isFocused={location.search === ''}
      placeholder="203.0.113.97, 203.0.113.0/24, AS64500, www.example.com:443, a record or event id, or an expression"
    />
  )
}

/** The entry that the URL names, also if the list has it not: someone was sent a link. */
function Opened({ listed }: { readonly listed: Answer<Listed<LoggedDecision>>['data'] }) {
  const id = parameter('open')
  const found = listed?.entries.find((entry) => entry.id === id)
  if (id === '' || listed === undefined) return null
  return <OpenedWhy id={id} known={found} />
}
