/** The frame of every page: where one can go, who is signed in, what is switched on, what became of the last action. */
import { type Signal, signal, useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect } from 'preact/hooks'
import { isEditing, may, session, toggleEditing } from '../../data/access/session.js'
import { warnings } from '../../data/asking/api.js'
import { isPageWaiting } from '../../data/asking/questions.js'
import { signOut } from '../../data/asking/sign-in.js'
import { drawings } from '../../data/drawings.js'
import { go, hrefTo, path } from '../../data/location.js'
import { Drawer, DrawerControls } from '../../kit/drawer.js'
import { setJumps, useKeys } from '../../kit/keyboard.js'
import { Link } from '../../kit/link.js'
import { Mark } from '../../kit/mark.js'
import { MenuButton } from '../../kit/menu-button.js'
import { Notices } from '../../kit/notices.js'
import { Sentence } from '../../kit/sentence.js'
import { type PageEntry, pageGroups } from '../page.js'
import { PageState } from '../states.js'
import { Logo } from './logo.js'

const isHelpOpen = signal(false)

const focusSearch = (): void => {
  const field = document.querySelector<HTMLElement>('[data-search]')
  if (field === null) go(hrefTo(['search']))
  else field.focus()
}

interface PagesProps {
  readonly pages: readonly PageEntry[]
}

interface ShellProps extends PagesProps {
  readonly children: ComponentChildren
}

export function Shell({ pages, children }: ShellProps) {
  useEffect(() => {
    const jump = ({ path, key }: PageEntry) => [key, () => go(hrefTo(path === '' ? [] : [path]))] as const
    setJumps(Object.fromEntries(pages.map(jump)))
  }, [pages])
  const isMenuOpen = useSignal(false)
  useKeys({
    '/': focusSearch,
    e: toggleEditing,
    '?': () => {
      isHelpOpen.value = !isHelpOpen.value
    },
  })
  return (
    <DrawerControls.Provider value={DrawerSwitch}>
      <div class={`shell ${isMenuOpen.value ? 'menu-open' : ''}`}>
        <a class="skip" href="#content">
          Skip to the content
        </a>
        <Bar isMenuOpen={isMenuOpen} />
        <Menu pages={pages} isOpen={isMenuOpen} />
        <main id="content" tabIndex={-1} aria-busy={isPageWaiting.value}>
          <PageState />
          {warnings.value.map((warning) => (
            <p key={warning} class="warning-line" role="status">
              <Sentence text={warning} />{' '}
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
        {isHelpOpen.value && <Help pages={pages} />}
      </div>
    </DrawerControls.Provider>
  )
}

/** Switches changes on and off, for those who may make them. */
function EditSwitch() {
  if (!may('write')) return <span class="quiet">read-only key</span>
  return (
    <button
      type="button"
      class="edit-switch"
      aria-pressed={isEditing.value}
      onClick={toggleEditing}
      title="Changes (key e)"
    >
      {isEditing.value ? 'Editing' : 'Read-only'}
    </button>
  )
}

const DrawerSwitch = () => (may('write') ? <EditSwitch /> : null)

const Bar = ({ isMenuOpen }: { readonly isMenuOpen: Signal<boolean> }) => (
  <header class="bar">
    <MenuButton isMenuOpen={isMenuOpen} />
    <Link to={[]} class="brand">
      <Logo />
      <span class="brand-name">Weir</span>
    </Link>
    <span class="account">{session.value?.account_name || session.value?.account_id}</span>
    <EditSwitch />
    <button
      type="button"
      onClick={() => {
        isHelpOpen.value = true
      }}
      class="of-keyboard"
      title="Keys (?)"
    >
      ?
    </button>
    <button type="button" onClick={() => void signOut()} title={`Signed in by ${session.value?.api_key_id}`}>
      Sign out
    </button>
  </header>
)

interface MenuProps extends PagesProps {
  readonly isOpen: Signal<boolean>
}

const Menu = ({ pages, isOpen }: MenuProps) => (
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
    <Mark path={drawings[own] ?? ''} />
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

const Help = ({ pages }: PagesProps) => (
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
