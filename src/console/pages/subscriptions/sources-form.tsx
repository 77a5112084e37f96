/** The sources of a subscription as fields: events, fields of these, filter. */
import { useAnswer } from '../../data/api.js'
import { apiSchemas } from '../../data/api-document.js'
import { Boxes } from '../../parts/boxes.js'
import { ChoiceField, SwitchField } from '../../parts/fields.js'
import { FilterInput } from '../../parts/filter-input.js'
import type { DraftSource } from './draft.js'

interface SourcesProps {
  readonly sources: readonly DraftSource[]
  readonly onChange: (sources: readonly DraftSource[]) => void
  /** What the API said, by the place in the body. */
  readonly faults: ReadonlyMap<string, string>
}

export function SourcesForm({ sources, onChange, faults }: SourcesProps) {
  const reference = useAnswer([], (api) => api.fields())
  const schemas = useAnswer([], apiSchemas)
  const kinds = schemas.data?.['EventKind']?.enum ?? []
  const traffic = reference.data?.events ?? []
  const unused = kinds.find((kind) => !sources.some(({ type }) => type === kind))
  return (
    <section class="stack" aria-label="Sources">
      <h2>Sources</h2>
      {sources.map((source, index) => (
        <SourceFields
          key={index}
          source={source}
          place={`sources[${index}]`}
          kinds={kinds.includes(source.type) ? kinds : [source.type, ...kinds]}
          fields={traffic.find(({ kind }) => kind === source.type)?.fields}
          faults={faults}
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

interface SourceProps {
  readonly source: DraftSource
  readonly place: string
  readonly kinds: readonly string[]
  /** Undefined: the kind has neither fields to select nor a filter. */
  readonly fields: readonly Field[] | undefined
  readonly faults: ReadonlyMap<string, string>
  readonly onChange: (source: DraftSource) => void
  readonly onRemove: () => void
}

function SourceFields({ source, place, kinds, fields, faults, onChange, onRemove }: SourceProps) {
  const defaults = fields?.filter((field) => field.default).map(({ name }) => name) ?? []
  return (
    <fieldset class="members" aria-label={`Source ${source.type}`}>
      <div class="with-button">
        <ChoiceField
          label="Events"
          value={source.type}
          choices={kinds.map((kind) => [kind, kind] as const)}
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
            <p class="fault" role="alert">
              {faults.get(`${place}.filter`)}
            </p>
          )}
          <SwitchField
            label="Choose fields"
            value={source.fields !== undefined}
            hint={`Without it, events have the ${defaults.length} default fields.`}
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
