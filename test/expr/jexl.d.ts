declare module 'jexl' {
  class Jexl {
    addFunction(name: string, callback: (first: unknown, second: unknown) => unknown): void
    addTransform(name: string, callback: (first: unknown, second: unknown) => unknown): void
    compile(text: string): { evalSync(context: object): unknown }
  }
  const jexl: { readonly Jexl: typeof Jexl }
  export = jexl
}
