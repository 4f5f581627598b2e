// Those who want to be told of changes, each in its own way, and what they then know: whoever is told something looks it up.
// A plain listener that lost its stream looks up everything; one that resumes relies on being told. Of a task both are told
// what it is.

import { setTimeout as sleep } from 'node:timers/promises'
import { createRandom } from '../../support/random.mjs'
import { isCut } from './http.mjs'
import { readEvents } from './sse.mjs'
import { LegacyClient, ModernClient } from './task-clients.mjs'
import { Transcript } from './transcript.mjs'

const SUBSCRIPTION = 'io.modelcontextprotocol/subscriptionId'
const RESUMABLE = 'dev.mcp-edge/resumable-listen'
const CURSOR = 'dev.mcp-edge/cursor'
/** Lists, which every session is told of. */
export const LISTS = ['tools', 'resources']
/** Of the connections that may be cut, so many are. */
const cutShare = 0.6
const FINAL = ['completed', 'failed', 'cancelled']

/** What all do: keep a stream open, note what comes, look it up. */
class Listener {
  /** The newest version of each thing that was looked up. */
  known = new Map()
  /** Resolves when everything was looked up once. */
  ready
  #random
  isStopped = false
  #awayMs
  #controller
  #unknown = new Set()
  #looking

  /** @param about its name, its topics, whether its connections may be cut, and the seed of what it does */
  constructor(world, { name, topics, mayBeCut = false, seed }) {
    this.world = world
    this.name = name
    this.topics = topics
    this.mayBeCut = mayBeCut
    this.#random = createRandom(seed)
    this.ready = new Promise((resolve) => (this.isReady = resolve))
  }

  start() {
    this.done = this.#run()
    return this
  }

  /** Goes away for a while. */
  leave(ms = this.#random.between(100, 2_000)) {
    this.#awayMs = ms
    this.#controller?.abort()
  }

  async stop() {
    this.isStopped = true
    this.#controller?.abort()
    await this.done
    await this.#looking
    this.world.note({ event: 'stopped', listener: this.name })
  }

  async #run() {
    const { activity } = this.world
    await this.prepare()
    while (!this.isStopped) {
      await this.#listen()
      if (this.isStopped) break
      activity.set(this, this.#awayMs === undefined ? 'resuming' : 'away')
      await (this.#awayMs === undefined ? this.client.backOff() : sleep(this.#awayMs))
      this.#awayMs = undefined
    }
    activity.set(this)
  }

  /** One connection, from its request to its end. */
  async #listen() {
    const { world, name } = this
    const { ledger, activity } = world
    const way = this.#way()
    this.client.port = way.port
    this.#controller = new AbortController()
    const { signal } = this.#controller
    const since = world.note({ event: 'asks', listener: name })
    let how = 'end'
    try {
      activity.set(this, 'attaching')
      const response = await this.open({ signal, headers: way.headers }, this.#random)
      if (!response) return
      const { statusCode } = response
      ledger.check('who wants to listen may', statusCode === 200, () => `${name}: ${statusCode}`)
      if (statusCode !== 200) return response.resume()
      how = await this.read(response)
    } catch (error) {
      if (!signal.aborted) throw error
    }
    if (signal.aborted) how = 'left'
    else if (way.isCut()) how = 'cut'
    world.note({ event: 'closed', listener: name, since, how })
  }

  /** Where the next connection goes, and where it is cut. */
  #way() {
    const { world, mayBeCut } = this
    const worker = this.#random.int(world.server.ports.length)
    if (!mayBeCut) return { port: world.server.ports[worker], isCut: () => false }
    const run = String(world.runs++)
    const { port, connections } = world.proxies[worker]
    const isPlanned = world.isRough && this.#random.chance(cutShare)
    const [from, offset, side] = [this.#random.int(6), this.#random.int(200), this.#random.pick(['both', 'client'])]
    const headers = { 'x-run': run, ...(isPlanned && { 'x-cut': `${from}:${offset}:${side}` }) }
    return { port, headers, isCut: () => connections.some((one) => one.run === run && one.cut !== undefined) }
  }

  /** The connection is made. @param isBlind true when it is not said what was missed */
  opened(isBlind) {
    this.world.activity.set(this)
    this.world.note({ event: 'opened', listener: this.name })
    if (isBlind) for (const topic of this.topics) this.#lookUp(topic)
  }

  told({ method, params }) {
    const [, list] = /^notifications\/(\w+)\/list_changed$/.exec(method) ?? []
    const topic = list ?? params.uri
    this.world.note({ event: 'told', listener: this.name, topic })
    this.#lookUp(topic)
  }

  #lookUp(topic) {
    this.#unknown.add(topic)
    this.#looking ??= this.#look().finally(() => (this.#looking = undefined))
  }

  async #look() {
    while (this.#unknown.size > 0) {
      const topics = [...this.#unknown]
      this.#unknown.clear()
      const versions = await this.world.versions.read()
      for (const topic of topics) {
        const version = versions[topic] ?? 0
        this.known.set(topic, version)
        this.world.note({ event: 'knows', listener: this.name, topic, version })
      }
    }
    this.isReady()
  }
}

