/**
 * Start here: the console, a web page that shows what Weir sees. It uses the typed client of the API, and nothing that
 * others can't use. `data/` asks the API and knows where the console is; `kit/` knows nothing of Weir: buttons, fields,
 * tables; `parts/` are shown on several pages; `pages/` has a file for each page, and `pages.ts` lists them.
 */
import { computed, signal } from '@preact/signals'
import { type ComponentType, render } from 'preact'
import { useEffect } from 'preact/hooks'
import { session } from './data/access/session.js'
import { errorText } from './data/asking/api.js'
import { useQuestion, useShown } from './data/asking/questions.js'
import { findSession, signIn } from './data/asking/sign-in.js'
import { path, takeSignInCode } from './data/location.js'
import { pages } from './pages.js'
import { Shell } from './parts/frame/shell.js'
import { SignIn } from './parts/frame/sign-in.js'
import type { PageProps } from './parts/page.js'
import { Empty, Failure, Waits } from './parts/states.js'

const startFault = signal<unknown>(undefined)
const loaded = signal<ReadonlyMap<string, ComponentType<PageProps>>>(new Map())
const loadFault = signal<unknown>(undefined)

/** Who is here? A link that signs in comes first. */
async function start(): Promise<void> {
  const code = takeSignInCode()
  startFault.value = undefined
  try {
    if (code === undefined) await findSession()
    else await signIn({ code })
  } catch (error) {
    startFault.value = error
    if (code === undefined) return
    // The key may be used in place of the link.
    await findSession().catch(() => {})
    session.value ??= null
  }
}

async function loadPage(name: string): Promise<void> {
  const page = pages.find(({ path }) => path === name)
  if (page === undefined || loaded.value.has(name)) return
  try {
    const component = await page.load()
    loaded.value = new Map([...loaded.value, [name, component]])
    loadFault.value = undefined
  } catch (error) {
    loadFault.value = error
  }
}

/** The code of the page, as the frame sees it. */
const pageCode = {
  isWaiting: computed(() => {
    const [name = ''] = path.value
    return loadFault.value === undefined && !loaded.value.has(name) && pages.some(({ path }) => path === name)
  }),
  error: loadFault,
  again: () => location.reload(),
}

function Page() {
  useQuestion(pageCode)
  useShown({ question: pageCode })
  const [name = '', ...rest] = path.value
  const page = pages.find(({ path }) => path === name)
  useEffect(() => {
    document.title = `${page?.title ?? 'Nothing here'} · Weir`
    void loadPage(name)
  }, [name, page])
  if (page === undefined) return <Empty>There is no page “{name}”. The menu lists all pages.</Empty>
  if (loadFault.value !== undefined) return <Failure error={loadFault.value} again={pageCode.again} />
  const Component = loaded.value.get(name)
  return Component === undefined ? <Waits /> : <Component rest={rest} />
}

function App() {
  if (startFault.value !== undefined && session.value === undefined)
    return (
      <main class="alone">
        <Failure error={startFault.value} again={() => void start()} />
      </main>
    )
  if (session.value === undefined)
    return (
      <main class="alone" aria-busy="true">
        <p class="page-waits" role="status">
          <span>Loading…</span>
        </p>
      </main>
    )
  if (session.value === null)
    return <SignIn fault={startFault.value === undefined ? '' : errorText(startFault.value)} />
  return (
    <Shell pages={pages}>
      <Page />
    </Shell>
  )
}

render(<App />, document.getElementById('app')!)
void start()
