// What `src/server/ports.ts` and `src/server/task-port.ts` ask for, made of Durable Objects.

import { SESSION_PROTOCOL, type SessionCall, type SessionReply } from '../src/http/session-call.ts'
import type { SessionPort } from '../src/http/session.ts'
import type { Server } from '../src/server/define-server.ts'
import type { SealingKeys } from '../src/server/ports.ts'
import { callObject, reach, sessionObject, type SessionStub } from './objects.ts'
import { listenPort, notifier } from './listen-port.ts'
import { quotaPort } from './quota-port.ts'
import { interruptedMessage, mayRepeat } from './session-methods.ts'
import { taskPort } from './task-port.ts'

export { listenPort, notifier, quotaPort, taskPort }

/** All that `createApp` needs from outside for one server, in Durable Objects. */
export function ports(server: Server) {
  return { keys: keyRing, sessions: sessionPort(server), tasks: taskPort(), hubs: listenPort(), quotas: quotaPort() }
}

/** Sealing keys from the one `KeyRingObject`. */
export function keyRing(env: Cloudflare.Env): Promise<SealingKeys> {
  return callObject(
    () => env.KEY_RING.getByName('keys'),
    async (ring) => ring.keys(Date.now()),
    true,
  )
}

/** Sessions in `SessionObject`s, one each. */
export function sessionPort(server: Server): SessionPort {
  const call = <T>(
    env: Cloudflare.Env,
    id: string,
    use: (object: SessionStub) => Promise<T>,
    isIdempotent = true,
  ): Promise<T> => callObject(() => sessionObject(env, id), use, isIdempotent)
  return {
    newId: (env) => env.SESSION.newUniqueId().toString(),
    async request(env, sent, token) {
      const isRepeatable = mayRepeat(server, sent.request)
      try {
        return await call(
          env,
          sent.facts.objectId,
          async (object) => (await object.request(sent, token)) as SessionReply,
          isRepeatable,
        )
      } catch (error) {
        return lost(sent, error)
      }
    },
    notified: (env, id, method, params) =>
      reach('session', () => call(env, id, async (object) => object.notified(method, params))),
    answered: (env, id, answer, auth) =>
      reach('session', () =>
        call(env, id, async (object) => (await object.answered(answer, auth)) as boolean | readonly string[]),
      ),
    end: (env, id, expiresAt) => reach('session', () => call(env, id, async (object) => object.end(expiresAt))),
    async connect(env, { objectId, stream, after }) {
      const query = new URLSearchParams({ protocol: String(SESSION_PROTOCOL), stream: String(stream) })
      if (after !== undefined) query.set('after', after)
      const headers = { Upgrade: 'websocket' }
      const { webSocket, status } = await call(env, objectId, (object) =>
        object.fetch(`http://session/?${query}`, { headers }),
      )
      return webSocket ?? status
    },
  }
}

/** What becomes of a call whose object died under it: what may be repeated later is, a tool may have done its work in part. */
function lost(sent: SessionCall, error: unknown): SessionReply {
  const { overloaded } = error as { overloaded?: boolean }
  if (overloaded === true || sent.request.method !== 'tools/call') return { kind: 'busy' }
  return { kind: 'final', message: interruptedMessage(sent.request), status: 200 }
}

/**
 * Tells the client that asked for it that the page of a URL elicitation is done. For the page's own route.
 * @param id the id the page's URL was made with
 */
export async function completeElicitation(env: Cloudflare.Env, id: string): Promise<void> {
  const objectId = objectIdOf(env, id)
  if (!objectId) return
  await callObject(
    () => env.SESSION.get(objectId),
    async (object) => object.completed(id),
    true,
  )
}

/** The object an id leads to, or undefined for an id nobody here minted. */
function objectIdOf(env: Cloudflare.Env, id: string): DurableObjectId | undefined {
  // Of a session nothing but its object's id is known here, and everybody who sees a link sees that. So that nobody sends
  // words of their own to its client, the rest has to be a UUID as well.
  const [, object] = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\.([0-9a-f]{64})$/.exec(id) ?? []
  if (object === undefined) return undefined
  try {
    return env.SESSION.idFromString(object)
  } catch {
    // The page's URL was altered.
    return undefined
  }
}
