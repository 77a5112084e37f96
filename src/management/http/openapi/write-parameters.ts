/** Parameters and headers of writes, in the OpenAPI document. */
import { idempotencyKeyCharsMax } from '../../../ground/core/limits.js'
import { Type } from '../../../ground/core/schema.js'

/** Parameters of every write. */
export const writeParameters = {
  query: Type.Object({
    validate_only: Type.Optional(
      Type.Boolean({
        default: false,
        description:
          'Checks the write and returns its answer, with one-time tokens null, but changes nothing.',
      }),
    ),
    skip_tests: Type.Optional(
      Type.Boolean({
        default: false,
        description:
          'Makes the write although policy tests would fail. The key needs the right `skip_tests`, and the history says so.',
      }),
    ),
  }),
}

export const idempotencyHeaders = Type.Object({
  'Idempotency-Key': Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: idempotencyKeyCharsMax,
      pattern: '^[ -~]+$',
      description:
        'A repeated request with the same key is done once; for 24 hours it gets the first answer again, with one-time tokens null.',
    }),
  ),
})

export const postParameters = { ...writeParameters, headers: idempotencyHeaders }
