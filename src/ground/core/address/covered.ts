/** How many addresses ranges have. */

/** By family. An address that several ranges have counts for each. */
export interface Covered {
  readonly ipv4: number
  readonly ipv6: number
}

export class CoveredCounts implements Covered {
  ipv4 = 0
  ipv6 = 0

  /** `cidr`: in canonical form. */
  add(cidr: string): void {
    const prefix = Number(cidr.slice(cidr.indexOf('/') + 1))
    if (cidr.includes(':')) this.ipv6 += 2 ** (128 - prefix)
    else this.ipv4 += 2 ** (32 - prefix)
  }
}

export const everyAddress: Covered = { ipv4: 2 ** 32, ipv6: 2 ** 128 }
