// `tasks/result` of 2025-11-25: from its POST over every connection it takes to its answer, with the task's questions on the
// way.

import { bodyOf } from './http.mjs'
import { Transcript } from './transcript.mjs'

const relatedTask = 'io.modelcontextprotocol/related-task'

export class TaskWait {
  /** The answer to `tasks/result`. */
  message
  #client
  #taskId
  #options
  #id
  /** What was asked on the present stream. */
  #asked
  #gets = 0
  #killsBefore
  #isStopped = false
  #controller = new AbortController()

  /**
   * @param onAsk takes a question: its id and its text
   * @param onProgress takes what the task says it does
   * @param phase says what the client does
   */
  constructor(client, taskId, options) {
    this.#client = client
    this.#taskId = taskId
    this.#options = options
    this.#killsBefore = client.world.server.kills
  }

  /** Waits for the answer, or until it is stopped. */
  async run() {
    const { world } = this.#client
    try {
      while (!this.message && !this.#isStopped) await this.#attempt()
    } catch (error) {
      if (!this.#isStopped) throw error
    }
    const kills = world.server.kills - this.#killsBefore
    const detail = () => `${this.#gets} GETs of a stream that waits for a task, ${kills} kills`
    world.ledger.check('no stream is asked for in a loop', this.#gets <= kills, detail)
    return this.message
  }

  /** Leaves; the task goes on. */
  stop() {
    this.#isStopped = true
    this.#controller.abort()
  }

  async #attempt() {
    const transcript = new Transcript(this.#client)
    this.#asked = new Set()
    this.#id = `result-${crypto.randomUUID()}`
    const { signal } = this.#controller
    const params = { taskId: this.#taskId }
    const response = await this.#client.post({ method: 'tasks/result', params, id: this.#id }, { signal })
    if (response?.headers['content-type'].startsWith('text/event-stream')) await this.#follow(transcript, response)
    else if (response) {
      const text = await bodyOf(response)
      if (text !== undefined) this.#take(JSON.parse(text))
    }
    while (transcript.cursor !== undefined && !this.message) if (!(await this.#resume(transcript))) break
    if (!this.message) await this.#client.backOff()
  }

  /** @returns false where that stream has no more to give, and the result has to be asked for anew */
  async #resume(transcript) {
    const { world } = this.#client
    this.#options.phase('resuming')
    await this.#client.backOff()
    const response = await this.#client.get(transcript.cursor, { signal: this.#controller.signal })
    if (!response) return true
    this.#gets++
    world.ledger.count('resumes')
    const isFine = response.statusCode === 200
    world.ledger.check('a stream that waits for a task can be resumed', isFine, () => `GET got ${response.statusCode}`)
    if (!isFine) return response.resume() && false
    await this.#follow(transcript, response)
    return true
  }

  async #follow(transcript, response) {
    this.#options.phase('waiting on a stream')
    await transcript.read(response, (message) => this.#take(message))
  }

  #take(message) {
    const { method, id, params } = message
    if (method === undefined) return this.#end(message)
    if (method === 'notifications/progress') this.#options.onProgress(params.message)
    if (method !== 'elicitation/create') return
    this.#checkRelated(params)
    const { message: text } = params
    const isNew = !this.#asked.has(text)
    this.#asked.add(text)
    this.#client.world.ledger.check('a stream that waits for a task asks each question once', isNew, () => text)
    this.#options.onAsk(id, text)
  }

  #end(message) {
    const { ledger } = this.#client.world
    ledger.check('a call has one answer', !this.message && message.id === this.#id, () => JSON.stringify(message))
    if (message.result) this.#checkRelated(message.result)
    this.message = message
  }

  /** @see 2025-11-25 basic/utilities/tasks, Associating Task-Related Messages */
  #checkRelated({ _meta }) {
    const { taskId } = _meta?.[relatedTask] ?? {}
    const isOurs = taskId === this.#taskId
    this.#client.world.ledger.check('what belongs to a task says to which', isOurs, () => `${taskId}`)
  }
}
