// A modern request, from its envelope to its answer: stateless, and nothing outlives it.
// @see basic/transports/streamable-http; basic/patterns/mrtr

import type { Config } from '../config.ts'
import { clip } from '../protocol/clip.ts'
import { MODERN_VERSIONS, type ModernVersion } from '../protocol/era.ts'
import { ProtocolError } from '../protocol/errors.ts'
import { checkParamHeaders, checkStandardHeaders, type HeaderSource } from '../protocol/headers.ts'
import type { JsonObject, JsonRpcRequest, RequestId } from '../protocol/json-rpc.ts'
import { resultMessage } from '../protocol/messages.ts'
import { parseEnvelope, type Envelope } from '../protocol/meta.ts'
import { methodIn } from '../protocol/methods.ts'
import {
  completeResult,
  inputRequiredResult,
  modernList,
  taskResult,
  type WireCache,
} from '../protocol/modern/encode.ts'
import { argumentsParam, retryParams, type Retry } from '../protocol/params.ts'
import { modernCapabilities } from '../protocol/server-capabilities.ts'
import { limits } from '../limits.ts'
import { digestOf } from '../server/canonical.ts'
import type { CacheHints } from '../server/define.ts'
import type { Server } from '../server/define-server.ts'
import { dispatch, type Outcome } from '../server/dispatch.ts'
import type { Call, Suspension } from '../server/ports.ts'
import { openState, sealState, type StateBinding } from '../server/request-state.ts'
import type { Sealer } from '../server/sealer.ts'
import { Round } from '../server/round.ts'
import type { TaskPort } from '../server/task-port.ts'
import type { Final } from './exchange.ts'
import type { Incoming } from './incoming.ts'
import { answerTaskMethod, offerTask } from './modern-tasks.ts'

/** A request that is well formed and names a method this server has. */
export interface Admitted {
  request: JsonRpcRequest
  version: ModernVersion
  envelope: Envelope
  /** True if the method may be answered with questions. */
  mayAsk: boolean
}

/** Answers modern requests of one server. */
export class ModernEndpoint {
  readonly #server: Server
  readonly #sealer: Sealer
  readonly #tasks: TaskPort
  /** Results that are the same for everybody, encoded once. */
  readonly #fixed = new Map<string, string>()

  constructor(server: Server, sealer: Sealer, tasks: TaskPort) {
    this.#server = server
    this.#sealer = sealer
    this.#tasks = tasks
  }

  /**
   * Checks a request down to its method.
   * @throws {ProtocolError} InvalidEnvelope, HeaderMismatch or MethodNotFound
   */
  admit(request: JsonRpcRequest, version: ModernVersion, headers: HeaderSource): Admitted {
    const envelope = parseEnvelope(request.params)
    checkStandardHeaders(headers, request)
    const row = methodIn('modern', request.method)
    const { families } = this.#server
    // Without anything to announce there is nothing to listen to.
    const isServed = row && (row.family ? families.has(row.family) : families.size > 0 || request.method !== LISTEN)
    if (!isServed) {
      throw new ProtocolError('MethodNotFound', `Method not found: ${clip(request.method)}`)
    }
    return { request, version, envelope, mayAsk: row.mayAsk === true }
  }

  /** The answer to a request that was answered before and is the same for everybody, if this is one. */
  known({ request: { id, method, params } }: Admitted, { resumableListen }: Config): Final | undefined {
    if (method === 'server/discover') return this.#fixedFinal(id, method, () => this.#discover(resumableListen))
    const text = params['cursor'] === undefined ? this.#fixed.get(method) : undefined
    return text === undefined ? undefined : { message: resultMessage(id, text), status: 200 }
  }

