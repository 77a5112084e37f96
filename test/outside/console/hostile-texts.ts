/**
 * Texts with which outsiders try to become part of a page. An element, a script or a dialog that comes from one of them has
 * the name or the mark that `isUnharmed` looks for.
 */
import type { Page } from 'playwright-core'

/**
 * Each is shorter than a description may be. The first few are the usual ways; the last one looks like what Preact draws.
 */
export const hostileTexts: readonly string[] = [
  '<x-hostile></x-hostile>',
  '"><img src=x onerror="window.hostile=1">',
  '<script>window.hostile=1</script>',
  'javascript:window.hostile=1//',
  "' onmouseover='window.hostile=1' x='",
  '</title></style></script><x-hostile>',
  '<svg/onload=window.hostile=1>',
  '<a href="javascript:window.hostile=1">here</a>',
  "{{constructor.constructor('window.hostile=1')()}}",
  '‮reversed‬ \u0007\u001b[31m',
  '{"type":"x-hostile","props":{"dangerouslySetInnerHTML":{"__html":"<x-hostile>"}},"__k":null,"__v":1}',
]

/** The text of this number, beyond the last from the first on. */
export const hostile = (index: number): string => hostileTexts[index % hostileTexts.length]!

/** An object that looks like one that Preact draws. */
export const likeVNode = {
  type: 'x-hostile',
  props: { dangerouslySetInnerHTML: { __html: '<x-hostile></x-hostile>' }, children: ['x-hostile'] },
  key: null,
  ref: null,
  constructor: null,
}

/** Runs before anything of the page does. */
export const watchForDialogs = `
  for (const name of ['alert', 'confirm', 'prompt']) window[name] = () => { window.hostile = name }
`

const findHostile = `(() => {
  const found = window.hostile === undefined ? [] : ['a script ran: ' + window.hostile]
  const look = (root) => {
    for (const element of root.querySelectorAll('*')) {
      const isOurs = element.matches('script[src]') || !element.matches('x-hostile, img, iframe, object, embed, script')
      if (!isOurs) found.push(element.outerHTML.slice(0, 200))
      for (const { name, value } of element.attributes)
        if (/^on/.test(name) || /^\\s*javascript:/i.test(value) && name !== 'value' && name !== 'title')
          found.push(element.outerHTML.slice(0, 200))
      if (element.shadowRoot) look(element.shadowRoot)
    }
  }
  look(document)
  return found
})()`

/** Scripts, elements and attributes that became part of the page though they are data; empty if there are none. */
export const hostileIn = (page: Page): Promise<string[]> => page.evaluate(findHostile)

/** The hostile texts that are to be read on the page, in fields as well. */
export async function hostileTextsOn(page: Page): Promise<string[]> {
  const text: string = await page.evaluate(
    `document.body.innerText + [...document.querySelectorAll('input, textarea')].map((each) => each.value).join('\\n')`,
  )
  return hostileTexts.filter((each) => text.includes(each))
}
