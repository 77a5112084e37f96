/** The fields of an IP list as texts, as a person types them, and what the API gets of these. */

import { durationMs, durationText } from '../../../../ground/core/text/units.js'
import type { NewResource, Resource } from '../../../../words/client/kinds.js'
import type { ListPreviewRequest } from '../../../../words/shape/ip-lists/ip-list-preview.js'
import { linesOfPairs, pairsInLines } from '../../data/texts/pairs.js'
import { sourceOf } from './list-source.js'

type Field = 'name' | 'category' | 'description' | SourceField

/** `origin` is where its entries come from: `hand`, `url` or `file`. */
type SourceField =
  | ('origin' | 'address' | 'format' | 'refresh')
  | ('shrinkGuard' | 'growGuard' | 'headers' | 'secretHeaders')

export type Texts = Readonly<Record<Field, string>>

/** Undefined: a new one. */
export function textsOf(list?: Resource<'ipList'>): Texts {
  const source = list === undefined ? null : sourceOf(list)
  return {
    name: list?.name ?? '',
    category: list?.category ?? '',
    description: list?.description ?? '',
    origin: source === null ? 'hand' : source.url === null ? 'file' : 'url',
    address: source?.url ?? source?.file ?? '',
    format: source?.format ?? 'lines',
    refresh: source === null ? '1h' : durationText(source.refresh_seconds * 1000),
    shrinkGuard: percentOf(source?.shrink_guard ?? 0.5),
    growGuard: String(source?.grow_guard ?? 10),
    headers: linesOfPairs(source?.headers ?? {}),
    secretHeaders: linesOfPairs(source?.secret_headers ?? {}),
  }
}

/** A text that a field shows and changes. */
export interface TextValue {
  value: string
}

export type Values = Readonly<Record<Field, TextValue>>

/** The texts one by one. */
export const valuesOf = <Names extends string>(
  read: () => Readonly<Record<Names, string>>,
  write: (texts: Readonly<Record<Names, string>>) => void,
): Readonly<Record<Names, TextValue>> =>
  Object.fromEntries(
    Object.keys(read()).map((name) => [
      name,
      {
        get value() {
          return read()[name as Names]
        },
        set value(text) {
          write({ ...read(), [name]: text })
        },
      },
    ]),
  ) as Record<Names, TextValue>

/** As the API takes it. */
export function bodyOf({ name, category, description, ...values }: Values) {
  return {
    name: name.value.trim(),
    description: description.value,
    ...(category.value.trim() !== '' && { category: category.value.trim() }),
    ...(values.origin.value !== 'hand' && { source: sourceBody(values) }),
  }
}

const percentOf = (share: number): string => `${Number((share * 100).toFixed(6))} %`

/** Undefined if the text is no percentage. */
export function shareIn(text: string): number | undefined {
  const [, percent] = /^\s*(\d{1,3}(?:\.\d{1,6})?)\s*%?\s*$/.exec(text) ?? []
  const share = Number(percent) / 100
  return share <= 1 ? share : undefined
}

/** Undefined if the text is no number of times; 0 switches the guard off. */
export function timesIn(text: string): number | undefined {
  const times = /^\s*\d{1,9}(?:\.\d{1,6})?\s*$/.test(text) ? Number(text) : Number.NaN
  return times === 0 || times >= 1 ? times : undefined
}

const pairsOrNull = (lines: string) => (lines.trim() === '' ? null : pairsInLines(lines))

/** The source that is looked at before the list is created. */
export const previewBody = ({ origin, address, format, headers, secretHeaders }: Values) =>
  ({
    [origin.value]: address.value.trim(),
    ...(format.value !== '' && { format: format.value }),
    ...(origin.value === 'url' && {
      headers: pairsOrNull(headers.value),
      secret_headers: pairsOrNull(secretHeaders.value),
    }),
  }) as ListPreviewRequest['source']

/** The API keeps secrets that are sent back as it shows them. */
function sourceBody({
  origin,
  address,
  format,
  refresh,
  shrinkGuard,
  growGuard,
  headers,
  secretHeaders,
}: Pick<Values, SourceField>): NonNullable<NewResource<'ipList'>['source']> {
  const source = {
    [origin.value]: address.value.trim(),
    format: format.value || 'lines',
    refresh_seconds: Math.round((durationMs(refresh.value.trim()) ?? 0) / 1000),
    shrink_guard: shareIn(shrinkGuard.value),
    grow_guard: timesIn(growGuard.value),
    ...(origin.value === 'url' && {
      headers: pairsOrNull(headers.value),
      secret_headers: pairsOrNull(secretHeaders.value),
    }),
  }
  return source as NonNullable<NewResource<'ipList'>['source']>
}

export const isComplete = ({ name, origin, ...source }: Values): boolean =>
  name.value.trim() !== '' &&
  (origin.value === 'hand' ||
    (source.address.value.trim() !== '' &&
      durationMs(source.refresh.value.trim()) !== undefined &&
      shareIn(source.shrinkGuard.value) !== undefined &&
      timesIn(source.growGuard.value) !== undefined))
