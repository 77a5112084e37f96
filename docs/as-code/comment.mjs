// Posts a report as a comment on the pull request, or in place of the one that it posted before: node comment.mjs FILE
// Of 100 comments that are looked through, GitHub gives the oldest, GitLab the newest.
import { readFileSync } from 'node:fs'

const env = process.env
const body = readFileSync(process.argv[2], 'utf8')
const [mark] = body.split('\n')

const github = () => ({
  list: `${env.GITHUB_API_URL}/repos/${env.GITHUB_REPOSITORY}/issues/${env.PULL_REQUEST}/comments`,
  one: (id) => `${env.GITHUB_API_URL}/repos/${env.GITHUB_REPOSITORY}/issues/comments/${id}`,
  change: 'PATCH',
  headers: { authorization: `Bearer ${env.GITHUB_TOKEN}` },
})

const gitlab = () => {
  const request = `${env.CI_API_V4_URL}/projects/${env.CI_PROJECT_ID}/merge_requests/${env.CI_MERGE_REQUEST_IID}`
  return {
    list: `${request}/notes`,
    one: (id) => `${request}/notes/${id}`,
    change: 'PUT',
    headers: { 'private-token': env.COMMENT_TOKEN },
  }
}

const { list, one, change, headers } = env.GITHUB_ACTIONS ? github() : gitlab()

async function send(method, url, sent) {
  const response = await fetch(url, {
    method,
    headers: { ...headers, 'content-type': 'application/json' },
    ...(sent && { body: JSON.stringify(sent) }),
  })
  if (!response.ok) throw new Error(`${method} ${url}: ${response.status} ${await response.text()}`)
  return response.json()
}

const before = (await send('GET', `${list}?per_page=100`)).find((each) => each.body.startsWith(mark))
if (before) await send(change, one(before.id), { body })
else await send('POST', list, { body })
