/** A sentence of the server, with its times as local ones. */
import { now } from '../data/clock.js'
import { withLocalTimes } from '../data/texts/format.js'

export const Sentence = ({ text }: { readonly text: string }) => <>{withLocalTimes(text, now())}</>
