/** Policy tests: what must be decided, whether it is, and what no test reaches. The path may name a test. */

import { may } from '../data/access/session.js'
import { Choices, choiceIn } from '../kit/choices.js'
import { Link } from '../kit/link.js'
import type { PageProps } from '../parts/page.js'
import { Coverage } from './tests/coverage.js'
import { EditTest, NewTest } from './tests/edit.js'
import { TestList } from './tests/list.js'

const tabs = [
  ['tests', 'Tests'],
  ['coverage', 'Coverage'],
] as const

export function PolicyTests({ rest: [id] }: PageProps) {
  if (id === 'new') return <NewTest />
  if (id !== undefined) return <EditTest key={id} id={id} />
  return (
    <div class="stack">
      <div class="row apart">
        <h1>Policy tests</h1>
        {may('write') && (
          <Link class="button main" to={['tests', 'new']}>
            New test
          </Link>
        )}
      </div>
      <Choices label="What to show" name="tab" choices={tabs} />
      {choiceIn('tab', tabs) === 'coverage' ? <Coverage /> : <TestList />}
    </div>
  )
}
