/** The members of a target as fields. */
import { useSignal } from '@preact/signals'
import { linesOfPairs, pairsInLines } from '../../data/texts/pairs.js'
import { ChoiceField, LinesField, SecretField, SwitchField, TextField } from '../../kit/forms/fields.js'
import { emptyOf, type Member, type Value } from './target-members.js'

interface MembersProps {
  readonly members: readonly Member[]
  readonly value: Value
  readonly onChange: (value: Value) => void
  /** The place of the members in the body, such as `target.kinesis`. */
  readonly place: string
  /** The faults that the API found, by their places. */
  readonly faults: ReadonlyMap<string, string>
}

/** Those that most targets leave out stand behind a line to open. */
export function Members({ members, value, onChange, place, faults }: MembersProps) {
  const isOpen = useSignal(false)
  const isSet = ({ name }: Member): boolean =>
    (value[name] ?? null) !== null || faults.has(`${place}.${name}`)
  const usual = members.filter((member) => !member.isRare)
  const rare = members.filter((member) => member.isRare)
  const field = (member: Member) => (
    <MemberField
      key={member.name}
      member={member}
      value={value[member.name]}
      place={`${place}.${member.name}`}
      faults={faults}
      onChange={(next) => onChange(withMember(value, member.name, next))}
    />
  )
  return (
    <>
      {usual.map(field)}
      {rare.length > 0 && (
        <details
          class="more"
          open={isOpen.value || rare.some(isSet)}
          onToggle={(event) => {
            isOpen.value = event.currentTarget.open
          }}
        >
          <summary>More options</summary>
          <div class="stack">{rare.map(field)}</div>
        </details>
      )}
    </>
  )
}

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
    label: member.label,
    isOptional: !member.isRequired,
    hint: member.about === '' ? undefined : member.about,
    fault: faults.get(place),
  }
  const text = (next: string): void => onChange(next === '' && !member.isRequired ? undefined : next)
  if (member.form === 'object') return <ObjectMember {...props} />
  if (member.form === 'one of') return <OneOfMember {...props} />
  if (member.isSecret && member.form !== 'map') return <SecretMember {...props} field={field} />
  const inWords = Object.keys(member.choiceWords)
  switch (member.form) {
    case 'switch':
      if (inWords.length > 0)
        return (
          <ChoiceField
            {...field}
            isOptional={false}
            value={textIn(value)}
            choices={[
              ['', member.unset],
              ...inWords.map((each) => [each, member.choiceWords[each]!] as const),
            ]}
            onChange={(next) => onChange(next === '' ? undefined : next === 'true')}
          />
        )
      return (
        <SwitchField {...field} value={value === true} onChange={(next) => onChange(next || undefined)} />
      )
    case 'choice':
      return (
        <ChoiceField
          {...field}
          isOptional={false}
          value={textIn(value)}
          choices={[
            ...(member.isRequired ? [] : [['', member.unset] as const]),
            ...member.choices.map((each) => [each, member.choiceWords[each] ?? each] as const),
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
          hint={`${member.about} One on each line.`.trim()}
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

/** A text that is no number stays a text, about which the API says what is wrong. */
function readNumber(text: string, onChange: (value: unknown) => void): void {
  if (text.trim() === '') onChange(undefined)
  else onChange(/^\d+$/.test(text.trim()) ? Number(text) : text)
}

interface FieldTexts {
  readonly field: {
    readonly label: string
    readonly isOptional: boolean
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
    <div class="stack">
      {!member.isRequired && (
        <SwitchField
          label={member.label}
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
      {isSet && member.members.length > 0 && (
        <div class="stack inner">
          <Members
            members={member.members}
            value={value as Value}
            onChange={onChange}
            place={place}
            faults={faults}
          />
        </div>
      )}
    </div>
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
    <div class="stack">
      <ChoiceField
        label={member.label}
        hint={member.about === '' ? undefined : member.about}
        fault={faults.get(place)}
        value={chosen?.name ?? ''}
        choices={[
          ...(member.isRequired && chosen ? [] : [['', 'not at all'] as const]),
          ...member.members.map(({ name, label }) => [name, label] as const),
        ]}
        onChange={choose}
      />
      {chosen && (
        <div class="stack inner">
          <Members
            members={chosen.members}
            value={given[chosen.name] as Value}
            onChange={(next) => onChange({ [chosen.name]: next })}
            place={`${place}.${chosen.name}`}
            faults={faults}
          />
        </div>
      )}
    </div>
  )
}

function MapMember({ value, onChange, field }: MemberProps & FieldTexts) {
  // The typed lines stay as they are: a line without a colon is not a pair yet.
  const text = useSignal(linesOfPairs((value ?? {}) as Record<string, string | null>))
  return (
    <LinesField
      {...field}
      hint={`${field.hint ?? ''} One on each line, such as “name: value”.`.trim()}
      rows={3}
      value={text.value}
      onChange={(lines) => {
        text.value = lines
        onChange(lines.trim() === '' ? undefined : pairsInLines(lines))
      }}
    />
  )
}