  /**
   * Answers an admitted request.
   * @throws {ProtocolError} everything that is answered with a JSON-RPC error
   */
  async answer({ request, version, envelope, mayAsk }: Admitted, incoming: Incoming): Promise<Final> {
    const { id, method, params } = request
    const retry = mayAsk ? retryParams(params) : NO_RETRY
    const binding = retry.requestState === undefined ? undefined : await bindingOf(request, incoming)
    const memory = binding && (await openState(this.#sealer, incoming.env, binding, retry.requestState!, Date.now()))
    const round = new Round(memory, retry.inputResponses)
    const call: Call = {
      era: 'modern',
      version,
      method,
      params,
      requestId: incoming.requestId,
      client: { ...(envelope.clientInfo && { info: envelope.clientInfo }), capabilities: envelope.clientCapabilities },
      auth: incoming.auth,
      env: incoming.env,
      ...(incoming.trace && { trace: incoming.trace }),
      ...(envelope.logLevel && { logLevel: envelope.logLevel }),
      ...(envelope.progressToken !== undefined && { progressToken: envelope.progressToken }),
      port: {
        ...incoming.port,
        checkParamHeaders: (declared, args) => checkParamHeaders(incoming.headers, declared, args),
      },
      journal: round.journal,
      askTtlMs: limits.askTtlMs,
    }
    const end = await untilSuspended(this.#dispatch(call), round)
    if ('result' in end) return this.#complete(request, end, retry)
    if (round.isExhausted) throw new Error(`the call asked in more than ${limits.askRounds} rounds`)
    const state = await this.#seal(call, binding ?? (await bindingOf(request, incoming)), end)
    const result = inputRequiredResult(end.inputRequests as unknown as JsonObject, state, this.#server.info)
    return { message: resultMessage(id, JSON.stringify(result)), status: 200 }
  }

  async #dispatch(call: Call): Promise<Outcome> {
    if (methodIn('modern', call.method)?.family === 'tasks')
      return { result: await answerTaskMethod(this.#tasks, this.#server, call) }
    if (call.method === 'tools/call') offerTask(this.#tasks, this.#server, call)
    return dispatch(this.#server, call)
  }

  #complete({ id, method }: JsonRpcRequest, outcome: Outcome, retry: Retry): Final {
    if (outcome.isTask) {
      return { message: resultMessage(id, JSON.stringify(taskResult(outcome.result, this.#server.info))), status: 200 }
    }
    if (outcome.fixed !== undefined) return this.#fixedFinal(id, outcome.fixed, () => outcome)
    const cache = outcome.cache && wireCache(retry.isRetry ? { ttlMs: 0, scope: 'private' } : outcome.cache)
    const shown = method === 'tools/list' ? modernList(outcome.result) : outcome.result
    const result = completeResult(shown, this.#server.info, cache)
    return { message: resultMessage(id, JSON.stringify(result)), status: 200 }
  }

  #fixedFinal(id: RequestId, key: string, make: () => Outcome): Final {
    let text = this.#fixed.get(key)
    if (text === undefined) {
      const { result, cache } = make()
      text = JSON.stringify(completeResult(modernList(result), this.#server.info, cache && wireCache(cache)))
      this.#fixed.set(key, text)
    }
    return { message: resultMessage(id, text), status: 200 }
  }

  #discover(isResumable: boolean): Outcome {
    const { families, instructions, cache } = this.#server
    const result = {
      supportedVersions: [...MODERN_VERSIONS],
      capabilities: modernCapabilities(families, isResumable),
      ...(instructions !== undefined && { instructions }),
    }
    return { result, cache: cache.discover }
  }

  #seal(call: Call, binding: StateBinding, { memory }: Suspension): Promise<string> {
    return sealState(this.#sealer, call.env, binding, memory, Date.now() + call.askTtlMs)
  }
}

/** The method that is answered by listen.ts. */
export const LISTEN = 'subscriptions/listen'

const NO_RETRY: Retry = { inputResponses: {}, isRetry: false }

/** The result, or the questions that ended the round. */
function untilSuspended(running: Promise<Outcome>, round: Round): Promise<Outcome | Suspension> {
  // Not `Promise.race`, which takes some turns more.
  return new Promise((resolve, reject) => {
    round.suspended = resolve
    running.then(resolve, reject).finally(() => round.close())
  })
}

/** What a state belongs to: this caller and this very call. */
async function bindingOf({ method, params }: JsonRpcRequest, { auth }: Incoming): Promise<StateBinding> {
  // By the method, not by what is there: a `name` beside the `uri` of a read would stand for every URI.
  const target = params[methodIn('modern', method)?.nameFrom ?? 'name']
  const digest = await digestOf({ target, arguments: argumentsParam(params) })
  return { principal: auth.principal, method, digest }
}

function wireCache({ ttlMs, scope }: CacheHints): WireCache {
  return { ttlMs, cacheScope: scope }
}
