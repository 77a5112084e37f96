/** How fresh a lane's credentials are: whether a fault may be theirs, and whether fetching them again may help. */
export class CredentialsAge {
  /** How often they were fetched again, so that a fault of older ones is not taken for one of these. */
  #fetched = 0
  /** Fetched again, and nothing was accepted since. */
  isUnproven = false

  get value(): number {
    return this.#fetched
  }

  fetchAgain(): void {
    this.#fetched += 1
    this.isUnproven = true
  }

  /** Another target comes with its own. */
  replace(): void {
    this.#fetched += 1
    this.isUnproven = false
  }

  prove(): void {
    this.isUnproven = false
  }
}
