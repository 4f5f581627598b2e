// Finding objects and calling them. The one function that calls objects is here.

type SessionObject = InstanceType<ReturnType<typeof import('./session.ts').createSessionObject>>
type TaskObject = InstanceType<ReturnType<typeof import('./task.ts').createTaskObject>>
type PrincipalObject = import('./principal.ts').PrincipalObject

export type SessionStub = DurableObjectStub<SessionObject>
export type TaskStub = DurableObjectStub<TaskObject>
export type PrincipalStub = DurableObjectStub<PrincipalObject>

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

function isTransient(error: unknown): boolean {
  const { retryable, durableObjectReset, overloaded } = error as { [flag: string]: unknown }
  return (retryable === true || durableObjectReset === true) && overloaded !== true
}
