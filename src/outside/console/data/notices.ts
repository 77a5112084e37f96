/** Notices that say how the last actions ended: shown for some seconds, and read aloud. */
import { signal } from '@preact/signals'
import { after, now } from './clock.js'
import { withLocalTimes } from './texts/format.js'

interface Notice {
  readonly text: string
  readonly kind: 'good' | 'bad'
  readonly details?: readonly string[]
}

export const notices = signal<readonly Notice[]>([])

const goodNoticeMs = 6_000
const noticesMax = 4

/** Shows a notice, with times of the server as local ones. One that says what went wrong stays until it is closed. */
export function notify({ text, kind, details = [] }: Notice): void {
  const local = (sentence: string): string => withLocalTimes(sentence, now())
  const notice: Notice = { text: local(text), kind, details: details.map(local) }
  notices.value = [...notices.value, notice].slice(-noticesMax)
  if (notice.kind === 'good') after(goodNoticeMs, () => close(notice))
}

export function close(notice: Notice): void {
  notices.value = notices.value.filter((each) => each !== notice)
}
