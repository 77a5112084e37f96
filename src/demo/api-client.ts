/** The management API, as any client uses it. */
export class ApiClient {
  readonly #base: string
  readonly #token: string

  constructor(base: string, token: string) {
    this.#base = base
    this.#token = token
  }

  /** Makes a resource; answers its id. Throws with the API's own sentence where it refuses. */
  async create(path: string, body: object): Promise<string> {
    const made = (await this.#call('POST', path, JSON.stringify(body))) as { id: string }
    return made.id
  }

  get(path: string): Promise<unknown> {
    return this.#call('GET', path)
  }

  async #call(method: string, path: string, body?: string): Promise<unknown> {
    const response = await fetch(`${this.#base}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${this.#token}`,
        'service-version': '2',
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body }),
    })
    const answer = (await response.json()) as { msg?: string }
    if (!response.ok) throw new Error(`The API refused ${method} ${path}: ${answer.msg}`)
    return answer
  }
}
