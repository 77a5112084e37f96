/** Advice for the kinds at AWS. */
import type { KindAdvice } from '../kind/advice.js'

interface AwsTarget {
  /** `stream`, `queue`. */
  readonly thing: string
  /** The way to give it more room: `add shards or raise the quota`. */
  readonly more: string
}

export function awsAdvice({ thing, more }: AwsTarget): KindAdvice {
  const missing = `The ${thing} does not exist in this account and region. Create it, or correct the ARN.`
  const denied = `The credentials lack a right on the ${thing}. Compare their policy with the one that Weir shows for this destination, and look at the policy of the ${thing} itself.`
  const key = `The KMS key of the ${thing} cannot be used. Look whether it is enabled, and allow these credentials to use it.`
  return {
    throttle: {
      any: `The service accepts fewer events than there are. If the backlog grows, ${more}, or let a filter keep events back.`,
    },
    transient: {
      any: 'Requests fail or are not answered in time. Look at the error, at the way to the endpoint, and at the status page of AWS.',
    },
    credentials: {
      any: 'The service refuses the credentials, or the role cannot be assumed. Set new keys, or repair the trust policy of the role.',
      AccessDenied:
        'The role cannot be assumed. Compare its trust policy with the one that Weir shows for this destination, external id included.',
      CredentialsProviderError:
        'Weir itself has no credentials to assume the role with. Give them to the process that delivers: in its environment, a profile or the role of its machine.',
      ExpiredToken: 'The keys have expired. Set new ones, or a role, which Weir assumes again in time.',
      ExpiredTokenException:
        'The keys have expired. Set new ones, or a role, which Weir assumes again in time.',
    },
    configuration: {
      any: `The service refuses every request: the ${thing} is missing, disabled, or not allowed for these credentials. Look at the error, at the ARN and at the rights.`,
      AccessDenied: denied,
      AccessDeniedException: denied,
      ResourceNotFoundException: missing,
      QueueDoesNotExist: missing,
      NoSuchBucket: missing,
      KMSAccessDeniedException: key,
      KMSDisabledException: key,
      KMSInvalidStateException: key,
      KMSNotFoundException: key,
      KmsAccessDenied: key,
      KmsDisabled: key,
      KmsInvalidState: key,
      KmsNotFound: key,
      InvalidKMSResourceException: key,
      PermanentRedirect: `The ${thing} is in another region. Correct the region of the target.`,
      ServiceQuotaExceededException: `A quota of the account at AWS is used up. Raise it for the ${thing}.`,
    },
    poison: {
      any: `The service refuses the contents of many events in a row. Look at the error and at the dead letters: the ${thing} may expect another format or smaller events.`,
    },
  }
}
