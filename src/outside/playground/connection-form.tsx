/** The fields of the connection that is asked about. */
import { type Question, questionTypes } from '../console/data/decisions/question.js'
import { ChoiceField, TextField } from '../console/kit/forms/fields.js'
import { Editor } from '../console/parts/editor/editor.js'
import { faultsOfYaml } from '../console/parts/editor/editor-props.js'
import type { Connection } from './asked-connection.js'
import { change, connection, evaluated } from './evaluation.js'

const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS']

/** A link or a test may have another one, or none. */
const methodsWith = (present: string): readonly (readonly [string, string])[] =>
  [...new Set([...methods, present])].map((method) => [method, method || 'unknown'])

const set = (changes: Partial<Connection>): void =>
  change({ connection: { ...connection.peek(), ...changes } })

export function ConnectionForm() {
  const { client, endpoint, type, method, path, country, asn } = connection.value
  const { hostports, fault } = evaluated.value
  return (
    <section class="stack" aria-label="The connection">
      <div class="asking">
        <TextField
          label="Client"
          value={client}
          placeholder="203.0.113.97"
          onChange={(text) => set({ client: text.trim() })}
        />
        <TextField
          label="Endpoint"
          value={endpoint}
          placeholder="www.example.com:443"
          suggestions={hostports}
          onChange={(text) => set({ endpoint: text.trim() })}
        />
        <ChoiceField
          label="May it make"
          value={type}
          choices={questionTypes}
          onChange={(next) => set({ type: next as Question['type'] })}
        />
        {type === 'http_request' && (
          <>
            <ChoiceField
              label="Method"
              value={method}
              choices={methodsWith(method)}
              onChange={(next) => set({ method: next })}
            />
            <TextField label="Path" value={path} onChange={(text) => set({ path: text.trim() })} />
          </>
        )}
        <TextField
          label="Country"
          value={country}
          placeholder="unknown"
          onChange={(text) => set({ country: text.trim().toUpperCase() })}
        />
        <TextField
          label="AS"
          value={asn}
          placeholder="unknown"
          onChange={(text) => set({ asn: text.trim().replace(/^AS/i, '') })}
        />
      </div>
      {fault !== '' && (
        <p class="fault" role="alert">
          {fault}
        </p>
      )}
      <More />
    </section>
  )
}

function More() {
  const { type, more } = connection.value
  return (
    <details open={more !== ''}>
      <summary>More of the record</summary>
      <Editor
        label="More members of the record, as YAML"
        mode="yaml"
        value={more}
        isLoadedByFocus
        placeholder={
          type === 'http_request' ? 'http: {request: {headers: {x-a: [b]}}}' : 'conn: {bytes_in: 100}'
        }
        onChange={(text) => set({ more: text })}
        faults={faultsOfYaml(evaluated.value.moreFaults)}
      />
    </details>
  )
}
