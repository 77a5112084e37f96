/** The frame of every page: where one can go, who is signed in, what is switched on, what became of the last action. */
import { type Signal, signal, useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { session, toggleEditing } from '../data/access/session.js'
import { signOut } from '../data/access/sign-in.js'
import { warnings } from '../data/asking/api.js'
import { isPageWaiting } from '../data/asking/questions.js'
import { go, hrefTo, path } from '../data/location.js'
import { type PageEntry, pageGroups, pages } from '../pages.js'
import { Drawer } from './drawer.js'
import { EditSwitch } from './edit-switch.js'
import { setJumps, useKeys } from './keyboard.js'
import { Link } from './link.js'
import { MenuButton } from './menu-button.js'
import { Notices } from './notices.js'
import { PageState } from './states.js'

const isHelpOpen = signal(false)

setJumps(Object.fromEntries(pages.map(({ path, key }) => [key, () => go(hrefTo(path === '' ? [] : [path]))])))

const focusSearch = (): void => {
  const field = document.querySelector<HTMLElement>('[data-search]')
  if (field === null) go(hrefTo(['search']))
  else field.focus()
}

export function Shell({ children }: { readonly children: ComponentChildren }) {
  const isMenuOpen = useSignal(false)
  useKeys({
    '/': focusSearch,
    e: toggleEditing,
    '?': () => {
      isHelpOpen.value = !isHelpOpen.value
    },
  })
  return (
    <div class={`shell ${isMenuOpen.value ? 'menu-open' : ''}`}>
      <a class="skip" href="#content">
        Skip to the content
      </a>
      <Bar isMenuOpen={isMenuOpen} />
      <Menu isOpen={isMenuOpen} />
      <main id="content" tabIndex={-1} aria-busy={isPageWaiting.value}>
        <PageState />
        {warnings.value.map((warning) => (
          <p key={warning} class="warning-line" role="status">
            {warning}{' '}
            <button
              type="button"
              onClick={() => {
                warnings.value = warnings.value.filter((each) => each !== warning)
              }}
            >
              Close
            </button>
          </p>
        ))}
        {children}
      </main>
      <Notices />
      {isHelpOpen.value && <Help />}
    </div>
  )
}

const Bar = ({ isMenuOpen }: { readonly isMenuOpen: Signal<boolean> }) => (
  <header class="bar">
    <MenuButton isMenuOpen={isMenuOpen} />
    <Link to={[]} class="brand">
      Weir
    </Link>
    <span class="account">{session.value?.account_name || session.value?.account_id}</span>
    <EditSwitch />
    <button
      type="button"
      onClick={() => {
        isHelpOpen.value = true
      }}
      title="Keys (?)"
    >
      ?
    </button>
    <button type="button" onClick={() => void signOut()} title={`Signed in by ${session.value?.api_key_id}`}>
      Sign out
    </button>
  </header>
)

const Menu = ({ isOpen }: { readonly isOpen: Signal<boolean> }) => (
  // biome-ignore lint/a11y/useKeyWithClickEvents: the links in it are what is pressed; a click only closes the menu
  <nav
    id="menu"
    class="menu"
    aria-label="Pages"
    onClick={() => {
      isOpen.value = false
    }}
  >
    {pageGroups.map((group) => (
      <div key={group} class="menu-group">
        <h2>{group}</h2>
        {pages.filter((page) => page.group === group).map(menuEntry)}
      </div>
    ))}
  </nav>
)

const menuEntry = ({ path: own, title, key }: PageEntry) => (
  <Link key={own} to={own === '' ? [] : [own]} isCurrent={(path.value[0] ?? '') === own} title={`g ${key}`}>
    {title}
  </Link>
)

const keysOfAll = [
  ['/', 'search'],
  ['j, k', 'next and previous row'],
  ['Enter', 'open the row'],
  ['Escape', 'close what is open'],
  ['e', 'switch changes on and off'],
  ['?', 'this list'],
] as const

const Help = () => (
  <Drawer
    title="Keys"
    onClose={() => {
      isHelpOpen.value = false
    }}
  >
    <dl class="facts">
      {[...keysOfAll, ...pages.map(({ key, title }) => [`g ${key}`, title] as const)].map(([key, text]) => (
        <>
          <dt key={key}>
            <kbd>{key}</kbd>
          </dt>
          <dd>{text}</dd>
        </>
      ))}
    </dl>
  </Drawer>
)
