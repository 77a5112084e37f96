import type { Sender } from '../kind/sender.js'

/** Tells whether a fault belongs to a lane's current credentials, and whether fetching them again may help. */
export class CredentialsAge {
  /** How often they were replaced. Distinguishes faults of older credentials from those of the current ones. */
  #fetched = 0
  /** Fetched again, and nothing was accepted with them yet. */
  isUnproven = false

  get value(): number {
    return this.#fetched
  }

  fetchAgain(sender: Pick<Sender, 'dropCredentials'>): void {
    sender.dropCredentials()
    this.#fetched += 1
    this.isUnproven = true
  }

  /** Another target has its own credentials. */
  replace(): void {
    this.#fetched += 1
    this.isUnproven = false
  }

  prove(): void {
    this.isUnproven = false
  }
}
