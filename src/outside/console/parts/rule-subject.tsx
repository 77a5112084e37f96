/** The subject of a rule of an IP policy: a range, or an IP list by its name. */
import { Name } from './name.js'

interface RuleSubjectProps {
  readonly cidr?: string | null | undefined
  readonly list_id?: string | null | undefined
}

export const RuleSubject = ({ cidr, list_id }: RuleSubjectProps) =>
  list_id == null ? (
    <span class="mono">{cidr}</span>
  ) : (
    <>
      list <Name id={list_id} />
    </>
  )
