/** How a request was read, in an explanation: its target, and names of which it has several values. */
import { objectOf, orNull, Type } from '../../../ground/core/schema.js'

const forPeople = Type.String({ description: 'For people: one sentence or two.' })

const readingSchema = objectOf(
  {
    path: Type.String({ description: 'At most 256 characters of it.' }),
    how: Type.String({
      description: 'What was done to the path that was sent, such as `decoded, dot segments removed`.',
    }),
  },
  { title: 'Reading' },
)

export const targetSchema = objectOf(
  {
    readings: Type.Array(readingSchema, {
      description: 'Every reading that was judged, the path as sent first.',
    }),
    refused: orNull(readingSchema, {
      description:
        'The reading that decided; null if all are allowed, or the path that the request shows decided.',
    }),
    reason: forPeople,
  },
  { title: 'ExplainedTarget', description: 'Of a request whose path servers read differently.' },
)

const valueSchema = objectOf(
  {
    name: Type.String({ description: "As expressions write it, such as `http.request.headers['x-role']`." }),
    value: orNull(Type.String(), { description: 'At most 256 characters of it; null if it is absent.' }),
    how: Type.String({ description: 'What makes it one, such as `the last of 2`.' }),
  },
  { title: 'OtherValue' },
)

export const valuesSchema = objectOf(
  {
    others: Type.Array(valueSchema, {
      description: 'Values that servers may take in place of those that the request shows, at most 50.',
    }),
    refused: Type.Array(valueSchema, {
      description:
        'Those with which the request was refused; empty if all are allowed, or those that it shows decided.',
    }),
    reason: forPeople,
  },
  { title: 'ExplainedValues', description: 'Of a request with several values of names that policies use.' },
)
