// What the tests of listening share: streams that say in short what they were told, a tool that changes things, and a look
// into the hub they are connected to.

import { env } from 'cloudflare:workers'
import { evictDurableObject, runInDurableObject } from 'cloudflare:test'
import * as z from 'zod'
import { expect, onTestFinished } from 'vitest'
import type { Topic } from '../../src/protocol/topic.ts'
import { defineTool, type CallContext, type Server } from '../../src/server/index.ts'
import type { Id, JsonObject, Message, ModernClient, OpenStream, RequestOptions } from '../support/client.ts'
import { hubsOf, servers } from '../support/main.ts'

export { eventually, gate, later, withLimits, type Gate } from '../sessions/support.ts'
export { as, byHeader } from '../tasks/support.ts'

/** The key of `_meta` that says on which stream a message is. */
export const SUBSCRIPTION_ID = 'io.modelcontextprotocol/subscriptionId'

/** A stream of `subscriptions/listen` that has begun. */
export interface Listening extends OpenStream {
  /** The filter of the acknowledgement. */
  agreed: JsonObject
  /** The acknowledgement. */
  acknowledgement: Message
  /** The next message; throws when the stream ends before. */
  next(): Promise<Message>
  /** The next so many messages, each as `toldOf` says it. */
  told(count: number): Promise<string[]>
}

/** Listens until the test is over. The judge sees to it that the stream begins with its acknowledgement. */
export async function listen(
  client: ModernClient,
  notifications: JsonObject,
  options: RequestOptions = {},
): Promise<Listening> {
  const stream = await client.open('subscriptions/listen', { notifications }, options)
  onTestFinished(() => stream.cancel())
  return begun(stream)
}

/** Reads the acknowledgement of a stream. */
export async function begun(stream: OpenStream): Promise<Listening> {
  const next = async (): Promise<Message> => {
    const { value, done } = await stream.messages.next()
    if (done === true) throw new Error('the stream ended')
    return value as Message
  }
  const acknowledgement = await next()
  expect(acknowledgement).toMatchObject({ method: 'notifications/subscriptions/acknowledged' })
  return Object.assign(stream, {
    acknowledgement,
    agreed: acknowledgement.params?.['notifications'] as JsonObject,
    next,
    async told(count: number) {
      const told: string[] = []
      while (told.length < count) told.push(toldOf(await next()))
      return told
    },
  })
}

/** What a message tells: `tools`, `resource test://a`, `task 1f… working`, or `end`. */
export function toldOf({ method, params }: Message): string {
  switch (method) {
    case undefined:
      return 'end'
    case 'notifications/resources/updated':
      return `resource ${String(params?.['uri'])}`
    case 'notifications/tasks':
      return `task ${String(params?.['taskId'])} ${String(params?.['status'])}`
    default:
      return /^notifications\/(\w+)\/list_changed$/.exec(method)?.[1] ?? method
  }
}

/** The id a message says it belongs to. */
export function subscriptionOf({ params, result }: Message): Id | undefined {
  const meta = (params ?? result)?.['_meta'] as JsonObject | undefined
  return meta?.[SUBSCRIPTION_ID] as Id | undefined
}

/** Says in a handler that things changed: `tools`, `prompts`, `resources`, or the URI of a resource. */
export function notifyOf({ notify }: CallContext, changes: readonly string[]): void {
  for (const change of changes) {
    if (change === 'tools') notify.toolsListChanged()
    else if (change === 'prompts') notify.promptsListChanged()
    else if (change === 'resources') notify.resourcesListChanged()
    else notify.resourceUpdated(change)
  }
}

/** A tool that says that things changed. */
export const change = defineTool('change', {
  description: 'Says that things changed.',
  inputSchema: z.object({ changes: z.array(z.string()) }),
  handler({ changes }, ctx) {
    notifyOf(ctx, changes)
    return 'changed'
  },
})

/** Publishes changes of a server from outside of its handlers. */
export function publish(server: Server, ...topics: Topic[]): Promise<void> {
  return hubsOf(server).publish(env, topics)
}

/** The hub a server's clients are connected to. */
export function hubOf(server: Server) {
  hubsOf(server)
  for (const [id, each] of servers) {
    if (each !== server) continue
    try {
      return env.LISTEN_HUB.get(env.LISTEN_HUB.idFromString(id))
    } catch {
      // An object of another kind.
    }
  }
  throw new Error('the server has no hub')
}

/** How many listeners are connected to it. */
export function listenersOf(server: Server): Promise<number> {
  return runInDurableObject(
    hubOf(server),
    (_object, state) => state.getWebSockets().filter(({ readyState }) => readyState === WebSocket.OPEN).length,
  )
}

/** What it remembers of changes, oldest first. */
export function changesOf(server: Server): Promise<string[]> {
  return runInDurableObject(hubOf(server), (_object, { storage }) => {
    const tables = storage.sql.exec(`select 1 from sqlite_master where name = 'change'`).toArray()
    if (tables.length === 0) return []
    return Array.from(storage.sql.exec<{ topic: string }>('select topic from change order by turn'), (row) => row.topic)
  })
}

/** The hub goes to sleep: its memory is gone, and its sockets stay. */
export function sleep(server: Server): Promise<void> {
  return evictDurableObject(hubOf(server))
}

/** The hub dies in the middle of whatever it does. What it has stored is there, as after a crash of its machine. */
export async function crash(server: Server): Promise<void> {
  let isDead = false
  await runInDurableObject(hubOf(server), async (_object, state) => {
    await state.storage.sync()
    // Once this call is answered: under one, the runtime would print the reason.
    setTimeout(() => {
      isDead = true
      state.abort('the test killed this object')
    })
  })
  while (!isDead) await scheduler.wait(1)
}
