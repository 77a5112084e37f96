/** A draft of many resources of an account at once: what `POST /tries` and a run of policy tests take. */
import { objectOf, type TSchema, Type } from '../../ground/core/schema.js'
import { exampleId } from '../resource/kind/examples.js'

/** The parts are checked as in a file of `weir test`, which names each place that is wrong. */
const section = (what: string): TSchema =>
  Type.Optional(Type.Array(Type.Object({}, { additionalProperties: true }), { description: what }))

const policy = exampleId('ipp_')

export const accountDraftSchema = objectOf(
  {
    tcp_edges: section('TCP edges with their modules, as they would be.'),
    https_edges: section('HTTPS edges with all their `routes`.'),
    ip_policies: section('IP policies with all their `rules`.'),
    ip_lists: section(
      'IP lists with all their `entries`; a number instead: the list keeps those that it has.',
    ),
    ip_restrictions: section('IP restrictions.'),
    removes: Type.Optional(Type.Array(Type.String(), { description: 'Ids of those of them that go.' })),
    policy_tests: Type.Optional(
      Type.Array(Type.Object({}, { additionalProperties: true }), {
        description:
          'Policy tests of the draft, each with a `description`, `given` and `expect`. They say which clients are expected to lose access, and are not run.',
      }),
    ),
  },
  {
    title: 'AccountDraft',
    description:
      'Entries have the form of the API, with an `id`. One with the id of a resource stands for all of it; others are new, and may have any id. What is neither given nor removed stays.',
    examples: [
      { ip_policies: [{ id: policy, rules: [{ cidr: '198.51.100.0/24', action: 'allow' }] }], removes: [] },
    ],
  },
)

type Entry = Readonly<Record<string, unknown>>

export interface AccountDraft {
  readonly tcp_edges?: readonly Entry[]
  readonly https_edges?: readonly Entry[]
  readonly ip_policies?: readonly Entry[]
  readonly ip_lists?: readonly Entry[]
  readonly ip_restrictions?: readonly Entry[]
  readonly removes?: readonly string[]
  readonly policy_tests?: readonly Entry[]
}
