/** Which states are well and which are not. */
import type { DeliveryStatus } from '../../shape/delivery-status.js'
import type { Tone } from '../parts/words.js'

const tones: Readonly<Record<DeliveryStatus['state'], Tone>> = {
  healthy: 'good',
  throttled: 'warning',
  failing: 'bad',
  paused: 'bad',
}

/** Of a destination: one that is behind is not well, whatever its state. */
export const toneOf = ({ state, behind }: Pick<DeliveryStatus, 'state' | 'behind'>): Tone =>
  state === 'healthy' && behind !== null ? 'warning' : tones[state]
