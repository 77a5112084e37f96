/**
 * Start here: the API reference, a page that shows the OpenAPI document of the deployment that serves it. One part of the
 * document is drawn at a time, so that the page is there at once; `document.ts` reads the document, `state.ts` knows what is
 * shown.
 */
import { useSignal } from '@preact/signals'
import { render } from 'preact'
import { useEffect } from 'preact/hooks'
import { CopyText } from '../console/kit/copy.js'
import { MenuButton } from '../console/kit/menu-button.js'
import { Notices } from '../console/kit/notices.js'
import { nameIn, type Reference, type Schema, schemaAnchor, type Tag } from './document.js'
import { Markdown } from './markdown.js'
import { Menu } from './menu.js'
import { OperationView } from './operation-view.js'
import { SchemaView } from './schema-view.js'
import { anchor, hrefOf, load, loadFault, reference, root } from './state.js'

const title = 'Weir management API'

function Page() {
  const isMenuOpen = useSignal(false)
  const found = reference.value
  return (
    <div class={`shell reference ${isMenuOpen.value ? 'menu-open' : ''}`}>
      <button type="button" class="skip" onClick={() => document.getElementById('content')?.focus()}>
        Skip to the content
      </button>
      <header class="bar">
        <MenuButton isMenuOpen={isMenuOpen} />
        <a class="brand" href={root}>
          Weir
        </a>
        <span class="account">API reference</span>
        <a href={root}>Console</a>
        <a href={`${root}playground`}>Playground</a>
        <a href={`${root}openapi.json`}>openapi.json</a>
      </header>
      {found === undefined ? (
        <nav class="menu" />
      ) : (
        <Menu reference={found} onChoose={() => (isMenuOpen.value = false)} />
      )}
      <main id="content" tabIndex={-1} aria-busy={found === undefined && loadFault.value === ''}>
        {found === undefined ? <Waiting /> : <Content reference={found} />}
      </main>
      <Notices />
    </div>
  )
}

const Waiting = () => (
  <>
    <h1>{title}</h1>
    {loadFault.value === '' ? (
      <p class="page-waits" role="status">
        <span>Loading…</span>
      </p>
    ) : (
      <div class="failure" role="alert">
        <p>{loadFault.value}</p>
        <button type="button" onClick={() => void load()}>
          Try again
        </button>
      </div>
    )}
  </>
)

function Content({ reference: found }: { readonly reference: Reference }) {
  const place = anchor.value
  const tag = found.tags.find((each) => place === each.anchor || place.startsWith(`${each.anchor}/`))
  const schema = place.startsWith(schemaAnchor('')) ? nameIn(place) : undefined
  const heading = tag?.name ?? schema ?? (place === 'schemas' ? 'Schemas' : title)
  useEffect(() => {
    document.title = heading === title ? title : `${heading} · ${title}`
    show(place)
  }, [place])
  if (tag !== undefined) return <TagView key={tag.anchor} reference={found} tag={tag} />
  if (place === 'schemas') return <Schemas reference={found} />
  if (schema !== undefined)
    return <OneSchema key={schema} reference={found} name={schema} schema={found.schemas[schema]} />
  if (place === '' || place.startsWith('about/')) return <Introduction reference={found} />
  return <p class="empty">There is nothing at #{place}. The menu and the search list all there is.</p>
}

/** Scrolls to the place that was chosen, and gives it the focus, so that keys go on from there. */
function show(place: string): void {
  const chosen = document.getElementById(place)
  if (place === '' || chosen === null) scrollTo(0, 0)
  else chosen.scrollIntoView()
  document.getElementById(`${place}/title`)?.focus({ preventScroll: true })
}

const Introduction = ({ reference: { document: found } }: { readonly reference: Reference }) => (
  <div class="stack prose">
    <h1>{found.info.title}</h1>
    <p class="quiet">Version {found.info.version}</p>
    <Markdown text={found.info.description ?? ''} />
    <h2>Security</h2>
    <dl class="facts">
      {Object.entries(found.components.securitySchemes ?? {}).map(([name, { type, description = '' }]) => (
        <>
          <dt key={name}>
            {name} ({type})
          </dt>
          <dd>
            <Markdown text={description} />
          </dd>
        </>
      ))}
    </dl>
  </div>
)

const TagView = ({ reference: found, tag }: { readonly reference: Reference; readonly tag: Tag }) => (
  <div class="stack prose">
    <h1 id={`${tag.anchor}/title`} tabIndex={-1}>
      {tag.name}
    </h1>
    <Markdown text={tag.description} />
    {tag.operations.map((operation) => (
      <OperationView key={operation.anchor} reference={found} operation={operation} />
    ))}
  </div>
)

const Schemas = ({ reference: found }: { readonly reference: Reference }) => (
  <div class="stack prose">
    <h1 id="schemas/title" tabIndex={-1}>
      Schemas
    </h1>
    <ul class="columns">
      {Object.keys(found.schemas).map((name) => (
        <li key={name}>
          <a href={hrefOf(schemaAnchor(name))}>{name}</a>
        </li>
      ))}
    </ul>
  </div>
)

interface OneSchemaProps {
  readonly reference: Reference
  readonly name: string
  readonly schema: Schema | undefined
}

function OneSchema({ reference: found, name, schema }: OneSchemaProps) {
  if (schema === undefined) return <p class="empty">There is no schema “{name}”.</p>
  return (
    <div class="stack prose">
      <h1 id={`${schemaAnchor(name)}/title`} tabIndex={-1}>
        {name}
      </h1>
      <SchemaView reference={found} schema={schema} />
      {(schema.examples ?? []).map((example, index) => (
        <CopyText key={index} what="the example" text={JSON.stringify(example, null, 2)} />
      ))}
    </div>
  )
}

render(<Page />, document.getElementById('app')!)
void load()
