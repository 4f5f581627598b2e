// `subscriptions/listen`: what of a filter is agreed to, who may listen, and where a stream is resumed.
// The stream itself is listen-stream.ts. @see basic/patterns/subscriptions

import type { Config } from '../config.ts'
import { limits } from '../limits.ts'
import { declaresResumableListen, declaresTasks } from '../protocol/capabilities.ts'
import { ProtocolError } from '../protocol/errors.ts'
import type { HeaderSource } from '../protocol/headers.ts'
import { isObject, type JsonObject } from '../protocol/json-rpc.ts'
import { LISTEN_CURSOR } from '../protocol/meta.ts'
import { LIST_MEMBERS, parseFilter, type ListenFilter } from '../protocol/modern/listen.ts'
import { LIST_TOPICS, type Topic } from '../protocol/topic.ts'
import { digestOf } from '../server/canonical.ts'
import type { Server } from '../server/define-server.ts'
import { listMarks } from '../server/list-marks.ts'
import type { ListenPort, ListenRefusal } from '../server/listen-port.ts'
import { isAnonymous, type Auth } from '../server/ports.ts'
import { findResource } from '../server/run.ts'
import type { Sealer } from '../server/sealer.ts'
import type { TaskPort } from '../server/task-port.ts'
import type { Accepted } from './accept.ts'
import { ownerOf } from './caller.ts'
import { SSE_HEADERS } from './headers.ts'
import { ListenStream } from './listen-stream.ts'
import type { Admitted } from './modern.ts'
import { missingTasks } from './modern-tasks.ts'

/** What one request to listen comes with. */
export interface ListenArrival {
  env: Cloudflare.Env
  config: Config
  auth: Auth
  headers: HeaderSource
  accepted: Accepted
}

/** The streams of one deployment. */
export class Listens {
  readonly #server: Server
  readonly #sealer: Sealer
  readonly #hubs: ListenPort
  readonly #tasks: TaskPort

  constructor(server: Server, sealer: Sealer, hubs: ListenPort, tasks: TaskPort) {
    this.#server = server
    this.#sealer = sealer
    this.#hubs = hubs
    this.#tasks = tasks
  }

