/** IP lists of an account that their sources do not feed any more: one finding for all of them. */
import { isoMillis } from '../../ground/core/clock.js'
import { operatorAction } from '../../words/event/operator-actions.js'
import type { FeedStatus } from '../../words/resource/fields/ip-list-source.js'
import { ipList } from '../../words/resource/ip-list.js'
import type { Row } from '../../words/resource/kind/define.js'
import type { Attention } from '../../words/shape/overview.js'
import type { ViewState } from '../../words/view/view-state.js'
import { rowsOf } from '../exchange/rows.js'
import { attention, counted, timeText } from './destination-attention.js'

/** How the fetches of a list went; null if it has no source. */
export interface ListStatuses {
  of(list: Row, nowMs: number): FeedStatus | null
}

interface FailingList {
  readonly row: Row
  readonly status: FeedStatus
}

const idsShown = 20
/** A button for each of many lists would say nothing. */
const actionsShown = 1

/** An account has so few lists that they are looked at without a pause. */
export function failingLists(
  state: ViewState,
  accountId: string,
  statuses: ListStatuses,
  nowMs: number,
): Attention[] {
  const failing = [...rowsOf(state, accountId, ipList.kind)].flatMap((row): FailingList[] => {
    const status = statuses.of(row, nowMs)
    return status?.state === 'failing' || status?.state === 'stale' ? [{ row, status }] : []
  })
  if (failing.length === 0) return []
  const stale = failing.filter(({ status }) => status.state === 'stale')
  // Those that got old are worse than one that failed just now.
  const shown = [...stale, ...failing.filter((each) => !stale.includes(each))]
  const since = sinceOf(shown)
  return [
    attention({
      type: 'lists_failing',
      severity: stale.length > 0 ? 'attention' : 'notice',
      sentence: `${sentenceOf(shown)}${since === null ? '' : ` since ${timeText(since)}`}${whyOf(shown[0]!)}`,
      count: failing.length,
      since,
      kind: ipList.kind,
      ids: shown.slice(0, idsShown).map(({ row }) => row.id),
      actions: shown.slice(0, actionsShown).map(({ row }) => operatorAction('refresh_list', row.id)),
    }),
  ]
}

function sentenceOf([first, ...others]: readonly FailingList[]): string {
  const name = `"${String(first?.row['name'])}"`
  return others.length === 0
    ? `The IP list ${name} can't be fetched from its source`
    : `${counted(others.length + 1, 'IP list')}, such as ${name}, can't be fetched from their sources`
}

const whyOf = ({ status: { error } }: FailingList): string => (error === null ? '.' : `: ${error.message}`)

/** When the first of them began to fail. */
function sinceOf(failing: readonly FailingList[]): string | null {
  const times = failing.flatMap(({ status }) => (status.error === null ? [] : Date.parse(status.error.since)))
  return times.length === 0 ? null : isoMillis(Math.min(...times))
}
