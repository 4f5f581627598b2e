// Finding objects and calling them. The one function that calls objects is here.

import { ProtocolError } from '../src/protocol/errors.ts'

type SessionObject = InstanceType<ReturnType<typeof import('./session.ts').createSessionObject>>
type TaskObject = InstanceType<ReturnType<typeof import('./task.ts').createTaskObject>>
type PrincipalObject = import('./principal.ts').PrincipalObject
type ListenHubObject = InstanceType<ReturnType<typeof import('./listen-hub.ts').createListenHubObject>>

export type SessionStub = DurableObjectStub<SessionObject>
export type TaskStub = DurableObjectStub<TaskObject>
export type PrincipalStub = DurableObjectStub<PrincipalObject>
export type HubStub = DurableObjectStub<ListenHubObject>

/** @throws {TypeError} for an id this namespace did not mint */
export function sessionObject({ SESSION }: Cloudflare.Env, id: string): SessionStub {
  return SESSION.get(SESSION.idFromString(id))
}

/** @throws {TypeError} for an id this namespace did not mint */
export function taskObject({ TASK }: Cloudflare.Env, id: string): TaskStub {
  return TASK.get(TASK.idFromString(id))
}

/** @param digest of the principal */
export function principalObject({ PRINCIPAL }: Cloudflare.Env, digest: string): PrincipalStub {
  return PRINCIPAL.getByName(digest)
}

/** Further ahead the platform sets no alarm: nobody will miss it. */
const FAR_MS = 100 * 365 * 24 * 60 * 60 * 1000

/** Sets the alarm of an object, or none for a time that never comes. */
export function setAlarm(storage: DurableObjectStorage, at: number): void {
  void (at > Date.now() + FAR_MS ? storage.deleteAlarm() : storage.setAlarm(at))
}

const ATTEMPTS = 3

/**
 * Calls an object, again when the platform says that may help and repeating is harmless.
 * @param stub makes a fresh stub: one that threw may stay broken
 */
export async function callObject<S, T>(
  stub: () => S,
  use: (object: S) => Promise<T>,
  isIdempotent: boolean,
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await use(stub())
    } catch (error) {
      if (!isIdempotent || !isTransient(error) || attempt === ATTEMPTS) throw error
      await scheduler.wait(50 * 2 ** attempt * (1 + Math.random()))
    }
  }
}

/** @throws {ProtocolError} Unavailable when what was called cannot be reached */
export async function reach<T>(what: 'session' | 'task' | 'quota', call: () => Promise<T>): Promise<T> {
  try {
    return await call()
  } catch (cause) {
    throw Object.assign(new ProtocolError('Unavailable', `The ${what} cannot be reached: try again`), { cause })
  }
}

function isTransient(error: unknown): boolean {
  const { retryable, durableObjectReset, overloaded } = error as { [flag: string]: unknown }
  return (retryable === true || durableObjectReset === true) && overloaded !== true
}
