/** Example requests and responses for the API reference, made from the example in each kind's declaration. */

import { completed } from '../../../words/resource/fields/fields.js'
import type { AnyResource, Row } from '../../../words/resource/kind/define.js'
import { exampleId } from '../../../words/resource/kind/examples.js'
import { BaseLinks, shownMembers } from '../../exchange/present.js'

type Body = Readonly<Record<string, unknown>>

/** Links to a made-up deployment. */
export const exampleLinks = new BaseLinks(() => 'https://weir.example.com')
const createdAt = Date.parse('2026-11-20T10:00:00Z')

/** The members of a resource's example that belong to a body. */
const exampleBody = (
  { fields, example, parent }: AnyResource,
  isIn: (field: AnyResource['fields'][string]) => boolean,
): Body =>
  Object.fromEntries(
    Object.entries(example).filter(([name]) => name !== parent?.field && isIn(fields[name]!)),
  )

export const createExample = (resource: AnyResource): Body =>
  exampleBody(resource, ({ setBy }) => setBy !== 'weir')

/** Modules have separate requests. */
export const changesExample = (resource: AnyResource): Body =>
  exampleBody(resource, ({ setBy, fields }) => setBy === 'client' && fields === undefined)

const rowExample = ({ fields, idPrefix, example }: AnyResource): Row => ({
  ...completed(fields, example),
  id: exampleId(idPrefix),
  account_id: exampleId('ac_'),
  version: 1,
  created_at: createdAt,
})

/** The resource as the API shows it. */
export const shownExample = (resource: AnyResource): Body =>
  shownMembers(resource, rowExample(resource), exampleLinks, (child) => [shownExample(child)])

/** A page with one entry. */
export const pageExample = (resource: AnyResource): Body => ({
  [resource.listName]: [shownExample(resource)],
  uri: exampleLinks.uri(resource.path),
  next_page_uri: null,
})

export const moduleExample = ({ example }: AnyResource, name: string): Body => example[name] as Body

export const shownModuleExample = (resource: AnyResource, name: string): Body =>
  shownExample(resource)[name] as Body
