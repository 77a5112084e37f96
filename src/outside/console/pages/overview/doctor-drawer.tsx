/** What is wrong with the deployment: a line for each thing that was looked at, the worst first, with what to do. */
import type { DoctorLine, DoctorReport, DoctorState } from '../../../../words/shape/doctor.js'
import { useAnswer } from '../../data/asking/api.js'
import { root, setParameters } from '../../data/location.js'
import { number } from '../../data/texts/format.js'
import { Button } from '../../kit/button.js'
import { Drawer } from '../../kit/drawer.js'
import { Sentence } from '../../kit/sentence.js'
import { Time } from '../../kit/time.js'
import { Answered } from '../../parts/states.js'
import { StateWord, type Tone } from '../../parts/words.js'

const tones: Readonly<Record<DoctorState, Tone>> = {
  bad: 'bad',
  warning: 'warning',
  not_checked: 'quiet',
  good: 'good',
}

/** From the worst. */
const shownStates: readonly DoctorState[] = ['bad', 'warning', 'not_checked', 'good']

const sentences: Readonly<Record<DoctorReport['state'], string>> = {
  bad: 'Something does not work, or is lost.',
  warning: 'It works, and someone should look.',
  good: 'Nothing that was checked is wrong.',
}

const wordsOf = (name: string): string => name.replaceAll('_', ' ')

export function DoctorDrawer() {
  const answer = useAnswer([], (client) => client.doctor())
  return (
    <Drawer title="The deployment" onClose={() => setParameters({ open: '' })}>
      <p class="quiet">
        Processes, NATS, ClickHouse and destinations of all accounts are asked, which may take half a minute.
        Nothing is changed.
      </p>
      <div class="row">
        <Button onClick={answer.again} isDisabled={answer.isLoading}>
          Check again
        </Button>
      </div>
      <Answered answer={answer}>{(report) => <Report report={report} />}</Answered>
    </Drawer>
  )
}

const Report = ({ report: { state, as_of, lines } }: { readonly report: DoctorReport }) => (
  <>
    <p class="verdict" role="status">
      <StateWord tone={tones[state]} text={sentences[state]} />{' '}
      <span class="quiet">
        <Time at={as_of} />
      </span>
    </p>
    {shownStates.map((each) => (
      <Lines key={each} state={each} lines={lines.filter((line) => line.state === each)} />
    ))}
  </>
)

interface LinesProps {
  readonly state: DoctorState
  readonly lines: readonly DoctorLine[]
}

/** What needs no one is one line until someone asks. */
function Lines({ state, lines }: LinesProps) {
  if (lines.length === 0) return null
  const heading = <StateWord tone={tones[state]} text={`${wordsOf(state)}: ${number(lines.length)}`} />
  const list = (
    <ul class="stack">
      {lines.map((line) => (
        <li key={JSON.stringify(line)}>
          <Line line={line} />
        </li>
      ))}
    </ul>
  )
  if (state === 'bad' || state === 'warning')
    return (
      <section class="stack" aria-label={wordsOf(state)}>
        <h3>{heading}</h3>
        {list}
      </section>
    )
  return (
    <details>
      <summary>{heading}</summary>
      {list}
    </details>
  )
}

const Line = ({ line: { check, about, sentence, advice, page } }: { readonly line: DoctorLine }) => (
  <>
    <strong>{wordsOf(check)}</strong>
    {about !== null && <span class="mono quiet"> {about}</span>} <Sentence text={sentence} />{' '}
    {advice !== null && <span class="quiet">{advice}</span>}{' '}
    <a href={hrefOfPage(page)} target="_blank" rel="noreferrer">
      About {wordsOf(check)}
    </a>
  </>
)

/** The page is served as a text, which has no anchors: browsers look for the heading. */
function hrefOfPage(page: string): string {
  const [file = '', anchor = ''] = page.split('#')
  return `${root}docs/${file}#:~:text=${encodeURIComponent(`### ${anchor.replaceAll('-', ' ')}`)}`
}
