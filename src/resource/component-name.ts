/** The name of a kind's schema in the OpenAPI document: `IpPolicy` for `ip_policy`, `LogV0` for `log.v0`. */
export const componentName = (kind: string): string =>
  kind.replaceAll(/(?:^|[_.])([a-z])/g, (_, letter: string) => letter.toUpperCase())
