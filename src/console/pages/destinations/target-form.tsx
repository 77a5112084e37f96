/** The members of a target as fields. */
import { useSignal } from '@preact/signals'
import { linesOfPairs, pairsInLines } from '../../data/texts/pairs.js'
import { ChoiceField, LinesField, SecretField, SwitchField, TextField } from '../../parts/forms/fields.js'
import { emptyOf, type Member, type Value } from './target-members.js'

interface MembersProps {
  readonly members: readonly Member[]
  readonly value: Value
  readonly onChange: (value: Value) => void
  /** The place of the members in the body, such as `target.kinesis`. */
  readonly place: string
  /** What the API said, by the place. */
  readonly faults: ReadonlyMap<string, string>
}

export const Members = ({ members, value, onChange, place, faults }: MembersProps) => (
  <>
    {members.map((member) => (
      <MemberField
        key={member.name}
        member={member}
        value={value[member.name]}
        place={`${place}.${member.name}`}
        faults={faults}
        onChange={(next) => onChange(withMember(value, member.name, next))}
      />
    ))}
  </>
)

/** Undefined: the member is left out. */
function withMember(value: Value, name: string, next: unknown): Value {
  const { [name]: _, ...others } = value
  return next === undefined ? others : { ...others, [name]: next }
}

interface MemberProps {
  readonly member: Member
  readonly value: unknown
  readonly onChange: (value: unknown) => void
  readonly place: string
  readonly faults: ReadonlyMap<string, string>
}

function MemberField(props: MemberProps) {
  const { member, value, onChange, place, faults } = props
  const field = {
    label: `${member.name}${member.isRequired ? '' : ' (optional)'}`,
    hint: member.about === '' ? undefined : member.about,
    fault: faults.get(place),
  }
  const text = (next: string): void => onChange(next === '' && !member.isRequired ? undefined : next)
  if (member.form === 'object') return <ObjectMember {...props} />
  if (member.form === 'one of') return <OneOfMember {...props} />
  if (member.isSecret && member.form !== 'map') return <SecretMember {...props} field={field} />
  switch (member.form) {
    case 'switch':
      return (
        <SwitchField {...field} value={value === true} onChange={(next) => onChange(next || undefined)} />
      )
    case 'choice':
      return (
        <ChoiceField
          {...field}
          value={textIn(value)}
          choices={[
            ...(member.isRequired ? [] : [['', 'default'] as const]),
            ...member.choices.map((each) => [each, each] as const),
          ]}
          onChange={text}
        />
      )
    case 'number':
      return <TextField {...field} value={textIn(value)} onChange={(next) => readNumber(next, onChange)} />
    case 'list':
      return (
        <LinesField
          {...field}
          hint={`${member.about} One in a line.`.trim()}
          rows={3}
          value={Array.isArray(value) ? value.join('\n') : ''}
          onChange={(lines) => onChange(lines === '' && !member.isRequired ? undefined : lines.split('\n'))}
        />
      )
    case 'map':
      return <MapMember {...props} field={field} />
    case 'lines':
      return <LinesField {...field} value={textIn(value)} onChange={text} />
    default:
      return <TextField {...field} value={textIn(value)} placeholder={member.example} onChange={text} />
  }
}

const textIn = (value: unknown): string => (value === undefined || value === null ? '' : String(value))

/** What is no number stays a text, about which the API says what is wrong. */
function readNumber(text: string, onChange: (value: unknown) => void): void {
  if (text.trim() === '') onChange(undefined)
  else onChange(/^\d+$/.test(text.trim()) ? Number(text) : text)
}

interface FieldTexts {
  readonly field: {
    readonly label: string
    readonly hint: string | undefined
    readonly fault: string | undefined
  }
}

/** Null stands for the secret that is stored. */
const SecretMember = ({ member, value, onChange, field }: MemberProps & FieldTexts) => (
  <SecretField
    {...field}
    hasLines={member.form === 'lines'}
    isStored={value === null}
    value={textIn(value)}
    onChange={(next) => onChange(next === '' ? undefined : next)}
  />
)

/** An object that may be left out is switched on. */
function ObjectMember({ member, value, onChange, place, faults }: MemberProps) {
  const isSet = typeof value === 'object' && value !== null
  return (
    <fieldset class="members">
      <legend>{member.name}</legend>
      {!member.isRequired && (
        <SwitchField
          label={`with ${member.name}`}
          hint={member.about === '' ? undefined : member.about}
          value={isSet}
          onChange={(next) => onChange(next ? emptyOf(member) : undefined)}
        />
      )}
      {faults.has(place) && (
        <p class="fault" role="alert">
          {faults.get(place)}
        </p>
      )}
      {isSet && (
        <Members
          members={member.members}
          value={value as Value}
          onChange={onChange}
          place={place}
          faults={faults}
        />
      )}
    </fieldset>
  )
}

/** An object of which exactly one member is given. */
function OneOfMember({ member, value, onChange, place, faults }: MemberProps) {
  const given = (value ?? {}) as Value
  const chosen = member.members.find(({ name }) => (given[name] ?? null) !== null)
  const choose = (name: string): void => {
    const next = member.members.find((each) => each.name === name)
    onChange(next === undefined ? undefined : { [name]: emptyOf(next) })
  }
  return (
    <fieldset class="members">
      <legend>{member.name}</legend>
      <ChoiceField
        label={`kind of ${member.name}`}
        hint={member.about === '' ? undefined : member.about}
        fault={faults.get(place)}
        value={chosen?.name ?? ''}
        choices={[
          ...(member.isRequired && chosen ? [] : [['', 'none'] as const]),
          ...member.members.map(({ name }) => [name, name] as const),
        ]}
        onChange={choose}
      />
      {chosen && (
        <Members
          members={chosen.members}
          value={given[chosen.name] as Value}
          onChange={(next) => onChange({ [chosen.name]: next })}
          place={`${place}.${chosen.name}`}
          faults={faults}
        />
      )}
    </fieldset>
  )
}

function MapMember({ value, onChange, field }: MemberProps & FieldTexts) {
  // What is typed stays as it is: a line without a colon is not a pair yet.
  const text = useSignal(linesOfPairs((value ?? {}) as Record<string, string | null>))
  return (
    <LinesField
      {...field}
      hint={`${field.hint ?? ''} One in a line, such as “name: value”.`.trim()}
      rows={3}
      value={text.value}
      onChange={(lines) => {
        text.value = lines
        onChange(lines.trim() === '' ? undefined : pairsInLines(lines))
      }}
    />
  )
}