  /**
   * Answers with a stream, which begins with the acknowledgement.
   * @throws {ProtocolError} NotAcceptable, InvalidRequest, InvalidParams, MissingRequiredClientCapability, TooManyRequests or Unavailable
   */
  async open(admitted: Admitted, arrival: ListenArrival): Promise<Response> {
    const { env, auth, accepted } = arrival
    const { request, envelope } = admitted
    if (!accepted.sse) {
      throw new ProtocolError(
        'NotAcceptable',
        'Not acceptable: subscriptions/listen is answered with text/event-stream',
      )
    }
    if (String(request.id).length > limits.listenIdChars) {
      throw new ProtocolError(
        'InvalidRequest',
        `Invalid request: the id may have ${limits.listenIdChars} characters here`,
      )
    }
    const asked = parseFilter(request.params, { resources: limits.listenResources, tasks: limits.listenTasks })
    const hasTasks = this.#server.families.has('tasks')
    if (asked.taskIds && hasTasks && !declaresTasks(envelope.clientCapabilities)) throw missingTasks()
    const { filter, topics } = this.#agree(asked, auth)
    const owner = ownerOf(arrival)
    const shard = this.#hubs.shardOf(env, owner)
    const after = await this.#placeOf(admitted, arrival, shard)
    const stream = new ListenStream({
      id: request.id,
      serverInfo: this.#server.info,
      filter,
      topics,
      taskIds: hasTasks ? asked.taskIds : undefined,
      after,
      endsAt: auth.expiresAt,
      ...(isResumable(admitted, arrival) && { eventId: await this.#eventIds(arrival, shard) }),
      attach: (wanted, after) => {
        const limit = isAnonymous(auth) ? limits.addressListeners : limits.principalListeners
        const lists = listMarks(this.#server)
        return this.#hubs.attach(env, { shard, owner, limit, topics: wanted, lists, after })
      },
      ownsTask: (taskId) => this.#tasks.listen(env, { principal: auth.principal, form: 'extension' }, taskId),
      readTask: (taskId) => this.#tasks.get(env, { principal: auth.principal, form: 'extension' }, taskId),
    })
    const refusal = await stream.begin()
    if (refusal) throw refused(refusal)
    return new Response(stream.body, { headers: SSE_HEADERS })
  }

  /** What of a filter this server can honour for this caller, tasks aside: their objects have to be asked. */
  #agree(asked: ListenFilter, auth: Auth): { filter: ListenFilter; topics: Topic[] } {
    const filter: ListenFilter = {}
    const topics: Topic[] = []
    for (const list of LIST_TOPICS) {
      const member = LIST_MEMBERS[list]
      if (!asked[member] || !this.#server.families.has(list)) continue
      filter[member] = true
      topics.push(list)
    }
    if (asked.resourceSubscriptions && this.#server.families.has('resources')) {
      const uris = asked.resourceSubscriptions.filter((uri) => findResource(this.#server, auth, uri))
      filter.resourceSubscriptions = uris
      for (const uri of uris) topics.push(`resource ${uri}`)
    }
    return { filter, topics }
  }

  /** Where a client that resumes left off. @throws {ProtocolError} InvalidParams for a cursor that is none of its own */
  async #placeOf(admitted: Admitted, arrival: ListenArrival, shard: number): Promise<number | undefined> {
    if (!isResumable(admitted, arrival)) return undefined
    const { _meta } = admitted.request.params
    // The body is the source of truth, here as everywhere. @see basic/transports
    const cursor = (isObject(_meta) ? _meta[LISTEN_CURSOR] : undefined) ?? arrival.headers.get('last-event-id')
    if (cursor === null || cursor === '') return undefined
    const [, place, token] = /^([1-9]\d{0,15})\.([\w.-]+)$/.exec(typeof cursor === 'string' ? cursor : '') ?? []
    const sealed = token && (await this.#sealer.open(arrival.env, token))
    if (!sealed || sealed['l'] !== 1 || sealed['p'] !== (await digestOf(arrival.auth.principal))) throw badCursor()
    // Places of another shard say nothing here: as if everything since had been forgotten.
    // Nor does one in the future: it was made up.
    return sealed['s'] === shard ? Math.min(Number(place), Date.now() * 1_000) : FIRST_PLACE
  }

  /**
   * Makes event ids. What binds them to the caller is sealed once a stream; the number beside it may be changed by who likes
   * to be told again.
   */
  async #eventIds({ env, auth }: ListenArrival, shard: number): Promise<(cursor: number) => string> {
    // A digest, so that ids are short whatever principals are called.
    const facts: JsonObject = { l: 1, p: await digestOf(auth.principal), s: shard }
    const token = await this.#sealer.seal(env, facts)
    return (cursor) => `${cursor}.${token}`
  }
}

/** Before everything there ever was. Its event ids are taken back like any other. */
const FIRST_PLACE = 1

function isResumable({ envelope }: Admitted, { config }: ListenArrival): boolean {
  return config.resumableListen && declaresResumableListen(envelope.clientCapabilities)
}

function refused(refusal: ListenRefusal): ProtocolError {
  switch (refusal) {
    case 'owner':
      return new ProtocolError(
        'TooManyRequests',
        'Invalid request: too many streams of yours are open, or name too much: close one first',
      )
    case 'full':
      return new ProtocolError('Unavailable', 'Too many listeners: try again later')
    case 'moved':
      return new ProtocolError('Unavailable', 'Listeners are moving to another version: try again')
  }
}

function badCursor(): ProtocolError {
  return new ProtocolError('InvalidParams', 'Invalid params: the cursor is from no stream of yours, listen without one')
}
