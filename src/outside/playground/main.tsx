/**
 * Start here: the playground, a page that decides in the browser. It is given policies, in the form of `weir test FILE`, and
 * a connection, and shows the decision with its explanation while someone types. Nothing leaves the page: its content
 * security policy allows no request but for its own files, and what a link carries is behind the `#`.
 */
import { effect, signal } from '@preact/signals'
import { render } from 'preact'
import { messageOf } from '../../ground/core/errors.js'
import { withoutGeneratedCode } from '../../judging/evaluate/portable/evaluate-anywhere.js'
import type { Vocabulary } from '../console/data/asking/completion.js'
import { copyText } from '../console/data/clipboard.js'
import { after } from '../console/data/clock.js'
import { notify } from '../console/data/notices.js'
import { Notices } from '../console/kit/notices.js'
import { Editor } from '../console/parts/editor/editor.js'
import { faultsOfYaml } from '../console/parts/editor/editor-props.js'
import { Answer, Tests } from './answer.js'
import { ConnectionForm } from './connection-form.js'
import { change, connection, evaluate, evaluated, isBehind, policies, withTest } from './evaluation.js'
import { fragmentOf, sharedIn } from './shared-address.js'

const root = document.documentElement.dataset['root'] ?? './'

/** The fragment that the page has put behind the `#` of its address; any other one comes from someone else. */
let fragment: string | undefined = ''

/** Browsers allow some changes of the address per second. */
const addressPauseMs = 500

async function openLink(): Promise<void> {
  const given = location.hash.slice(1)
  if (given === '' || given === fragment) return
  try {
    change(await sharedIn(given))
    fragment = given
  } catch (error) {
    notify({ kind: 'bad', text: messageOf(error) })
  }
}

const beginning = { policies: policies.peek(), connection: connection.peek() }

/** Keeps the address the link to what is shown. */
function followChanges(): void {
  let latest = 0
  effect(() => {
    const shared = { policies: policies.value, connection: connection.value }
    latest += 1
    const mine = latest
    const isBeginning = shared.policies === beginning.policies && shared.connection === beginning.connection
    // A link that the page was opened with is still to be read.
    if (isBeginning && fragment === '') return
    after(addressPauseMs, async () => {
      if (mine !== latest) return
      const next = isBeginning ? undefined : await fragmentOf(shared)
      if (mine !== latest) return
      fragment = next
      history.replaceState(null, '', next === undefined ? location.pathname : `#${next}`)
    })
  })
}

async function copyLink(): Promise<void> {
  const carried = await fragmentOf({ policies: policies.peek(), connection: connection.peek() })
  if (carried === undefined)
    notify({ kind: 'bad', text: 'This is too much for a link. Copy it as a file instead.' })
  else await copyText(new URL(`#${carried}`, location.href).href, 'a link to what you see')
}

async function useTest(take: (file: string) => unknown): Promise<void> {
  const file = await withTest()
  if (file === undefined)
    notify({
      kind: 'bad',
      text: 'A test needs policies and a connection without faults, and "tests" as a list.',
    })
  else await take(file)
}

/** Few write expressions: the names are loaded by who begins to write. */
const known = signal<Vocabulary | undefined>(undefined)

async function loadVocabulary(): Promise<void> {
  known.value ??= (await import('./vocabulary.js')).vocabulary
}

function Page() {
  const { faults, decision } = evaluated.value
  // The decision may be that of an earlier input.
  const hasTest = decision !== undefined && !isBehind.value
  return (
    <>
      <button type="button" class="skip" onClick={() => document.getElementById('content')?.focus()}>
        Skip to the content
      </button>
      <header class="bar">
        <a class="brand" href={root}>
          Weir
        </a>
        <h1>Playground</h1>
        <span class="account">Nothing you type leaves this page.</span>
        <a href={root}>Console</a>
        <a href={`${root}docs`}>API</a>
      </header>
      <main id="content" class="alone split even" tabIndex={-1}>
        <section class="stack" aria-label="Policies" onFocusIn={() => void loadVocabulary()}>
          <Editor
            label="Policies and their tests, as YAML"
            mode="yaml"
            value={policies.value}
            isLoadedByFocus
            onChange={(text) => change({ policies: text })}
            vocabulary={known.value}
            faults={faultsOfYaml(faults)}
          />
          <div class="row">
            <button type="button" onClick={() => void copyLink()}>
              Copy link
            </button>
            <button
              type="button"
              disabled={!hasTest}
              onClick={() => void useTest((file) => copyText(file, 'a file for weir test'))}
            >
              Copy as weir test file
            </button>
            <button
              type="button"
              disabled={!hasTest}
              onClick={() => void useTest((file) => change({ policies: file }))}
            >
              Add as a test
            </button>
            <button type="button" onClick={() => change(beginning)}>
              Example
            </button>
          </div>
        </section>
        <div class="stack">
          <ConnectionForm />
          <Answer />
          <Tests />
        </div>
      </main>
      <Notices />
    </>
  )
}

// The policy of the page forbids code from texts, and reports each attempt.
withoutGeneratedCode()
render(<Page />, document.getElementById('app')!)
addEventListener('hashchange', () => void openLink())
followChanges()
void openLink().then(() => evaluate())
