/** The sources of a subscription as fields: events, fields of these, filter. */
import { ApiError } from '../../../../words/client/api-error.js'
import { useAnswer } from '../../data/asking/api.js'
import { apiSchemas } from '../../data/asking/api-document.js'
import { faultsOf } from '../../data/drafts/refused-places.js'
import { Boxes } from '../../kit/forms/boxes.js'
import { ChoiceField, SwitchField } from '../../kit/forms/fields.js'
import { FilterInput } from '../../parts/editor/filter-input.js'
import type { DraftSource } from './subscription-draft.js'

interface SourcesProps {
  readonly sources: readonly DraftSource[]
  readonly onChange: (sources: readonly DraftSource[]) => void
  /** The API's error about the draft. */
  readonly error: unknown
}

export function SourcesForm({ sources, onChange, error }: SourcesProps) {
  const faults = faultsOf(error)
  const marks = error instanceof ApiError ? error.places : []
  const reference = useAnswer([], (api) => api.fields())
  const schemas = useAnswer([], apiSchemas)
  const kinds = schemas.data?.['EventKind']?.enum ?? []
  const traffic = reference.data?.events ?? []
  const textOf = (kind: string): string => {
    const about = traffic.find((each) => each.kind === kind)?.about
    return about === undefined ? kind : `${about.replace(/\.$/, '')} – ${kind}`
  }
  const unused = kinds.find((kind) => !sources.some(({ type }) => type === kind))
  return (
    <section class="stack" aria-label="Sources">
      <h2>Sources</h2>
      {sources.map((source, index) => (
        <SourceFields
          key={index}
          source={source}
          place={`sources[${index}]`}
          kinds={(kinds.includes(source.type) ? kinds : [source.type, ...kinds]).map(
            (kind) => [kind, textOf(kind)] as const,
          )}
          fields={traffic.find(({ kind }) => kind === source.type)?.fields}
          faults={faults}
          mark={marks.find(({ place }) => place === `sources[${index}].filter`)}
          onChange={(next) => onChange(sources.with(index, next))}
          onRemove={() => onChange(sources.toSpliced(index, 1))}
        />
      ))}
      <div class="row">
        <button
          type="button"
          disabled={unused === undefined}
          onClick={() => onChange([...sources, { type: unused ?? '', filter: '' }])}
        >
          Add a source
        </button>
      </div>
    </section>
  )
}

type Field = Awaited<
  ReturnType<Parameters<Parameters<typeof useAnswer>[1]>[0]['fields']>
>['events'][number]['fields'][number]

type Mark = Pick<ApiError['places'][number], 'offset' | 'length'>

interface SourceProps {
  readonly source: DraftSource
  readonly place: string
  readonly kinds: readonly (readonly [kind: string, text: string])[]
  /** Undefined: the kind has neither fields to select nor a filter. */
  readonly fields: readonly Field[] | undefined
  /** The faults that the API found, by their places in the body. */
  readonly faults: ReadonlyMap<string, string>
  /** The characters of the filter that are wrong. */
  readonly mark: Mark | undefined
  readonly onChange: (source: DraftSource) => void
  readonly onRemove: () => void
}

/** The text with the wrong characters marked; one if they are missing at its end. */
function Marked({ text, mark: { offset, length } }: { readonly text: string; readonly mark: Mark }) {
  const end = offset + Math.max(1, length)
  return (
    <code>
      {text.slice(0, offset)}
      <mark>{text.slice(offset, end) || ' '}</mark>
      {text.slice(end)}
    </code>
  )
}

function SourceFields(props: SourceProps) {
  const { source, place, kinds, fields, faults, mark, onChange, onRemove } = props
  const defaults = fields?.filter((field) => field.default).map(({ name }) => name) ?? []
  return (
    <fieldset class="members" aria-label={`Source ${source.type}`}>
      <div class="with-button">
        <ChoiceField
          label="Events"
          value={source.type}
          choices={kinds}
          fault={faults.get(`${place}.type`) ?? faults.get(place)}
          onChange={(type) => onChange({ type, filter: '' })}
        />
        <button type="button" onClick={onRemove}>
          Remove
        </button>
      </div>
      {fields !== undefined && (
        <>
          <FilterInput
            label="Filter"
            about={source.type}
            value={source.filter}
            placeholder="conn.server_port == 22"
            hint="Only records for which it is true make events."
            onInput={(filter) => onChange({ ...source, filter })}
            onApply={(filter) => onChange({ ...source, filter })}
          />
          {faults.has(`${place}.filter`) && (
            <div class="fault" role="alert">
              <p>{faults.get(`${place}.filter`)}</p>
              {mark && <Marked text={source.filter} mark={mark} />}
            </div>
          )}
          <SwitchField
            label="Choose fields"
            value={source.fields !== undefined}
            hint={`Without it, events have the ${defaults.length === 1 ? 'default field' : `${defaults.length} default fields`}.`}
            onChange={(isOn) => onChange({ ...source, fields: isOn ? defaults : undefined })}
          />
          {source.fields !== undefined && (
            <Boxes
              label={`Fields of ${source.type}`}
              entries={fields.map(({ name, about }) => ({ id: name, text: name, about }))}
              chosen={source.fields}
              fault={faults.get(`${place}.fields`)}
              onChange={(names) => onChange({ ...source, fields: names })}
            />
          )}
        </>
      )}
    </fieldset>
  )
}
