/** Copies texts. */
import { notify } from './notices.js'

/**
 * Copies a text and says so; `what`: what it is, without secrets. Browsers have a clipboard only at `https:` and on the same
 * machine.
 */
export async function copyText(text: string, what: string): Promise<void> {
  try {
    if (navigator.clipboard === undefined) copyBySelection(text)
    else await navigator.clipboard.writeText(text)
    notify({ kind: 'good', text: `Copied: ${what}` })
  } catch {
    notify({ kind: 'bad', text: 'The browser did not allow to copy. Select the text and copy it.' })
  }
}

function copyBySelection(text: string): void {
  const field = document.createElement('textarea')
  field.value = text
  // A dialog that is open lets nothing outside of it be selected.
  const place = document.querySelector('dialog[open]') ?? document.body
  place.append(field)
  field.select()
  const isCopied = document.execCommand('copy')
  field.remove()
  if (!isCopied) throw new Error('The browser refused')
}
