/** Random histories of what clients do with streams, consumers and buckets. */
import fc from 'fast-check'

/** What a client does. Sequences count back from the last one that it was told of. */
export type Action =
  | {
      readonly does: 'publish'
      readonly subject: string
      readonly id: string
      readonly after: number | undefined
    }
  | { readonly does: 'publish after'; readonly subject: string; readonly back: number }
  | { readonly does: 'delete' | 'get' | 'next' | 'direct'; readonly back: number; readonly subject: string }
  | { readonly does: 'last' | 'purge' | 'count'; readonly subject: string }
  | { readonly does: 'purge up to' | 'keep'; readonly back: number }
  | {
      readonly does: 'consume'
      readonly name: string
      readonly filter: string
      readonly from: number | undefined
    }
  | { readonly does: 'drop'; readonly name: string }
  | { readonly does: 'look'; readonly name: string }
  | { readonly does: 'pull'; readonly name: string; readonly count: number }
  | { readonly does: 'done' | 'again' | 'working'; readonly held: number }
  | { readonly does: 'state' }

export interface History {
  readonly stream: 'limits' | 'workqueue' | 'bucket'
  readonly discard: 'new' | 'old'
  readonly messagesMax: number
  readonly actions: readonly Action[]
}

const subject = fc.constantFrom('a', 'b', 'b.c')
const pattern = fc.constantFrom('a', 'b', '*', '>', 'b.*')
const name = fc.constantFrom('one', 'two')
const back = fc.integer({ min: -1, max: 6 })
const held = fc.nat(5)

const action: fc.Arbitrary<Action> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      does: fc.constant('publish' as const),
      subject,
      id: fc.constantFrom('', '', 'x', 'y', 'z'),
      after: fc.option(fc.integer({ min: -1, max: 2 }), { nil: undefined, freq: 6 }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ does: fc.constant('publish after' as const), subject, back }) },
  fc.record({ does: fc.constantFrom('delete' as const, 'get' as const, 'direct' as const), back, subject }),
  fc.record({ does: fc.constant('next' as const), back, subject: pattern }),
  fc.record({ does: fc.constant('last' as const), subject }),
  fc.record({ does: fc.constant('count' as const), subject: pattern }),
  {
    weight: 2,
    arbitrary: fc.record({
      does: fc.constant('consume' as const),
      name,
      filter: fc.constantFrom('', 'a', 'b', '*'),
      from: fc.option(back, { nil: undefined }),
    }),
  },
  fc.record({ does: fc.constant('drop' as const), name }),
  { weight: 2, arbitrary: fc.record({ does: fc.constant('look' as const), name }) },
  {
    weight: 4,
    arbitrary: fc.record({ does: fc.constant('pull' as const), name, count: fc.integer({ min: 1, max: 4 }) }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      does: fc.constantFrom('done' as const, 'done' as const, 'again' as const, 'working' as const),
      held,
    }),
  },
  fc.record({ does: fc.constant('state' as const) }),
)

/** A purge makes 2.9 forget what its consumers have in flight; Weir purges only streams without such consumers. */
const purge: fc.Arbitrary<Action> = fc.oneof(
  fc.record({ does: fc.constant('purge' as const), subject: pattern }),
  fc.record({ does: fc.constantFrom('purge up to' as const, 'keep' as const), back: fc.nat(4) }),
)

const isOfConsumers = ({ does }: Action): boolean =>
  /^(consume|drop|look|pull|done|again|working)$/.test(does)

const settings = {
  discard: fc.constantFrom('new' as const, 'old' as const),
  messagesMax: fc.constantFrom(-1, -1, 4),
}

export const history: fc.Arbitrary<History> = fc.oneof(
  fc.record({
    stream: fc.constantFrom('limits' as const, 'workqueue' as const, 'bucket' as const),
    ...settings,
    actions: fc.array(action, { maxLength: 40 }),
  }),
  fc.record({
    stream: fc.constantFrom('limits' as const, 'bucket' as const),
    ...settings,
    actions: fc.array(
      fc.oneof({ weight: 5, arbitrary: action.filter((each) => !isOfConsumers(each)) }, purge),
      {
        maxLength: 40,
      },
    ),
  }),
)
