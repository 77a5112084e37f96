/** The next steps after a decision: look at what decided, try a change, see others like it. */
import type { DecisionRequest } from '../../../../words/client/client.js'
import type { Decision } from '../../../../words/shape/decisions/decision.js'
import { may } from '../../data/access/session.js'
import { beginTest, isTestBegun } from '../../data/drafts/test-draft.js'
import { go, hrefTo } from '../../data/location.js'
import { Button } from '../../kit/button.js'
import { Link } from '../../kit/link.js'

interface NextStepsProps {
  readonly client: string
  readonly decision: Decision
  readonly edgeId?: string | null
  readonly request: DecisionRequest
}

export function NextSteps({ client, decision, edgeId, request }: NextStepsProps) {
  const { explanation } = decision
  const { type = 'none', ip_policy_id = null, rule_id = null } = explanation?.decided_by ?? {}
  const sources = explanation?.policies.map(({ source }) => / of (edg\w+)$/.exec(source)?.[1]) ?? []
  const edge = edgeId ?? sources.find((id) => id !== undefined && !id.startsWith('edghtsrt_'))
  return (
    <nav class="row" aria-label="What next">
      {ip_policy_id !== null && (
        <Link to={['ip-policies', ip_policy_id]} with={{ rule: rule_id ?? undefined }}>
          {rule_id === null ? 'Open the IP policy' : 'Open the rule'}
        </Link>
      )}
      {edge != null && (
        <Link to={type === 'traffic_policy' ? ['edges', edge, 'policies'] : ['edges', edge]}>
          {type === 'traffic_policy' ? 'Try a change of its policies' : 'Open the edge'}
        </Link>
      )}
      {may('write') && (
        <Link to={['ip-policies']} with={{ add: client.includes(':') ? `${client}/128` : `${client}/32` }}>
          Start a rule for {client}
        </Link>
      )}
      {may('write') && explanation !== undefined && (
        <Button
          {...(isTestBegun() && {
            confirm: 'A new test was begun in this tab and is not saved. Replace it?',
          })}
          onClick={() => {
            beginTest(request, decision)
            go(hrefTo(['tests', 'new']))
          }}
        >
          Make a test of this decision
        </Button>
      )}
      <Link to={['search']} with={{ client, since: '7d' }}>
        All decisions about {client}
      </Link>
    </nav>
  )
}
