/** Texts that survive a reload of the tab, as far as the browser has room for them. */
import { notify } from '../notices.js'

/** Longer texts are not kept: the browser's storage is small. */
const storedCharsMax = 1_000_000

/** Keys whose loss was announced: once is enough while someone types. */
const announced = new Set<string>()

/** Keeps a text; an empty one is removed. One that there is no room for stays in the page alone, which is said once. */
export function keepText(key: string, text: string): void {
  if (text !== '' && text.length <= storedCharsMax && isStored(key, text)) {
    announced.delete(key)
    return
  }
  sessionStorage.removeItem(key)
  if (text === '' || announced.has(key)) return
  announced.add(key)
  notify({
    kind: 'bad',
    text: 'The browser has no room for this draft: it is lost if the page is loaded again before it is saved.',
  })
}

function isStored(key: string, text: string): boolean {
  try {
    sessionStorage.setItem(key, text)
    return true
  } catch (error) {
    // The tab's share is used up.
    if (error instanceof DOMException) return false
    throw error
  }
}
