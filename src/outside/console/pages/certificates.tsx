/** Certificates and SSH credentials: when they expire, what they are for, their last use; what expires next comes first. */
import { parameter } from '../data/location.js'
import { kindOfId } from '../data/resources/resource-kinds.js'
import { headOf } from '../kit/page-head.js'
import type { PageProps } from '../parts/page.js'
import { PlainList } from '../parts/plain/plain-list.js'
import { certificateKinds } from './certificates/certificate-kinds.js'
import { certificateResource } from './certificates/certificate-resource.js'

const tabs = certificateKinds.map(({ kind, tab }) => [kind, tab] as const)

const resources = certificateKinds.map(certificateResource)

export function Certificates({ rest: [id] }: PageProps) {
  const wanted = parameter('tab') || kindOfId(id ?? '')
  const index = Math.max(
    0,
    certificateKinds.findIndex(({ kind }) => kind === wanted),
  )
  return (
    <PlainList key={index} resource={resources[index]!} head={headOf('Certificates', tabs)} opened={id} />
  )
}
