/** How a page is looked at: in both themes and both widths, by axe-core, and whether it is wider than the screen. */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { BrowserContext } from 'playwright-core'
import type { Visitor } from './visitor.js'

const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
/** Not run before a page is looked at: that takes longer than most pages. */
const axeOnDemand = `window.loadAxe = () => {${axeSource}\n}`

/** Those whose documents all have it: half a megabyte that is sent anew for each takes the browser longer than axe. */
const provided = new WeakSet<BrowserContext>()

interface Violation {
  readonly id: string
  readonly impact: string
  readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[]
}

export const looks = [
  { width: 1280, theme: 'light', rules: 'all' },
  { width: 1280, theme: 'dark', rules: 'color-contrast' },
  { width: 390, theme: 'dark', rules: 'all' },
  { width: 390, theme: 'light', rules: 'color-contrast' },
] as const

export type Look = (typeof looks)[number]

/** For what differs from other pages by little: both widths and both themes, but not each with each. */
export const wholeLooks = looks.filter(({ rules }) => rules === 'all')

/**
 * Evaluated by the debugger, which the page's policy does not concern. `all`: those whose violations are serious; the others
 * would take a quarter of the time, as would looking for sounds and style sheets to load.
 */
const runAxe = (rules: string): string => `(async () => {
  const isSerious = ({ impact, enabled, tags }) =>
    enabled !== false && !tags.includes('experimental') && ['serious', 'critical'].includes(impact)
  const values = '${rules}' === 'all' ? axe._audit.rules.filter(isSerious).map(({ id }) => id) : ['${rules}']
  if (values.length === 0) throw new Error('axe-core has no such rules.')
  const runOnly = { type: 'rule', values }
  return (await axe.run(document, { resultTypes: ['violations'], preload: false, runOnly })).violations
})()`

async function loadAxe({ page, context }: Visitor): Promise<void> {
  if (!provided.has(context)) {
    provided.add(context)
    await context.addInitScript(axeOnDemand)
    await page.evaluate(axeOnDemand)
  }
  await page.evaluate('window.axe === undefined && loadAxe()')
}

/** Serious violations, each once with its first place. */
export async function violationsOf(visitor: Visitor, rules: string): Promise<string[]> {
  const { page } = visitor
  await loadAxe(visitor)
  const violations: Violation[] = await page.evaluate(runAxe(rules))
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes: [first] }) => `${id}: ${first?.html} ${first?.failureSummary}`)
}

/** Tables of which a part is beyond the edge of a narrow screen, by their labels; a frame is left to draw them for it. */
export async function cutTablesOf({ page }: Visitor): Promise<string[]> {
  await page.setViewportSize({ width: 390, height: 800 })
  return page.evaluate(`new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve))).then(() =>
    [...document.querySelectorAll('table')]
      .filter((table) => table.getBoundingClientRect().right > document.documentElement.clientWidth ||
        [...table.querySelectorAll('td.main')].some((cell) => cell.clientWidth < 100))
      .map((table) => table.getAttribute('aria-label')))`)
}

/** The whole page is no wider than the screen. */
export const overflowOf = ({ page }: Visitor): Promise<number> =>
  page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth')
