/**
 * `npm run upgrade`: builds of older commits, and what becomes of their data, and of their processes, when the build of
 * today takes their place. Each is built once, into `~/.cache/weir/builds`; without its commit, or without the registry of
 * npm, its tests are skipped.
 *
 *     npm run upgrade
 *     npm run upgrade -- --only=replaced     # tests with this in their name
 */
import { argv } from 'node:process'
import t, { type Test } from 'tap'
import { olderBuild, todaysBuild } from './older-build.js'
import { isRefused, takesOver } from './opened.js'
import { workSideBySide } from './side-by-side.js'

interface Older {
  readonly name: string
  readonly commit: string
  /** Can it open the data of today? If not, it ends with the reason. */
  readonly isWayBack: boolean
}

const older: readonly Older[] = [
  { name: '0.1.0', commit: '983eaa4be3c560210f615f0be1971373d9fa58f1', isWayBack: false },
  {
    name: 'the commit before configuration as code',
    commit: '40a55997afd2bdc8c74bf898061b2fa34b770ab2',
    isWayBack: true,
  },
]

const only = argv.find((each) => each.startsWith('--only='))?.slice('--only='.length) ?? ''

t.setTimeout(1_800_000)

async function tested(name: string, test: (t: Test) => Promise<void>): Promise<void> {
  if (name.includes(only)) await t.test(name, test)
}

for (const { name, commit, isWayBack } of older) {
  const found = olderBuild(commit)
  if ('missing' in found) {
    void t.test(name, { skip: found.missing }, () => {})
    continue
  }
  const { build } = found
  await tested(`data of ${name} is opened`, (t) => takesOver(t, build, todaysBuild))
  if (isWayBack) await tested(`${name} opens the data of today`, (t) => takesOver(t, todaysBuild, build))
  else await tested(`${name} is refused on the data of today`, (t) => isRefused(t, build, todaysBuild))
  await tested(`processes of ${name} are replaced one by one`, (t) => workSideBySide(t, build))
}
