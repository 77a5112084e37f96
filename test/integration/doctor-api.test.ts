/**
 * `GET /doctor` of a running service: who gets it, what it says of the deployment, and that it repeats no secret of any
 * account or of the service.
 */
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { readUserUrl } from '../../src/delivery/nats-server/logins.js'
import { natsAccess } from '../../src/delivery/nats-server/nats-users.js'
import { ApiError } from '../../src/words/client/client.js'
import { type DoctorReport, doctorChecks, machineChecks } from '../../src/words/shape/doctor.js'
import { openWebServer } from '../harness/web-server.js'
import { until } from '../harness/weir.js'
import { openAccount, openService, ownKey, weirDoes } from './service.js'

const secret = (what: string) => `planted-${what}-${randomBytes(9).toString('hex')}`

const linesOf = (report: DoctorReport, check: string) => report.lines.filter((line) => line.check === check)

t.test('the deployment, over the API', async (t) => {
  const { dataDir } = await openService()
  const operator = (await openAccount(t)).weir
  const tenant = (await openAccount(t)).weir
  const right = (verb: 'grant' | 'revoke') =>
    weirDoes(dataDir, 'account', verb, '--account', operator.accountId, 'doctor')
  const refused = async (api: typeof operator.api) => {
    const error: unknown = await api.doctor().catch((thrown: unknown) => thrown)
    return error instanceof ApiError ? [error.status_code, error.msg] : undefined
  }

  await t.test('an account gets it by a command on the host, and not otherwise', async (t) => {
    for (const { api, accountId } of [tenant, operator])
      t.strictSame(await refused(api), [
        403,
        `The account ${accountId} lacks the right "doctor", which an operator grants.`,
      ])
    await t.rejects(tenant.api.apiKey.create({ rights: ['doctor'] as never }), { message: /rights/ })
    t.match(await right('grant'), { code: 0, text: /rights: doctor/ })
    t.ok(await operator.api.doctor())
    t.match(await refused(tenant.api), [403], 'the right of one account is no other one’s')
  })

  const planted = { bearer: secret('bearer'), header: secret('header'), list: secret('list') }

  await t.test('with what is wrong in another account', async (t) => {
    const server = await openWebServer(t, ({ headers }, response) =>
      response.writeHead(400).end(`${headers['x-own']} ${headers.authorization}`),
    )
    const { api } = tenant
    const { id } = await api.eventDestination.create({
      target: {
        http: {
          url: `${server.url}/`,
          secret_headers: { 'X-Own': planted.header, 'X-List': planted.list },
          auth: { bearer: { token: planted.bearer } },
        },
      },
    } as never)
    await api.sendTestEvent(id).catch(() => {})
    // Someone wrote a secret where a name is, and a finding shows it.
    const list = await api.ipList.create({ name: planted.list } as never)
    await api.listEntries.replace(list.id, [{ cidr: '198.51.100.0/24' }] as never)
    const policy = await api.ipPolicy.create({})
    await api.replaceRules(policy.id, [
      { list_id: list.id, action: 'deny' },
      { cidr: '198.51.100.7/32', action: 'allow' },
    ] as never)
    let report = await operator.api.doctor()
    const ofTenant = () =>
      linesOf(report, 'findings').find(
        ({ about, state }) => about === tenant.accountId && state === 'warning',
      )
    // The first look is kept for some seconds.
    await until('the finding is seen', async () => {
      report = await operator.api.doctor()
      return ofTenant() !== undefined
    })
    t.strictSame(
      doctorChecks.filter((check) => linesOf(report, check).length === 0),
      [],
      'every check has a line',
    )
    t.match(linesOf(report, 'service'), [{ state: 'good', about: /^api on .+ \(\d+\)$/ }])
    t.match(linesOf(report, 'processes'), [{ state: 'good' }])
    for (const check of machineChecks) t.match(linesOf(report, check), [{ state: 'not_checked' }], check)
    t.match(
      ofTenant(),
      { state: 'warning', sentence: /the list …,/ },
      'the secret is hidden, and nothing else',
    )
    const users = Object.values(natsAccess().accounts).flatMap((account) => account.users)
    const secrets: Record<string, string> = {
      ...planted,
      'key of AWS': ownKey.secretAccessKey,
      'key of the operator': operator.token,
      'key of the tenant': tenant.token,
      'secret.key': readFileSync(join(dataDir, 'secret.key'), 'utf8').trim(),
      ...Object.fromEntries(
        users.map(({ name }) => [name, new URL(readUserUrl(join(dataDir, 'nats'), name)!).password]),
      ),
    }
    const text = JSON.stringify(report)
    for (const [what, each] of Object.entries(secrets)) {
      t.ok(each.length > 8, `${what} is a secret`)
      t.notOk(text.includes(each), `${what} is not in the answer`)
    }
  })

  await t.test('callers that come together share a look, and one that comes soon gets it, too', async (t) => {
    const [one, other] = await Promise.all([operator.api.doctor(), operator.api.doctor()])
    t.strictSame(one, other)
    t.equal((await operator.api.doctor()).as_of, one.as_of)
  })

  await t.test('until the right is taken back', async (t) => {
    await right('revoke')
    t.match(await refused(operator.api), [403])
  })
})
