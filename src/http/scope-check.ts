// Whether a token is good for what is asked, decided before any handler, object or stream: a 403 has to come first.
// Asked again on every request about the same thing: a retry, a task. @see basic/authorization, Scope Challenge Handling

import { insufficientScope } from '../auth/challenge.ts'
import { metadataUrl } from '../auth/protected-resource.ts'
import type { Config } from '../config.ts'
import { limits } from '../limits.ts'
import { report } from '../observability/sink.ts'
import { clip } from '../protocol/clip.ts'
import type { ProtocolError } from '../protocol/errors.ts'
import { isObject, type JsonObject } from '../protocol/json-rpc.ts'
import type { TaskForm } from '../protocol/task.ts'
import type { Server } from '../server/define-server.ts'
import { isAnonymous, type Auth } from '../server/ports.ts'
import { knownOf, missingScopes, scopesFor } from '../server/scopes.ts'
import type { TaskPort } from '../server/task-port.ts'

/** A request whose scopes are checked. */
export interface Asked {
  method: string
  params: JsonObject
}

/** What one HTTP request comes with. */
export interface ScopeArrival {
  request: Request
  env: Cloudflare.Env
  config: Config
  auth: Auth
}

export class ScopeCheck {
  readonly #server: Server
  readonly #tasks: TaskPort
  /** True if anything needs a scope. */
  readonly #isNeeded: boolean
  /** True if there may be tasks, whose tools may have needed some before a deploy. */
  readonly #hasTasks: boolean

  constructor(server: Server, tasks: TaskPort) {
    this.#server = server
    this.#tasks = tasks
    this.#hasTasks = server.families.has('tasks')
    this.#isNeeded = server.scopes.size > 0 || this.#hasTasks
  }

  /**
   * Checks the requests of one POST together: one that lacks a scope refuses all. Undefined where there is nothing to check.
   * @throws {ProtocolError} InsufficientScope, naming everything they need
   */
  check(asked: readonly Asked[], form: TaskForm, arrival: ScopeArrival): Promise<void> | undefined {
    return this.#isNeeded && !isAnonymous(arrival.auth) ? this.#check(asked, form, arrival) : undefined
  }

  async #check(asked: readonly Asked[], form: TaskForm, arrival: ScopeArrival): Promise<void> {
    const needs = await Promise.all(asked.map((each) => this.#neededBy(each, form, arrival)))
    const needed = [...new Set(needs.flat())]
    if (missingScopes(this.#server, arrival.auth, needed).length > 0) throw this.refusal(needed, arrival)
  }

  /** The answer to a token that is not good for what is needed. */
  refusal(needed: readonly string[], { auth, config, request }: ScopeArrival): ProtocolError {
    const held = clip(auth.scopes?.join(' ') || 'none', 200)
    report(
      { event: 'refused', reason: `this needs the scopes ${needed.join(' ')}, and the token has ${held}` },
      config.log,
    )
    const { scopePrefix = '' } = config.issuers?.find(({ id }) => id === auth.issuer) ?? {}
    const named = [...needed, ...knownOf(this.#server, auth, config.scopesSupported)].map(
      (scope) => scopePrefix + scope,
    )
    return insufficientScope(metadataUrl(config, request.url), needed, named)
  }

  async #neededBy({ method, params }: Asked, form: TaskForm, arrival: ScopeArrival): Promise<readonly string[]> {
    const needed = scopesFor(this.#server, arrival.auth, method, params)
    const taskIds = this.#hasTasks ? tasksIn(method, params) : []
    if (taskIds.length === 0) return needed
    const owner = { principal: arrival.auth.principal, form }
    const scopes = await Promise.all(taskIds.map((taskId) => this.#tasks.scopesOf(arrival.env, owner, taskId)))
    return [...needed, ...scopes.flatMap((each = []) => each)]
  }
}

/** The tasks a request is about. What they are is checked later. */
function tasksIn(method: string, params: JsonObject): string[] {
  if (method === 'subscriptions/listen') {
    const filter = params['notifications']
    return stringsOf(isObject(filter) ? filter['taskIds'] : undefined)
  }
  return method.startsWith('tasks/') ? stringsOf([params['taskId']]) : []
}

function stringsOf(value: unknown): string[] {
  // More than that are refused later.
  const some = Array.isArray(value) ? value.slice(0, limits.listenTasks) : []
  return some.filter((each) => typeof each === 'string')
}
