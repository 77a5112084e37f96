/** The lists among the answers of ngrok's API: `GET /ip_policies` answers `{"ip_policies": […], "uri", "next_page_uri"}`. */
import { StartFault } from '../../../ground/core/errors.js'
import { isObject, type JsonObject } from '../../../ground/core/json-object.js'
import { getOrMake } from '../../../ground/core/maps.js'
import type { Document } from '../input/document.js'

/** Some entries of a list, and where they are. */
interface Page {
  /** The member of the answer, such as `ip_policies`. */
  readonly list: string
  readonly place: string
  readonly entries: readonly unknown[]
  readonly next: string | undefined
}

/** Members of an answer besides its list. */
const aboutPages = ['uri', 'next_page_uri']

/** How deep answers may lie in a file: `{"IP policies": [{…}]}`. */
const depthMax = 3

/** Throws if a page is missing. */
export function pagesOf(documents: readonly Document[]): Page[] {
  const pages = documents.flatMap(({ name, value }) => [...pagesIn(value, name, depthMax)])
  const byList = new Map<string, Page[]>()
  for (const page of pages) getOrMake(byList, page.list, (): Page[] => []).push(page)
  for (const [list, own] of byList) {
    const last = own.at(-1)!
    if (own.every(({ next }) => next !== undefined))
      throw new StartFault(
        `The list "${list}" goes on after ${last.place}: its "next_page_uri" names a page that is not in the input.`,
      )
  }
  return pages
}

function* pagesIn(value: unknown, place: string, depth: number): Generator<Page> {
  if (Array.isArray(value) && depth > 0) {
    for (const [index, each] of value.entries()) yield* pagesIn(each, `${place}[${index}]`, depth - 1)
    return
  }
  if (!isObject(value))
    throw new StartFault(`${place || 'The input'} is no answer of the API: an object is needed.`)
  for (const [member, own] of Object.entries(value)) {
    if (aboutPages.includes(member)) continue
    const path = place === '' || place.endsWith(' ') ? `${place}${member}` : `${place}.${member}`
    if (Array.isArray(own) && !own.some(isAnswer)) {
      yield { list: member, place: path, entries: own, next: nextOf(value) }
    } else if (depth > 0) yield* pagesIn(own, path, depth - 1)
    else throw new StartFault(`${path} is nested too deeply for an answer of the API.`)
  }
}

/** A resource has an id. */
const isAnswer = (value: unknown): boolean => isObject(value) && 'next_page_uri' in value && !('id' in value)

const nextOf = ({ next_page_uri }: JsonObject): string | undefined =>
  typeof next_page_uri === 'string' && next_page_uri !== '' ? next_page_uri : undefined
