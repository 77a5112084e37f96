/** CPU of this process in milliseconds that `work` takes: unlike time, other processes do not add to it. */
export function cpuMsOf(work: () => void): number {
  const begun = process.cpuUsage()
  work()
  const { user, system } = process.cpuUsage(begun)
  return (user + system) / 1_000
}
