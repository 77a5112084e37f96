/**
 * `npm run screenshots`: pictures of every page, wide and narrow, light and dark, with an empty account, a full one and
 * answers that fail, next to those that were accepted last. A difference is a failed test, and shown in
 * `dist/screenshots/index.html`.
 *
 *     npm run screenshots                      # compare
 *     npm run screenshots -- --accept          # these are right
 *     npm run screenshots -- --only=live       # pictures with this in their name
 *
 * Accepted pictures are kept in `~/.cache/weir/screenshots`, outside of the repository's history.
 */
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { argv } from 'node:process'
import { pathToFileURL } from 'node:url'
import type { Route } from 'playwright-core'
import t from 'tap'
import { noChromium } from '../harness/browser.js'
import { compiled } from '../harness/processes.js'
import { furnishedAccount } from '../outside/console/furnished.js'
import { newAccount, openVisitor, type Visitor } from '../outside/console/visitor.js'
import { differenceOf } from './comparison.js'
import { consolePages, openPages, type ShownPage } from './shown-pages.js'
import { makeSteady } from './steady.js'

const isAccepted = argv.includes('--accept')
const only = argv.find((each) => each.startsWith('--only='))?.slice('--only='.length) ?? ''

const accepted = join(homedir(), '.cache', 'weir', 'screenshots')
const results = compiled('screenshots')

const widths = [1440, 390] as const
const themes = ['light', 'dark'] as const

interface Taken {
  readonly name: string
  /** Undefined: none was accepted. */
  readonly pixels: number | undefined
}

/** Everything but the session: who has signed in is known. */
async function refuse(route: Route): Promise<void> {
  const request = route.request()
  if (request.resourceType() !== 'fetch' || request.url().endsWith('/console/session')) await route.continue()
  else
    await route.fulfill({
      status: 500,
      json: {
        error_code: 'ERR_INTERNAL',
        status_code: 500,
        msg: 'Internal error. Search the log for the operation id.',
        details: { operation_id: 'op_0' },
      },
    })
}

async function take(visitor: Visitor, { name, path }: ShownPage, state: string): Promise<string[]> {
  const names: string[] = []
  for (const width of widths) {
    const wanted = themes.map((theme) => ({ theme, file: `${name}-${state}-${width}-${theme}` }))
    if (!wanted.some(({ file }) => file.includes(only))) continue
    await visitor.look({ width })
    // A page that is the same but for what stands behind the `#` is not loaded again.
    await visitor.page.goto('about:blank')
    await visitor.see(path)
    await visitor.page.evaluate(makeSteady)
    for (const { theme, file } of wanted) {
      await visitor.look({ theme })
      writeFileSync(join(results, 'now', `${file}.png`), await visitor.page.screenshot({ fullPage: true }))
      names.push(file)
    }
  }
  return names
}

async function compared(visitor: Visitor, name: string): Promise<Taken> {
  const before = join(accepted, `${name}.png`)
  const after = join(results, 'now', `${name}.png`)
  if (!existsSync(before)) return { name, pixels: undefined }
  copyFileSync(before, join(results, 'accepted', `${name}.png`))
  const found = await differenceOf(visitor.page, readFileSync(before), readFileSync(after))
  if (found !== undefined) writeFileSync(join(results, 'difference', `${name}.png`), found.picture)
  return { name, pixels: found?.pixels ?? 0 }
}

const picture = (kind: string, name: string): string =>
  `<figure><figcaption>${kind}</figcaption><a href="${kind}/${name}.png"><img loading="lazy" src="${kind}/${name}.png" alt="${name}, ${kind}"></a></figure>`

/** The pictures that differ come first. */
function report(taken: readonly Taken[]): string {
  const sections = taken
    .toSorted((one, other) => Number(other.pixels !== 0) - Number(one.pixels !== 0))
    .map(({ name, pixels }) => {
      const kinds =
        pixels === undefined ? ['now'] : pixels === 0 ? ['now'] : ['accepted', 'now', 'difference']
      const about = pixels === undefined ? 'new' : pixels === 0 ? 'as accepted' : `${pixels} pixels differ`
      return `<h2>${name}: ${about}</h2><div>${kinds.map((kind) => picture(kind, name)).join('')}</div>`
    })
  return `<!doctype html><html lang="en"><meta charset="utf-8"><title>Screenshots</title>
<style>body { font: 14px system-ui } div { display: flex; gap: 8px; align-items: start } figure { margin: 0; flex: 1 } img { max-width: 100%; border: 1px solid #999 }</style>
<h1>Screenshots</h1>${sections.join('\n')}</html>
`
}

t.test('screenshots', { skip: noChromium }, async (t) => {
  rmSync(results, { recursive: true, force: true })
  for (const kind of ['now', 'accepted', 'difference']) mkdirSync(join(results, kind), { recursive: true })
  mkdirSync(accepted, { recursive: true })
  const full = await furnishedAccount()
  const empty = await newAccount('empty')
  const names: string[] = []
  const stranger = await openVisitor(t, { expected: /^401 / })
  for (const each of openPages) names.push(...(await take(stranger, each, 'open')))
  const states = [
    ['empty', empty.token],
    ['full', full.token],
    ['failing', full.token],
  ] as const
  for (const [state, token] of states) {
    const visitor = await openVisitor(t, { expected: /^500 / })
    await visitor.signIn(token)
    if (state === 'failing') await visitor.page.route('**/*', refuse)
    for (const each of consolePages) names.push(...(await take(visitor, each, state)))
  }
  await stranger.page.goto('about:blank')
  const taken: Taken[] = []
  for (const name of names) taken.push(await compared(stranger, name))
  writeFileSync(join(results, 'index.html'), report(taken))
  t.comment(`look at ${pathToFileURL(join(results, 'index.html')).href}`)
  for (const { name, pixels } of taken) {
    if (isAccepted) copyFileSync(join(results, 'now', `${name}.png`), join(accepted, `${name}.png`))
    else t.equal(pixels, 0, pixels === undefined ? `${name} is new` : `${name} is as accepted`)
  }
  if (isAccepted) t.pass(`${taken.length} pictures are accepted`)
})
