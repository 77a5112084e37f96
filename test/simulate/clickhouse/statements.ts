/**
 * What the statements of Weir's store mean, on rows in memory. One that is not known is a fault of the simulation, so that the
 * model can't fall behind the store.
 */
import type { StoredTable, Tables } from './tables.js'

type Params = Readonly<Record<string, unknown>>
type Row = Readonly<Record<string, unknown>>

interface Statement {
  readonly pattern: RegExp
  readonly answer: (tables: Tables, found: RegExpMatchArray, params: Params) => readonly Row[]
}

const none: readonly Row[] = []

const textsOf = (params: Params, name: string): ReadonlySet<unknown> => new Set(params[name] as unknown[])

const statements: readonly Statement[] = [
  // --- the shape of the database ---
  {
    pattern: /^CREATE TABLE IF NOT EXISTS (\w+) \(([\s\S]*?)\)\s+ENGINE/,
    answer: (tables, [, name, columns]) => {
      tables.create(
        name!,
        [...columns!.matchAll(/^\s*`(\w+)`/gm)].map(([, column]) => column!),
      )
      return none
    },
  },
  {
    pattern:
      /^CREATE (OR REPLACE )?VIEW (IF NOT EXISTS )?deployment AS SELECT '(\w+)' AS id, '([^']*)' AS key_fingerprint/,
    answer: (tables, [, replaces, , id, key_fingerprint]) => {
      if (tables.deployment === undefined || replaces)
        tables.deployment = { id: id!, key_fingerprint: key_fingerprint! }
      return none
    },
  },
  {
    pattern: /^CREATE OR REPLACE VIEW (\w+) [\s\S]* COMMENT '([^']*)'$/,
    answer: (tables, [, name, comment]) => {
      tables.views.set(name!, comment!)
      return none
    },
  },
  { pattern: /^DROP VIEW IF EXISTS \w+$/, answer: () => none },
  {
    pattern: /^EXISTS TABLE (\w+)$/,
    answer: (tables, [, name]) => [{ result: tables.has(name!) ? 1 : 0 }],
  },
  {
    pattern: /^SELECT DISTINCT id FROM schema_migrations$/,
    answer: (tables) => tables.rowsOf('schema_migrations'),
  },
  {
    pattern: /^SELECT table, name FROM system.columns/,
    answer: (tables) => [...tables.columns()],
  },
  {
    pattern: /^SELECT comment FROM system.tables/,
    answer: (tables) => [...tables.views.values()].map((comment) => ({ comment })),
  },
  {
    pattern: /^SELECT id, key_fingerprint AS keyFingerprint FROM deployment$/,
    answer: ({ deployment }) =>
      deployment === undefined ? none : [{ id: deployment.id, keyFingerprint: deployment.key_fingerprint }],
  },
  // --- rows of resources ---
  {
    pattern: /^SELECT 1 AS one FROM (\w+)( WHERE account_id = \{account:String\})? LIMIT 1$/,
    answer: (tables, [, name, isOfAccount], { account }) => {
      const isFound = tables.rowsOf(name!).some(({ account_id }) => !isOfAccount || account_id === account)
      return isFound ? [{ one: 1 }] : none
    },
  },
  {
    pattern:
      /^SELECT \* FROM (\w+) FINAL (WHERE account_id IN \{accounts:Array\(String\)\})? ?ORDER BY version DESC LIMIT 1 BY account_id, id$/,
    answer: (tables, [, name, isOfAccounts], params) => {
      const accounts = isOfAccounts && textsOf(params, 'accounts')
      const newest = tables.get(name!).newest()
      return accounts ? newest.filter(({ account_id }) => accounts.has(account_id)) : newest
    },
  },
  {
    pattern:
      /^SELECT \* FROM (\w+) WHERE account_id IN \{accounts:Array\(String\)\} AND id IN \{ids:Array\(String\)\}\s+ORDER BY version DESC LIMIT 1 BY account_id, id$/,
    answer: (tables, [, name], params) => {
      const [accounts, ids] = [textsOf(params, 'accounts'), textsOf(params, 'ids')]
      return tables
        .get(name!)
        .newest()
        .filter(({ account_id, id }) => accounts.has(account_id) && ids.has(id))
    },
  },
  {
    // Of keys: whichever account has them.
    pattern:
      /^SELECT [\w, ]+, deleted FROM (\w+)\s+WHERE id IN \{ids:Array\(String\)\} ORDER BY version DESC LIMIT 1 BY account_id, id$/,
    answer: (tables, [, name], params) => {
      const ids = textsOf(params, 'ids')
      return tables
        .get(name!)
        .newest()
        .filter(({ id }) => ids.has(id))
    },
  },
  {
    pattern: /^SELECT '(\w+)' AS kind, account_id, groupArray\(\(id, version, deleted\)\) AS found FROM/,
    answer: (tables, { input }) =>
      [...input!.matchAll(/SELECT '(\w+)' AS kind/g)].flatMap(([, kind]) =>
        [...tables.get(`${kind}_versions`).newestByAccount()].map(([account_id, rows]) => ({
          kind: kind!,
          account_id,
          found: rows.map(({ id, version, deleted }) => [id, version, deleted]),
        })),
      ),
  },
  {
    pattern: /^SELECT max\(version\) AS version FROM \(SELECT max\(version\)/,
    answer: (tables, { input }, { account }) => {
      const named = [...input!.matchAll(/FROM (\w+_versions) WHERE/g)].map(([, name]) => tables.get(name!))
      return [{ version: Math.max(0, ...named.map((table) => table.highest(account))) }]
    },
  },
  // --- rows of a change ---
  {
    pattern:
      /^SELECT \* FROM \(SELECT \* FROM (\w+)\s+WHERE account_id = \{account:String\} AND version < \{version:UInt64\} AND id > \{after:String\}\s+AND (\w+) IN \{values:Array\(String\)\} ORDER BY id, version DESC LIMIT 1 BY id\) WHERE NOT deleted/,
    answer: (tables, [, name, field], params) => {
      const values = textsOf(params, 'values')
      const before = tables
        .get(name!)
        .newestOf(
          (row) =>
            row['account_id'] === params['account'] &&
            Number(row['version']) < Number(params['version']) &&
            String(row['id']) > String(params['after']) &&
            values.has(row[field!]),
        )
      return inOrder(before.filter(({ deleted }) => !deleted))
    },
  },
  {
    pattern:
      /^SELECT \* FROM (\w+)\s+WHERE account_id = \{account:String\} AND id IN \{values:Array\(String\)\} AND id > \{after:String\} AND version = \{version:UInt64\}/,
    answer: (tables, [, name], params) => {
      const values = textsOf(params, 'values')
      return inOrder(ofVersion(tables.get(name!), params).filter(({ id }) => values.has(id)))
    },
  },
  {
    pattern: /^SELECT [\s\S]+, deleted, id IN \(SELECT id FROM (\w+) WHERE/,
    answer: (tables, [, name], params) => {
      const policies = textsOf(params, 'policies')
      const table = tables.get(name!)
      const isOf = (row: Row): boolean => policies.has(row['ip_policy_id'])
      const before = table.newestOf(
        (row) =>
          row['account_id'] === params['account'] &&
          isOf(row) &&
          Number(row['version']) < Number(params['version']),
      )
      const existing = new Set(before.filter(({ deleted }) => !deleted).map(({ id }) => id))
      return inOrder(ofVersion(table, params).filter(isOf)).map((row) => ({
        ...row,
        existed: existing.has(row['id']) ? 1 : 0,
      }))
    },
  },
  {
    pattern:
      /^SELECT id FROM (\w+)\s+WHERE account_id = \{account:String\} AND ip_policy_id = \{policy:String\} AND version = \{version:UInt64\} LIMIT 1$/,
    answer: (tables, [, name], params) =>
      ofVersion(tables.get(name!), { ...params, after: '' })
        .filter(({ ip_policy_id }) => ip_policy_id === params['policy'])
        .slice(0, 1),
  },
]

/** Rows of one version of an account, each once. */
const ofVersion = (table: StoredTable, { account, version, after }: Params): Row[] =>
  table.newestOf(
    (row) =>
      row['account_id'] === account &&
      Number(row['version']) === Number(version) &&
      String(row['id']) > String(after),
  )

const inOrder = (rows: readonly Row[]): Row[] =>
  rows.toSorted((a, b) => (String(a['id']) < String(b['id']) ? -1 : 1)).slice(0, 10_000)

const known = new Map<string, Statement>()

/** The rows that a statement answers; throws for one that is not known. */
export function answerOf(tables: Tables, query: string, params: Params): readonly Row[] {
  // The client adds the format.
  const text = query.replace(/\s+FORMAT JSON$/, '').trim()
  let statement = known.get(text)
  if (statement === undefined) {
    statement = statements.find(({ pattern }) => pattern.test(text))
    if (statement === undefined) throw new Error(`The model of ClickHouse does not know: ${text}`)
    if (known.size < 1_000) known.set(text, statement)
  }
  return statement.answer(tables, text.match(statement.pattern)!, params)
}
