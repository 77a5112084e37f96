/** Where one can go: what a search finds, or all parts of the document, with the operations of the one that is open. */
import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import type { Reference, Tag } from './document.js'
import { foundMax } from './search.js'
import { anchor, hrefOf, index } from './state.js'

interface MenuProps {
  readonly reference: Reference
  readonly onChoose: () => void
}

export function Menu({ reference, onChoose }: MenuProps) {
  const wanted = useSignal('')
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the links in it are what is pressed; a click only closes the menu
    <nav
      id="menu"
      class="menu reference-menu"
      aria-label="Parts of the API"
      onClick={({ target }) => {
        if (target instanceof Element && target.closest('a') !== null) onChoose()
      }}
    >
      <SearchField value={wanted.value} onInput={(text) => (wanted.value = text)} />
      {wanted.value.trim() === '' ? <Parts reference={reference} /> : <Results text={wanted.value} />}
    </nav>
  )
}

interface SearchFieldProps {
  readonly value: string
  readonly onInput: (text: string) => void
}

function SearchField({ value, onInput }: SearchFieldProps) {
  const field = useRef<HTMLInputElement>(null)
  useEffect(() => {
    const focus = (event: KeyboardEvent): void => {
      const isTyping = event.target instanceof Element && event.target.closest('input, textarea, select')
      if (event.key !== '/' || isTyping || event.ctrlKey || event.metaKey || event.altKey) return
      event.preventDefault()
      field.current?.focus()
    }
    addEventListener('keydown', focus)
    return () => removeEventListener('keydown', focus)
  }, [])
  return (
    <input
      ref={field}
      type="search"
      class="find"
      aria-label="Search paths, summaries and fields"
      placeholder="path, summary or field"
      title="Key /"
      value={value}
      onInput={({ currentTarget }) => onInput(currentTarget.value)}
    />
  )
}

function Results({ text }: { readonly text: string }) {
  const found = index.value?.find(text) ?? []
  return (
    <section aria-label="Found">
      <p class="quiet" role="status">
        {found.length === 0 ? 'Nothing has all of these words.' : countText(found.length)}
      </p>
      {found.map((each) => (
        <a key={each.anchor} href={hrefOf(each.anchor)} aria-current={isOpen(each.anchor)}>
          {each.method === '' ? <span class="method schema">schema</span> : <Method method={each.method} />}{' '}
          {each.title} {each.path !== '' && <code>{each.path}</code>}
        </a>
      ))}
    </section>
  )
}

const countText = (count: number): string => (count === foundMax ? `the first ${count}` : `${count} found`)

const isOpen = (place: string): 'page' | undefined => (anchor.value === place ? 'page' : undefined)

export const Method = ({ method }: { readonly method: string }) => (
  <span class={`method ${method.toLowerCase()}`}>{method}</span>
)

const Parts = ({ reference }: { readonly reference: Reference }) => (
  <>
    <a href={hrefOf('')} aria-current={isOpen('')}>
      Introduction
    </a>
    {reference.tags.map((tag) => (
      <Part key={tag.anchor} tag={tag} />
    ))}
    <a href={hrefOf('schemas')} aria-current={isOpen('schemas')}>
      Schemas
    </a>
  </>
)

function Part({ tag: { anchor: own, name, operations } }: { readonly tag: Tag }) {
  const isHere = anchor.value === own || anchor.value.startsWith(`${own}/`)
  return (
    <>
      <a href={hrefOf(own)} aria-current={isOpen(own)} class={isHere ? 'here' : ''}>
        {name}
      </a>
      {isHere && (
        <div class="menu-group">
          {operations.map(({ anchor: each, method, title, isEvent }) => (
            <a key={each} href={hrefOf(each)} aria-current={isOpen(each)}>
              {!isEvent && <Method method={method} />} {title}
            </a>
          ))}
        </div>
      )}
    </>
  )
}
