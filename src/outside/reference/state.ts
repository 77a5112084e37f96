/** The state of the page: the document, once it is here, and the place in it that the URL names behind `#`. */
import { computed, signal } from '@preact/signals'
import { messageOf } from '../../ground/core/errors.js'
import { type OpenapiDocument, Reference } from './document.js'
import { SearchIndex } from './search.js'

/** The directory that Weir is served at, which a proxy may have moved. */
export const root = new URL(document.documentElement.dataset['root'] ?? './', location.href).href

export const reference = signal<Reference | undefined>(undefined)
/** Why it is not here. */
export const loadFault = signal('')

export const index = computed(() => reference.value && new SearchIndex(reference.value))

/** Such as `tag/ip-policies/GET/ip_policies`; empty: the introduction. */
export const anchor = signal(anchorNow())

/** Kept while the page is open, and nowhere else. */
export const token = signal('')

addEventListener('hashchange', () => {
  anchor.value = anchorNow()
})

function anchorNow(): string {
  const text = location.hash.slice(1)
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** The link to a place. Braces of paths are allowed behind `#`. */
export const hrefOf = (place: string): string => `#${place}`

export async function load(): Promise<void> {
  loadFault.value = ''
  try {
    const response = await fetch(`${root}openapi.json`)
    if (!response.ok) throw new Error(`The API's document was answered with status ${response.status}`)
    reference.value = new Reference((await response.json()) as OpenapiDocument)
  } catch (error) {
    loadFault.value = `${messageOf(error)}.`
  }
}