/** `subscriptions/listen`, as the specification has it: a stream that broke is begun anew. */
export class PlainListener extends Listener {
  kind = 'plain'
  /** How the task ended that it listens to. */
  outcome
  #taskId
  #ids = 0

  constructor(world, { principal, taskId, ...about }, extensions = {}) {
    super(world, about)
    this.#taskId = taskId
    this.client = new ModernClient(world, { principal, extensions })
  }

  prepare() {}

  open({ signal, headers }) {
    return this.ask({}, { signal, headers })
  }

  ask(_meta, options) {
    const uris = this.topics.filter((topic) => !LISTS.includes(topic))
    const lists = this.topics.filter((topic) => LISTS.includes(topic))
    this.filter = {
      ...Object.fromEntries(lists.map((list) => [`${list}ListChanged`, true])),
      resourceSubscriptions: uris,
      ...(this.#taskId !== undefined && { taskIds: [this.#taskId] }),
    }
    // Ids may come again: it is the connection that tells streams apart.
    this.id = `${this.name}-${++this.#ids % 3}`
    const params = { notifications: this.filter, _meta }
    return this.client.post({ method: 'subscriptions/listen', id: this.id, params }, options)
  }

  /** @returns how the stream ended: 'final' in good order */
  async read(response) {
    let isAcknowledged = false
    try {
      for await (const event of readEvents(response)) {
        if (!event.isEvent) continue
        const { message, id } = event
        this.#check(message, id, isAcknowledged)
        this.placed(id, isAcknowledged)
        if (message.method === undefined) return 'final'
        if (message.method === 'notifications/tasks') this.#toldOfTask(message.params)
        else if (isAcknowledged) this.told(message)
        isAcknowledged = true
      }
    } catch (error) {
      if (!isCut(error)) throw error
    }
    return 'end'
  }

  #check(message, id, isAcknowledged) {
    const { ledger } = this.world
    const what = () => `${this.name}: ${JSON.stringify(message)}`
    const { params = {}, result = {} } = message
    const marked = (params._meta ?? result._meta)?.[SUBSCRIPTION]
    ledger.check('what comes on a stream is marked as of it', marked === this.id, what)
    ledger.check('ids come to those who asked for them', (id !== undefined) === (this.kind === 'resumable'), what)
    if (isAcknowledged) return
    const isFirst = message.method === 'notifications/subscriptions/acknowledged'
    const isAgreed = isFirst && JSON.stringify(params.notifications) === JSON.stringify(this.filter)
    ledger.check('a stream begins with the acknowledgement of what was asked for', isAgreed, what)
  }

  placed(_, isAcknowledged) {
    if (!isAcknowledged) this.opened(true)
  }

  #toldOfTask({ taskId, status }) {
    const { ledger } = this.world
    const what = () => `${this.name}: ${taskId} is ${status}, after ${this.outcome}`
    ledger.check('who listens to a task is told of no other', taskId === this.#taskId, what)
    ledger.check('what a task came to is told as it is', this.outcome === undefined || this.outcome === status, what)
    if (FINAL.includes(status)) this.outcome = status
  }
}

/** The same with the extension: a stream that broke goes on where it was. */
export class ResumingListener extends PlainListener {
  kind = 'resumable'
  #cursor

  constructor(world, about) {
    super(world, about, { [RESUMABLE]: {} })
  }

  open({ signal, headers }, random) {
    if (this.#cursor === undefined) return this.ask({}, { signal, headers })
    if (random.chance(0.5)) return this.ask({ [CURSOR]: this.#cursor }, { signal, headers })
    return this.ask({}, { signal, headers: { ...headers, 'last-event-id': this.#cursor } })
  }

  placed(id, isAcknowledged) {
    if (!isAcknowledged) this.opened(this.#cursor === undefined)
    this.#cursor = id
  }
}

/** A session of 2025-11-25: subscriptions, and the standalone stream over all its connections. */
export class SessionListener extends Listener {
  kind = 'session'
  #transcript

  constructor(world, { principal, topics, ...about }) {
    super(world, { ...about, topics: [...LISTS, ...topics.filter((topic) => !LISTS.includes(topic))] })
    this.client = new LegacyClient(world, { principal })
    this.#transcript = new Transcript(this.client)
  }

  async prepare() {
    await this.client.open()
    for (const uri of this.topics) if (!LISTS.includes(uri)) await this.client.repeat('resources/subscribe', { uri })
    // A place is what a session needs in order to be told what it misses.
    void this.#transcript.placed.then(() => this.opened(true))
  }

  open(options) {
    return this.client.get(this.#transcript.cursor, options)
  }

  async read(response) {
    if (this.#transcript.cursor !== undefined) this.opened(false)
    const retryMs = await this.#transcript.read(response, (message) => this.told(message))
    return retryMs === undefined ? 'end' : 'sent away'
  }
}
