// What a client must have declared before it may be asked something.
// @see basic/index, Per-request protocol fields; client/elicitation, Capabilities

import { isObject, type JsonObject } from './json-rpc.ts'
import { RESUMABLE_LISTEN, TASKS_EXTENSION, type ClientCapabilities } from './meta.ts'

/** A client capability a handler can need, by the path of its declaration. */
export type CapabilityName =
  | 'elicitation.form'
  | 'elicitation.url'
  | 'sampling'
  | 'sampling.tools'
  | 'sampling.context'
  | 'roots'

/** True if the client declared it. `elicitation: {}` means forms only. */
export function hasCapability(client: ClientCapabilities, name: CapabilityName): boolean {
  const { elicitation, sampling, roots } = client
  switch (name) {
    case 'elicitation.form':
      return elicitation !== undefined && (elicitation.form !== undefined || elicitation.url === undefined)
    case 'elicitation.url':
      return elicitation?.url !== undefined
    case 'sampling':
      return sampling !== undefined
    case 'sampling.tools':
      return sampling?.tools !== undefined
    case 'sampling.context':
      return sampling?.context !== undefined
    case 'roots':
      return roots !== undefined
  }
}

/** True if a modern client takes tasks. @see ext-tasks, Capability Negotiation */
export function declaresTasks({ extensions }: ClientCapabilities): boolean {
  return isObject(extensions?.[TASKS_EXTENSION])
}

/** True if a client wants ids on what it listens to. @see docs/resumable-listen.md */
export function declaresResumableListen({ extensions }: ClientCapabilities): boolean {
  return isObject(extensions?.[RESUMABLE_LISTEN])
}

/** The `data.requiredCapabilities` of what only a client that takes tasks may have. */
export const REQUIRED_TASKS: JsonObject = { extensions: { [TASKS_EXTENSION]: {} } }

/** The `data.requiredCapabilities` that says what is missing: `elicitation.url` becomes `{ elicitation: { url: {} } }`. */
export function requiredCapabilities(names: readonly CapabilityName[]): JsonObject {
  const required: { [key: string]: JsonObject } = {}
  for (const name of names) {
    const [head, tail] = name.split('.') as [string, string | undefined]
    const settings = (required[head] ??= {})
    if (tail !== undefined) settings[tail] = {}
  }
  return required
}
