/** Paths of the console: the pages of the menu, and what can be opened on them. */
import type { Furnished } from './furnished.js'
import type { Visitor } from './visitor.js'

/** The paths that the menu leads to. */
export async function menuOf(visitor: Visitor): Promise<string[]> {
  await visitor.see('')
  const hrefs: string[] = await visitor.page.evaluate(
    `[...document.querySelectorAll('nav a')].map((each) => each.getAttribute('href'))`,
  )
  return hrefs.map((href) => href.replace(/^\//, ''))
}

/** The views that can be opened, as long as their pages are in the menu. */
export function openedIn(all: Furnished, menu: readonly string[]): string[] {
  const views = [
    `console/changes?id=${all.policyId}`,
    `console/changes?id=${all.edgeId}`,
    `console/keys/${all.keyId}`,
    'console/keys?tab=tunnel',
    `console/certificates/${all.certificateId}`,
    'console/certificates?tab=ssh_user_certificate',
    'console/domains?tab=addresses',
    'console/tests?tab=coverage',
    'console/tests/new',
    'console/edges/new',
    'console/edges/new?form=https',
    'console/edges/new?form=tcp',
    `console/edges/new?id=${all.httpsEdgeId}`,
    `console/edges/new?id=${all.httpsEdgeId}&proxy=nginx`,
    `console/edges/new?id=${all.edgeId}&proxy=http`,
    `console/edges/${all.edgeId}`,
    `console/edges/${all.httpsEdgeId}`,
    `console/edges/${all.edgeId}/policies`,
    `console/edges/${all.edgeId}/policies?view=json`,
    `console/ip-policies/${all.policyId}`,
    'console/ip-policies?covers=192.0.2.1',
    `console/ip-lists/${all.listId}`,
    `console/ip-lists/${all.listId}/entries`,
    'console/ip-lists/new',
    'console/ip-lists/new?from=hand',
    'console/ip-lists/new?from=url',
    'console/ip-lists/new?from=url&step=name',
    `console/ip-lists/new?id=${all.listId}`,
    `console/bouncers/${all.bouncerId}`,
    `console/challengers/${all.challengerId}`,
    `console/destinations/${all.destinationId}`,
    `console/destinations/${all.destinationId}?tab=attempts`,
    `console/destinations/${all.destinationId}?tab=target`,
    `console/destinations/${all.destinationId}?tab=replays&open=replay`,
    `console/destinations/${all.destinationId}?open=edit`,
    'console/destinations/new',
    'console/destinations/new?form=http',
    'console/destinations/new?form=kinesis',
    `console/destinations/new?id=${all.destinationId}`,
    `console/destinations/new?id=${all.destinationId}&subscription=${all.subscriptionId}`,
    `console/subscriptions/${all.subscriptionId}`,
    `console/subscriptions/${all.subscriptionId}/edit`,
    'console/dead-letters?type=record',
    'console/search?by=server_name',
    'console/search?by=policy',
    `console/explain?about=question&client=203.0.113.97&endpoint=${all.hostport}`,
    `console/explain/${all.recordId}`,
  ]
  return views.filter((view) => menu.includes(view.split(/[/?]/, 2).join('/')))
}
