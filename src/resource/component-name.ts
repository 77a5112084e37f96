/** What the API's document calls the schema of a kind: `IpPolicy` of `ip_policy`, `LogV0` of `log.v0`. */
export const componentName = (kind: string): string =>
  kind.replaceAll(/(?:^|[_.])([a-z])/g, (_, letter: string) => letter.toUpperCase())
