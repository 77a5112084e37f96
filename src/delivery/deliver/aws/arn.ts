/** ARNs, read and checked: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference-arns.html */
import { type Problem, shown } from '../../../ground/core/errors.js'
import type { DestinationConfig } from '../kind/destination.js'
import type { DestinationAddress } from '../kind/kind.js'

interface Arn {
  readonly partition: string
  readonly service: string
  readonly region: string
  readonly awsAccountId: string
  /** The text after the fifth colon. */
  readonly resource: string
}

const arnForm =
  /^arn:(?<partition>[^:]+):(?<service>[^:]+):(?<region>[^:]*):(?<awsAccountId>[^:]*):(?<resource>.+)$/

export const parseArn = (text: string): Arn | undefined =>
  arnForm.exec(text)?.groups as unknown as Arn | undefined

/** The form of ARNs of one kind of target. */
interface ArnForm {
  readonly service: string
  readonly resource: RegExp
  readonly example: string
  /** Its ARNs name neither region nor account. */
  readonly isGlobal?: true
}

const partitions = ['aws', 'aws-cn', 'aws-us-gov']
const regionForm = /^[a-z]{2,}(-[a-z]+)+-\d{1,2}$/
const awsAccountForm = /^\d{12}$/

/** The partition that a region belongs to. */
function partitionOf(region: string): string {
  if (region.startsWith('cn-')) return 'aws-cn'
  return region.startsWith('us-gov-') ? 'aws-us-gov' : 'aws'
}

/** The problem with the region of something that a global ARN names; the sentence continues after its name. */
export function checkRegion(region: string, globalArn: string): string | undefined {
  const { partition } = parseArn(globalArn)!
  if (!regionForm.test(region)) return `has the region ${shown(region)}, which is not a region`
  if (partitionOf(region) === partition) return undefined
  return `has the region ${region}, which does not lie in the partition ${partition}`
}

/** The region of a destination: that of its address, or if its ARN is global, that of its options. */
export const regionOf = ({ address, options }: Pick<DestinationConfig, 'address' | 'options'>): string =>
  parseArn(address)!.region || String(options['region'])

/** The problem with an ARN, if there is one; the sentence continues after the field's name. */
function checkArn(text: string, { service, resource, example, isGlobal }: ArnForm): Problem | undefined {
  const wrong = (what: string): Problem => ({
    msg: `is ${shown(text, 200)}, ${what}; an example is ${example}`,
  })
  const arn = parseArn(text)
  // Another text may be a secret in the wrong place, so it is not shown.
  if (arn === undefined) return { msg: `is not an ARN; an example is ${example}` }
  if (!partitions.includes(arn.partition)) {
    return wrong(`whose partition ${shown(arn.partition)} is not one of ${partitions.join(', ')}`)
  }
  if (arn.service !== service)
    return wrong(`whose service is ${shown(arn.service)}, but ${service} is expected`)
  if (isGlobal) {
    if (arn.region + arn.awsAccountId !== '') return wrong('which names a region or an account')
    return resource.test(arn.resource) ? undefined : wrong('which names no resource of the kind expected')
  }
  if (!regionForm.test(arn.region)) return wrong(`whose region ${shown(arn.region)} is not a region`)
  if (partitionOf(arn.region) !== arn.partition) {
    return wrong(`whose region ${arn.region} does not lie in the partition ${arn.partition}`)
  }
  if (!awsAccountForm.test(arn.awsAccountId)) return wrong('whose account is not twelve digits')
  return resource.test(arn.resource) ? undefined : wrong(`which names no resource of the kind expected`)
}

/** The address of a destination kind whose targets are named by ARNs. */
export const arnAddress = <const Field extends string>(
  field: Field,
  form: ArnForm,
): DestinationAddress<Field> => ({
  field,
  pattern: form.isGlobal
    ? `^arn:(aws|aws-cn|aws-us-gov):${form.service}:::.+$`
    : '^arn:(aws|aws-cn|aws-us-gov):[a-z]+:[a-z0-9-]+:[0-9]{12}:.+$',
  example: form.example,
  check: (arn) => checkArn(arn, form),
})

const roleForm = /^role\/[\w+=,.@/-]{1,576}$/

/** The problem with the ARN of a role, if there is one. Unlike others, it has no region. */
export function checkRoleArn(text: string): Problem | undefined {
  const arn = parseArn(text)
  const valid =
    arn !== undefined &&
    partitions.includes(arn.partition) &&
    arn.service === 'iam' &&
    arn.region === '' &&
    awsAccountForm.test(arn.awsAccountId) &&
    roleForm.test(arn.resource)
  if (valid) return undefined
  const is = arn === undefined ? 'is' : `is ${shown(text, 200)}, which is`
  return { msg: `${is} not the ARN of a role; an example is arn:aws:iam::123456789012:role/name` }
}
