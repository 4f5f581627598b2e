// What a handler is given: one flat object, the same in every era. It knows no transport.

import { limits } from '../limits.ts'
import { hasCapability, type CapabilityName } from '../protocol/capabilities.ts'
import type { ProtocolVersion } from '../protocol/era.ts'
import type { JsonObject } from '../protocol/json-rpc.ts'
import { isAtLeast, type LogLevel } from '../protocol/meta.ts'
import {
  askForm,
  askInput,
  askUrl,
  type ElicitAnswer,
  type FormSchema,
  type InputAnswers,
  type InputAsk,
  type UrlAnswer,
} from './asks.ts'
import { resourceTopic } from './notifier.ts'
import type { Auth, Call, Client, Trace } from './ports.ts'

/** What callbacks that only look things up get: `list`, `complete`. They cannot ask, since such requests may not. */
export interface LookupContext {
  /** Aborts when the caller is gone. Pass it to `fetch`. */
  readonly signal: AbortSignal
  /** Who is calling. */
  readonly auth: Auth
  /** Bindings, variables and secrets of the Worker. */
  readonly env: Cloudflare.Env
  /** What the client says of itself and declared it can do. */
  readonly client: Client & { can(capability: CapabilityName): boolean }
  /** The revision this request speaks. */
  readonly protocolVersion: ProtocolVersion
  /** The caller's trace, to continue in calls onward. */
  readonly trace: Trace | undefined
  /** Names this request in the operator's log. */
  readonly requestId: string
  /**
   * Tells the client something, if it asked for messages of that level. Never put secrets or personal data in it.
   * @deprecated in 2026-07-28, still specified @see server/utilities/logging
   */
  log(level: LogLevel, data: unknown, logger?: string): void
  /** Keeps the Worker alive for work that outlives the answer. The promise must settle. */
  waitUntil(work: Promise<unknown>): void
}

/**
 * Tells clients that something changed: all that watch it, on every revision and in every isolate. A call is answered when
 * that is stored, or after `limits.publishWaitMs`; nothing has to be awaited.
 */
export interface Notify {
  /** What `resources/read` returns for this URI is another now. @throws {TypeError} for what is no absolute URI */
  resourceUpdated(uri: string): void
  /** `resources/list` or `resources/templates/list` has other entries now. */
  resourcesListChanged(): void
  toolsListChanged(): void
  promptsListChanged(): void
}

/** What tools, prompts and resources get. */
export interface CallContext extends LookupContext {
  /** Tells clients that something changed. @see server/resources, Subscriptions */
  readonly notify: Notify
  /**
   * Reports progress, if the caller asked for it. Values that do not increase are dropped.
   * @see basic/patterns/progress
   */
  progress(progress: number, total?: number, message?: string): void
  /**
   * Asks the user to fill in a form. The handler may be entered again from the start once the answer is here, so put
   * effects after the ask or inside `step`.
   * @param key unique in the call, the same on every entry
   * @returns the action; with `accept` also the content, checked against the schema
   * @throws {ProtocolError} MissingRequiredClientCapability when the client cannot show forms
   * @throws {AskError} when the answers kept failing the schema
   * @see client/elicitation, Form Mode
   */
  elicit<S extends FormSchema>(key: string, ask: { message: string; schema: S }): Promise<ElicitAnswer<S>>
  /**
   * Sends the user to a web page, for what a client must not see. The answer says only that the user agreed to go:
   * look up in your own store, by `id`, whether the page was completed.
   * @param ask `url` gets an id that nobody can guess, the same on every entry; the URL must be https outside localhost
   * @see client/elicitation, URL Mode
   */
  elicitUrl(key: string, ask: { message: string; url: (id: string) => string }): Promise<UrlAnswer>
  /**
   * Asks the client for a model completion or its roots.
   * @deprecated in 2026-07-28, still specified @see client/sampling, client/roots
   */
  inputRequest<M extends keyof InputAnswers>(key: string, request: InputAsk<M>): Promise<InputAnswers[M]>
  /**
   * Runs `fn` once in the life of this call, even if the handler is entered again; returns its stored result.
   * The result must be JSON. A step may not ask: an ask ends when its step has, which would wait for the ask.
   */
  step<T>(key: string, fn: () => T | Promise<T>): Promise<T>
  /**
   * Waits. In a task it holds no memory, so it may last for days; a handler that is entered again waits for what is left.
   * @param ms from the first time the call came here
   * @param key unique in the call; needed where the order of sleeps may differ between entries
   */
  sleep(ms: number, key?: string): Promise<void>
}

/** The context of one call. Members may be taken apart: none of them needs `this`. */
export function createContext(call: Call): CallContext {
  const { port, journal, client } = call
  let lastProgress = Number.NEGATIVE_INFINITY
  let messages = 0
  const emit = (method: string, params: JsonObject): void => {
    if (journal.shouldEmit(method, params)) port.emit(method, params)
  }
  return {
    get signal() {
      return port.signal()
    },
    auth: call.auth,
    env: call.env,
    client: { ...client, can: (capability) => hasCapability(client.capabilities, capability) },
    protocolVersion: call.version,
    trace: call.trace,
    requestId: call.requestId,
    waitUntil: (work) => port.waitUntil(work),
    notify: {
      resourceUpdated: (uri) => port.notify(resourceTopic(uri)),
      resourcesListChanged: () => port.notify('resources'),
      toolsListChanged: () => port.notify('tools'),
      promptsListChanged: () => port.notify('prompts'),
    },
    log(level, data, logger) {
      if (call.logLevel === undefined || !isAtLeast(level, call.logLevel)) return
      if (++messages > limits.logMessages) return
      const known = { data: data ?? null, ...(logger !== undefined && { logger }) }
      emit('notifications/message', { level, ...known })
    },
    progress(progress, total, message) {
      const { progressToken } = call
      if (progressToken === undefined && !port.status) return
      if (!Number.isFinite(progress) || progress <= lastProgress) return
      lastProgress = progress
      const known = { ...(Number.isFinite(total) && { total }), ...(message !== undefined && { message }) }
      const params = { progress, ...known }
      if (!journal.shouldEmit('notifications/progress', params)) return
      port.status?.(progress, message ?? (Number.isFinite(total) ? `${progress} of ${total}` : `${progress}`))
      if (progressToken !== undefined) port.emit('notifications/progress', { progressToken, ...params })
    },
    elicit: (key, ask) => askForm(call, key, ask),
    elicitUrl: (key, ask) => askUrl(call, key, ask),
    inputRequest: (key, request) => askInput(call, key, request),
    step: (key, fn) => journal.step(key, fn) as Promise<never>,
    sleep: (ms, key) => journal.sleep(ms, key, () => port.signal()),
  }
}

/** The context of callbacks that may not ask: asking throws, also where types were ignored. */
export function createLookupContext(call: Call): LookupContext {
  const refuse = (name: string) => () => {
    throw new TypeError(`cannot use ctx.${name} here: lists and completions may not ask the client`)
  }
  const { progress: _progress, notify: _notify, ...context } = Object.getOwnPropertyDescriptors(createContext(call))
  const lookup = Object.defineProperties({}, context) as CallContext
  return Object.assign(lookup, {
    elicit: refuse('elicit'),
    elicitUrl: refuse('elicitUrl'),
    inputRequest: refuse('inputRequest'),
    step: refuse('step'),
    sleep: refuse('sleep'),
  })
}
