/**
 * Policy tests: the decision that a connection or request must get, whatever is changed. They guard every write that
 * decides. When to take a policy test, and when something else: docs/before-a-change.md.
 */

import { recordSchemas } from '../../delivery/record/record-schemas.js'
import { conflict } from '../../ground/core/errors.js'
import { policyTestsPerAccountMax } from '../../ground/core/limits.js'
import { documented, mapOf, objectOf, oneOf, orNull, ruled, Type } from '../../ground/core/schema.js'
import { completeExpectation } from './fields/expectation.js'
import { asIs, described, required } from './fields/fields.js'
import { type GivenRecord, wrongGiven } from './fields/given-record.js'
import { componentName } from './fields/id-schema.js'
import { defineResource } from './kind/define.js'

/** Facts about the client that tests may give besides its address; otherwise they come from the database. */
const assumed = {
  country: Type.Optional(
    orNull(Type.String({ pattern: '^[A-Z]{2}$' }), {
      description:
        'The country of the client (ISO 3166-1 alpha-2), in place of what the GeoIP database says.',
    }),
  ),
  asn: Type.Optional(
    orNull(Type.Integer({ minimum: 0, maximum: 2 ** 32 - 1 }), {
      description: "The number of the client's autonomous system, in place of what the database says.",
    }),
  ),
}

/** The schema of a record whose id may be missing, with what is assumed of its client. */
const givenRecord = ({ type, schema }: (typeof recordSchemas)[number]) => {
  const { properties, required: needed } = schema as unknown as Record<'properties', object> & {
    required: string[]
  }
  return {
    ...schema,
    title: `${componentName(type)}Given`,
    required: needed.filter((name) => name !== 'record_id'),
    properties: { ...properties, type: oneOf([type]), ...assumed },
  }
}

export const givenSchema = ruled(
  Type.Unsafe<GivenRecord>({
    type: 'object',
    ...documented({
      required: ['type', 'conn'],
      additionalProperties: true,
      anyOf: recordSchemas.map(givenRecord),
    }),
    description:
      'The connection or request, as `POST /decide` takes it, optionally with the country and the autonomous system of the client.',
  }),
  wrongGiven,
)

/**
 * Answers show what was sent, and events have it as a map of any values: records may have members that Weir does not know.
 */
const shownGivenSchema = Type.Unsafe<GivenRecord>(
  mapOf(Type.Unknown(), { description: 'The connection or request, as it was sent.' }),
)

const text = Type.Optional(orNull(Type.String({ maxLength: 255 })))

const expectedPart = objectOf(
  {
    type: Type.Optional(orNull(oneOf(['restriction', 'ip_restriction', 'traffic_policy', 'none']))),
    id: text,
    name: text,
    ip_policy_id: text,
    rule_id: text,
    cidr: text,
  },
  {
    title: 'ExpectedPart',
    description:
      'What must have decided, as explanations name it; members that are left out may be anything.',
  },
)

const expectedDecision = {
  decision: oneOf(['allow', 'block', 'deny']),
  decided_by: Type.Optional(orNull(expectedPart)),
}

const expectedShadow = objectOf(expectedDecision, {
  title: 'ExpectedShadow',
  description:
    'What must be decided if everything that is not enforced were, and optionally by what. It is the decision itself if all that applies is enforced.',
})

export const expectSchema = objectOf(
  { ...expectedDecision, shadow: Type.Optional(orNull(expectedShadow)) },
  { title: 'Expectation', description: 'What must be decided, and optionally by what.' },
)

export const policyTest = defineResource({
  kind: 'policy_test',
  idPrefix: 'ptest_',
  path: '/policy_tests',
  listName: 'policy_tests',
  title: 'policy test',
  about:
    'A connection or request and the decision that it must get. A write after which a test would fail is refused.',
  example: {
    description: 'the office reaches the status page',
    given: {
      type: 'tcp_connection',
      conn: { client_ip: '203.0.113.7', server_name: 'status.example.com', server_port: 443 },
    },
    expect: { decision: 'allow' },
  },
  audit: 'policy_test',
  fields: {
    ...described,
    given: { ...required(givenSchema, { column: 'json' }), shown: asIs(shownGivenSchema) },
    expect: { ...required(expectSchema, { column: 'json' }), complete: completeExpectation },
  },
  check(_test, previous, lookups) {
    if (previous !== undefined) return
    const count = [...lookups.all('policy_test')].length
    if (count >= policyTestsPerAccountMax)
      throw conflict(
        `The account has ${count} policy tests: at most ${policyTestsPerAccountMax} are allowed. Delete one first.`,
      )
  },
})
