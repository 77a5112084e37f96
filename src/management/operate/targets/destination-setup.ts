/** The setup at the other side of a target that is being filled in: steps of its kind, a table, rights at AWS. */

import type { Drafted, SetupStep } from '../../../delivery/deliver/kind/form.js'
import { destinationKinds, type ListedKind } from '../../../delivery/deliver/kinds.js'
import { badRequest, shown } from '../../../ground/core/errors.js'
import { isObject } from '../../../ground/core/json-object.js'
import { supported } from '../../../ground/core/nearest.js'
import { compileCheck } from '../../../ground/core/schema-check.js'
import { ddlOf, eventTables } from '../../../words/event/event-ddl.js'
import { eventSchemas } from '../../../words/event/event-schemas.js'
import type {
  TargetSetup,
  TargetSetupRequest,
  TargetSetupStep,
} from '../../../words/shape/delivery/target-setup.js'
import { principalNote } from '../../../words/shape/iam-policy.js'
import { iamDocument, trustOf } from './iam-policy.js'

/** Throws if the target is of no kind, or of several. */
export function setupOf(
  accountId: string,
  { target, form: formId, event_kind = 'tcp_connection_closed.v0' }: TargetSetupRequest,
): TargetSetup {
  const kind = kindIn(target)
  const given = target[kind.name]
  const members = isObject(given) ? given : {}
  const forms = kind.setup?.forms ?? []
  const form = formId === undefined ? forms[0] : forms.find(({ id }) => id === formId)
  if (formId !== undefined && form === undefined)
    throw badRequest(`"form" is ${shown(formId)}: ${supported(forms.map(({ id }) => id))}.`)
  const drafted: Drafted = {
    accountId,
    address: addressIn(kind, members),
    options: validOptions(kind, members),
  }
  const steps = (form?.steps(drafted) ?? []).map((step) => resolved(step, event_kind))
  return { steps: [...steps, ...awsSteps(kind, drafted, members)] }
}

function kindIn(target: Readonly<Record<string, unknown>>): ListedKind {
  const names = Object.keys(target).filter((name) => (target[name] ?? null) !== null)
  const found = destinationKinds.filter(({ name }) => names.includes(name))
  if (found.length === 1 && names.length === 1) return found[0]!
  throw badRequest(`"target" must name one kind: ${supported(destinationKinds.map(({ name }) => name))}.`)
}

const addressIn = ({ address }: ListedKind, members: Readonly<Record<string, unknown>>): string => {
  const given = members[address.field]
  return typeof given === 'string' && address.check(given) === undefined ? given : address.example
}

/** Members that are valid by themselves: what is half typed counts as not filled in. */
function validOptions(
  { options }: ListedKind,
  members: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const declared = Object.entries(options?.schema.properties ?? {})
  return Object.fromEntries(
    declared.flatMap(([name, schema]) => {
      const value = members[name]
      const isValid = (value ?? null) !== null && compileCheck(schema)(value, name) === undefined
      return isValid ? [[name, value]] : []
    }),
  )
}

function resolved({ text, copy, table, link }: SetupStep, eventKind: string): TargetSetupStep {
  const made = table === undefined ? copy : { what: 'the statement', text: tableOf(table, eventKind) }
  return { text, copy: made ?? null, link: link ?? null }
}

function tableOf({ dialect, name }: NonNullable<SetupStep['table']>, eventKind: string): string {
  const schemas = eventSchemas()
  const schema = schemas.find(({ kind }) => kind === eventKind)
  if (schema === undefined)
    throw badRequest(`"event_kind" is ${shown(eventKind)}: ${supported(schemas.map(({ kind }) => kind))}.`)
  const [table] = eventTables([schema], name)
  return String(ddlOf(table!, dialect))
}

const idInPlace = 'ed_00000000000000000000000000'

/** A role with its trust policy, unless keys are chosen; then the rights. */
function awsSteps(
  { aws }: ListedKind,
  { accountId, address, options }: Drafted,
  members: Readonly<Record<string, unknown>>,
): TargetSetupStep[] {
  if (aws === undefined) return []
  const { auth } = members
  const hasKeys = isObject(auth) && (auth['creds'] ?? null) !== null
  const needed = aws.rights({ id: idInPlace, address, options })
  const policy: TargetSetupStep = {
    text: [`Give ${hasKeys ? 'the user' : 'the role'} this policy.`, ...needed.notes].join(' '),
    copy: { what: 'the policy', text: iamDocument(needed.statements) },
    link: null,
  }
  if (hasKeys)
    return [{ text: 'Create a user with an access key, for Weir alone.', copy: null, link: null }, policy]
  const trust: TargetSetupStep = {
    text: `Create a role with this trust policy. It names this account as the external id, so that no other account can use the role. ${principalNote}`,
    copy: { what: 'the trust policy', text: iamDocument([trustOf(accountId)]) },
    link: { text: 'Roles in the AWS console', url: 'https://console.aws.amazon.com/iam/home#/roles' },
  }
  return [trust, policy]
}
