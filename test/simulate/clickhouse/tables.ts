/** Rows of ClickHouse in memory: each row that was inserted, and of each resource the newest. */
type Row = Readonly<Record<string, unknown>>

interface DeploymentRow {
  readonly id: string
  readonly key_fingerprint: string
}

export class StoredTable {
  readonly columns: readonly string[]
  #rows: Row[]

  constructor(columns: readonly string[], rows: readonly Row[] = []) {
    this.columns = columns
    this.#rows = [...rows]
  }

  get rows(): readonly Row[] {
    return this.#rows
  }

  insert(rows: readonly Row[]): void {
    this.#rows.push(...rows)
  }

  /** Of each resource of which this is true of some version: the newest of those versions. */
  newestOf(isWanted: (row: Row) => boolean): Row[] {
    const newest = new Map<string, Row>()
    for (const row of this.#rows) {
      if (!isWanted(row)) continue
      const key = `${row['account_id']} ${row['id']}`
      const present = newest.get(key)
      // Equal versions are the same row, written twice.
      if (present === undefined || Number(row['version']) > Number(present['version'])) newest.set(key, row)
    }
    return [...newest.values()]
  }

  newest(): Row[] {
    return this.newestOf(() => true)
  }

  newestByAccount(): Map<string, Row[]> {
    const found = new Map<string, Row[]>()
    for (const row of this.newest()) {
      const account = String(row['account_id'])
      found.set(account, [...(found.get(account) ?? []), row])
    }
    return found
  }

  highest(account: unknown): number {
    let highest = 0
    for (const row of this.#rows)
      if (row['account_id'] === account) highest = Math.max(highest, Number(row['version']))
    return highest
  }

  copy(): StoredTable {
    return new StoredTable(this.columns, this.#rows)
  }
}

export class Tables {
  readonly #tables = new Map<string, StoredTable>()
  /** The comment of each view. */
  readonly views = new Map<string, string>()
  deployment: DeploymentRow | undefined

  create(name: string, columns: readonly string[]): void {
    if (!this.#tables.has(name)) this.#tables.set(name, new StoredTable(columns))
  }

  has(name: string): boolean {
    return this.#tables.has(name)
  }

  get(name: string): StoredTable {
    const table = this.#tables.get(name)
    if (table === undefined)
      throw new Error(`Code: 60. DB::Exception: Table default.${name} does not exist. (UNKNOWN_TABLE)`)
    return table
  }

  rowsOf(name: string): readonly Row[] {
    return this.get(name).rows
  }

  *columns(): Generator<{ readonly table: string; readonly name: string }> {
    for (const [table, { columns }] of this.#tables) for (const name of columns) yield { table, name }
  }

  /** As a backup would have it. */
  copy(): Tables {
    const copied = new Tables()
    for (const [name, table] of this.#tables) copied.#tables.set(name, table.copy())
    for (const [name, comment] of this.views) copied.views.set(name, comment)
    copied.deployment = this.deployment
    return copied
  }
}
