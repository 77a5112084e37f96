declare module 'jexl' {
  class Jexl {
    addFunction(name: string, callback: (...args: never[]) => unknown): void
    addTransform(name: string, callback: (...args: never[]) => unknown): void
    compile(text: string): { evalSync(context: object): unknown }
  }
  const jexl: { readonly Jexl: typeof Jexl }
  export = jexl
}
