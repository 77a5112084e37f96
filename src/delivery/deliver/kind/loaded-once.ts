/** Loads a module once: Node needs some time for each `import`, even of a loaded module. */
export function loadedOnce<M>(load: () => Promise<M>): () => Promise<M> {
  let loaded: Promise<M> | undefined
  return () => {
    loaded ??= load()
    return loaded
  }
}
