/**
 * Where the console is: the page, what it shows, and its filters, all in the URL, so that every view can be sent to a
 * colleague. The first page is at `/`, the others are at `/console/…`.
 */
import { computed, signal } from '@preact/signals'

/** The directory that Weir is served at, which a proxy may have moved: `/` or `/weir/`. */
export const root = new URL(document.documentElement.dataset['root'] ?? './', location.href).pathname

const current = signal(new URL(location.href))

addEventListener('popstate', () => {
  current.value = new URL(location.href)
})

/** The parts of the path below `/console/`, decoded; none on the first page. */
export const path = computed((): readonly string[] => {
  const { pathname } = current.value
  const below = pathname.startsWith(`${root}console`) ? pathname.slice(`${root}console`.length) : ''
  return below.split('/').filter(Boolean).map(decoded)
})

const query = computed((): URLSearchParams => current.value.searchParams)

/** A parameter of the URL, or an empty text. */
export const parameter = (name: string): string => query.value.get(name) ?? ''

/** Parameters of a URL; undefined and empty ones are left out. */
export type Parameters = Readonly<Record<string, string | number | undefined>>

/** The address of a view: `hrefTo(['live'], { filter: "decision != 'allow'" })`. */
export function hrefTo(parts: readonly string[], parameters: Parameters = {}): string {
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(parameters))
    if (value !== undefined && value !== '') search.set(name, String(value))
  const below = parts.length === 0 ? '' : `console/${parts.map(encodeURIComponent).join('/')}`
  return `${root}${below}${search.size === 0 ? '' : `?${search}`}`
}

/** Shows another view; `replace`: the browser's "back" skips the present one. */
export function go(href: string, { replace = false } = {}): void {
  const url = new URL(href, location.href)
  if (url.origin !== location.origin) return
  if (replace) history.replaceState(null, '', url)
  else history.pushState(null, '', url)
  current.value = url
}

/** Changes parameters of the present view; an empty value removes one. */
export function setParameters(changes: Parameters, { replace = true } = {}): void {
  const url = new URL(current.value)
  for (const [name, value] of Object.entries(changes)) {
    if (value === undefined || value === '') url.searchParams.delete(name)
    else url.searchParams.set(name, String(value))
  }
  go(url.href, { replace })
}

/**
 * Opens an entry over the list that has it: the browser's "back" closes it. Another entry takes the place of an open one.
 */
export const openEntry = (id: string): void =>
  setParameters({ open: id }, { replace: parameter('open') !== '' })

/** The code of a sign-in link. It is taken out of the address, which may be copied or stay in the history. */
export function takeSignInCode(): string | undefined {
  const code = /^#sign-in=([\w-]+)$/.exec(location.hash)?.[1]
  if (code !== undefined) go(location.pathname + location.search, { replace: true })
  return code
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}
