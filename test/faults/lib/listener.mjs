// The standalone stream of a session, kept open over kills.

import { Transcript } from './transcript.mjs'

export class Listener {
  transcript
  gets = 0
  #client
  #isStopped = false
  #controller = new AbortController()
  #killsBefore

  constructor(client) {
    this.#client = client
    this.transcript = new Transcript(client)
    this.#killsBefore = client.world.server.kills
    this.done = this.#run()
  }

  async #run() {
    const { world } = this.#client
    const { signal } = this.#controller
    try {
      while (!this.#isStopped) {
        const response = await this.#client.get(this.transcript.cursor, { signal })
        if (response) await this.#follow(response)
        if (this.#isStopped) break
        world.activity.set(this, 'resuming')
        await this.#client.backOff()
      }
    } catch (error) {
      if (!this.#isStopped) throw error
    }
    world.activity.set(this)
    const kills = world.server.kills - this.#killsBefore
    const detail = () => `${this.gets} GETs of the standalone stream, ${kills} kills`
    world.ledger.check('no stream is asked for in a loop', this.gets <= kills + 1, detail)
  }

  async #follow(response) {
    const { world } = this.#client
    const { statusCode } = response
    world.ledger.check('the standalone stream can be resumed', statusCode === 200, () => `GET answered ${statusCode}`)
    if (statusCode !== 200) return response.resume()
    if (this.gets++ > 0) world.ledger.count('resumes')
    world.activity.set(this, 'idle')
    await this.transcript.read(response, () => {})
  }

  /** The numbers of the items that changed, in order. */
  get items() {
    return this.transcript.events.map(({ message }) => Number(message.params.uri.slice('item://'.length)))
  }

  async stop() {
    this.#isStopped = true
    this.#controller.abort()
    await this.done
  }
}
